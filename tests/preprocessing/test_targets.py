"""Targets in a column: classes, numbers, or what only its author knows."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

from mercer.preprocessing import QuantityError, TableError, find_numbers, find_target


def column(*cells):
    return pd.Series(list(cells), dtype=object)


@pytest.mark.parametrize(
    ("cells", "y"),
    [
        (["1.5", "2", None, "-3"], [1.5, 2.0, -3.0]),
        (["1.234,5 €", "2,0 €", None, "7 €"], [1234.5, 2.0, 7.0]),
        (["1e3", "unknown", "2"], [1000.0, 2.0]),
    ],
)
def test_numbers_are_read_however_they_are_written_and_gaps_are_rows_without_one(cells, y):
    found = find_numbers(column(*cells), "y")
    assert_array_equal(found.y, y)
    assert found.known.sum() == len(y)


@pytest.mark.parametrize(
    ("cells", "words"),
    [
        (["1", "2", "cheap", "3"], "Column 'y' holds 'cheap' in row 2, which is no number"),
        (["a", "b", "a"], "holds 'a' in row 0"),
        (["2024-01-31", "2024-02-29", "2023-12-01"], "holds dates"),
        (["1", "inf", "2"], "infinite in row 1"),
        (["4.5"] * 5, "is 4.5 in every row"),
        ([None, None], "is empty"),
        (["1.5 kg", "2.5 g", "3 kg"], "written in several ways"),
    ],
)
def test_what_is_no_number_is_refused_with_a_sentence(cells, words):
    with pytest.raises(TableError, match=words):
        find_target(column(*cells), "y", "number")


def test_two_values_are_asked_about():
    (note,) = find_numbers(column("0", "1", "1", "0"), "y").notes
    assert note == "The target has two values, 0 and 1: if these are classes, use --task class."


ELEVEN_TWICE = [str(k) for k in [*range(11), *range(11)]]


@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        (["a", "b", "a", "b"], "class"),
        (["007", "7", "007", "7"], "class"),
        ([str(k % 5) for k in range(20)], "class"),
        (["0.5", "1", "0.5", "1"], "number"),
        ([str(k) for k in range(30)], "number"),  # each in one row: no class could be learned
        ([str(k % 150) for k in range(450)], "number"),  # more than there may be classes
        (ELEVEN_TWICE, None),
    ],
)
def test_it_is_seen_what_a_column_holds_and_only_what_may_be_both_is_asked_about(cells, kind):
    if kind is None:
        with pytest.raises(QuantityError, match="--task number; if they are classes, --task class") as asked:
            find_target(column(*cells), "y")
        assert not asked.value.is_sure
        return
    found = find_target(column(*cells), "y")
    assert type(found).__name__ == {"class": "ClassColumn", "number": "NumberTarget"}[kind]
    assert any("is a number, not a class" in note for note in found.notes) == (kind == "number")


@pytest.mark.parametrize("cells", [ELEVEN_TWICE, [str(k % 5) for k in range(20)]])
def test_who_knows_what_a_column_holds_can_say_so(cells):
    numbers, classes = (find_target(column(*cells), "y", task) for task in ("number", "class"))
    assert numbers.y.dtype == np.float64
    assert classes.y.dtype == np.int64
    assert_array_equal(numbers.y, classes.y)
