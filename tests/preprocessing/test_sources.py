import bz2
import gzip
import io
import lzma
import sys
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from mercer.preprocessing import TableError, read_table, sources

TEXT = b"a,b\n1,x\n2,y\n"
EXPECTED = pd.DataFrame({"a": ["1", "2"], "b": ["x", "y"]}, dtype=object)


@pytest.mark.parametrize("compress", [gzip.compress, bz2.compress, lzma.compress])
def test_compressed_files_are_unpacked_whatever_their_name(tmp_path, compress):
    (tmp_path / "table.csv").write_bytes(compress(TEXT))
    pd.testing.assert_frame_equal(read_table(tmp_path / "table.csv"), EXPECTED)


def test_zstd_is_unpacked(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    (tmp_path / "table.csv.zst").write_bytes(pyarrow.compress(TEXT, codec="zstd", asbytes=True))
    pd.testing.assert_frame_equal(read_table(tmp_path / "table.csv.zst"), EXPECTED)


def test_without_a_library_a_sentence_says_how_to_read_zstd(tmp_path, monkeypatch):
    monkeypatch.setattr(sources, "find_spec", lambda name: None)
    (tmp_path / "table.csv.zst").write_bytes(sources.ZSTD + b"\x00")
    with pytest.raises(TableError, match="pip install zstandard"):
        read_table(tmp_path / "table.csv.zst")


@pytest.mark.parametrize("cut", [5, -3])
def test_half_a_compressed_file_gets_a_sentence(tmp_path, cut):
    (tmp_path / "table.csv.gz").write_bytes(gzip.compress(TEXT * 100)[:cut])
    with pytest.raises(TableError, match="compressed and damaged"):
        read_table(tmp_path / "table.csv.gz")


def test_what_unpacks_to_more_than_there_is_memory_for_is_refused(tmp_path, have_memory):
    (tmp_path / "table.csv.gz").write_bytes(gzip.compress(b"a" * 1_000_000))
    have_memory(1_000_000)
    with pytest.raises(MemoryError, match="unpacked, needs"):
        read_table(tmp_path / "table.csv.gz")


@pytest.mark.parametrize("content", [TEXT, gzip.compress(TEXT)], ids=["plain", "compressed"])
def test_a_dash_is_the_standard_input(monkeypatch, content):
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(content)))
    pd.testing.assert_frame_equal(read_table("-"), EXPECTED)


def test_nothing_on_the_standard_input_is_said(monkeypatch):
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(b"")))
    with pytest.raises(TableError, match="the standard input is empty"):
        read_table("-")


@pytest.mark.parametrize("form", ["feather", "arrow", "stream"])
def test_arrow_is_read_as_parquet_is(tmp_path, form):
    pytest.importorskip("pyarrow")
    import pyarrow
    from pyarrow import ipc

    table = pd.DataFrame({"number": [1, 2], "text": ["NA", None]})
    path = tmp_path / "table"
    if form == "feather":
        table.to_feather(path)
    else:
        write = ipc.new_file if form == "arrow" else ipc.new_stream
        stored = pyarrow.Table.from_pandas(table)
        with write(path, stored.schema) as file:
            file.write_table(stored)
    found = read_table(path)
    assert found["number"].dtype == np.float64
    assert found["text"].isna().tolist() == [False, True]
