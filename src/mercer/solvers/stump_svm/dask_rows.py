"""The engine for Dask: rows on the workers of the current cluster, or in threads where there is none.

A chunk is a tuple of parts as `stump_svm.tables` has them, and a pass one pure function of each chunk, then a
tree of sums. Centres stay where their rows are. They are a pure function of the chunk and of the centres
before them, so that Dask computes again what is lost with a worker.

Each pass is a round trip to the cluster, and the line searches of a fit would take most of them. One pass
over a step is therefore asked for all that may be wanted of it: slopes along it, and the look at its end.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from itertools import chain, islice
from operator import add
from typing import Any, NamedTuple, Self

import dask
import numpy as np

from mercer._typing import Array
from mercer.solvers.stump_svm.losses import Rounding
from mercer.solvers.stump_svm.products import CodedColumns
from mercer.solvers.stump_svm.rows import Look, Point, thin
from mercer.solvers.stump_svm.tables import Part, PartLook, TableRows, look_at, respond, set_penalty

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
    end: PartLook  # what is there to see after all of it

    def __add__(self, other: Any) -> "Stride":
        """Add what another part of the rows has."""
        return Stride(self.slopes + other.slopes, self.end + other.end)


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
class DaskRows(TableRows):
    """The rows of one problem: each of `parts` is a lazy or persisted tuple of `Part`s."""

    penalty: tuple[Any, ...] = ()  # the loss and C
    centers: Sequence[Any] = ()  # for each chunk the centres of its parts
    known: dict[str, Any] = field(default_factory=dict, init=False, repr=False, compare=False)

    @property
    def has_centers(self) -> bool:
        """Return whether the rows have centres."""
        return len(self.centers) > 0

    def with_penalty(self, loss: Any, C: float, centers: Sequence[Any] | None = None) -> Self:
        """Return the rows with penalties C × weight, and no centres."""
        return replace(self, penalty=(loss, C), centers=())

    def sample(self, every: int) -> TableRows:  # type: ignore[override]
        """Return one row in `every`, or fewer, in the memory of this process."""
        lazy = self._over(list, Part.sample, max(every, self.n_rows // MOST_SAMPLED))
        parts = list(chain(*_compute(lazy, None)))
        code, y, weight = (np.concatenate([part[k] for part in parts], axis=-1) for k in range(3))
        return TableRows.of(CodedColumns(code, self.value), y, weight)

    def look(self, point: Point, loss: Any, term: Rounding, every: int) -> Look:
        """Return the sums at a point, and some of the rows of positive curvature."""
        self.known["every"] = every
        known = self.known.get("stride")
        if known is not None and known[2] == term and _is_same(point, known[0].moved(known[1])):
            return self.sum_up(point, known[3].end)
        return self.sum_up(point, self.add_up(look_at_few, point, loss, term, every, self._share()))

    def slopes(self, point: Point, step: Point, loss: Any, term: Rounding, shares: Array) -> Array:
        """Return Σ_i c_i Δf_i at some shares of a step; those of a line search from one pass over it."""
        if loss.smooth or len(shares) > FEW_SHARES:
            return super().slopes(point, step, loss, term, shares)
        known = self.known.get("stride")
        if known is None or known[0] is not point or known[1] is not step or known[2] != term:
            arguments = (point, step, loss, term, self.known.get("every", 1), self._share())
            known = self.known["stride"] = (point, step, term, self.add_up(stride_along, *arguments))
        return np.interp(shares, SHARES, known[3].slopes)

    def _share(self) -> float:
        """Return the share of all rows that may travel."""
        return MOST_NEAR * self.most_curved / self.n_rows

    def coefs(self, point: Point, loss: Any, term: Rounding) -> list[Any]:
        """Return none: they stay with the rows."""
        return []

    def recenter(self, point: Point, loss: Any, term: Rounding) -> Self:
        """Return the rows with their centres at the coefficients of a point."""
        return replace(self, centers=dask.persist(*self._over(list, coef_of, point, loss, term)))

    def add_up(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Return the sum of the function's results over the parts."""
        results = self._over(total, function, *arguments)
        while len(results) > 1:
            groups = (results[i : i + FAN_IN] for i in range(0, len(results), FAN_IN))
            results = [dask.delayed(total)(group) for group in groups]
        return _compute(results, arguments[0])[0]

    def _over(self, gather: Callable[..., Any], function: Callable[..., Any], *arguments: Any) -> list[Any]:
        """Return, not computed yet, the function's results over each chunk, a list or their sum."""
        shared = dask.delayed((gather, function, arguments, self.penalty), traverse=False)  # once a worker
        centers = self.centers or [None] * len(self.parts)
        return [dask.delayed(pass_over)(*both, shared) for both in zip(self.parts, centers, strict=True)]


def _compute(lazy: Sequence[Any], point: Any) -> tuple[Any, ...]:
    """Compute what is lazy. Should that fail, the point that it was about is what is left of the fit."""
    try:
        return dask.compute(*lazy)
    except Exception as error:
        raise ClusterError(error, point if isinstance(point, Point) else None) from error


def pass_over(chunk: Sequence[Part], centers: Sequence[Array] | None, shared: tuple[Any, ...]) -> Any:
    """Gather a function's results over the parts of a chunk."""
    gather, function, arguments, penalty = shared
    return gather(
        function(_unfold(part, penalty, centers and centers[k]), *arguments) for k, part in enumerate(chunk)
    )


def _unfold(part: Part, penalty: tuple[Any, ...], center: Any) -> Part:
    """Return a part as passes need it; stored, y takes one byte, and bounds of coefficients none."""
    part = part._replace(y=part.y.astype(np.float64))
    return set_penalty(part, *penalty)._replace(center=center) if penalty else part


def total(results: Any) -> Any:
    """Return the sum, of a few at a time: rows that are put together are not copied again for each part."""
    some = iter(results)
    batches = iter(lambda: list(islice(some, FAN_IN)), [])
    return reduce(add, (reduce(add, batch) for batch in batches))


def look_at_few(part: Part, point: Point, loss: Any, term: Rounding, every: int, share: float) -> PartLook:
    """Look at a part, and keep of its curved rows about this share of all its rows at most."""
    return _keep_few(look_at(part, point, loss, term, every), share * len(part.y))


def stride_along(
    part: Part, point: Point, step: Point, loss: Any, term: Rounding, every: int, share: float
) -> Stride:
    """Return what a part of the rows adds to a `Stride`, with some of its curved rows."""
    f, df = (part.gather(p.function.g) + p.bias for p in (point, step))
    slopes = loss.slopes(part.xp, f, df, part.target, part.center, term, SHARES)
    r = loss.respond(part.xp, f + df, part.target, part.center, term)
    histogram = part.scatter(r.coef, step.function.g.shape[1])
    end = PartLook._make([histogram, *r[2:], *part.take_curved(r.curvature, every)])
    return Stride(slopes, _keep_few(end, share * len(part.y)))


def _keep_few(seen: PartLook, most: float) -> PartLook:
    """Keep about so many of the curved rows at most."""
    n_near = len(seen.curvature)
    rows = thin(np.arange(n_near), max(1, int(n_near / most)))
    weight: Array = seen.curvature[rows] * (n_near / max(len(rows), 1))
    return seen._replace(code=seen.code[:, rows], curvature=weight)


def _is_same(a: Point, b: Point) -> bool:
    return a.bias == b.bias and np.array_equal(a.function.g, b.function.g)


def coef_of(part: Part, point: Point, loss: Any, term: Rounding) -> Array:
    """Return the coefficients of a part's rows."""
    coef: Array = respond(part, point, loss, term).coef
    return coef
