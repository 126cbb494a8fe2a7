"""Rows on the workers of the current cluster of Dask, or in threads where there is none: tables or features.

A chunk is a tuple of `Part`s, and a pass one pure function of each chunk, then a tree of sums. Centres stay
where their rows are, and Dask computes again what is lost with a worker. Each pass is a round trip to the
cluster: one over a step knows all that may be wanted of it, slopes along it and what is at its end.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from itertools import chain, islice
from typing import Any, NamedTuple, Self

import dask
import numpy as np

from mercer._typing import Array
from mercer.solvers.newton.losses import Loss
from mercer.solvers.newton.rows import Look, Point, VectorRows, thin

FAN_IN = 16  # results that are added at a time
MOST_SAMPLED = 2**18  # rows that the driver's process solves for a start
FEW_SHARES = 2  # of a step that a line search asks for at once; a search for the intercept asks for more
MOST_NEAR = 4  # times the curved rows of a Newton step: so many travel to the driver at most
# Shares of a step at which a pass computes slopes, each for a twentieth of what the pass costs. They never
# decrease along a step: between two shares of one interval, where they change sign, a line will do.
SHARES = np.array([0.0, 0.02, 0.06, 0.15, 0.3, 0.5, 0.7, 0.85, 1.0])


class Part(NamedTuple):
    """Some rows of a chunk. Stored, y takes one byte."""

    columns: Any  # the codes of a table (D, n), or features (n, p)
    y: Any
    weight: Any


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


@dataclass(frozen=True)
class DaskRows(VectorRows):
    """Rows in chunks, each a lazy or persisted tuple of `Part`s. Values of functions stay with them."""

    shape: Any = None  # rows of the same kernel, none of them: a `TableRows` or `FeatureRows`
    chunks: Sequence[Any] = ()
    n_rows: int = 0
    C: float = 0.0
    centers: Sequence[Any] = ()  # for each chunk the centres of its parts
    known: dict[str, Any] = field(default_factory=dict, init=False, repr=False, compare=False)

    @classmethod
    def over(cls, shape: VectorRows, chunks: Sequence[Any], n_rows: int) -> Self:
        """Prepare the rows, which are of the kind of `shape`."""
        nothing = np.empty(0)
        rows = cls(shape.columns, nothing, nothing, shape=shape, chunks=chunks, n_rows=n_rows)
        return rows.measured(rows.moments(), n_rows)

    def moments(self) -> Any:
        """Return sums over all rows."""
        return self.add_up(type(self.shape).moments)

    def measured(self, moments: Any, n_rows: int) -> Self:
        """Fill in what all rows say of the kernel."""
        shape = self.shape.measured(moments, n_rows)
        return replace(self, shape=shape, diagonal=shape.diagonal)

    @property
    def most_curved(self) -> int:
        """Return about how many rows a Newton step uses."""
        return int(self.shape.most_curved)

    @property
    def one_thread(self) -> bool:
        """Return whether more threads would wait more than work."""
        return bool(self.shape.one_thread)

    @property
    def has_centers(self) -> bool:
        """Return whether the rows have centres."""
        return len(self.centers) > 0

    def with_penalty(self, loss: Loss, C: float, center: Any = None) -> Self:
        """Return the rows with penalties C × weight, and no centres."""
        return replace(self, loss=loss, C=C, centers=())

    def gather(self, columns: Any, coef: Any) -> Any:
        """Return the values at some rows that have come here."""
        return self.shape.gather(columns, coef)

    def scatter(self, columns: Any, v: Any) -> Any:
        """Return what v of some rows that have come here adds up to."""
        return self.shape.scatter(columns, v)

    def represent(self, sums: Any) -> Any:
        """Return the coefficients of the function of such sums."""
        return self.shape.represent(sums)

    def select(self, rows: Any) -> Any:
        """Return the columns of rows that are here: there are none."""
        return self.shape.select(rows)

    def zero(self) -> Point:
        """Return the function that is zero."""
        return self.at(self.shape.zero().coef, 0.0)

    def inner(self, a: Point, b: Point) -> float:
        """Return the inner product of two functions."""
        return float(self.shape.inner(a, b))

    def at(self, coef: Any, bias: float) -> Point:
        """Return the point of a function: its values stay with the rows."""
        return Point(coef, 0.0, bias)

    def newton_step(self, seen: Look, floor: float) -> Point:
        """Return the step to the minimum if the curvature stays."""
        step = self.shape.newton_step(seen._replace(near=self.shape.wrap(seen.near)), floor)
        return self.at(step.coef, step.bias)

    def sample(self, every: int) -> VectorRows:
        """Return one row in `every`, or fewer, in the memory of this process."""
        parts = chain(*_compute(self._over(list, sample, max(every, self.n_rows // MOST_SAMPLED))))
        columns, y, weight = zip(*parts, strict=True)
        together = self.shape.wrap(np.concatenate(columns, axis=self.shape.axis))
        rows: VectorRows = type(self.shape).of(together, np.concatenate(y), np.concatenate(weight))
        return rows

    def look(self, point: Point, stiffness: float, every: int, last: Look | None = None) -> Look:
        """Return the sums at a point, and some of the rows of positive curvature."""
        self.known["every"] = every
        known, seen = self.known.get("stride"), None
        if known is not None and known[2] == stiffness and _is_same(point, known[0].moved(known[1])):
            seen = known[3].end
        seen = seen or self.add_up(look_at_few, point, stiffness, every, self._share())
        return seen._replace(away=self.away(point, seen.sums))

    def slopes(self, point: Point, step: Point, stiffness: float, shares: Array) -> Array:
        """Return Σ_i c_i Δf_i at some shares of a step; those of a line search from one pass over it."""
        if self.loss.smooth or len(shares) > FEW_SHARES:
            sums: Array = self.add_up(VectorRows.slopes, point, step, stiffness, shares)
            return sums
        known = self.known.get("stride")
        if known is None or known[0] is not point or known[1] is not step or known[2] != stiffness:
            more = (self.known.get("every", 1), self._share())
            known = (point, step, stiffness, self.add_up(stride_along, point, step, stiffness, *more))
            self.known["stride"] = known
        return np.interp(shares, SHARES, known[3].slopes)

    def _share(self) -> float:
        """Return the share of all rows that may travel."""
        return MOST_NEAR * self.most_curved / self.n_rows

    def coef(self, point: Point, stiffness: float) -> Array:
        """Return none: they stay with the rows."""
        return np.empty(0)

    def recenter(self, point: Point, stiffness: float) -> Self:
        """Return the rows with their centres at the coefficients of a point."""
        return replace(self, centers=dask.persist(*self._over(list, VectorRows.coef, point, stiffness)))

    def add_up(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Return the sum of the function's results over the parts."""
        results = self._over(total, function, *arguments)
        while len(results) > 1:
            groups = (results[i : i + FAN_IN] for i in range(0, len(results), FAN_IN))
            results = [dask.delayed(total)(group) for group in groups]
        return _compute(results, *arguments)[0]

    def _over(self, gather: Callable[..., Any], function: Callable[..., Any], *arguments: Any) -> list[Any]:
        """Return, not computed yet, the function's results over each chunk, a list or their sum."""
        bare = replace(self.shape, coarsening=None, loss=self.loss)
        once = dask.delayed((bare, self.C, gather, function, arguments), traverse=False)  # for each worker
        centers = self.centers or [None] * len(self.chunks)
        return [dask.delayed(pass_over)(*both, once) for both in zip(self.chunks, centers, strict=True)]


def _compute(lazy: Sequence[Any], *about: Any) -> tuple[Any, ...]:
    """Compute what is lazy. Should that fail, the point that it was about is what is left of the fit."""
    try:
        return dask.compute(*lazy)
    except Exception as error:
        raise ClusterError(error, next((one for one in about if isinstance(one, Point)), None)) from error


def pass_over(chunk: Sequence[Part], centers: Sequence[Array] | None, shared: tuple[Any, ...]) -> Any:
    """Gather a function's results over the parts of a chunk, with the values of points at their rows."""
    bare, C, gather, function, arguments = shared

    def results() -> Any:
        for k, (columns, y, weight) in enumerate(chunk):
            rows = replace(bare, columns=bare.wrap(columns), y=y.astype(np.float64), weight=weight)
            if rows.loss is not None:
                rows = rows.with_penalty(rows.loss, C, *([] if centers is None else [centers[k]]))
            yield function(rows, *(rows.at(*a[::2]) if isinstance(a, Point) else a for a in arguments))

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
    near = np.concatenate([a.near, b.near], axis=a.coef)
    curvature = np.concatenate([a.curvature, b.curvature])
    return Look._make([None, *sums, near, curvature, a.coef, a.sums + b.sums])


def sample(rows: VectorRows, every: int) -> Part:
    """Return one row in `every`, each of as many times its weight."""
    chosen = thin(np.arange(rows.n_rows), every)
    return Part(rows.unwrap(rows.select(chosen)), rows.y[chosen], every * rows.weight[chosen])


def look_at_few(rows: VectorRows, point: Point, stiffness: float, every: int, share: float) -> Look:
    """Look at some rows, and keep of the curved ones about this share of all at most.

    The coefficients stay with the rows: in their place is the axis along which the curved ones are.
    """
    seen = rows.look(point, stiffness, every)
    n_near = len(seen.curvature)
    some = thin(np.arange(n_near), max(1, int(n_near / (share * rows.n_rows))))
    weight: Array = seen.curvature[some] * (n_near / max(len(some), 1))
    near = np.take(rows.unwrap(seen.near), some, axis=rows.axis)
    return seen._replace(away=None, near=near, curvature=weight, coef=rows.axis)


def stride_along(rows: VectorRows, point: Point, step: Point, stiffness: float, *few: Any) -> Stride:
    """Return what some rows add to a `Stride`, with some of the curved ones."""
    slopes = rows.slopes(point, step, stiffness, SHARES)
    return Stride(slopes, look_at_few(rows, point.moved(step), stiffness, *few))


def _is_same(a: Point, b: Point) -> bool:
    return a.bias == b.bias and np.array_equal(a.coef, b.coef)
