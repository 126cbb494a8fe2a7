r"""The error of a choice, from the errors of all that could be chosen, without a second cross-validation.

The least of many cross-validated errors is too good: it was chosen for being small. As in [TGB18], rows are
drawn with replacement; the setting that is best on the rows drawn is judged on those not drawn. The mean of
these errors over many draws is that of the whole procedure, choice included.

[TGB18] Tsamardinos, Greasidou, Borboudakis: Bootstrapping the out-of-sample predictions for efficient and
accurate cross-validation. Machine Learning 107, 2018.
"""

from typing import NamedTuple

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray

Array = NDArray[np.float64]

N_DRAWS = 500


class Draws(NamedTuple):
    """How often each row was drawn."""

    counts: Array  # (n_draws, n_rows)

    @property
    def left_out(self) -> Array:
        """Return 1 for rows that were not drawn."""
        return (self.counts == 0).astype(np.float64)


def draw_rows(n_rows: int, rng: RandomState, n_draws: int = N_DRAWS) -> Draws:
    """Draw as many rows as there are, with replacement, so often."""
    return Draws(rng.multinomial(n_rows, np.full(n_rows, 1.0 / n_rows), size=n_draws).astype(np.float64))


class Judged(NamedTuple):
    """The error of a choice among settings."""

    error: float
    each: Array  # (n_draws,), on the rows that were left out of each draw


def judge_choice(wrong: Array, draws: Draws) -> Judged:
    """Return the error of choosing the best of several settings.

    Parameters
    ----------
    wrong : array of shape (n_rows, n_settings)
        Whether each setting was wrong on each row, which it had not seen. Ties go to the first setting.
    draws : Draws
        What `draw_rows` gave.
    """
    chosen = np.argmin(np.round(draws.counts @ wrong, 9), axis=1)
    left = draws.left_out
    some = left.sum(axis=1) > 0
    if not some.any():  # there is but one row
        return Judged(float(wrong.mean(axis=0).min()), wrong[:, chosen[0]])
    errors = ((left[some] @ wrong) / left[some].sum(axis=1)[:, None])[np.arange(some.sum()), chosen[some]]
    return Judged(float(errors.mean()), errors)


def standard_error(error: float, n_rows: int) -> float:
    """Return that of a share of so many rows."""
    return float(np.sqrt(max(error * (1.0 - error), 0.25 / n_rows) / n_rows))
