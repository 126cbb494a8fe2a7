"""Where samples are: labels, weights and fitted arrays follow X to its device, as in scikit-learn."""

from typing import Any

from mercer.array_api import is_of_numpy, is_tensor, like
from mercer.scikit import check_same_namespace, with_converted_arrays

MOST_EXACT = 100_000  # samples up to which an exact problem is solved by way of NumPy


def is_lazy(X: Any) -> bool:
    """Return whether something is a collection of Dask."""
    return hasattr(X, "__dask_graph__") and hasattr(X, "to_delayed")


def check_place(estimator: Any, X: Any, method: str) -> None:
    """Raise unless X is where the fitted arrays of an estimator are, of which `_fitted_array` is one."""
    check_same_namespace(X, estimator, attribute="_fitted_array", method=method)
    if not is_of_numpy(estimator._fitted_array) and not is_tensor(X):
        raise ValueError(
            f"This {type(estimator).__name__} was fitted to tensors: call {method} within "
            "sklearn.config_context(array_api_dispatch=True), or move the model to NumPy by "
            "sklearn.utils._array_api.move_estimator_to(model, numpy, 'cpu')."
        )


def follow(estimator: Any, X: Any) -> None:
    """Move the fitted arrays of an estimator to where the samples are, if these are tensors."""
    if is_tensor(X):
        for name in vars(estimator).keys() - estimator.get_params(deep=False).keys():
            moved = with_converted_arrays(getattr(estimator, name), lambda array: like(X, array))
            setattr(estimator, name, moved)


def check_few(X: Any) -> None:
    """Raise if tensors are too many to become NumPy arrays, which exact solvers need."""
    if len(X) > MOST_EXACT:
        raise ValueError(
            f"Exact problems are solved by NumPy, and {len(X)} samples on {X.device} are too many to move "
            "there unasked. Set max_bins, for example to 256, or give X.cpu().numpy()."
        )
