"""The fit of numbers to samples that are elsewhere: in chunks of rows, of a Dask array or DataFrame.

As for classes (`svm.distributed`), each chunk is computed twice: it is looked at, then it is put into bins,
which stay on the workers.
"""

from collections.abc import Sequence
from copy import copy
from itertools import chain
from typing import Any, NamedTuple

import dask
import numpy as np

from mercer._typing import Array, Index
from mercer.regression.base import TargetScaling
from mercer.solvers.stump_svm import Point, Solution, bin_columns, solve_path
from mercer.solvers.stump_svm.dask_rows import ClusterError, DaskRows, Part
from mercer.svm.additive import MAX_STEPS, Units
from mercer.svm.chunks import as_numbers, check_features, find_fault, find_fault_beside, split_rows
from mercer.svm.distributed import (
    choose_bins,
    count_threads,
    describe,
    group_chunks,
    look_at_chunks,
    put_into_bins,
)
from mercer.svm.dual import TablePlan, TwoClassSVM
from mercer.validation import check_target


class Coding(NamedTuple):
    """How samples become codes, numbers standardised ones, and weights bounds."""

    scaling: TargetScaling
    units: Units
    knots: list[Array]
    directions: Array | None


class Summary(NamedTuple):
    """What is to be known of a chunk before a fit. Moments are weighted, and of rows of positive weight."""

    fault: tuple[int, str] | None  # the first row that is wrong, and how
    n_used: int
    total: float  # of the weights
    mean: float
    square: float  # Σ of squared differences from the mean
    ends: tuple[float, float]  # the least and the largest number
    least: float  # of all numbers
    X: Array  # some samples


def fit_chunks(
    regressor: Any, X: Any, y: Any, sample_weight: Any, plan: TablePlan, is_log: bool
) -> TwoClassSVM:
    """Fit one target to samples in chunks, and set the scaling of the regressor."""
    X = check_features(regressor, X, reset=True)
    chunks = split_rows(X, y, sample_weight)
    summaries = look_at_chunks(regressor, chunks, summarize)
    regressor._scaling, regressor._one_target = scale_target(summaries, is_log), True
    sample = np.concatenate([summary.X for summary in summaries])
    bins = choose_bins(sample, plan, int(regressor.max_bins))
    coding = Coding(regressor._scaling, *bins, plan.directions)
    shared = dask.delayed(coding, traverse=False)
    coded = [dask.delayed(code_numbers)(*chunk, shared) for chunk in zip(*chunks[:3], strict=True)]
    return _solve(regressor, plan, coding, coded, np.array([summary.n_used for summary in summaries]))


def summarize(X: Any, y: Any, weight: Any, rows: Index) -> Summary:
    """Look at a chunk, and take some of its rows."""
    X, y = as_numbers(X), np.asarray(y)
    weight = np.ones(len(X)) if weight is None else np.asarray(weight, dtype=np.float64)
    if not len(X) == len(y) == len(weight):
        counts = f"{len(X)}, {len(y)} and {len(weight)}"
        raise ValueError(f"A chunk has {counts} rows of X, y and sample_weight: split them alike.")
    fault = find_fault(X) or find_fault_beside(y, weight)
    used = np.flatnonzero(weight > 0.0)
    if fault is not None or len(used) == 0:
        return Summary(fault, 0, 0.0, 0.0, 0.0, (np.inf, -np.inf), np.inf, X[:0])
    y = check_target(y)
    some = used[np.unique(rows * len(used) // len(X))]  # as many of those used
    least, y, weight = float(y.min()), y[used], weight[used]
    mean = float(np.average(y, weights=weight))
    square = float(weight @ (y - mean) ** 2)
    ends = float(y.min()), float(y.max())
    return Summary(None, len(used), float(weight.sum()), mean, square, ends, least, X[some])


def scale_target(summaries: Sequence[Summary], is_log: bool) -> TargetScaling:
    """Return the scaling of the numbers of all chunks."""
    total, mean = (np.array([s[k] for s in summaries]) for k in (2, 3))
    if total.sum() == 0.0:
        raise ValueError("There is no sample of positive weight.")
    least = min(summary.least for summary in summaries)
    if is_log and least < 0:
        raise ValueError(f"loss='poisson' needs counts, or other targets of at least 0, got {least:g}.")
    centre = float(total @ mean / total.sum())
    square = sum(summary.square for summary in summaries) + float(total @ (mean - centre) ** 2)
    low, high = min(s.ends[0] for s in summaries), max(s.ends[1] for s in summaries)
    if low == high:  # exactly, where a mean has rounding errors
        centre, square = low, 0.0
    return TargetScaling.from_moments(np.array([centre]), np.array([np.sqrt(square / total.sum())]), is_log)


def code_numbers(X: Any, y: Any, weight: Any, coding: Coding) -> tuple[Part, ...]:
    """Put a chunk into bins, part by part."""
    X = as_numbers(X)
    weight = np.ones(len(X)) if weight is None else np.asarray(weight, dtype=np.float64)
    values, bound = coding.scaling.convert_one(np.asarray(y, dtype=np.float64), weight)
    return put_into_bins(X, values, coding.units.scale * bound, np.flatnonzero(weight > 0.0), coding)


def _gather(chunks: Sequence[Sequence[Part]]) -> tuple[Part, ...]:
    """Return some chunks as one."""
    return tuple(Part(np.ascontiguousarray(p.code), p.y, p.weight) for p in chain(*chunks))


def _solve(
    regressor: Any, plan: TablePlan, coding: Coding, coded: Sequence[Any], n_used: Index
) -> TwoClassSVM:
    value = bin_columns(np.empty((0, len(coding.knots))), coding.knots).value
    groups = group_chunks(n_used, count_threads())
    chunks = [dask.delayed(_gather)([coded[i] for i in group]) for group in groups]
    options = {"tol": float(regressor.tol), "max_iter": regressor.max_iter or MAX_STEPS}
    try:
        rows = DaskRows.over(value, dask.persist(*chunks), int(n_used.sum()))
        (solution,) = solve_path(rows, [float(regressor.C)], plan.loss, **options)
    except ClusterError as error:
        point = Point(np.zeros_like(value), 0.0) if error.point is None else error.point
        error.model = copy(regressor)
        error.model._keep(
            [describe(Solution(point, point.bias, np.empty(0), np.nan, np.inf, 0), plan, coding.units, value)]
        )
        raise
    return describe(solution, plan, coding.units, value)
