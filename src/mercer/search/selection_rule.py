"""Which setting is taken. Among as many as there are here, the best on a few hundred rows is the luckiest.

Within a candidate, a setting therefore counts with its neighbours in the grid, which are good where it is
good for a reason. Among candidates, each with the setting found so, the one with the lowest loss is taken. To
take the first in a list that is within one standard error of it was no better on data that is kept for such
questions; to blend them is, see `mercer.search.blend`.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import block_diag

from mercer._typing import Array, Index


class Rule(NamedTuple):
    """How a choice among settings is made."""

    candidate: Index  # (n_settings,): which one a setting is of, by its place in the list
    nearby: Array  # (n_settings, n_settings): how much errors of others count for each; rows sum to 1

    def among(self, some: Index) -> "Rule":
        """Return the rule for some of the settings."""
        nearby = self.nearby[np.ix_(some, some)]
        return Rule(self.candidate[some], nearby / nearby.sum(axis=1, keepdims=True))


def grids_nearby(candidates: Sequence[Any]) -> Array:
    """Return how much settings of all candidates count for each other; of other candidates, not at all."""
    nearby = block_diag(*(find_nearby(one.settings(), one.grid) for one in candidates))
    rows: Array = nearby / nearby.sum(axis=1, keepdims=True)
    return rows


def find_nearby(settings: Sequence[Mapping[str, Any]], grid: Mapping[str, Any]) -> Array:
    """Return how much settings of a grid count for each other: half as much as for itself, if side by side.

    Only numbers that rise or fall along the grid have neighbours.
    """
    axes = [name for name, values in grid.items() if _is_scale(values)]
    places = [tuple(list(grid[name]).index(setting[name]) for name in axes) for setting in settings]
    others = [{name: value for name, value in setting.items() if name not in axes} for setting in settings]
    nearby = np.eye(len(settings))
    for i, j in np.argwhere(np.triu(np.ones_like(nearby), k=1)):
        steps = sum(abs(a - b) for a, b in zip(places[i], places[j], strict=True))
        if steps == 1 and others[i] == others[j]:
            nearby[i, j] = nearby[j, i] = 0.5
    return nearby


def _is_scale(values: Any) -> bool:
    numbers = list(values)
    if not all(
        isinstance(value, (int, float, np.number)) and not isinstance(value, bool) for value in numbers
    ):
        return False
    steps = np.diff(np.asarray(numbers, dtype=np.float64))
    return bool(np.all(steps > 0) or np.all(steps < 0))


def choose(losses: Array, rule: Rule) -> int:
    """Return the setting that is chosen on some rows.

    A candidate is represented by its best setting, neighbours considered. The candidate with the lowest loss
    is taken, of equals the one listed first.

    Parameters
    ----------
    losses : array of shape (n_rows, n_settings)
        What each setting lost on each row, which it had not seen.
    rule : Rule
        What is a neighbour, and what comes first.
    """
    means = np.round(losses.sum(axis=0), 9)
    smooth = np.round(rule.nearby @ means, 9)
    groups = [np.flatnonzero(rule.candidate == number) for number in np.unique(rule.candidate)]
    own = [int(mine[np.argmin(smooth[mine])]) for mine in groups]
    return own[int(np.argmin(means[own]))]


def choose_elsewhere(losses: Array, rule: Rule, part: Index) -> Array:
    """Return the loss of the choice on each row, which the rows of its own part have no say in.

    The least of many losses is too good: it was chosen for being small. This one was not.
    """
    chosen = np.empty(len(losses))
    for k in np.unique(part):
        mine = part == k
        chosen[mine] = losses[mine, choose(losses if mine.all() else losses[~mine], rule)]
    return chosen
