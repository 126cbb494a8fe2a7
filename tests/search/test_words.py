"""The words on why the winner won agree with the rule that chose it."""

import numpy as np
import pytest

from mercer import KernelSVC, StumpSVC
from mercer.search import KernelSearchCV, default_candidates
from mercer.search.pair_task import pair_candidates
from mercer.search.selection_rule import Rule, choose
from mercer.search.words import explain_winner, listed_candidates


def line(name, error, folds=5):
    return {"candidate": name, "error": error, "folds": folds}


def test_the_winner_that_stands_first_needs_no_words():
    assert explain_winner("a", [line("a", 0.1), line("b", 0.2)], ["b", "a"]) == ""


def test_one_that_is_listed_first_is_taken_if_it_cannot_be_told_apart():
    """As the rule has it: two errors more on eight rows that differ are within one standard error."""
    wrong = np.zeros((100, 2))
    wrong[:5, 0], wrong[5:8, 1] = 1.0, 1.0
    names = ["perceptron", "stump"]
    chosen = names[choose(wrong, Rule(np.arange(2), np.eye(2)), np.ones((1, 100)))[0]]
    said = explain_winner(chosen, [line("stump", 0.03), line("perceptron", 0.05)], names)
    assert said == (
        "perceptron is taken although stump has the least error: the two cannot be told apart, and "
        "perceptron comes first in the list."
    )


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ([line("b", 0.1), line("a", 0.2)], "with those that are chosen, b is worse than the best"),
        ([line("b", 0.1, folds=2), line("a", 0.2)], "b was judged on too few rows"),
        ([line("b", 0.1, folds=3), line("a", 0.2)], "b is worse than the best"),  # half of five is enough
        (
            [{"candidate": "b", "auc": 0.9, "folds": 5}, {"candidate": "a", "auc": 0.8, "folds": 4}],
            "largest AUC",
        ),
    ],
)
def test_other_reasons_have_other_words(lines, words):
    said = explain_winner("a", lines, ["b", "a"])
    assert words in said
    assert "comes first in the list" not in said


def test_the_list_is_that_of_the_search():
    given = KernelSearchCV({"stump": StumpSVC(), "linear": KernelSVC()})
    assert listed_candidates(given, unlabelled=False) == ["stump", "linear"]
    search = KernelSearchCV()
    for unlabelled in (False, True):
        expected = [one.name for one in default_candidates(1, 1, 0, unlabelled=unlabelled)]
        assert listed_candidates(search, unlabelled=unlabelled) == expected
    search.auc_ = 0.9
    assert listed_candidates(search, unlabelled=False) == [one.name for one in pair_candidates(0)]
