r"""Distances that respect pairs: the quadratic program of idealized kernels, and its PSD version [KT03, 3.2].

For pairs p of rows with differences :math:`u_p` and squared distances :math:`d_p^2 = \|u_p\|^2`, a matrix G
changes the squared distances to :math:`u_p^\top G u_p`. The primal problem (8)–(9) is

.. math:: \min_{G, \gamma \ge 0} \tfrac12 \|G\|_F^2
          + \frac{C_S}{N_S} \sum_{p \in S} [u_p^\top G u_p - d_p^2]_+
          + C_D \Bigl( -\nu \gamma + \frac1{N_D} \sum_{p \in D} [\gamma - (u_p^\top G u_p - d_p^2)]_+ \Bigr),

over all symmetric G (the paper's QP) or over positive semi-definite ones. With :math:`c_p = \alpha_p` for
dissimilar and :math:`-\alpha_p` for similar pairs and :math:`M(c) = \sum_p c_p u_p u_p^\top` (11) the dual is

.. math:: \max_c \sum_p c_p d_p^2 - \tfrac12 \|\Pi(M(c))\|_F^2 \quad\text{s.t.}\quad
          -C_S / N_S \le c_S \le 0 \le c_D \le C_D / N_D,\; \textstyle\sum_{p \in D} c_p \ge \nu C_D,

where Π is the identity for the QP (14)–(16), and the projection onto the PSD matrices for the other;
G = Π(M(c)). Both are smooth and concave. A primal-dual interior-point method takes some 20 Newton steps,
whatever the scales of the features. Each forms and factors a matrix as large as G has free entries, or as
there are pairs.

At high penalties M(c) is a small difference of large sums, all digits of which are rounding errors. So G is
kept beside c and makes the Newton steps by itself, and G − M(c) is one of the residuals that they reduce.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mercer._typing import Array, Flags
from mercer.limits import one_thread
from mercer.solvers.idealized.cone import AnySymmetric, Definite
from mercer.solvers.idealized.differences import Differences, Projection, factor_hessian


class QPSettings(NamedTuple):
    """What steers the interior-point method, and what goes wrong without it."""

    enough: float = 0.1
    """Share of the tolerated gap that is aimed at, not less: smaller slacks only add rounding errors."""
    least_product: float = 0.01
    """Products of slacks and multipliers are at least this share of the gap that the gradient leaves open. If
    they vanish first, the point is at a boundary that the gradient points away from, and steps are tiny."""
    to_boundary: float = 0.995
    """Share of the way to the boundary that a step may go. On it, a slack is zero and is divided by."""
    start: float = 0.1
    """The cone starts with products of at least this share of ‖M(c)‖, for distances of one. With less, G
    starts next to the boundary of the PSD matrices, and the first steps are tiny."""
    progress: float = 0.9
    patience: int = 12
    """It stops after `patience` steps that leave more than this share of the gap. Without, it would go on
    until `max_iter` where rounding errors keep the tolerance out of reach."""
    one_thread_up_to: int = 500
    """Unknowns. With fewer, a second thread of the linear algebra costs more than it saves."""


SETTINGS = QPSettings()


class PairProblem(NamedTuple):
    """The data and the penalties; squared distances should be of order one."""

    pairs: Differences
    dissimilar: Flags
    C_similar: float
    C_dissimilar: float
    nu: float
    psd: bool = True

    @property
    def bounds(self) -> Array:
        """Return the largest α of each pair: C_S / N_S or C_D / N_D."""
        n_dissimilar = int(np.count_nonzero(self.dissimilar))
        n_similar = len(self.dissimilar) - n_dissimilar
        C_S, C_D = self.C_similar / max(1, n_similar), self.C_dissimilar / max(1, n_dissimilar)
        return np.where(self.dissimilar, C_D, C_S)  # (16)


class PairSolution(NamedTuple):
    """The minimiser and how good it is."""

    alpha: Array  # of each pair
    at_bound: NDArray[np.int8]  # −1: α is zero, +1: it is at its bound, 0: between
    matrix: Array  # Σ ± α u uᵀ, before any projection (11)
    G: Array
    gamma: float
    primal: float
    dual: float
    n_iter: int = 0
    stalled: bool = False  # rounding errors ended it: the steps did not reduce the gap any more

    @property
    def gap(self) -> float:
        """Return how far the minimum may be below the primal value."""
        return self.primal - self.dual

    @property
    def relative_gap(self) -> float:
        """Return the gap as a share of the dual value, or of ½‖G‖² if that is larger."""
        return self.gap / max(abs(self.dual), 0.5 * float(np.sum(self.G**2)))


class _Constraints(NamedTuple):
    """c ≥ lower, c ≤ upper and Σ_D c ≥ least, as slacks A c + const ≥ 0."""

    lower: Array
    upper: Array
    D: Array  # one for dissimilar pairs
    least: float

    def slacks(self, c: Array) -> Array:
        return np.concatenate([c - self.lower, self.upper - c, [self.D @ c - self.least]])

    def change(self, dc: Array) -> Array:
        """Return A dc."""
        return np.concatenate([dc, -dc, [self.D @ dc]])

    def pull(self, z: Array) -> Array:
        """Return Aᵀ z."""
        n = len(self.D)
        return z[:n] - z[n : 2 * n] + z[-1] * self.D


class _Point(NamedTuple):
    """Weights c and a matrix G (with the S of its cone), the multipliers z, and what follows from these."""

    c: Array
    z: Array
    cone: AnySymmetric | Definite
    matrix: Array  # M(c), which is G − S in the end
    excess: Array  # uᵀGu − d²


def solve_pair_qp(
    problem: PairProblem,
    *,
    tol: float = 1e-6,
    max_iter: int = 200,
    progress: Callable[[int], bool] | None = None,
) -> PairSolution:
    """Solve the problem, for 0 ≤ ν < 1, to a relative duality gap of `tol`.

    `progress` is called after each step with its number; if it returns true, that was the last step.
    """
    bound = problem.bounds
    constraints = _Constraints(
        np.where(problem.dissimilar, 0.0, -bound),  # (16), for c = ±α
        np.where(problem.dissimilar, bound, 0.0),
        problem.dissimilar.astype(np.float64),
        problem.nu * problem.C_dissimilar,  # (15)
    )
    rank = problem.pairs.X.shape[1]
    size = min(len(bound), rank * (rank + 1) // 2)
    with one_thread(size <= SETTINGS.one_thread_up_to):
        return _solve(problem, constraints, tol, max_iter, progress)


def _solve(
    problem: PairProblem,
    constraints: _Constraints,
    tol: float,
    max_iter: int,
    progress: Callable[[int], bool] | None,
) -> PairSolution:
    distance = problem.pairs.measure(np.eye(problem.pairs.X.shape[1]))
    point = _start(problem, constraints, distance)
    best, improved = _judge(problem, constraints, point, distance), 0
    for n_iter in range(1, max_iter + 1):
        try:
            with np.errstate(all="ignore"):  # near the end, a slack may be rounded to zero
                moved = _advance(problem, constraints, point, SETTINGS.enough * tol * abs(best.dual))
            if not all(np.all(np.isfinite(part)) for part in moved):
                raise np.linalg.LinAlgError("a slack was rounded to zero")
            point = _evaluate(problem, *moved)
        except np.linalg.LinAlgError:
            best = best._replace(stalled=True)
            break
        better = _best_of(best, _judge(problem, constraints, point, distance))
        if better.gap < SETTINGS.progress * best.gap:
            improved = n_iter
        best = better._replace(n_iter=n_iter, stalled=n_iter - improved >= SETTINGS.patience)
        stopped = progress is not None and progress(n_iter)
        if stopped or best.stalled or best.relative_gap <= tol:
            break
    return _tidy(problem, best, tol)


def _start(problem: PairProblem, constraints: _Constraints, distance: Array) -> _Point:
    """Start in the middle of what is allowed, with multipliers of the size of the gradient.

    All products of slacks and multipliers are the same: from elsewhere, penalties that differ by a factor of
    a million make the first twenty steps very short.
    """
    share = np.where(problem.dissimilar, 0.5 * (1 + problem.nu), 0.5)
    c = constraints.lower + share * (constraints.upper - constraints.lower)
    matrix = problem.pairs.combine(c)
    excess = problem.pairs.measure(Projection.of(matrix, problem.psd).G) - distance
    slack = constraints.slacks(c)
    weight = float(np.exp(np.mean(np.log(slack))))
    if problem.psd:  # else a large S would leave next to nothing of G
        weight = max(weight, SETTINGS.start * float(np.linalg.norm(matrix)))
    product = max(float(np.mean(np.abs(excess))), 1.0) * weight
    cone = (Definite if problem.psd else AnySymmetric).start(matrix, product)
    return _evaluate(problem, c, product / slack, cone.G, cone.S)


def _evaluate(problem: PairProblem, c: Array, z: Array, G: Array, S: Array) -> _Point:
    cone = (Definite if problem.psd else AnySymmetric).of(G, S)
    return _Point(c, z, cone, problem.pairs.combine(c), _excess(problem, cone.G))


def _excess(problem: PairProblem, G: Array) -> Array:
    return problem.pairs.measure_closely(G - np.eye(len(G)))


def _advance(
    problem: PairProblem, constraints: _Constraints, point: _Point, gap: float
) -> tuple[Array, Array, Array, Array]:
    """Make one Newton step towards a smaller gap, but this one, by Mehrotra's predictor and corrector.

    Returns c, z, G and S.
    """
    D, z, n, cone = constraints.D, point.z, len(point.c), point.cone
    s = constraints.slacks(point.c)
    ratio = z / s
    solve = factor_hessian(problem.pairs, cone.projection, ratio[:n] + ratio[n : 2 * n])
    along, M_along = solve(D, np.zeros_like(cone.G))
    pole = ratio[-1] / (1 + ratio[-1] * (D @ along))  # the constraint on the sum adds a matrix of rank one
    apart = point.matrix - (cone.G - cone.S)

    def direct(target: Array, aim: Array) -> tuple[Array, Array, Array, tuple[Array, Array], float]:
        """Return the step towards given products of slacks and multipliers, and its largest length."""
        x, M = solve(constraints.pull(target / s) - point.excess, apart + aim)
        bend = pole * (D @ x)
        dc = x - bend * along
        ds = constraints.change(dc)
        dz = target / s - z - ratio * ds
        matrices = cone.split(M - bend * M_along, aim)
        return dc, ds, dz, matrices, min(_longest(s, ds, z, dz), cone.longest(matrices))

    count = len(s) + cone.n_products
    _, ds, dz, (dG, dS), t = direct(np.zeros(len(s)), cone.aim(0.0))
    mu = float(s @ z + np.sum(cone.G * cone.S)) / count
    reached = float((s + t * ds) @ (z + t * dz) + np.sum((cone.G + t * dG) * (cone.S + t * dS))) / count
    # a gap that is still open in the other optimality condition: products must not get much smaller than it
    open_gap = float(np.abs(point.excess - constraints.pull(z)) @ np.minimum(s[:n], s[n : 2 * n]))
    centre = max(float(mu * (reached / mu) ** 3), gap / count, SETTINGS.least_product * open_gap / count)
    dc, _, dz, (dG, dS), t = direct(centre - ds * dz, cone.aim(centre, (dG, dS)))
    t *= SETTINGS.to_boundary
    return point.c + t * dc, z + t * dz, cone.G + t * dG, cone.S + t * dS


def _longest(s: Array, ds: Array, z: Array, dz: Array) -> float:
    """Return the longest step, at most one, that keeps slacks and multipliers from being negative."""
    value, change = np.concatenate([s, z]), np.concatenate([ds, dz])
    falls = change < 0
    return float(np.min(-value[falls] / change[falls], initial=1.0))


def _judge(problem: PairProblem, constraints: _Constraints, point: _Point, distance: Array) -> PairSolution:
    """Return the solution that the point stands for, with its primal and dual values."""
    G = point.cone.G
    gamma, loss = _best_gamma(problem, point.excess)
    primal = 0.5 * float(np.sum(G**2)) + loss  # (8), (9)
    rank = len(G)
    if 0.5 * rank < primal:  # leaving all distances as they are costs this much
        G, gamma, primal = np.eye(rank), 0.0, 0.5 * rank
    at_bound = _bounds_met(constraints, point, problem.dissimilar)
    values = np.maximum(np.linalg.eigvalsh(point.matrix), 0.0) if problem.psd else point.matrix
    dual = float(point.c @ distance) - 0.5 * float(np.sum(values**2))  # (14), for the QP
    return PairSolution(np.abs(point.c), at_bound, point.matrix, G, gamma, primal, dual)


def _best_of(old: PairSolution, new: PairSolution) -> PairSolution:
    """Return the better weights and the better matrix of the two: each proves by itself what it is worth."""
    if new.dual < old.dual:
        new = new._replace(alpha=old.alpha, at_bound=old.at_bound, matrix=old.matrix, dual=old.dual)
    return new if new.primal <= old.primal else new._replace(G=old.G, gamma=old.gamma, primal=old.primal)


def _tidy(problem: PairProblem, found: PairSolution, tol: float) -> PairSolution:
    """Take the projection of M(c), whose rank may be low, instead of G, if that is as good as asked for."""
    G = Projection.of(found.matrix, problem.psd).G
    gamma, loss = _best_gamma(problem, _excess(problem, G))
    tidy = found._replace(G=G, gamma=gamma, primal=0.5 * float(np.sum(G**2)) + loss)
    return tidy if tidy.relative_gap <= tol else found


def _best_gamma(problem: PairProblem, excess: Array) -> tuple[float, float]:
    """Return the γ ≥ 0 that is best for G, the ν-quantile of what dissimilar pairs gain, and all losses."""
    D, bound = problem.dissimilar, problem.bounds
    gain = np.sort(excess[D])
    n_wrong = int(problem.nu * len(gain))  # so many may fall short
    gamma = max(float(gain[n_wrong]), 0.0) if len(gain) else 0.0
    loss = bound[~D] @ np.maximum(excess[~D], 0.0)  # ξ of (8)
    loss += bound[D] @ np.maximum(gamma - excess[D], 0.0)  # ξ of (9)
    return gamma, float(loss) - problem.nu * problem.C_dissimilar * gamma


def _bounds_met(constraints: _Constraints, point: _Point, dissimilar: Flags) -> NDArray[np.int8]:
    """Say which α are on a bound (Proposition 2): the multiplier exceeds the slack, each in its own unit."""
    n = len(point.c)
    slack = constraints.slacks(point.c)[: 2 * n].reshape(2, n) / (constraints.upper - constraints.lower)
    multiplier = point.z[: 2 * n].reshape(2, n)
    # if no pair is on a bound, all multipliers are tiny, and the distances are the unit
    unit = max(float(np.mean(multiplier.sum(axis=0))), float(np.mean(np.abs(point.excess))), 1.0)
    below, above = slack < multiplier / unit
    zero, full = np.where(dissimilar, below, above), np.where(dissimilar, above, below)
    return (full & ~zero).astype(np.int8) - (zero & ~full).astype(np.int8)
