"""What mercer takes of scikit-learn that is private there, or newer than the oldest release it works with.

Nothing else imports a name of scikit-learn that begins with an underscore. Where a release lacks one, what
stands here does the same as far as mercer needs it; `tests/test_scikit.py` says which release has what.
"""

from collections.abc import Callable
from functools import wraps
from inspect import signature
from types import SimpleNamespace
from typing import Any

import numpy as np
from sklearn.utils._array_api import (
    _average,
    _convert_to_numpy,
    _estimator_with_converted_arrays,
    _expit,
    _is_numpy_namespace,
    get_namespace,
    supported_float_dtypes,
)
from sklearn.utils.validation import _check_feature_names, _check_n_features, _check_sample_weight

__all__ = [
    "CallbackContext",
    "CallbackSupportMixin",
    "array_namespace",
    "average",
    "check_feature_names",
    "check_n_features",
    "check_same_namespace",
    "check_sample_weight",
    "convert_to_numpy",
    "device",
    "expit",
    "get_namespace",
    "is_numpy_namespace",
    "partial_dependence",
    "supported_float_dtypes",
    "takes_weights",
    "with_callbacks",
    "with_converted_arrays",
]

average, expit = _average, _expit
convert_to_numpy, is_numpy_namespace = _convert_to_numpy, _is_numpy_namespace
with_converted_arrays = _estimator_with_converted_arrays
check_feature_names, check_n_features = _check_feature_names, _check_n_features


def takes_weights(scorer: Any) -> bool:
    """Return whether a scorer of scikit-learn can weigh samples."""
    return "sample_weight" in signature(scorer._score_func).parameters


try:
    from sklearn.callback import CallbackContext, CallbackSupportMixin, with_callbacks
except ImportError:  # before 1.9

    class CallbackContext(SimpleNamespace):  # type: ignore[no-redef]
        """A task of a fit, which callbacks are told of."""

        def subcontext(self, task_name: str = "", **_: Any) -> "CallbackContext":
            """Return a part of the task."""
            return CallbackContext(task_name=task_name, parent=self)

        def call_on_fit_task_begin(self, *, estimator: Any, **given: Any) -> None:
            """Tell callbacks that the task begins."""
            for callback in getattr(estimator, "_skl_callbacks", []):
                callback.on_fit_task_begin(estimator, self, **given)

        def call_on_fit_task_end(self, *, estimator: Any, **given: Any) -> bool:
            """Tell callbacks that the task is done, and return whether one of them asks to stop."""
            told = getattr(estimator, "_skl_callbacks", [])
            answers = [callback.on_fit_task_end(estimator, self, **given) for callback in told]
            return any(answers)

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """What takes callbacks, as in scikit-learn 1.9."""

        def set_callbacks(self, *callbacks: Any) -> Any:
            """Set what is told of the progress of a fit."""
            vars(self).pop("_skl_callbacks", None)
            if callbacks:
                self._skl_callbacks = list(callbacks)
            return self

        def _init_callback_context(self, task_name: str = "fit", **_: Any) -> CallbackContext:
            return CallbackContext(task_name=task_name, parent=None)

    def with_callbacks(method: Callable[..., Any]) -> Callable[..., Any]:
        """Return the method: nothing is set up before it, or torn down after it."""

        @wraps(method)  # and not itself: what it warns of is as many calls away as with callbacks
        def call(estimator: Any, *given: Any, **options: Any) -> Any:
            return method(estimator, *given, **options)

        return call


try:
    from sklearn.externals.array_api_compat import array_namespace, device
except ImportError:  # before 1.7: tensors need a newer release

    def array_namespace(*arrays: Any) -> Any:
        """Return the functions for arrays of NumPy."""
        return np

    def device(array: Any) -> Any:
        """Return where an array of NumPy is."""
        return "cpu"


try:
    from sklearn.utils._array_api import check_same_namespace
except ImportError:  # before 1.9: what computes says that arrays are in different places

    def check_same_namespace(X: Any, estimator: Any, *, attribute: str, method: str) -> None:
        """Leave it to what computes."""


def _refuse_zeros(*given: Any, **options: Any) -> Any:
    weight = _check_sample_weight(*given, **options)
    if not weight.any():
        raise ValueError("Sample weights must contain at least one non-zero number.")
    return weight


knows_zeros = "allow_all_zero_weights" in signature(_check_sample_weight).parameters  # as of 1.8
check_sample_weight = _check_sample_weight if knows_zeros else _refuse_zeros


def partial_dependence(model: Any, table: Any, columns: list[str], **options: Any) -> Any:
    """Return scikit-learn's partial dependence on a column; before 1.7 it takes no values of one's own."""
    from sklearn import inspection  # which takes a while

    if "custom_values" in signature(inspection.partial_dependence).parameters:
        return inspection.partial_dependence(model, table, columns, **options)
    answer = model.predict if options["response_method"] == "auto" else model.predict_proba
    values = options["custom_values"][columns[0]]
    means = [np.mean(answer(table.assign(**{columns[0]: value})), axis=0) for value in values]
    average = np.array(means).reshape(len(means), -1).T
    return {"average": average[1:] if len(average) == 2 else average}
