"""Damaged files, old ones and bombs give one clear error: they neither crash nor hang nor fill the memory."""

import json
import os
import struct
import tracemalloc
import zlib
from importlib.metadata import version
from pathlib import Path

import pytest

import mercer
from forgery import repack, unpack
from mercer.persistence import ModelFileError, container, describe

OLD = Path(__file__).parent / "old" / "before_formats.mercer"
START = len(container.FIRST_LINE % container.FORMAT)
AFTER = START + container.HEAD.size


@pytest.fixture
def model(tmp_path, rng):
    X = rng.normal(size=(30, 3))
    mercer.save(mercer.StumpSVC().fit(X, X[:, 0] > 0), tmp_path / "model")
    return tmp_path / "model"


def both_refuse(path, match):
    for read in (mercer.load, describe):
        with pytest.raises(ModelFileError, match=match):
            read(path)


def test_a_file_that_is_cut_off_anywhere_is_damaged(model):
    data = model.read_bytes()
    for length in range(0, len(data), 37):
        model.write_bytes(data[:length])
        both_refuse(model, "Get the file again, or save the estimator again")


def test_any_changed_byte_is_noticed(model):
    data = model.read_bytes()
    for where in [*range(AFTER + 3), *range(AFTER, len(data), 11), len(data) - 1]:
        model.write_bytes(data[:where] + bytes([data[where] ^ 1]) + data[where + 1 :])
        with pytest.raises(ModelFileError, match=r"damaged|not a file of|another length|reads format"):
            mercer.load(model)


def test_what_is_not_a_file_is_said_to_be_none(tmp_path):
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe")
        both_refuse(tmp_path / "pipe", "is not a file")  # which would be waited for
    for read in (mercer.load, describe):
        with pytest.raises(FileNotFoundError):
            read(tmp_path / "nothing")
        with pytest.raises(IsADirectoryError, match="is a folder"):
            read(tmp_path)


def test_files_of_earlier_formats_and_of_later_ones_are_refused_politely(model):
    here = f"mercer {version('mercer')} reads format 4"
    for read in (mercer.load, describe):
        with pytest.raises(ModelFileError) as caught:
            read(OLD)
        assert str(caught.value) == (
            f"{OLD} was not loaded: it is a ZIP archive, as mercer wrote up to format 3, and {here}: fit the "
            "estimator again and save it with this version."
        )
    model.write_bytes(model.read_bytes().replace(b"format 4", b"format 5"))
    both_refuse(model, f"its format is 5, and {here}: update mercer")


def test_a_directory_of_very_many_parts_is_not_read(tmp_path):
    with (tmp_path / "model").open("wb") as file:
        file.write(b"PK\x03\x04")
        file.truncate(2**33)
    tracemalloc.start()
    both_refuse(tmp_path / "model", "ZIP archive")
    assert tracemalloc.get_traced_memory()[1] < 2**22
    tracemalloc.stop()


@pytest.mark.parametrize(
    "data", [b"", b"\x80\x04", b"target,a\n1,2\n", bytes(1000), b"mercer model, format x\n"]
)
def test_files_of_other_kinds_are_refused(tmp_path, data):
    (tmp_path / "model").write_bytes(data)
    both_refuse(tmp_path / "model", r"not a file of mercer\.save")


def with_head(model, **changes):
    data = model.read_bytes()
    head = container.Head(*container.HEAD.unpack(data[START:AFTER]))._replace(**changes)
    model.write_bytes(data[:START] + container.HEAD.pack(*head) + data[AFTER:])


@pytest.mark.parametrize("part", ["metadata", "structure", "arrays"])
@pytest.mark.parametrize("length", [0, 2**20, 2**63])
def test_lengths_that_lie_are_found_before_anything_is_read(model, part, length):
    with_head(model, **{part: length})
    both_refuse(model, "another length than it says")


def forge(model, body, metadata=b"{}", arrays=b""):
    """Write a file of any texts, with lengths and checksums in order."""
    parts = (metadata, body, arrays)
    head = container.HEAD.pack(*map(len, parts), *map(zlib.crc32, parts))
    model.write_bytes(container.FIRST_LINE % container.FORMAT + head + metadata + body + arrays)


@pytest.mark.parametrize("filling", [b"{}", b"[]", b"0", b'{"a":1}', b'"\\u007b\\u007d"'])
def test_very_many_values_are_refused_before_they_are_built(model, monkeypatch, filling):
    text = b"[" + (filling + b",") * (container.MOST_VALUES + 1) + b"0]"
    monkeypatch.setattr(container.json, "loads", lambda *_: pytest.fail("they were built"))
    forge(model, b"{}", metadata=text)
    both_refuse(model, r"values beside its arrays|bytes, more than are loaded")
    monkeypatch.undo()
    forge(model, text)
    with pytest.raises(ModelFileError, match="values beside its arrays"):
        mercer.load(model)


def test_a_long_text_is_refused_before_it_is_read(model):
    forge(model, b'"' + b"x" * container.MOST_STRUCTURE + b'"')
    both_refuse(model, "more than are loaded")


def test_values_within_values_without_end_are_refused(model):
    for depth in (10**3, 10**5):
        forge(model, b'{"arrays":[],"root":' + b"[" * depth + b"]" * depth + b"}")
        with pytest.raises(ModelFileError):
            mercer.load(model)
        forge(model, b"{}", metadata=b"[" * depth)
        both_refuse(model, "was not loaded")


FORMS = [
    ["|O", [1], "C"],
    ["<f2", [1], "C"],
    ["<U0", [1], "C"],
    ["|V8", [1], "C"],
    [">f8", [1], "C"],
    ["<c16", [1], "C"],
    ["<M8[D]", [1], "C"],
    ["<f8", [-1], "C"],
    ["<f8", [1.0], "C"],
    ["<f8", [True], "C"],
    ["<f8", "9", "C"],
    ["<f8", [1], "K"],
    ["<f8", [1] * 99, "C"],
    ["<f8", [2], "C"],
    ["<f8", [2**62], "C"],
    ["<f8", [2**62, 0], "C"],
    ["<U999999", [1], "C"],
    [None, None, None],
    [1],
    "abc",
    None,
]


@pytest.mark.parametrize("form", FORMS, ids=str)
def test_arrays_that_are_not_what_they_say_are_refused(model, form):
    forge(model, json.dumps({"arrays": [form], "root": None}).encode(), arrays=bytes(8))
    tracemalloc.start()
    with pytest.raises(ModelFileError):
        mercer.load(model)
    assert tracemalloc.get_traced_memory()[1] < 2**20
    tracemalloc.stop()


def test_bits_that_mean_nothing_are_refused(model):
    for kind, bits in (("|b1", b"\x02"), ("<U1", struct.pack("<I", 0x110000))):
        body = {"arrays": [[kind, [1], "C"]], "root": {"is": "mercer.StumpSVC", "class_weight": {"array": 0}}}
        forge(model, json.dumps(body).encode(), arrays=bits)
        with pytest.raises(ModelFileError, match="bits mean nothing"):
            mercer.load(model)


def test_a_file_larger_than_memory_is_refused_before_it_is_read(model, have_memory):
    needed = container.COPIES * sum(array.nbytes for array in unpack(model).arrays)
    have_memory(needed)
    mercer.load(model)
    have_memory(needed - 1)
    with pytest.raises(ModelFileError, match="more memory than there is"):
        mercer.load(model)


@pytest.mark.parametrize(
    ("limit", "value"), [("MOST_METADATA", 100), ("MOST_STRUCTURE", 100), ("MOST_VALUES", 10)]
)
def test_what_would_be_too_large_to_load_is_not_saved(model, monkeypatch, limit, value):
    before = model.read_bytes()
    monkeypatch.setattr(container, limit, value)
    with pytest.raises(ModelFileError, match=r"was not saved: .* Drop columns"):
        mercer.save(mercer.StumpSVC(C=2.0), model)
    assert model.read_bytes() == before
    assert os.listdir(model.parent) == [model.name]
    with pytest.raises(ModelFileError):  # the oracle: it is load that has the limit
        mercer.load(model)


@pytest.mark.parametrize("letter", ["列", "é", "\ud800", "\x00"])
def test_any_letters_are_kept(tmp_path, letter):
    about = {"columns": letter * 300_000}
    mercer.save(mercer.StumpSVC(class_weight={letter: 1}), tmp_path / "out.mercer", about=about)
    assert describe(tmp_path / "out.mercer").about == about
    assert mercer.load(tmp_path / "out.mercer").class_weight == {letter: 1}


def test_something_else_than_the_metadata_say_is_refused(model):
    content = unpack(model)
    repack(model, {**content.metadata, "class": "mercer.KernelSVC"}, content.root, content.arrays)
    with pytest.raises(ModelFileError, match="something else than it says"):
        mercer.load(model)
