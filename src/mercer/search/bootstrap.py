r"""The error of a choice, from the errors of all that could be chosen, without a second cross-validation.

The least of many cross-validated errors is too good: it was chosen for being small. As in [TGB18], rows are
drawn with replacement; the setting that is chosen on the rows drawn is judged on those not drawn. The mean of
these errors over many draws is that of the whole procedure, choice included.

[TGB18] Tsamardinos, Greasidou, Borboudakis: Bootstrapping the out-of-sample predictions for efficient and
accurate cross-validation. Machine Learning 107, 2018.
"""

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray

from mercer._typing import Array
from mercer.search.selection_rule import Rule, choose

N_DRAWS = 500


@lru_cache(maxsize=4)  # one ranking asks for the same ones again and again
def draw_rows(n_rows: int, seed: int, n_draws: int = N_DRAWS) -> Array:
    """Draw as many rows as there are, with replacement; return how often each was, (n_draws, n_rows)."""
    chances = np.full(n_rows, 1.0 / n_rows)
    return RandomState(seed).multinomial(n_rows, chances, size=n_draws).astype(np.float64)


def draw_groups(groups: NDArray[Any], seed: int, n_draws: int = N_DRAWS) -> Array:
    """Draw as many groups as there are, with replacement; rows of a group come and stay away together."""
    _, place = np.unique(groups, return_inverse=True)
    return draw_rows(int(place.max()) + 1, seed, n_draws)[:, place]


def judge_choice(wrong: Array, counts: Array, rule: Rule) -> Array:
    """Return the error of choosing among several settings, on the rows that were left out of each draw.

    Parameters
    ----------
    wrong : array of shape (n_rows, n_settings)
        Whether each setting was wrong on each row, which it had not seen.
    counts : array of shape (n_draws, n_rows)
        What `draw_rows` gave.
    rule : Rule
        How they are chosen.
    """
    chosen = choose(wrong, rule, counts)
    left = (counts == 0).astype(np.float64)
    some = left.sum(axis=1) > 0
    if not some.any():  # there is but one row
        return wrong[:, chosen[0]]
    errors: Array = (left[some] @ wrong) / left[some].sum(axis=1)[:, None]
    return errors[np.arange(some.sum()), chosen[some]]
