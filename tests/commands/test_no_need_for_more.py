"""That nothing more than the RBF-SVM is needed is said only where something else was compared with it."""

import pytest

from mercer.report.sections.ranking import compare_with_reference

NO_NEED, NOT_COMPARED = "there is no need for more", "No other candidate was compared"


def ranking(*folds):
    names = ("RBF-SVM", "stump", "linear")
    return [{"candidate": name, "folds": n} for name, n in zip(names, folds, strict=False)]


@pytest.mark.parametrize(
    ("folds", "said"),
    [
        ((10, 10, 10), NO_NEED),
        ((10, 5), NO_NEED),
        ((10, 1, 5), NO_NEED),
        ((10, 4), NOT_COMPARED),
        ((10, 4, 0), NOT_COMPARED),
        ((10, None), NOT_COMPARED),
        ((10,), NOT_COMPARED),
        ((0, 0), NOT_COMPARED),
    ],
)
def test_it_takes_another_candidate_on_half_of_the_folds(folds, said):
    sentence = compare_with_reference("RBF-SVM", ranking(*folds))
    assert said in sentence
    assert (NO_NEED in sentence) != (NOT_COMPARED in sentence)
    assert sentence.endswith(".")
