r"""The error of a choice, from the errors of all that could be chosen, without a second cross-validation.

The least of many cross-validated errors is too good: it was chosen for being small. As in [TGB18], rows are
drawn with replacement; the setting that is chosen on the rows drawn is judged on those not drawn. The mean of
these errors over many draws is that of the whole procedure, choice included.

The choice follows the rule of one standard error [BFOS84]: of several candidates that are no clear loss
against the best, the one that is listed first. Among as many as there are here, the best on a few hundred
rows is often the luckiest.

[BFOS84] Breiman, Friedman, Olshen, Stone: Classification and regression trees. Wadsworth, 1984.

[TGB18] Tsamardinos, Greasidou, Borboudakis: Bootstrapping the out-of-sample predictions for efficient and
accurate cross-validation. Machine Learning 107, 2018.
"""

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray

Array = NDArray[np.float64]
Index = NDArray[np.intp]

N_DRAWS = 500


class Draws(NamedTuple):
    """How often each row was drawn."""

    counts: Array  # (n_draws, n_rows)

    @property
    def left_out(self) -> Array:
        """Return 1 for rows that were not drawn."""
        return (self.counts == 0).astype(np.float64)


@lru_cache(maxsize=4)  # one ranking asks for the same ones again and again
def draw_rows(n_rows: int, seed: int, n_draws: int = N_DRAWS) -> Draws:
    """Draw as many rows as there are, with replacement, so often."""
    chances = np.full(n_rows, 1.0 / n_rows)
    return Draws(RandomState(seed).multinomial(n_rows, chances, size=n_draws).astype(np.float64))


class Judged(NamedTuple):
    """The error of a choice among settings."""

    error: float
    each: Array  # (n_draws,), on the rows that were left out of each draw


def choose(wrong: Array, candidate: Index, counts: Array) -> Index:
    """Return the setting that is chosen on the rows of each draw.

    It is the best one (the first of equals) of the first candidate whose best one makes no more errors than
    the best of all, up to one standard error of the difference on the same rows.

    Parameters
    ----------
    wrong : array of shape (n_rows, n_settings)
        Whether each setting was wrong on each row, which it had not seen.
    candidate : array of shape (n_settings,)
        The number of the candidate that the setting is of, in the order of the list.
    counts : array of shape (n_draws, n_rows)
        How often each row counts.
    """
    errors = np.round(counts @ wrong, 9)
    best: Index = np.argmin(errors, axis=1)
    if len(np.unique(candidate)) == 1:
        return best
    chosen, is_open = best.copy(), np.ones(len(counts), dtype=bool)
    for number in np.unique(candidate):
        mine = np.flatnonzero(candidate == number)
        own = mine[np.argmin(errors[:, mine], axis=1)]
        draws = np.flatnonzero(is_open)
        more = errors[draws, own[draws]] - errors[draws, best[draws]]
        apart = (wrong[:, own[draws]] != wrong[:, best[draws]]).T  # rows on which the two differ, by draw
        noise = np.sqrt(np.einsum("di,di->d", counts[draws], apart))
        taken = draws[more <= noise]
        chosen[taken], is_open[taken] = own[taken], False
    return chosen


def judge_choice(wrong: Array, draws: Draws, candidate: Index | None = None) -> Judged:
    """Return the error of choosing among several settings.

    Parameters
    ----------
    wrong : array of shape (n_rows, n_settings)
        Whether each setting was wrong on each row, which it had not seen.
    draws : Draws
        What `draw_rows` gave.
    candidate : array of shape (n_settings,), optional
        See `choose`. None: all are of one candidate, and the best is chosen, or the first of equals.
    """
    candidate = np.zeros(wrong.shape[1], dtype=np.intp) if candidate is None else candidate
    chosen = choose(wrong, candidate, draws.counts)
    left = draws.left_out
    some = left.sum(axis=1) > 0
    if not some.any():  # there is but one row
        return Judged(float(wrong[0, chosen[0]]), wrong[:, chosen[0]])
    errors = ((left[some] @ wrong) / left[some].sum(axis=1)[:, None])[np.arange(some.sum()), chosen[some]]
    return Judged(float(errors.mean()), errors)


def standard_error(error: float, n_rows: int) -> float:
    """Return that of a share of so many rows."""
    return float(np.sqrt(max(error * (1.0 - error), 0.25 / n_rows) / n_rows))
