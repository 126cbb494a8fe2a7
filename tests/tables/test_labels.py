import numpy as np
import pandas as pd
import pytest

from mercer.tables import TableError, find_labels


def column(*cells):
    return pd.Series(np.array([np.nan if cell is None else cell for cell in cells], dtype=object))


def test_texts_are_classes_and_gaps_are_rows_without_one():
    y, known = find_labels(column("b ", "a", None, "b", "a"), "y")
    assert y.tolist() == ["b", "a", "b", "a"]
    assert known.tolist() == [True, True, False, True, True]


@pytest.mark.parametrize("cells", [("1", "-1", None, "1", "-1"), (1.0, -1.0, None, 1.0, -1.0)])
def test_whole_numbers_stay_numbers(cells):
    y, _ = find_labels(column(*cells), "y")
    assert y.dtype.kind == "i"
    assert y.tolist() == [1, -1, 1, -1]


def test_numbers_and_words_together_are_words():
    assert find_labels(column("1", "x", "1", "x"), "y").y.tolist() == ["1", "x", "1", "x"]


@pytest.mark.parametrize(
    ("cells", "words"),
    [
        (["a"] * 4, "one class"),
        ([None] * 4, "empty"),
        (["0.5", "1", "0.5", "1"], "quantity"),
        ([str(k) for k in range(30)], "quantity"),
        ([str(k) for k in [*range(25), *range(24)]], "quantity"),  # ages, say
        (list("abcd"), "classes repeat"),
        (list("aabbc"), "one each of 'c'"),
        ([*"1122", "3"], "one each of '3'"),
        (["1e17", "1e17", "2", "2"], "quantity"),  # not to be told from 1e17 + 1
    ],
)
def test_what_is_no_class_is_refused(cells, words):
    with pytest.raises(TableError, match=words):
        find_labels(column(*cells), "y")


def test_many_numbers_that_repeat_are_classes():
    assert len(np.unique(find_labels(column(*map(str, [*range(30), *range(30)])), "y").y)) == 30
