"""Why the winner was taken, in words: the rule, and what it means where another one stands first."""

from collections.abc import Mapping, Sequence
from typing import Any

from mercer.search.candidates import default_candidates
from mercer.search.pair_task import pair_candidates

RULE = (
    "The winner is the first candidate in the list that is no worse than the best by more than one standard "
    "error of the difference on the same rows; within a candidate, a setting counts with its neighbours in "
    "the grid."
)
PAIR_RULE = "The winner has the largest AUC on the pairs that all candidates were judged on."


def listed_candidates(search: Any, *, unlabelled: bool) -> list[str]:
    """Return the candidates of a search in the order in which they are listed: those first that one prefers.

    Parameters
    ----------
    search : KernelSearchCV
        Fitted.
    unlabelled : bool
        Whether it had rows without classes.
    """
    if search.candidates is not None:
        return [str(name) for name in search.candidates]
    if hasattr(search, "auc_"):
        return [one.name for one in pair_candidates(0)]
    return [one.name for one in default_candidates(1, 1, 0, unlabelled=unlabelled)]


def explain_winner(winner: str, lines: Sequence[Mapping[str, Any]], listed: Sequence[str] = ()) -> str:
    """Return why the winner was taken although another one stands first; nothing if it stands first itself.

    Parameters
    ----------
    winner : str
        The candidate that was chosen.
    lines : sequence of dict
        `KernelSearchCV.ranking_`: sorted by errors that allow for the choice of a candidate's own settings.
    listed : sequence of str, default=()
        All candidates in the order of the list, see `listed_candidates`. Empty: it is not known.
    """
    first, folds = str(lines[0]["candidate"]), {str(line["candidate"]): line["folds"] for line in lines}
    if winner == first:
        return ""
    is_auc = any("auc" in line for line in lines)
    although = f"{winner} is taken although {first} has the {'largest AUC' if is_auc else 'least error'}"
    if 2 * folds[first] < max(folds.values()):
        return f"{although}: {first} was judged on too few rows to be taken."
    if is_auc:
        return f"{although}: on the pairs that both were judged on, {winner} is no worse."
    if listed and listed.index(winner) > listed.index(first):
        return (
            f"{although}: that error allows for the choice of settings; with those that are chosen, {first} "
            f"is worse than the best by more than one standard error, and {winner} is not."
        )
    return f"{although}: the two cannot be told apart, and {winner} comes first in the list."
