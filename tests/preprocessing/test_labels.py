import numpy as np
import pandas as pd
import pytest

from mercer.preprocessing import TableError, find_labels
from mercer.preprocessing.missing import QUOTED


def column(*cells):
    return pd.Series(np.array([np.nan if cell is None else cell for cell in cells], dtype=object))


def test_texts_are_classes_and_gaps_are_rows_without_one():
    y, known, notes = find_labels(column("b ", "a", None, "b", "a"), "y")
    assert y.tolist() == ["b", "a", "b", "a"]
    assert known.tolist() == [True, True, False, True, True]
    assert notes == []


@pytest.mark.parametrize("stored", [False, True])
def test_whole_numbers_stay_numbers(stored):
    cells = column("1", "-1", None, "1", "-1")
    y = find_labels(cells.astype(float) if stored else cells, "y").y
    assert y.dtype.kind == "i"
    assert y.tolist() == [1, -1, 1, -1]


@pytest.mark.parametrize(
    "cells",
    [("007", "7", "007", "7"), ("1.0", "0.0", "1.0", "0.0"), ("+1", "1", "+1", "1"), ("1", "x", "1", "x")],
)
def test_labels_stay_as_they_are_written(cells):
    assert find_labels(column(*cells), "y").y.tolist() == list(cells)


def test_labels_that_may_be_meant_to_be_one_are_named():
    (note,) = find_labels(column("007", "7", "007", "7"), "y").notes
    assert note.startswith("'007', '7' in column 'y' are different classes")
    (note,) = find_labels(column("Yes", "yes ", "no", "Yes", "yes", "no"), "y").notes
    assert "'Yes', 'yes'" in note


@pytest.mark.parametrize("word", ["NA", "None", "nan", "null"])
def test_words_for_missing_values_are_classes_where_no_cell_is_empty(word):
    y, known, notes = find_labels(column(word, "a", "a", word), "y")
    assert y.tolist() == [word, "a", "a", word]
    assert known.all()
    assert "is a class, of 2 rows, because no cell is empty" in notes[0]


def test_words_for_missing_values_are_gaps_where_other_cells_are_empty():
    y, known, notes = find_labels(column("NA", "a", None, "b", "a", "b"), "y")
    assert y.tolist() == ["a", "b", "a", "b"]
    assert known.tolist() == [False, True, False, True, True, True]
    assert "is taken for an empty cell, in 1 rows" in notes[0]


def test_words_in_quotation_marks_are_classes_whatever_else_is_missing():
    y, known, notes = find_labels(column(f"{QUOTED}NA", "a", None, f"{QUOTED}NA", "a", "?"), "y")
    assert y.tolist() == ["NA", "a", "NA", "a"]
    assert known.tolist() == [True, True, False, True, True, False]
    assert notes == []


@pytest.mark.parametrize("cells", [["nan", "NaN"] * 2, ["1", "nan", "2"] * 2, ["NA", "None"] * 2])
def test_words_are_no_quantity_beside_numbers_or_among_themselves(cells):
    assert find_labels(column(*cells), "y").y.tolist() == cells


def test_a_question_mark_is_never_a_class():
    assert find_labels(column("?", "a", "b", "a", "b"), "y").known.tolist() == [False, True, True, True, True]


@pytest.mark.parametrize(
    ("cells", "words"),
    [
        (["a"] * 4, "one class"),
        ([None] * 4, "empty"),
        (["0.5", "1", "0.5", "1"], "numbers such as 0.5, like a quantity: .* --task class"),
        (["1,5", "2", "1,5", "2"], "like a quantity"),
        ([str(k) for k in range(30)], "30 different whole numbers from 0 to 29, like a quantity"),
        ([str(k) for k in [*range(11), *range(11)]], "11 different whole numbers"),
        (list("abcd"), "classes repeat"),
        (list("aabbc"), "one each of 'c'"),
        ([*"1122", "3"], "one each of '3'"),
    ],
)
def test_what_is_no_class_is_refused(cells, words):
    with pytest.raises(TableError, match=words):
        find_labels(column(*cells), "y")


def test_few_whole_numbers_are_classes_and_it_is_said():
    y, _, notes = find_labels(column(*map(str, [*range(3, 13), *range(3, 13)])), "y")
    assert len(np.unique(y)) == 10
    assert notes == [
        "The numbers 3 to 12 in column 'y' are classes, in no order (--task number: they are numbers)."
    ]
    assert find_labels(column(*"0101"), "y").notes == []


def test_many_numbers_are_classes_if_the_user_says_so():
    cells = column(*map(str, [*range(30), *range(30)]))
    assert len(np.unique(find_labels(cells, "y", are_classes=True).y)) == 30
    reals = find_labels(column("0.5", "1", "0.5", "1"), "y", are_classes=True).y
    assert reals.tolist() == ["0.5", "1", "0.5", "1"]


def test_codes_that_begin_with_zeros_are_classes_however_many():
    cells = [f"{k:03d}" for k in [*range(30), *range(30)]]
    assert find_labels(column(*cells), "y").y.tolist() == cells
