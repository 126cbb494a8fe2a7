import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

from mercer.preprocessing import TableError
from mercer.preprocessing.columns import choose_kind
from mercer.preprocessing.kinds import CategoryColumn, DateColumn, NumberColumn, TextColumn


def choose(*cells, **options):
    column = pd.Series(np.array([np.nan if cell is None else cell for cell in cells], dtype=object))
    return choose_kind(column, "x", **options)


DAYS = pd.date_range("2024-03-01", periods=40, freq="17h")
WORDS = ("red apple and a pear", "green pear or an apple", "an old red car", "a green car and an apple")
KINDS = {
    "numbers": (["1", "2.5", None, "-3e2", "1"], NumberColumn),
    "numbers with separators": (["1,200", "999", "12,345.5"], NumberColumn),
    "prices": (["$ 1,200", "$5", "$ 12"], NumberColumn),
    "shares": (["5 %", "7.5 %", "12 %"], NumberColumn),
    "numbers and a dash": (["5", "-", "7", "n.a.", "2"], NumberColumn),
    "days": (list(DAYS.strftime("%d.%m.%Y")), DateColumn),
    "days in eight digits": (list(DAYS.strftime("%Y%m%d")), DateColumn),
    "times": (list(DAYS.strftime("%Y-%m-%d %H:%M")), DateColumn),
    "clock": (list(DAYS.strftime("%H:%M")), DateColumn),
    "eight digits that are no days": (["20241399", "20240101", "99999999"], NumberColumn),
    "categories": (["a", "b", "a", "b", "a"], CategoryColumn),
    "codes, not all numbers": (["1", "2", "A", "1", "2"], CategoryColumn),
    "codes that begin with zeros": (["007", "7", "007", "12"], CategoryColumn),
    "one value and gaps": (["x", None, "x", None, "x"], CategoryColumn),
    "one number and gaps": (["5", None, None, "5", "5"], NumberColumn),
    "39 labels of several words": ([f"{WORDS[k % 39 % 4]} {k % 39}" for k in range(5 * 39)], CategoryColumn),
    "sentences": ([f"{WORDS[k % 4]} number {k}" for k in range(40)], TextColumn),
}


@pytest.mark.parametrize("case", KINDS)
def test_columns_are_what_a_person_would_say(case):
    cells, kind = KINDS[case]
    assert isinstance(choose(*cells).kind, kind)


@pytest.mark.parametrize(
    ("cells", "reason"),
    [
        (list("uvwst"), "each row has its own text, like a name or an id"),
        (["hm", None, "so", None, "oh"], "each row has its own text, like a name or an id"),
        ([f"apple {k}" for k in range(30)], "each row has its own text, like a name or an id"),
        (list("34567"), "it counts the rows"),
        (["5", "5", None, "5", "5"], "it has a single value"),  # one gap gets the median: 5
        (["q"] * 5, "it has a single value"),
        (["2024-01-01"] * 5, "it has a single value"),
        ([None] * 5, "it is empty"),
        (["NA", "?", None, "null"], "it is empty"),
        (["5 kg", "6 g", "7 lb"], "its numbers are written in several ways, such as '5 kg' and '6 g'"),
    ],
)
def test_useless_columns_are_dropped_with_the_reason(cells, reason):
    kind, why, _ = choose(*cells)
    assert kind is None
    assert why.startswith(reason)


@pytest.mark.parametrize(("n_repeated", "kept"), [(26, True), (24, False)])
def test_many_texts_are_kept_if_a_quarter_of_the_rows_has_one_that_repeats(n_repeated, kept):
    cells = [f"t{k // 2}" for k in range(n_repeated)] + [f"s{k}" for k in range(100 - n_repeated)]
    assert (choose(*cells).kind is not None) is kept


def test_a_category_in_many_rows_is_kept_however_many_there_are():
    assert isinstance(choose(*(f"t{k % 200}" for k in range(400))).kind, CategoryColumn)


@pytest.mark.parametrize(
    ("n_numbers", "n_words", "is_mixed"), [(21, 1, True), (20, 1, False), (40, 41, False), (41, 40, True)]
)
def test_numbers_with_words_among_them_are_refused_and_codes_are_not(n_numbers, n_words, is_mixed):
    cells = [str(k / 4) for k in range(n_numbers)] + ["heavy"] * n_words
    if is_mixed:
        with pytest.raises(TableError, match=rf"mixes numbers with text, such as 'heavy' in row {n_numbers}"):
            choose(*cells)
    else:
        choose(*cells)


def test_days_with_words_among_them_are_refused():
    with pytest.raises(TableError, match="mixes dates with text, such as 'soon' in row 40"):
        choose(*DAYS.strftime("%d.%m.%Y"), "soon")


def test_numbers_that_are_too_large_are_refused():
    with pytest.raises(TableError, match="holds inf in row 1"):
        choose("1", "inf", "2")


def test_what_can_be_read_in_two_ways_is_noted():
    assert "thousands separators" in choose("1,234", "5,678").note
    assert "decimal marks" in choose("1,234", "5,678", commas_first=True).note
    assert choose("1,234", "5,67").note == choose("1,234.5", "5,678").note == ""
    assert "month first" in choose("1/2/2024", "3/4/2024").note
    assert choose("1/13/2024", "3/4/2024").note == choose("13/1/2024", "3/4/2024").note == ""


def test_pandas_categories_stay_categories_even_if_they_are_numbers():
    kind, _, _ = choose_kind(pd.Series(["1", "2", "3", "2"], dtype="category"), "x")
    assert kind == CategoryColumn("x", ["1", "2", "3"], has_gaps=False, has_rare=False)


def test_of_many_categories_the_rare_ones_share_a_feature():
    cells = [f"often {k % 49}" for k in range(490)] + ["seldom", "rare"]
    kind = choose(*cells).kind
    assert len(kind.values) == 49
    assert not {"seldom", "rare"} & set(kind.values)
    found = kind.encode(pd.Series(["often 3", "seldom", "rare", "new", np.nan], dtype=object), "it")
    assert found.shape == (5, 50)
    assert_array_equal(found.sum(axis=1), np.ones(5))
    assert_array_equal(found[1:], np.tile(found[1], (4, 1)))
    assert found[0] @ found[1] == 0
