"""The fit to samples that are elsewhere: in chunks of rows, of a Dask array or DataFrame.

Dask computes each chunk twice. First it is looked at (`svm.chunks`): is anything wrong, which classes are
there; and some rows are taken, on which the bins are chosen. Then it is put into bins, one byte a value.
These stay on the workers for all passes of the solver (`stump_svm.dask_rows`).
"""

from collections.abc import Callable, Iterable, Sequence
from copy import copy
from importlib import import_module
from itertools import chain, combinations
from typing import Any, NamedTuple

import dask
import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray
from sklearn.callback import CallbackContext
from sklearn.utils import compute_sample_weight, gen_batches

from mercer._typing import Array, Index
from mercer.learners.base import report_steps
from mercer.solvers.stump_svm import (
    HINGE,
    Point,
    Solution,
    bin_columns,
    choose_knots,
    solve_path,
)
from mercer.solvers.stump_svm.dask_rows import ClusterError, DaskRows, Part
from mercer.svm.additive import MAX_STEPS, Units, cap_bounds, choose_rows, finish
from mercer.svm.base import check_two_classes
from mercer.svm.chunks import RowChunks, Summary, as_numbers, check_features, split_rows, summarize
from mercer.svm.dual import TablePlan, TwoClassSVM
from mercer.validation import NO_NUMBERS, no_numbers

# Rows of a part, unless its table is large. Dask lets its workers give memory back to the system at once: the
# pages of arrays above 64 kB would take longer to get than what is in them to compute.
PART_ROWS = 2**13
ROWS_OF_A_BIN = 8  # at least, in a part
BLOCK = 2**22  # values of a part at most: 32 MB before they are codes
GROUPS = 2  # of chunks for each thread: each of their tasks takes a millisecond or two, in each pass
GROUP_ROWS = 2**22  # of a group at most, unless a chunk has more


class Coding(NamedTuple):
    """How samples become codes, labels numbers, and weights bounds."""

    classes: NDArray[Any]
    class_weight: Array
    units: Units
    knots: list[Array]
    directions: Array | None


class Problem(NamedTuple):
    """One class against another, or against all others."""

    positive: int
    negative: int | None
    totals: tuple[float, float]  # of the bounds of positive and of negative rows


def fit_chunks(svm: Any, X: Any, y: Any, sample_weight: Any, context: CallbackContext) -> list[TwoClassSVM]:
    """Fit all two-class problems of an SVM to samples in chunks, and set its `classes_`."""
    X = check_features(svm, X, reset=True)
    plan: TablePlan = svm._table(svm.n_features_in_)
    chunks = split_rows(X, y, sample_weight)
    summaries = look_at_chunks(svm, chunks, summarize)
    classes, n_used, totals, class_weight = _count_classes(summaries, svm.class_weight)
    is_there = totals * class_weight > 0.0
    svm.classes_ = classes[is_there]
    check_two_classes(svm, svm.classes_)
    coding = _choose_coding(svm, summaries, class_weight[is_there], plan)
    totals = (coding.units.scale * totals * class_weight)[is_there]
    problems = _pose_problems(totals, svm._scheme)
    shared = dask.delayed(coding, traverse=False)
    coded = [dask.delayed(code_rows)(*chunk, shared) for chunk in zip(*chunks[:3], strict=True)]
    if len(problems) > 1:
        coded = dask.persist(*coded)
    return _fit_problems(svm, plan, coding, problems, coded, n_used[:, is_there], context)


def look_at_chunks(svm: Any, chunks: RowChunks, summarize: Callable[..., Any]) -> list[Any]:
    """Return what there is to know of each chunk; raise if anything is wrong."""
    starts = np.cumsum([0, *chunks.lengths])
    rows = choose_rows(int(starts[-1]), svm._seed)
    chosen = np.split(rows, np.searchsorted(rows, starts[1:-1]))
    chosen = [some - start for some, start in zip(chosen, starts, strict=False)]
    try:
        summaries = dask.compute(*map(dask.delayed(summarize), *chunks[:3], chosen))
    except ValueError as error:
        raise (no_numbers(svm, str(error)) if str(error).startswith(NO_NUMBERS) else error) from None
    for start, summary in zip(starts, summaries, strict=False):
        if summary.fault is not None:
            row, what = summary.fault
            what = what.format(row=start + row)
            raise no_numbers(svm, what) if what.startswith(NO_NUMBERS) else ValueError(f"{what}.")
    return list(summaries)


def _count_classes(summaries: Sequence[Summary], weighting: Any) -> tuple[NDArray[Any], Index, Array, Array]:
    """Return all classes, the rows of each chunk that count, all weights, and the weights of the classes."""
    some = [summary.classes for summary in summaries if len(summary.classes)]
    classes = np.unique(np.concatenate(some)) if some else np.empty(0)
    n_rows, n_used, totals = (np.zeros((len(summaries), len(classes))) for _ in range(3))
    for k, summary in enumerate(summaries):
        place = np.searchsorted(classes, summary.classes)
        n_rows[k, place], n_used[k, place], totals[k, place] = summary[2:5]
    count = n_rows.sum(axis=0)
    if weighting is None:
        class_weight = np.ones(len(classes))
    elif isinstance(weighting, str) and weighting == "balanced":
        class_weight = count.sum() / (len(classes) * count)
    else:
        class_weight = compute_sample_weight(weighting, classes)
    return classes, n_used.astype(np.intp), totals.sum(axis=0), class_weight


def _choose_coding(svm: Any, summaries: Sequence[Summary], class_weight: Array, plan: TablePlan) -> Coding:
    """Choose units and bins on some rows, those that `StumpSVC` would take from an array."""
    some = [summary for summary in summaries if len(summary.y)]
    known = np.isin(np.concatenate([summary.y for summary in some]), svm.classes_)
    sample = np.concatenate([summary.X for summary in some])[known]
    return Coding(svm.classes_, class_weight, *choose_bins(sample, plan, int(svm.max_bins)), plan.directions)


def choose_bins(sample: Array, plan: TablePlan, max_bins: int) -> tuple[Units, list[Array]]:
    """Choose units and bins on some rows."""
    units = Units.of(np.array([[column.min(), column.max()] for column in _columns(sample, plan)]).T)
    knots = [
        choose_knots((column - offset) / units.scale, max_bins)
        for column, offset in zip(_columns(sample, plan), units.offset, strict=True)
    ]
    return units, knots


def _columns(sample: Array, plan: TablePlan) -> Iterable[Array]:
    """Return the columns of some samples; projections one after another, as all of them may be too large."""
    return sample.T if plan.directions is None else (sample @ theta for theta in plan.directions.T)


def _pose_problems(totals: Array, scheme: str) -> list[Problem]:
    """Return the two-class problems, in the order of `svm.multiclass`."""
    if len(totals) > 2 and scheme == "ovr":
        return [Problem(k, None, (totals[k], totals.sum() - totals[k])) for k in range(len(totals))]
    return [Problem(b, a, (totals[b], totals[a])) for a, b in combinations(range(len(totals)), 2)]


def code_rows(X: Any, y: Any, weight: Any, coding: Coding) -> tuple[Part, ...]:
    """Put a chunk into bins, part by part; the y of a part is the number of the class."""
    X, y = as_numbers(X), np.asarray(y)
    label = np.searchsorted(coding.classes, y)
    label[coding.classes.take(label, mode="clip") != y] = -1
    weight = np.ones(len(X)) if weight is None else np.asarray(weight, dtype=np.float64)
    bound = coding.units.scale * (weight * coding.class_weight[label])
    rows = np.flatnonzero((label >= 0) & (weight > 0.0))
    kind = np.min_scalar_type(len(coding.classes))
    return put_into_bins(X, label.astype(kind), bound, rows, coding)


def put_into_bins(X: Array, y: Array, bound: Array, rows: Index, coding: Any) -> tuple[Part, ...]:
    """Put some rows into bins, part by part. The coding has `units`, `knots` and `directions`."""
    most = max(PART_ROWS, ROWS_OF_A_BIN * max(map(len, coding.knots)))
    parts = []
    for batch in gen_batches(len(rows), min(most, -(-BLOCK // len(coding.knots)))):
        some = rows[batch]
        Z = X[some] if coding.directions is None else X[some] @ coding.directions
        code = bin_columns(Z, coding.knots, coding.units.convert).code
        parts.append(Part(code, y[some], bound[some]))
    return tuple(parts)


def pose(chunks: Sequence[Sequence[Part]], problem: Problem, capped: bool) -> tuple[Part, ...]:
    """Return the rows of a two-class problem, of y = ±1, as one chunk."""
    parts = []
    for code, label, bound in chain(*chunks):
        is_in = (label == problem.positive) | (problem.negative is None or label == problem.negative)
        if not np.all(is_in):
            code, label, bound = code[:, is_in], label[is_in], bound[is_in]
        y = np.where(label == problem.positive, 1, -1).astype(np.int8)
        bound = cap_bounds(label == problem.positive, bound, *problem.totals) if capped else bound
        if len(y):
            parts.append(Part(np.ascontiguousarray(code), y, bound))
    return tuple(parts)


def _fit_problems(
    svm: Any,
    plan: TablePlan,
    coding: Coding,
    problems: Sequence[Problem],
    coded: Sequence[Any],
    n_used: Index,
    context: CallbackContext,
) -> list[TwoClassSVM]:
    """Fit one problem after another: each of them keeps all workers busy."""
    value = bin_columns(np.empty((0, len(coding.knots))), coding.knots).value
    fits: list[TwoClassSVM] = []
    for k, problem in enumerate(problems):
        task = context.subcontext("two-class problem", task_id=k, max_subtasks=None)
        task.call_on_fit_task_begin(estimator=svm)
        count = n_used.sum(axis=1)
        if problem.negative is not None:
            count = n_used[:, problem.positive] + n_used[:, problem.negative]
        groups = group_chunks(count, count_threads())
        chunks = [
            dask.delayed(pose)([coded[i] for i in group], problem, plan.loss is HINGE) for group in groups
        ]
        try:
            rows = DaskRows.over(value, dask.persist(*chunks), int(count.sum()))
            options = {"tol": float(svm.tol), "max_iter": svm.max_iter or MAX_STEPS}
            progress = report_steps(svm, task, "newton step")
            (solution,) = solve_path(rows, [float(svm.C)], plan.loss, **options, progress=progress)
        except ClusterError as error:
            error.model = _unfinished(svm, fits, error.point, plan, coding, value, len(problems))
            raise
        fits.append(describe(solution, plan, coding.units, value))
        task.call_on_fit_task_end(estimator=svm)
    return fits


def count_threads() -> int:
    """Return the threads of the current cluster, or of this machine."""
    try:
        return sum(import_module("distributed").get_client().nthreads().values())
    except (ImportError, ValueError):  # there is none
        return effective_n_jobs(-1)


def group_chunks(n_rows: Index, n_threads: int) -> list[Index]:
    """Return which chunks, of those that have rows, go together: neighbours, of about equal sums."""
    end = np.cumsum(n_rows)
    n_groups = max(GROUPS * n_threads, -(-int(end[-1]) // GROUP_ROWS))
    number = np.minimum((end - n_rows / 2) * n_groups // end[-1], n_groups - 1)
    return [rows for k in np.unique(number) if len(rows := np.flatnonzero((number == k) & (n_rows > 0)))]


def describe(solution: Solution, plan: TablePlan, units: Units, value: Array) -> TwoClassSVM:
    """Return a machine of samples, from its table."""
    fit = finish(value, solution.function.coef, units, solution)
    return fit if plan.wrap is None else fit._replace(function=plan.wrap(fit.function))


def _unfinished(
    svm: Any,
    fits: list[TwoClassSVM],
    point: Point | None,
    plan: TablePlan,
    coding: Coding,
    value: Array,
    n_problems: int,
) -> Any:
    """Return the SVM as far as it is fitted: problems whose turn did not come are undecided."""
    zero = Point(np.zeros_like(value), 0.0)
    points = [zero if point is None else point] + [zero] * (n_problems - len(fits) - 1)
    ends = [Solution(p, p.bias, np.empty(0), np.nan, np.inf, 0) for p in points]
    rest = [describe(end, plan, coding.units, value) for end in ends]
    model = copy(svm)
    model._keep_functions([*fits, *rest])
    return model
