import codecs

import numpy as np
import pandas as pd
import pytest

from mercer.preprocessing import TableError, read_table
from mercer.preprocessing.missing import as_written, is_missing


@pytest.fixture
def written(tmp_path):
    """Return a function that writes a file and reads it as a table."""

    def write_and_read(text, encoding="utf-8"):
        path = tmp_path / "table"
        path.write_bytes(text if isinstance(text, bytes) else text.encode(encoding))
        return read_table(path)

    return write_and_read


ROWS = [("size", "kind", "note"), ("1.5", "a,b;c|d", "x y"), ("-2e3", 'say "hi"', "é")]


@pytest.mark.parametrize("delimiter", [",", "\t", ";", "|"])
def test_every_delimiter_gives_the_same_table(written, delimiter):
    def quoted(cell):
        return '"' + cell.replace('"', '""') + '"'

    text = "\n".join(delimiter.join(quoted(cell) for cell in row) for row in ROWS)
    table = written(text)
    assert list(table.columns) == list(ROWS[0])
    assert [tuple(row) for row in table.to_numpy()] == ROWS[1:]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_marks_at_the_start_and_line_ends_do_not_matter(written, encoding, end):
    table = written(end.join(["naïve,b", "1,ü", "", "2,ß", ""]), encoding)
    assert list(table.columns) == ["naïve", "b"]
    assert list(table["b"]) == ["ü", "ß"]


def test_cells_are_texts_and_words_stay_as_they_are_written(written):
    table = written("a,b\n007,\nNA,?\nnull,x\n 5 , y\n")
    assert list(table["a"]) == ["007", "NA", "null", "5 "]
    assert table["b"].isna().tolist() == [True, False, False, False]
    assert table["b"][3] == "y"
    assert is_missing(table["a"]).tolist() == [False, True, True, False]
    assert is_missing(table["b"]).tolist() == [True, True, False, False]


def test_words_in_quotation_marks_are_not_missing(written):
    table = written('a,b\n"NA",1\nNA, "none"\n"say ""NA"", ok","null"\n"a,""NA"",b",nan\n')
    assert is_missing(table["a"]).tolist() == [False, True, False, False]
    assert is_missing(table["b"]).tolist() == [False, False, False, True]
    assert list(as_written(table["a"])) == ["NA", "NA", 'say "NA", ok', 'a,"NA",b']
    assert list(as_written(table["b"])) == ["1", "none", "null", "nan"]
    assert is_missing(table["b"], among_numbers=True).tolist() == [False, True, True, True]


def test_a_semicolon_says_that_commas_are_rather_decimal(written):
    assert written("a;b\n1,5;x,y\n2;z\n").attrs["commas_first"]
    assert not written('a,b\n"1,5",x\n2,z\n').attrs["commas_first"]


def test_a_column_without_a_name_gets_one(written):
    assert list(written(",x\n0,5\n1,6\n").columns) == ["column 1", "x"]


def test_one_wrong_line_does_not_change_the_delimiter(written):
    with pytest.raises(TableError, match=r"Line 3 .* has 3 cells, the first line has 2"):
        written("a,b\n1,x;y;z\n2,u,v\n3,w;w;w\n")


def test_the_line_of_an_error_counts_the_lines_of_the_file(written):
    with pytest.raises(TableError, match="Line 5 "):
        written('a,b\n1,"two\nlines"\n\n3\n')


def test_a_mark_without_text_is_empty(written):
    with pytest.raises(TableError, match="empty"):
        written(codecs.BOM_UTF8 + b"\n")


def test_parquet_is_read_as_the_table_that_it_is(tmp_path):
    pytest.importorskip("pyarrow")
    table = pd.DataFrame(
        {
            "whole": [1, 2, 3],
            "real": [0.5, np.nan, 2.0],
            "truth": [True, False, True],
            "text": ["a", None, "b"],
            "word": ["NA", None, "b"],
            "kind": pd.Categorical(["u", "v", "u"]),
            "day": pd.to_datetime(["2020-01-01", "2020-01-02", None]),
        }
    )
    table.to_parquet(tmp_path / "table.parquet")
    found = read_table(tmp_path / "table.parquet")
    assert list(found.columns) == list(table.columns)
    assert found["whole"].dtype == found["real"].dtype == np.float64
    assert list(found["truth"]) == ["True", "False", "True"]
    assert list(found["kind"]) == ["u", "v", "u"]
    assert found["text"].isna().tolist() == [False, True, False]
    assert found["day"].isna().tolist() == [False, False, True]
    assert is_missing(found["word"]).tolist() == [False, True, False]  # what has a type needs no quotes


def test_without_pyarrow_a_sentence_says_how_to_read_parquet(tmp_path, monkeypatch):
    monkeypatch.setattr("mercer.preprocessing.reading.find_spec", lambda name: None)
    (tmp_path / "table.parquet").write_bytes(b"PAR1")
    with pytest.raises(TableError, match=r"mercer\[parquet\]"):
        read_table(tmp_path / "table.parquet")


@pytest.mark.parametrize(("encoding", "guess"), [("cp1252", "cp1252"), ("latin-1", "cp1252")])
def test_text_that_is_not_utf_8_is_guessed_and_the_guess_is_said(tmp_path, encoding, guess):
    path = tmp_path / "t.csv"
    path.write_bytes("größe,b\nsüß,1\n".encode(encoding))
    table = read_table(path)
    assert (table.columns[0], table.iloc[0, 0]) == ("größe", "süß")
    assert f"was read as {guess}" in table.attrs["remark"]
    assert "remark" not in read_table(path, encoding=encoding).attrs
    path.write_bytes(b"a,b\n\x81\xe9,1\n")  # \x81 is no letter of cp1252
    assert "latin-1" in read_table(path).attrs["remark"]
    path.write_bytes("größe,b\nsüß,1\n".encode("mac-roman"))
    assert read_table(path, encoding="mac-roman").iloc[0, 0] == "süß"


def test_the_first_sheet_of_an_excel_file_is_read_as_the_table_that_it_is(tmp_path):
    pytest.importorskip("openpyxl")
    path = tmp_path / "t.xlsx"
    days = pd.to_datetime(["2024-01-02", "2024-03-04", None])
    table = pd.DataFrame({"size": [1.5, np.nan, 2.0], "name": ["NA", "süß", None], "day": days})
    table.to_excel(path, index=False)
    read = read_table(path)
    assert list(read.columns) == ["size", "name", "day"]
    np.testing.assert_array_equal(read["size"], table["size"])
    assert read["name"].isna().tolist() == [False, False, True]
    assert as_written(read["name"]).tolist()[:2] == ["NA", "süß"]
    assert read["day"].tolist()[:2] == ["2024-01-02T00:00:00", "2024-03-04T00:00:00"]
    path.write_bytes(path.read_bytes()[:-200])
    with pytest.raises(TableError, match="damaged Excel file"):
        read_table(path)


def test_without_openpyxl_a_sentence_says_how_to_read_excel(tmp_path, monkeypatch):
    monkeypatch.setattr("mercer.preprocessing.reading.find_spec", lambda name: None)
    path = tmp_path / "t.xlsx"
    path.write_bytes(b"PK\x03\x04 and xl/workbook.xml")
    with pytest.raises(TableError, match=r"pip install 'mercer\[xlsx\]'"):
        read_table(path)
