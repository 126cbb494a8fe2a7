r"""Boosting over pairs [CKS02, Fig. 1]: a sum of kernels of rank one, each the best for the weights so far.

The score (1) of a kernel :math:`w w^\top` is :math:`g^\top B g`, g being the values of the direction w on the
rows and B = D ∘ S the weights and signs of the pairs. The best direction of length one is a leading
eigenvector (`mercer.solvers.boosted.directions`), found by a few products with B.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from mercer._typing import Array
from mercer.array_api import to_numpy
from mercer.limits import one_thread
from mercer.solvers.boosted.directions import Directions, Space, best_directions
from mercer.solvers.boosted.pair_table import PairTable


class BoostSettings(NamedTuple):
    """What steers the booster, and what goes wrong without it."""

    one_thread_up_to: int = 1500**2
    """Pairs. With fewer, threads that share a product with a matrix wait longer than they work."""
    fresh_share: float = 0.1
    """Of a random direction in the start of a search, beside the directions of the round before. From those
    alone, a direction that is orthogonal to all of them would never be found."""
    least_score: float = 1e-10
    """Of the largest score that the weights allow. A smaller one is rounding, and so would be its α."""
    slope_tol: float = 0.1
    """A line search ends where the slope of the loss is this share of its slope at zero. Less would cost more
    passes over the pairs than it saves rounds; more would leave steps as short as the bound's."""
    max_searches: int = 50
    """Of a line search, first to pass the minimum and then to close in on it: it ends whatever the loss."""


SETTINGS = BoostSettings()


class Round(NamedTuple):
    """One kernel of the sum, α times that of some directions, and the loss once it is added."""

    directions: Array  # u, a column each
    alpha: float
    loss: float


def boost_kernel(
    space: Space,
    table: PairTable,
    *,
    n_rounds: int,
    n_directions: int = 1,
    step: str = "normalized",
    progress: Callable[[int], Any] | None = None,
    find: Callable[[int, Array], Directions] | None = None,
) -> list[Round]:
    """Add kernels to the table, one each round, until none has a positive score [CKS02, Fig. 1].

    Parameters
    ----------
    space : Space
        The directions to choose from, and their values on the rows.
    table : PairTable
        The pairs; it keeps the sum's value on each of them.
    n_rounds : int
        T, the maximum number of kernels.
    n_directions : int, default=1
        The rank of each kernel: that of the best directions, as one block.
    step : {"normalized", "literal", "search"}, default="normalized"
        How α is found, see `choose_step`.
    progress : callable, optional
        Called after each round with its number; if it returns true, that was the last one.
    find : callable, optional
        Returns the best directions, of a number of them and where to start. By default `best_directions`.

    Returns
    -------
    list of Round
        Fewer than n_rounds where nothing is left to gain; none at all if no direction has a positive score.

    Raises
    ------
    OverflowError
        Where a literal step is so long that the loss is no longer a number.
    """
    rounds: list[Round] = []
    fresh = np.random.default_rng(0).standard_normal(space.size)  # a share of every direction
    start = fresh
    find = find or partial(best_directions, space, table.multiply)
    with one_thread(table.n_pairs <= SETTINGS.one_thread_up_to):
        # [CKS02] Fig. 1: K ← 0 and D_1 are in the table as it is given
        while len(rounds) < n_rounds:  # [CKS02] Fig. 1: for t = 1, …, T
            # [CKS02] Fig. 2, the base learner
            best = find(n_directions, start)
            u, G = _with_positive_score(best, table)  # K_t = G Gᵀ
            if u.shape[1] == 0:
                break
            alpha = choose_step(table, G, step)
            if not alpha > 0.0:  # the score was all rounding
                break
            before = table.loss
            table.add(alpha**0.5 * G)  # [CKS02] Fig. 1: K ← K + α_t K_t, and D_{t+1} from the new K
            if not np.isfinite(table.loss):
                raise OverflowError(f"the loss overflows in round {len(rounds) + 1}")
            if step != "literal" and not table.loss < before:  # what was left to gain is less than rounding
                break
            rounds.append(Round(u, alpha, table.loss))
            start = _near(to_numpy(u).sum(axis=1), fresh)
            if progress is not None and progress(len(rounds)):
                break
    return rounds


def _with_positive_score(best: Directions, table: PairTable) -> tuple[Array, Array]:
    """Return the directions whose score is more than rounding: D ∘ S has eigenvalues of both signs.

    The scores are computed afresh from the values: an eigenvalue has errors of the size of the largest.
    """
    G, scores = best.values, table.scores(best.values)  # [CKS02] (1)
    largest = [float((g**2).max()) for g in G.T]
    good = np.flatnonzero(scores > SETTINGS.least_score * table.mass * np.array(largest))
    return best.u[:, good], G[:, good]


def choose_step(table: PairTable, G: Array, step: str) -> float:
    """Return α for the kernel G Gᵀ.

    - "literal": as printed, by `bound_step`, which presumes values in [−1, 1].
    - "normalized": the kernel is divided by its largest value before, and so is its α afterwards.
    - "search": from there on to where the loss itself is least. The bound counts a pair as if the kernel were
      0 or ±1 there; where it is mostly small, as with many classes, the bound's steps are much too short.
    """
    W_plus, W_minus = table.weigh(G)  # [CKS02] Fig. 1: W⁺_t and W⁻_t
    if W_plus <= W_minus:
        return 0.0
    alpha = bound_step(W_plus, W_minus, table.n_pairs)
    if step == "literal":
        return alpha
    alpha /= float((G**2).sum(1).max())  # G Gᵀ is largest on its diagonal
    if step == "normalized" or W_minus <= W_plus / table.n_pairs:
        return alpha
    return search_step(table, G, alpha, W_plus - W_minus)


def bound_step(W_plus: float, W_minus: float, n_pairs: int) -> float:
    r"""Return :math:`\alpha_t = \tfrac12 \ln(W^+ / W^-)` [CKS02, Fig. 1].

    It minimises :math:`W^+ e^{-\alpha} + W^- e^{\alpha}`, a bound on the loss for |K_t| ≤ 1. Where no pair is
    wrong that would be infinite: then a share of one pair counts as wrong.
    """
    return 0.5 * float(np.log(W_plus / max(W_minus, W_plus / n_pairs)))  # [CKS02] Fig. 1: α_t


def search_step(table: PairTable, G: Array, alpha: float, gain: float) -> float:
    """Return about where the loss is least along G Gᵀ, from an α at which it still falls.

    `gain` is how fast the loss falls at zero. First the step is tripled until the loss hardly falls or grows,
    then the slope's zero is approached between the last two steps.
    """
    flat = SETTINGS.slope_tol * gain
    left, left_slope = 0.0, -gain
    right, right_slope = 3 * alpha, table.slope(G, 3 * alpha)
    for _ in range(SETTINGS.max_searches):
        if right_slope >= -flat:  # the loss is convex, and grows in the end if a pair is wrong
            break
        left, left_slope = right, right_slope
        right, right_slope = 3 * right, table.slope(G, 3 * right)
    for _ in range(SETTINGS.max_searches):
        if right_slope <= flat:
            break
        middle = left + (right - left) * min(max(left_slope / (left_slope - right_slope), 0.1), 0.9)
        slope = table.slope(G, middle)
        if slope < -flat:
            left, left_slope = middle, slope
        else:
            right, right_slope = middle, slope
    return right


def _near(u: Array, fresh: Array) -> Array:
    """Return where the next search starts: at the last directions, which saves steps, with a share of all."""
    share = SETTINGS.fresh_share
    near: Array = u / np.linalg.norm(u) + share * fresh / np.linalg.norm(fresh)
    return near
