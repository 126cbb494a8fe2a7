import pandas as pd
import pytest

from mercer.preprocessing import TableError, find_ids, read_pairs
from mercer.preprocessing.pair_file import find_row


@pytest.fixture
def written(tmp_path):
    def write(text):
        (tmp_path / "pairs.csv").write_text(text)
        return tmp_path / "pairs.csv"

    return write


def test_two_columns_are_similar_rows(written):
    pairs = read_pairs(written("a,b\n0,1\n3,2\n1,0\n"), 4)
    assert pairs.similar.tolist() == [[0, 1], [2, 3]]
    assert len(pairs.dissimilar) == 0


@pytest.mark.parametrize("kinds", [("1", "0"), ("1.0", "0.0"), ("similar", "dissimilar")])
def test_the_third_column_says_which_kind(written, kinds):
    pairs = read_pairs(written(f"a,b,c\n0,1,{kinds[0]}\n3,2,{kinds[1]}\n"), 4)
    assert (pairs.similar.tolist(), pairs.dissimilar.tolist()) == ([[0, 1]], [[2, 3]])


def test_ids_stand_for_rows_also_if_they_are_numbers(written):
    table = pd.DataFrame({"id": [30.0, 10.0, 20.0]})
    pairs = read_pairs(written("a,b\n10,30\n"), 3, find_ids(table, "id", "it"))
    assert pairs.similar.tolist() == [[0, 1]]


@pytest.mark.parametrize("text", ["a,b\n0,4\n", "a,b\n-1,0\n", "a,b\n0.5,1\n", "a,b\nx,y\n", "a,b\n1,1e9\n"])
def test_what_is_no_row_is_refused(written, text):
    with pytest.raises(TableError):
        read_pairs(written(text), 4)


def test_the_line_that_is_wrong_is_named(written):
    with pytest.raises(TableError, match=r"Line 4 of .* names the row '9'"):
        read_pairs(written("a,b\n0,1\n1,2\n2,9\n"), 4)


def test_a_query_is_a_number_or_an_id():
    ids = pd.Series(["x", "2", "y"])
    assert [find_row("2", 3, None), find_row("2", 3, ids), find_row("y", 3, ids)] == [2, 1, 2]
    for text in ("3", "-1", "1.0", "x"):
        with pytest.raises(TableError, match="0 to 2"):
            find_row(text, 3, None)
