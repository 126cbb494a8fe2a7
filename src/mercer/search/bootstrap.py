r"""The error of a choice, from the errors of all that could be chosen, without a second cross-validation.

The least of many cross-validated errors is too good: it was chosen for being small. As in [TGB18], rows are
drawn with replacement; the setting that is chosen on the rows drawn is judged on those not drawn. The mean of
these errors over many draws is that of the whole procedure, choice included.

[TGB18] Tsamardinos, Greasidou, Borboudakis: Bootstrapping the out-of-sample predictions for efficient and
accurate cross-validation. Machine Learning 107, 2018.
"""

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.random import RandomState

from mercer._typing import Array
from mercer.search.selection_rule import Rule, choose

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


def judge_choice(wrong: Array, draws: Draws, rule: Rule | None = None) -> Judged:
    """Return the error of choosing among several settings.

    Parameters
    ----------
    wrong : array of shape (n_rows, n_settings)
        Whether each setting was wrong on each row, which it had not seen.
    draws : Draws
        What `draw_rows` gave.
    rule : Rule, optional
        How they are chosen. None: the best one, or the first of equals.
    """
    chosen = choose(wrong, Rule.of_one(wrong.shape[1]) if rule is None else rule, draws.counts)
    left = draws.left_out
    some = left.sum(axis=1) > 0
    if not some.any():  # there is but one row
        return Judged(float(wrong[0, chosen[0]]), wrong[:, chosen[0]])
    errors = ((left[some] @ wrong) / left[some].sum(axis=1)[:, None])[np.arange(some.sum()), chosen[some]]
    return Judged(float(errors.mean()), errors)


def standard_error(error: float, n_rows: int) -> float:
    """Return that of a share of so many rows."""
    return float(np.sqrt(max(error * (1.0 - error), 0.25 / n_rows) / n_rows))
