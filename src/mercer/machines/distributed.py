"""The fit to samples that are elsewhere: in chunks of rows, of a Dask array or DataFrame.

Dask computes each chunk twice. First it is looked at (`machines.chunks`): is anything wrong, which classes
are there, what is the mean of a target; and some rows are taken, which choose bins, or learn a kernel and are
its landmarks. Then its columns are computed where it is, the codes of a table or features, and stay on the
workers for all passes of the solver (`newton.dask_rows`).
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
from sklearn.base import clone, is_classifier
from sklearn.utils import compute_sample_weight, gen_batches
from sklearn.utils.multiclass import check_classification_targets

from mercer._typing import Array, Index
from mercer.learners.base import report_steps
from mercer.machines.additive import cap_bounds, choose_rows, finish
from mercer.machines.additive_samples import draw_directions, n_slices
from mercer.machines.chunks import RowChunks, as_numbers, check_chunk, check_features, split_rows
from mercer.machines.feature_samples import FeatureMap, count_landmarks
from mercer.machines.functions import AdditiveFunctions, KernelFunction, Units
from mercer.machines.labels import check_two_classes
from mercer.machines.losses import MachineLoss
from mercer.machines.problems import MAX_STEPS, How, Solved
from mercer.machines.rows_of import prepare
from mercer.machines.targets import TargetScaling
from mercer.scikit import CallbackContext
from mercer.solvers.newton import (
    HINGE,
    CodedColumns,
    FeatureRows,
    Loss,
    Solution,
    TableRows,
    VectorRows,
    bin_columns,
    choose_knots,
    solve_path,
)
from mercer.solvers.newton.dask_rows import ClusterError, DaskRows, Part
from mercer.validation import NO_NUMBERS, check_target, no_numbers

# Rows of a part, unless its table is large. Dask lets its workers give memory back to the system at once: the
# pages of arrays above 64 kB would take longer to get than what is in them to compute.
PART_ROWS = 2**13
ROWS_OF_A_BIN = 8  # at least, in a part
BLOCK = 2**22  # values of a part at most: 32 MB before they are codes
GROUPS = 2  # of chunks for each thread: each of their tasks takes a millisecond or two, in each pass
GROUP_ROWS = 2**22  # of a group at most, unless a chunk has more
HELD = 0.4  # of the workers' memory, that features of landmarks take: from a half on workers write to disk
NOTHING = np.empty(0, dtype=np.intp)
LEARNING_ROWS = 20_000  # that come to the driver to learn a kernel, and to choose C


class TableCoding(NamedTuple):
    """How samples become codes of a table."""

    units: Units
    knots: list[Array]
    directions: Array | None

    @classmethod
    def choose(cls, sample: Array, how: How) -> "TableCoding":
        """Choose units and bins on some rows, those that an array would take."""
        directions = None
        if how.method == "sliced":
            directions = draw_directions(sample.shape[1], n_slices(how, sample.shape[1]), how.seed)

        def columns() -> Iterable[Array]:  # projections one after another, as all of them may be too large
            return sample.T if directions is None else (sample @ theta for theta in directions.T)

        units = Units.of(np.array([[column.min(), column.max()] for column in columns()]).T)
        pairs = zip(columns(), units.offset, strict=True)
        knots = [choose_knots((column - low) / units.scale, int(how.max_bins or 0)) for column, low in pairs]
        return cls(units, knots, directions)

    @property
    def scale(self) -> float:
        """Return what multiplies C in the units of the solver."""
        return self.units.scale

    @property
    def part_rows(self) -> int:
        """Return the rows of a part."""
        most = max(PART_ROWS, ROWS_OF_A_BIN * max(map(len, self.knots)))
        return min(most, -(-BLOCK // len(self.knots)))

    def shape(self) -> VectorRows:
        """Return rows of this table, none of them."""
        empty = bin_columns(np.empty((0, len(self.knots))), self.knots)
        return TableRows(CodedColumns(empty.code, empty.value), np.empty(0), np.empty(0))

    def columns(self, X: Array) -> Array:
        """Return the codes of some rows."""
        Z = X if self.directions is None else X @ self.directions
        return np.ascontiguousarray(bin_columns(Z, self.knots, self.units.convert).code)

    def describe(self, solutions: Sequence[Solution]) -> AdditiveFunctions:
        """Return the machine of samples, from tables."""
        value = bin_columns(np.empty((0, len(self.knots))), self.knots).value
        fits = [finish(value, solution.function.coef, self.units, *solution[1:]) for solution in solutions]
        return AdditiveFunctions([fit.function for fit in fits], self.directions)


class FeatureCoding(NamedTuple):
    """How samples become features, in single precision: those of the kernel, or of landmarks."""

    map: FeatureMap
    n_features: int
    scale: float = 1.0  # what multiplies C in the units of the solver
    part_rows: int = PART_ROWS

    @classmethod
    def choose(cls, kernel: Any, sample: Array, n_rows: int, how: How) -> "FeatureCoding":
        """Draw landmarks from some rows, unless the kernel has features."""
        features, some = FeatureMap(kernel), sample
        if how.method == "landmarks":
            n = min(count_landmarks(n_rows, how.n_landmarks), len(sample), count_held(n_rows))
            some = sample[np.sort(np.random.default_rng(how.seed).choice(len(sample), n, replace=False))]
            features = FeatureMap.of_landmarks(kernel, some)
        centre = features(some).mean(axis=0)  # of some rows: single precision has more digits about zero
        return cls(features._replace(centre=centre), len(centre))

    def shape(self) -> VectorRows:
        """Return rows of these features, none of them."""
        return FeatureRows(np.empty((0, self.n_features), dtype=np.float32), np.empty(0), np.empty(0))

    def columns(self, X: Array) -> Array:
        """Return the features of some rows."""
        return (self.map(X) - self.map.centre).astype(np.float32)

    def describe(self, solutions: Sequence[Solution]) -> KernelFunction:
        """Return the machine of samples, from weights of features."""
        w = np.stack([solution.function.coef for solution in solutions], axis=1)
        return self.map.function(w, np.array([solution.bias for solution in solutions]))


class Problem(NamedTuple):
    """One class against another, or against all others."""

    positive: int
    negative: int | None
    totals: tuple[float, float]  # of the bounds of positive and of negative rows


def fit_chunks(
    machine: Any, X: Any, y: Any, sample_weight: Any, loss: MachineLoss, context: CallbackContext
) -> None:
    """Fit a classifier, or a regressor of one target, to samples in chunks."""
    X = check_features(machine, X, reset=True)
    chunks = split_rows(X, y, sample_weight)
    solve = _solve_classes if is_classifier(machine) else _solve_numbers
    machine._keep([solve(machine, chunks, loss, context)], NOTHING)


def _solve_classes(machine: Any, chunks: RowChunks, loss: MachineLoss, context: CallbackContext) -> Solved:
    summaries = look_at_chunks(machine, chunks, summarize_classes)
    classes, n_used, totals, class_weight = _count_classes(summaries, machine.class_weight)
    is_there = totals * class_weight > 0.0
    machine.classes_ = classes[is_there]
    check_two_classes(machine, machine.classes_)
    some = [summary for summary in summaries if len(summary.y)]
    labels = np.concatenate([summary.y for summary in some])
    known = np.isin(labels, machine.classes_)
    sample, given = (np.concatenate([summary[k] for summary in some])[known] for k in (5, 7))
    coding, C = choose_coding(machine, sample, labels[known], given, sum(chunks.lengths), loss)
    totals = (coding.scale * totals * class_weight)[is_there]
    machine._choose_scheme(can_be_joint=False)
    problems = _pose_problems(totals, machine._scheme)
    about = dask.delayed((coding, machine.classes_, class_weight[is_there]), traverse=False)
    coded = [dask.delayed(code_classes)(*chunk, about) for chunk in zip(*chunks[:3], strict=True)]
    if len(problems) > 1:
        coded = dask.persist(*coded)
    count, posed = n_used[:, is_there], []
    for problem in problems:
        own = [problem.positive] + ([] if problem.negative is None else [problem.negative])
        n_rows = count[:, own].sum(axis=1) if len(own) > 1 else count.sum(axis=1)
        posed.append((n_rows, _lazily(pose, coded, n_rows, problem, loss.solver is HINGE)))
    return solve_problems(machine, coding, posed, C, loss.solver, context)


def _solve_numbers(machine: Any, chunks: RowChunks, loss: MachineLoss, context: CallbackContext) -> Solved:
    summaries = look_at_chunks(machine, chunks, summarize_numbers)
    machine._scaling, machine._one_target = scale_target(summaries, loss.is_log), True
    sample, numbers, given = (np.concatenate([summary[k] for summary in summaries]) for k in (7, 8, 9))
    coding, C = choose_coding(machine, sample, numbers, given, sum(chunks.lengths), loss)
    about = dask.delayed((coding, machine._scaling), traverse=False)
    coded = [dask.delayed(code_numbers)(*chunk, about) for chunk in zip(*chunks[:3], strict=True)]
    n_used = np.array([summary.n_used for summary in summaries])
    posed = [(n_used, _lazily(_gather, coded, n_used))]
    return solve_problems(machine, coding, posed, C, loss.solver, context)


def choose_coding(
    machine: Any, sample: Array, y: Any, weight: Array, n_rows: int, loss: MachineLoss
) -> tuple[TableCoding | FeatureCoding, float]:
    """Learn the kernel, decide how to compute, and choose C if that is asked for, on some rows."""
    few = np.random.default_rng(0).permutation(len(sample))[:LEARNING_ROWS]
    (machine.kernel_, *_) = machine._kernels(sample[few], y[few], weight[few], {})
    shape = (max(n_rows, 10**9), sample.shape[1])  # whoever has chunks has many rows
    how, name, C = (
        machine._resolve(loss.solver, np.broadcast_to(0.0, shape)),
        type(machine).__name__,
        machine._penalty,
    )
    if how.method == "gram":
        raise ValueError(f"{name} computes no Gram matrix of Dask collections: set method='auto'.")
    if how.method in ("table", "sliced") and how.max_bins is None:
        raise ValueError(f"{name} needs bins for Dask collections: set max_bins, for example to 256.")
    if machine._selects:
        chosen = clone(machine).fit(sample[few], y[few], sample_weight=weight[few])
        machine.Cs_, machine.scores_, C, machine.kernel_ = (
            chosen.Cs_,
            chosen.scores_,
            chosen.C_,
            chosen.kernel_,
        )
    machine.C_ = float(C)
    if machine._is_relative:
        C = C / (prepare(machine.kernel_, sample[few], how).spread(weight[few]) or 1.0)
    if how.method in ("table", "sliced"):
        return TableCoding.choose(sample, how), float(C)
    return FeatureCoding.choose(machine.kernel_, sample, n_rows, how), float(C)


def _lazily(function: Callable[..., Any], coded: Sequence[Any], n_rows: Index, *about: Any) -> list[Any]:
    """Return, not computed yet, what a function makes of chunks, several together."""
    groups = group_chunks(n_rows, count_threads())
    return [dask.delayed(function)([coded[i] for i in group], *about) for group in groups]


def solve_problems(
    machine: Any,
    coding: TableCoding | FeatureCoding,
    posed: Sequence[tuple[Index, list[Any]]],
    C: float,
    loss: Loss,
    context: CallbackContext,
) -> Solved:
    """Fit one problem after another: each of them keeps all workers busy."""
    solutions: list[Solution] = []
    for k, (n_rows, chunks) in enumerate(posed):
        task = context.subcontext("problem", task_id=k, max_subtasks=None)
        task.call_on_fit_task_begin(estimator=machine)
        try:
            rows = DaskRows.over(coding.shape(), dask.persist(*chunks), int(n_rows.sum()))
            options = {"tol": float(machine.tol), "max_iter": machine.max_iter or MAX_STEPS}
            progress = report_steps(machine, task, "newton step")
            solutions += solve_path(rows, [C], loss, **options, progress=progress)
        except ClusterError as error:
            zero = coding.shape().zero()  # problems whose turn did not come are undecided
            points = [zero if error.point is None else error.point] + [zero] * (len(posed) - k - 1)
            rest = [Solution(p, p.bias, np.empty(0), np.nan, np.inf, 0) for p in points]
            error.model = copy(machine)
            error.model._keep([_describe(coding, [*solutions, *rest], machine.tol)], NOTHING)
            raise
        task.call_on_fit_task_end(estimator=machine)
    solved = _describe(coding, solutions, machine.tol)
    machine._warn_unless_done([solved])
    return solved


def _describe(coding: TableCoding | FeatureCoding, solutions: Sequence[Solution], tol: float) -> Solved:
    solved = Solved.of(coding.describe(solutions), NOTHING, np.empty((len(solutions), 0)), solutions, tol)
    return solved._replace(objective=solved.objective / coding.scale)


def look_at_chunks(machine: Any, chunks: RowChunks, summarize: Callable[..., Any]) -> list[Any]:
    """Return what there is to know of each chunk; raise if anything is wrong."""
    starts = np.cumsum([0, *chunks.lengths])
    rows = choose_rows(int(starts[-1]), machine._draw_seed())
    chosen = np.split(rows, np.searchsorted(rows, starts[1:-1]))
    chosen = [some - start for some, start in zip(chosen, starts, strict=False)]
    try:
        summaries = dask.compute(*map(dask.delayed(summarize), *chunks[:3], chosen))
    except ValueError as error:
        raise (no_numbers(machine, str(error)) if str(error).startswith(NO_NUMBERS) else error) from None
    for start, summary in zip(starts, summaries, strict=False):
        if summary.fault is not None:
            row, what = summary.fault
            what = what.format(row=start + row)
            raise no_numbers(machine, what) if what.startswith(NO_NUMBERS) else ValueError(f"{what}.")
    return list(summaries)


class ClassSummary(NamedTuple):
    """What is to be known of a chunk of classes before a fit."""

    fault: tuple[int, str] | None  # the first row that is wrong, and how
    classes: NDArray[Any]
    n_rows: Index  # of each class
    n_used: Index  # of positive weight
    weight: Array  # of each class
    X: Array  # some samples of positive weight, …
    y: NDArray[Any]
    given: Array  # … and their weights


def summarize_classes(X: Any, y: Any, weight: Any, rows: Index) -> ClassSummary:
    """Look at a chunk, and take some of its rows."""
    X, y, weight, fault = check_chunk(X, y, weight)
    if fault is not None:
        y, weight, X, rows = y[:0], weight[:0], X[:0], rows[:0]
    used = weight > 0.0
    classes, place = np.unique(y, return_inverse=True)
    if classes.dtype.kind == "f" and len(classes):
        check_classification_targets(classes)
    n_rows, n_used = (np.bincount(p, minlength=len(classes)) for p in (place, place[used]))
    rows = np.flatnonzero(used)[np.unique(rows * int(used.sum()) // max(len(X), 1))]  # as many of those used
    total: Array = np.bincount(place, weight, minlength=len(classes)).astype(np.float64)
    return ClassSummary(fault, classes, n_rows, n_used, total, X[rows], y[rows], weight[rows])


def _count_classes(
    summaries: Sequence[ClassSummary], weighting: Any
) -> tuple[NDArray[Any], Index, Array, Array]:
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


def _pose_problems(totals: Array, scheme: str) -> list[Problem]:
    """Return the two-class problems, in the order of `machines.multiclass`."""
    if len(totals) > 2 and scheme == "ovr":
        return [Problem(k, None, (totals[k], totals.sum() - totals[k])) for k in range(len(totals))]
    return [Problem(b, a, (totals[b], totals[a])) for a, b in combinations(range(len(totals)), 2)]


def code_classes(X: Any, y: Any, weight: Any, about: tuple[Any, NDArray[Any], Array]) -> tuple[Part, ...]:
    """Compute the columns of a chunk, part by part; the y of a part is the number of the class."""
    (coding, classes, class_weight), X, y = about, as_numbers(X), np.asarray(y)
    label = np.searchsorted(classes, y)
    label[classes.take(label, mode="clip") != y] = -1
    weight = np.ones(len(X)) if weight is None else np.asarray(weight, dtype=np.float64)
    bound = coding.scale * (weight * class_weight[label])
    rows = np.flatnonzero((label >= 0) & (weight > 0.0))
    return code_rows(X, label.astype(np.min_scalar_type(len(classes))), bound, rows, coding)


def code_rows(X: Array, y: Array, bound: Array, rows: Index, coding: Any) -> tuple[Part, ...]:
    """Compute the columns of some rows, part by part."""
    batches = (rows[batch] for batch in gen_batches(len(rows), coding.part_rows)) if len(rows) else ()
    return tuple(Part(coding.columns(X[some]), y[some], bound[some]) for some in batches)


def pose(chunks: Sequence[Sequence[Part]], problem: Problem, capped: bool) -> tuple[Part, ...]:
    """Return the rows of a two-class problem, of y = ±1, as one chunk."""
    parts = []
    for columns, label, bound in chain(*chunks):
        is_in = (label == problem.positive) | (problem.negative is None or label == problem.negative)
        if not np.all(is_in):
            columns = columns[:, is_in] if columns.shape[0] != len(label) else columns[is_in]
            label, bound = label[is_in], bound[is_in]
        y = np.where(label == problem.positive, 1, -1).astype(np.int8)
        bound = cap_bounds(label == problem.positive, bound, *problem.totals) if capped else bound
        if len(y):
            parts.append(Part(np.ascontiguousarray(columns), y, bound))
    return tuple(parts)


class NumberSummary(NamedTuple):
    """What is to be known of a chunk of numbers before a fit. Moments are of rows of positive weight."""

    fault: tuple[int, str] | None  # the first row that is wrong, and how
    n_used: int
    total: float  # of the weights
    mean: float
    square: float  # Σ of squared differences from the mean
    ends: tuple[float, float]  # the least and the largest number
    least: float  # of all numbers
    X: Array  # some samples, …
    y: Array
    given: Array  # … and their weights


def summarize_numbers(X: Any, y: Any, weight: Any, rows: Index) -> NumberSummary:
    """Look at a chunk, and take some of its rows."""
    X, y, weight, fault = check_chunk(X, y, weight)
    used = np.flatnonzero(weight > 0.0)
    if fault is not None or len(used) == 0:
        return NumberSummary(
            fault, 0, 0.0, 0.0, 0.0, (np.inf, -np.inf), np.inf, X[:0], np.empty(0), np.empty(0)
        )
    y = check_target(y)
    some = used[np.unique(rows * len(used) // len(X))]  # as many of those used
    given = weight[some]
    least, mine, weight = float(y.min()), y[used], weight[used]
    mean = float(np.average(mine, weights=weight))
    square = float(weight @ (mine - mean) ** 2)
    ends = float(mine.min()), float(mine.max())
    return NumberSummary(
        None, len(used), float(weight.sum()), mean, square, ends, least, X[some], y[some], given
    )


def scale_target(summaries: Sequence[NumberSummary], is_log: bool) -> TargetScaling:
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


def code_numbers(X: Any, y: Any, weight: Any, about: tuple[Any, TargetScaling]) -> tuple[Part, ...]:
    """Compute the columns of a chunk, part by part."""
    (coding, scaling), X = about, as_numbers(X)
    weight = np.ones(len(X)) if weight is None else np.asarray(weight, dtype=np.float64)
    values, bound = scaling.convert(np.asarray(y, dtype=np.float64), weight)
    return code_rows(X, values, coding.scale * bound, np.flatnonzero(weight > 0.0), coding)


def _gather(chunks: Sequence[Sequence[Part]]) -> tuple[Part, ...]:
    """Return some chunks as one."""
    return tuple(chain(*chunks))


def count_held(n_rows: int) -> int:
    """Return how many landmarks' features the workers have memory for; without a cluster, any number."""
    try:
        workers = import_module("distributed").get_client().scheduler_info()["workers"].values()
    except (ImportError, ValueError):  # there is none
        return n_rows
    room = sum(int(worker["memory_limit"]) for worker in workers)  # zero is no limit
    return max(1, int(HELD * room / (4 * n_rows))) if room else n_rows


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
