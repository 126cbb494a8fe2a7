"""The engine for Dask: rows on the workers of the current cluster, or in threads where there is none.

A chunk is a tuple of `Part`s, and a pass one pure function of each chunk, then a tree of sums. Centres stay
where their rows are. They are a pure function of the chunk and of the centres before them, so that Dask
computes again what is lost with a worker.

Each pass is a round trip to the cluster, and the line searches of a fit would take most of them. One pass
over a step is therefore asked for all that may be wanted of it: slopes along it, and the look at its end.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from itertools import chain, islice
from typing import Any, NamedTuple, Self

import dask
import numpy as np

from mercer._typing import Array
from mercer.solvers.stump_svm.losses import Rounding
from mercer.solvers.stump_svm.products import CodedColumns
from mercer.solvers.stump_svm.rows import Look, Point, thin
from mercer.solvers.stump_svm.tables import TableRows

FAN_IN = 16  # results that are added at a time
MOST_SAMPLED = 2**18  # rows that the driver's process solves for a start
FEW_SHARES = 2  # of a step that a line search asks for at once; a search for the intercept asks for more
MOST_NEAR = 4  # times the curved rows of a Newton step: so many travel to the driver at most


# Shares of a step at which a pass computes slopes, each for a twentieth of what the pass costs. They never
# decrease along a step: between two shares of one interval, where they change sign, a line will do.
SHARES = np.array([0.0, 0.02, 0.06, 0.15, 0.3, 0.5, 0.7, 0.85, 1.0])


class Stride(NamedTuple):
    """What a pass over the rows adds up along a step."""

    slopes: Array  # Σ_i c_i Δf_i at `SHARES` of it
    end: Look  # what is there to see after all of it


class ClusterError(ConnectionError):
    """A pass over the rows failed, for example as the scheduler is gone."""

    model: Any = None  # an estimator that predicts, from where the solver was

    def __init__(self, error: Exception, point: Point | None) -> None:
        super().__init__(
            f"A pass over the rows on the cluster failed ({type(error).__name__}: {error}). What was learned "
            "so far is the attribute `model` of this error."
        )
        self.point = point


class Part(NamedTuple):
    """Some rows of a chunk. Stored, y takes one byte."""

    code: Any  # (D, n)
    y: Any
    weight: Any


@dataclass(frozen=True)
class DaskRows(TableRows):
    """Rows in chunks, each a lazy or persisted tuple of `Part`s. Values of functions stay with them."""

    chunks: Sequence[Any] = ()
    n_rows: int = 0
    penalty: tuple[Any, ...] = ()  # the loss and C
    centers: Sequence[Any] = ()  # for each chunk the centres of its parts
    known: dict[str, Any] = field(default_factory=dict, init=False, repr=False, compare=False)

    @classmethod
    def over(cls, value: Array, chunks: Sequence[Any], n_rows: int) -> Self:
        """Prepare the rows, whose codes are about these values."""
        rows = cls(CodedColumns(np.empty(0), value), 0.0, None, chunks=chunks, n_rows=n_rows)
        return rows.measured(rows.add_up(count, None))

    @property
    def has_centers(self) -> bool:
        """Return whether the rows have centres."""
        return len(self.centers) > 0

    def with_penalty(self, loss: Any, C: float, center: Any = None) -> Self:
        """Return the rows with penalties C × weight, and no centres."""
        return replace(self, penalty=(loss, C), centers=())

    def gather(self, table: Array) -> Any:
        """Return nothing: values stay with the rows."""
        return 0.0

    def sample(self, every: int) -> TableRows:
        """Return one row in `every`, or fewer, in the memory of this process."""
        parts = chain(*_compute(self._over(list, sample, max(every, self.n_rows // MOST_SAMPLED)), None))
        code, y, weight = (np.concatenate(arrays, axis=-1) for arrays in zip(*parts, strict=True))
        return TableRows.of(CodedColumns(code, self.value), y, weight)

    def look(self, point: Point, loss: Any, term: Rounding, every: int, last: Look | None = None) -> Look:
        """Return the sums at a point, and some of the rows of positive curvature."""
        self.known["every"] = every
        known = self.known.get("stride")
        if known is not None and known[2] == term and _is_same(point, known[0].moved(known[1])):
            seen: Look = known[3].end
        else:
            seen = self.add_up(look_at_few, point, loss, term, every, self._share())
        return seen._replace(away=self.away(point, seen.sums))

    def slopes(self, point: Point, step: Point, loss: Any, term: Rounding, shares: Array) -> Array:
        """Return Σ_i c_i Δf_i at some shares of a step; those of a line search from one pass over it."""
        if loss.smooth or len(shares) > FEW_SHARES:
            sums: Array = self.add_up(slopes_at, point, step, loss, term, shares)
            return sums
        known = self.known.get("stride")
        if known is None or known[0] is not point or known[1] is not step or known[2] != term:
            arguments = (point, step, loss, term, self.known.get("every", 1), self._share())
            known = self.known["stride"] = (point, step, term, self.add_up(stride_along, *arguments))
        return np.interp(shares, SHARES, known[3].slopes)

    def _share(self) -> float:
        """Return the share of all rows that may travel."""
        return MOST_NEAR * self.most_curved / self.n_rows

    def coef(self, point: Point, loss: Any, term: Rounding) -> Array:
        """Return none: they stay with the rows."""
        return np.empty(0)

    def recenter(self, point: Point, loss: Any, term: Rounding) -> Self:
        """Return the rows with their centres at the coefficients of a point."""
        return replace(self, centers=dask.persist(*self._over(list, coef_at, point, loss, term)))

    def add_up(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Return the sum of the function's results over the parts."""
        results = self._over(total, function, *arguments)
        while len(results) > 1:
            groups = (results[i : i + FAN_IN] for i in range(0, len(results), FAN_IN))
            results = [dask.delayed(total)(group) for group in groups]
        return _compute(results, arguments[0])[0]

    def _over(self, gather: Callable[..., Any], function: Callable[..., Any], *arguments: Any) -> list[Any]:
        """Return, not computed yet, the function's results over each chunk, a list or their sum."""
        shared = (self.value, gather, function, arguments, self.penalty)
        once = dask.delayed(shared, traverse=False)  # for each worker
        centers = self.centers or [None] * len(self.chunks)
        return [dask.delayed(pass_over)(*both, once) for both in zip(self.chunks, centers, strict=True)]


def _compute(lazy: Sequence[Any], point: Any) -> tuple[Any, ...]:
    """Compute what is lazy. Should that fail, the point that it was about is what is left of the fit."""
    try:
        return dask.compute(*lazy)
    except Exception as error:
        raise ClusterError(error, point if isinstance(point, Point) else None) from error


def pass_over(chunk: Sequence[Part], centers: Sequence[Array] | None, shared: tuple[Any, ...]) -> Any:
    """Gather a function's results over the parts of a chunk."""
    value, gather, function, arguments, penalty = shared

    def results() -> Any:
        for k, (code, y, weight) in enumerate(chunk):
            rows = TableRows(CodedColumns(code, value), y.astype(np.float64), weight)
            if penalty:
                loss, C = penalty
                rows = rows.with_penalty(loss, C, None if centers is None else centers[k])
            yield function(rows, *arguments)

    return gather(results())


def total(results: Any) -> Any:
    """Return the sum, of a few at a time: rows that are put together are not copied again for each part."""
    some = iter(results)
    batches = iter(lambda: list(islice(some, FAN_IN)), [])
    return reduce(_add, (reduce(_add, batch) for batch in batches))


def _add(a: Any, b: Any) -> Any:
    if isinstance(a, Stride):
        return Stride(a.slopes + b.slopes, _add(a.end, b.end))
    if not isinstance(a, Look):
        return a + b
    sums = [of_a + of_b for of_a, of_b in zip(a[1:6], b[1:6], strict=True)]
    near, curvature = (np.concatenate(both, axis=-1) for both in zip(a[6:8], b[6:8], strict=True))
    return Look._make([None, *sums, near, curvature, None, a.sums + b.sums])


def count(rows: TableRows, _: None) -> Array:
    """Return the number of rows at each value of each feature."""
    number: Array = rows.count()
    return number


def sample(rows: TableRows, every: int) -> Part:
    """Return one row in `every`, each of as many times its weight."""
    some = rows.sample(every)
    return Part(some.columns.code, some.y, some.weight)


def look_at_few(rows: TableRows, point: Point, loss: Any, term: Rounding, every: int, share: float) -> Look:
    """Look at some rows, and keep of the curved ones about this share of all at most."""
    return _keep_few(rows.look(_at(rows, point), loss, term, every), share * rows.n_rows)


def stride_along(
    rows: TableRows, point: Point, step: Point, loss: Any, term: Rounding, every: int, share: float
) -> Stride:
    """Return what some rows add to a `Stride`, with some of the curved ones."""
    point, step = _at(rows, point), _at(rows, step)
    end = rows.look(point.moved(step), loss, term, every)
    return Stride(rows.slopes(point, step, loss, term, SHARES), _keep_few(end, share * rows.n_rows))


def _keep_few(seen: Look, most: float) -> Look:
    """Keep about so many of the curved rows at most."""
    n_near = len(seen.curvature)
    rows = thin(np.arange(n_near), max(1, int(n_near / most)))
    weight: Array = seen.curvature[rows] * (n_near / max(len(rows), 1))
    return seen._replace(away=None, near=seen.near[:, rows], curvature=weight, coef=None)


def _is_same(a: Point, b: Point) -> bool:
    return a.bias == b.bias and np.array_equal(a.function.coef, b.function.coef)


def slopes_at(rows: TableRows, point: Point, step: Point, *arguments: Any) -> Array:
    """Return what some rows add to Σ_i c_i Δf_i, at some shares of a step."""
    return rows.slopes(_at(rows, point), _at(rows, step), *arguments)


def coef_at(rows: TableRows, point: Point, loss: Any, term: Rounding) -> Array:
    """Return the coefficients of some rows."""
    coef: Array = rows.coef(_at(rows, point), loss, term)
    return coef


def _at(rows: TableRows, point: Point) -> Point:
    """Return the point with its values at some rows."""
    return rows.at(point.function.coef, point.bias)
