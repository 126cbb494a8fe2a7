import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

from mercer.tables import Columns, TableError, choose_columns, make_encoder, prepare


def texts(*cells):
    return np.array([np.nan if cell is None else cell for cell in cells], dtype=object)


def table_of(**columns):
    return pd.DataFrame({name: texts(*cells) for name, cells in columns.items()})


def test_numbers_categories_and_useless_columns_are_told_apart():
    table = table_of(
        size=["1", "2.5", None, "-3e2", "1"],
        kind=["a", "b", "a", "b", "a"],
        code=["1", "2", "A", "1", "2"],  # a few values that repeat, not all numbers
        gap=["x", None, "x", None, "x"],  # it tells which cells are empty
        name=["u", "v", "w", "s", "t"],
        remark=["hm", None, "so", None, "oh"],
        count=["3", "4", "5", "6", "7"],
        one=["5", "5", None, "5", "5"],  # the gap gets the median: 5
        word=["q", "q", "q", "q", "q"],
        nothing=[None] * 5,
        label=["p", "p", "n", "n", "p"],
    )
    found = choose_columns(table, leave_out={"label"})
    assert found.numbers == ["size"]
    assert found.categories == ["kind", "code", "gap"]
    assert found.dropped == {
        "name": "each row has its own text, like a name or an id",
        "remark": "each row has its own text, like a name or an id",
        "count": "it counts the rows",
        "one": "it has a single value",
        "word": "it has a single value",
        "nothing": "it is empty",
    }


@pytest.mark.parametrize(("n_values", "kept"), [(50, True), (51, False)])
def test_texts_that_hardly_repeat_are_left_out(n_values, kept):
    cells = [f"t{k % n_values}" for k in range(n_values + 10)]
    assert (choose_columns(table_of(x=cells)).categories == ["x"]) is kept


def test_a_category_in_many_rows_is_kept_however_many_there_are():
    assert choose_columns(table_of(x=[f"t{k % 200}" for k in range(400)])).categories == ["x"]


@pytest.mark.parametrize(
    ("n_numbers", "n_words", "is_mixed"), [(21, 1, True), (20, 1, False), (40, 41, False), (41, 40, True)]
)
def test_numbers_with_words_among_them_are_refused_and_codes_are_not(n_numbers, n_words, is_mixed):
    table = table_of(x=[str(k / 4) for k in range(n_numbers)] + ["n.a."] * n_words)
    if is_mixed:
        with pytest.raises(TableError, match=rf"'n.a.' in row {n_numbers}"):
            choose_columns(table)
    else:
        choose_columns(table)


def test_numbers_get_medians_and_categories_ones():
    table = table_of(size=["1", "2", None, "9"], kind=["b", None, "a", "b"])
    columns = choose_columns(table)
    rows = prepare(table, columns, "it")
    found = make_encoder(columns).fit(rows).transform(rows)
    assert_array_equal(found, [[1, 0, 1, 0], [2, 0, 0, 1], [2, 1, 0, 0], [9, 0, 1, 0]])


def test_rare_and_unknown_categories_share_a_column():
    cells = [f"often {k % 49}" for k in range(490)] + ["seldom", "rare"]
    table = table_of(x=cells)
    columns = choose_columns(table)
    encoder = make_encoder(columns).fit(prepare(table, columns, "it"))
    found = encoder.transform(prepare(table_of(x=["often 3", "seldom", "rare", "new", None]), columns, "it"))
    assert found.shape == (5, 50)
    assert_array_equal(found.sum(axis=1), np.ones(5))
    assert_array_equal(found[1], found[2])
    assert_array_equal(found[1], found[3])
    assert found[0] @ found[1] == 0


def test_new_tables_are_read_as_the_columns_were_in_training():
    columns = Columns(["size"], ["code"], {})
    as_csv = prepare(table_of(code=["1", "2"], size=["3", "4.5"]), columns, "it")
    as_numbers = prepare(pd.DataFrame({"size": [3, 4.5], "code": [1.0, 2.0]}), columns, "it")
    pd.testing.assert_frame_equal(as_csv, as_numbers)
    assert list(as_csv.columns) == ["size", "code"]


def test_work_that_does_not_fit_into_memory_says_so_before_it_starts(monkeypatch):
    monkeypatch.setattr("os.sysconf", lambda name: 10)
    with pytest.raises(MemoryError, match="Take fewer rows"):
        prepare(table_of(size=["1", "2", "3", "4"]), Columns(["size"], [], {}), "it")
