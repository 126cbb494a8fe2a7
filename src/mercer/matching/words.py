"""What is said of judged pairs, and of what was learned from them."""

import numpy as np

from mercer.matching.comparison import Comparison, Similarities
from mercer.matching.judged import Judged
from mercer.matching.probability import MatchError
from mercer.metrics import pair_auc
from mercer.preprocessing.errors import listed

NEARLY = 0.98  # the AUC of a column that tells judged pairs apart
FEW_PAIRS = 30


def notes_of(
    comparison: Comparison,
    judged: Judged,
    drawn: Similarities,
    error: MatchError | None,
    threshold: float | None,
) -> list[str]:
    """Return what a user should know of the judged pairs, in sentences."""
    n, n_same = len(judged.answer), int(judged.answer.sum())
    if n == 0:
        return ["No pair is judged yet: ask proposes some."]
    if n_same == 0:
        return ["All pairs are judged different: judge some that are the same, which ask proposes."]
    said = []
    if n_same == n:
        said.append("All pairs are judged the same: pairs drawn at random stand for different ones.")
    if error is None:
        said.append(
            f"{n} judged pair{'s are' if n > 1 else ' is'} too few to say how often matches are wrong: "
            "judge more."
        )
    elif n < FEW_PAIRS:
        said.append(f"There are only {n} judged pairs: mind the intervals of the error.")
    if threshold == 1.0:
        said.append(
            "No threshold has the wanted precision on held-out pairs: judge more pairs, or ask for less."
        )
    if n_same < n and _are_like_any(judged, drawn):
        said.append(
            "The pairs judged different are no more alike than any two rows, which leaves the boundary open: "
            "judge some that ask proposes."
        )
    return [*said, *_decisive_columns(comparison, judged)]


def _are_like_any(judged: Judged, drawn: Similarities) -> bool:
    """Return whether four in five different pairs are no more alike than pairs drawn at random."""
    near = np.quantile(drawn.values.mean(axis=1), 0.95)
    return bool(np.mean(judged.found.values[~judged.answer].mean(axis=1) > near) < 0.2)


def error_sentence(error: MatchError, reference: MatchError | None) -> str:
    """Say how well held-out pairs were told apart."""
    said = (
        f"On {error.n_pairs} held-out pairs ({error.n_matches} matches): precision {error.precision}, recall "
        f"{error.recall}, F1 {error.f1}."
    )
    if reference is not None:
        said += f" Logistic regression on column differences: F1 {reference.f1}."
    return said


def _decisive_columns(comparison: Comparison, judged: Judged) -> list[str]:
    """Name the columns of which each alone tells judged pairs apart."""
    found = []
    for c, name in enumerate(comparison.names):
        known = judged.found.known[:, c]
        answer = judged.answer[known]
        if answer.all() or not answer.any() or len(answer) < 0.5 * len(known):
            continue
        mean = judged.found.values[known][:, comparison.column_of == c].mean(axis=1)
        if pair_auc(mean, answer) >= NEARLY:
            found.append(name)
    if not found or len(comparison.names) == 1:
        return []
    return [
        f"Nearly all judged pairs can be told apart by {listed(found)} alone: judge some where that is not "
        "so, or little is learned of the other columns."
    ]
