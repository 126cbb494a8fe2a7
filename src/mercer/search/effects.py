r"""What each column adds to what a model says of one row.

Shapley values [LL17] against other rows of the table: a row is turned into another, b, column by column in
random order, and each column is credited with what its exchange changed. The mean over many b sums to

.. math:: f(x) - \frac{1}{m} \sum_b f(b) .

Where f is a sum of curves, one for each column, no order matters, and a column's part is its curve at x less
the curve's mean: that is exact.

[LL17] Lundberg, Lee: A unified approach to interpreting model predictions. NeurIPS 2017.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.random import RandomState
from sklearn.gaussian_process import kernels as sk_kernels

from mercer._typing import Array, Index
from mercer.kernels import Stump
from mercer.search.candidates import kernel_of


class Effects(NamedTuple):
    """What columns add: log odds, of several classes log probabilities less their mean, or the target."""

    names: list[str]
    added: Array  # (n_columns,)
    value: float  # what is said of the row
    mean: float  # over the rows that it is compared with
    label: Any  # the class that it is about; None: a number
    is_exact: bool  # whether the model is a sum of curves


def effects_of(search: Any, table: Any, row: int, *, n_others: int = 100, random_state: int = 0) -> Effects:
    """Return what each column of a row adds to the prediction of a fitted search.

    Parameters
    ----------
    search : KernelSearchCV or KernelSearchRegressor
        Fitted.
    table : DataFrame or array of shape (n_samples, n_features)
        Rows as `fit` took them, of which others than the row are what it is compared with.
    row : int
        Which row.
    n_others : int, default=100
        With how many at most.
    random_state : int, default=0
        Random seed of these, and of the orders of columns.
    """
    rng, n = RandomState(random_state), len(table)
    if not 0 <= row < n:
        raise ValueError(f"there is no row {row}: rows are numbered 0 to {n - 1}")
    every = rng.permutation(n)
    others = every[every != row][:n_others] if n > 1 else every
    is_frame = hasattr(table, "iloc")
    names = list(table.columns) if is_frame else [f"x{k}" for k in range(table.shape[1])]
    used = _used(search, names)
    # of each other row, the steps from it to the row: in step s, s columns are those of the row
    place = np.array([rng.permutation(len(used)) for _ in others])
    steps = np.arange(len(used) + 1)[None, :, None] > place[:, None, :]
    source = np.where(steps, row, others[:, None, None]).reshape(-1, len(used))
    rows = np.repeat(others, len(used) + 1)
    if is_frame:
        mixed = table.iloc[rows].reset_index(drop=True)
        for k, j in enumerate(used):
            mixed[names[j]] = table.iloc[:, j].to_numpy()[source[:, k]]
        mixed.attrs = dict(table.attrs)
    else:
        mixed = np.asarray(table)[rows]
        mixed[:, used] = np.asarray(table)[source, used]
    said, label = _say(search, mixed, table.iloc[[row]] if is_frame else table[[row]])
    said = said.reshape(len(others), -1)
    gains = np.take_along_axis(np.diff(said, axis=1), place, axis=1)
    added = gains.mean(axis=0)
    return Effects(
        [str(names[j]) for j in used], added, float(said[0, -1]), float(said[:, 0].mean()), label,
        all(_is_sum_of_curves(one) for _, one in search.model_.members),
    )  # fmt: skip


def _used(search: Any, names: list[Any]) -> Index:
    """Return the columns that the model looks at."""
    columns = getattr(search.encoder_, "columns_", None)
    known = None if columns is None else {one.name for one in columns}
    return np.array([j for j, name in enumerate(names) if known is None or str(name) in known], dtype=np.intp)


def _say(search: Any, mixed: Any, row: Any) -> tuple[Array, Any]:
    """Return what the model says of rows, of the class that it predicts for one of them."""
    if not hasattr(search, "decision_function"):
        said = search.predict(mixed)
        return (np.log(said) if search.log else said), None
    label = search.predict(row)[0]
    k, values = int(np.searchsorted(search.classes_, label)), search.decision_function(mixed)
    if values.ndim == 1:
        return (values if k else -values), label
    return values[:, k] - values.mean(axis=1), label


def _is_sum_of_curves(member: Any) -> bool:
    return isinstance(kernel_of(member[-1]), Stump | sk_kernels.DotProduct)
