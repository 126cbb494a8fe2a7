"""Damaged files and bombs give one clear error: they neither crash nor hang nor fill the memory."""

import copy
import io
import os
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile

import numpy as np
import pytest

import mercer
from forgery import forge, node, repack, sequence, text, unpack
from fuzz_persistence import fuzz, sample_files
from mercer.persistence import ModelFileError, archive, describe, npy
from mercer.persistence.archive import METADATA, SCHEMA
from mercer.persistence.metadata import FORMAT


@pytest.fixture
def model(tmp_path, rng):
    X = rng.normal(size=(30, 3))
    mercer.save(mercer.StumpSVC().fit(X, X[:, 0] > 0), tmp_path / "model")
    return tmp_path / "model"


def test_fuzzed_files_neither_crash_nor_hang_nor_run_anything(tmp_path, recwarn):
    ends, did, _ = fuzz(tmp_path, sample_files(tmp_path), n_files=300)
    assert not did
    assert {damage for damage, _ in ends} == {"damage_bytes", "damage_schema", "damage_arrays"}
    assert {end for _, end in ends} == {"loaded", "refused", "damaged"}


def test_a_file_that_is_cut_off_anywhere_is_damaged(model):
    data = model.read_bytes()
    for length in range(0, len(data), 37):
        model.write_bytes(data[:length])
        with pytest.raises(ModelFileError, match="Get the file again, or save the estimator again"):
            mercer.load(model)
        with pytest.raises(ModelFileError):
            describe(model)


def test_a_changed_byte_in_an_array_is_noticed(model):
    data = model.read_bytes()
    _, _, arrays = unpack(model)
    where = data.index(arrays["1.npy"]) + len(arrays["1.npy"]) - 1
    model.write_bytes(data[:where] + bytes([data[where] ^ 1]) + data[where + 1 :])
    with pytest.raises(ModelFileError, match="damaged"):
        mercer.load(model)


def test_what_is_not_a_file_is_said_to_be_none(tmp_path):
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe")
    for read in (mercer.load, describe):
        with pytest.raises(FileNotFoundError):
            read(tmp_path / "nothing")
        with pytest.raises(IsADirectoryError, match="is a folder"):
            read(tmp_path)
        if hasattr(os, "mkfifo"):  # which would be waited for
            with pytest.raises(ModelFileError, match="is not a file"):
                read(tmp_path / "pipe")


def write_zip(path, parts, compression):
    with ZipFile(path, "w", compression) as file:
        for name, data in parts:
            file.writestr(name, data)


@pytest.mark.parametrize("name", [METADATA, SCHEMA, "1.npy"])
def test_a_bomb_is_found_by_its_declared_size_before_it_is_read(model, monkeypatch, name):
    size = 2 * archive.MOST_TEXT[SCHEMA]
    parts = {METADATA: b"{}", SCHEMA: b"{}", name: bytes(size)}
    write_zip(model, parts.items(), ZIP_DEFLATED)
    assert model.stat().st_size < size / 900
    monkeypatch.setattr(ZipFile, "read", lambda *_: pytest.fail("it was read"))
    with pytest.raises(ModelFileError, match=r"more than|compressed"):
        mercer.load(model)


@pytest.mark.parametrize("filling", ["{}", "[]", "0", '{"a":1}'])
def test_a_small_file_of_very_many_values_is_refused_before_they_are_built(model, monkeypatch, filling):
    most = archive.MOST_TEXT[SCHEMA]
    text = '{"content":[' + f"{filling}," * ((most - 20) // (len(filling) + 1)) + "0]}"
    write_zip(model, [(METADATA, b"{}"), (SCHEMA, text)], ZIP_DEFLATED)
    with ZipFile(model) as file:
        monkeypatch.setattr(archive.json, "loads", lambda *_: pytest.fail("they were built"))
        assert model.stat().st_size < 100_000
        with pytest.raises(ModelFileError, match="values"):
            archive.read_text(file, SCHEMA)


def test_a_bomb_that_declares_a_small_size_is_not_read_beyond_it(model):
    write_zip(model, [(METADATA, bytes(2**26)), (SCHEMA, b"{}")], ZIP_DEFLATED)
    declared, pretended = (number.to_bytes(4, "little") for number in (2**26, 100))
    model.write_bytes(model.read_bytes().replace(declared, pretended))
    with pytest.raises(ModelFileError):
        describe(model)


def test_parts_that_share_their_bytes_are_found(model):
    with ZipFile(model, "a") as file:
        file.writestr("500.npy", bytes(10**5))
        for k in range(501, 510):
            info = copy.copy(file.getinfo("500.npy"))
            info.filename = f"{k}.npy"
            file.filelist.append(info)
    assert model.stat().st_size < 2 * 10**5
    with pytest.raises(ModelFileError, match="its parts are larger than the file"):
        mercer.load(model)


def test_a_file_larger_than_memory_is_refused_before_it_is_read(model, have_memory):
    have_memory(archive.COPIES * model.stat().st_size)
    mercer.load(model)
    have_memory(archive.COPIES * model.stat().st_size - 1)
    with pytest.raises(ModelFileError, match="more memory than there is"):
        mercer.load(model)


@pytest.mark.parametrize("change", ["twice", "other name", "compressed differently", "missing"])
def test_an_archive_with_other_parts_is_refused(model, change, recwarn):
    with ZipFile(model) as file:
        parts = [(name, file.read(name)) for name in file.namelist()]
    changed = {
        "twice": [*parts, parts[0]],
        "other name": [*parts, ("../../evil.npy", b"")],
        "compressed differently": parts,
        "missing": parts[1:],
    }[change]
    write_zip(model, changed, 14 if change == "compressed differently" else ZIP_STORED)
    with pytest.raises(ModelFileError):
        mercer.load(model)


def test_nodes_within_nodes_without_end_are_refused(tmp_path):
    deep = text(1)
    for _ in range(200):
        deep = sequence(deep)
    forge(tmp_path / "model", deep)
    with pytest.raises(ModelFileError, match="nested"):
        mercer.load(tmp_path / "model")


def test_json_within_json_without_end_is_refused(model):
    for depth in (10**3, 10**5, 10**6):
        nested = "[" * depth
        write_zip(model, [(METADATA, b"{}"), (SCHEMA, nested)], ZIP_DEFLATED)
        with pytest.raises(ModelFileError):
            mercer.load(model)
        write_zip(model, [(METADATA, nested), (SCHEMA, "{}")], ZIP_DEFLATED)
        with pytest.raises(ModelFileError):
            describe(model)


def test_few_nodes_that_stand_for_very_many_are_refused(tmp_path):
    # a list of two lists that are one, of two that are one, …: 2**60 nodes for whoever follows each
    laughs = text("ha")
    for _ in range(60):
        again = {**laughs, "content": []} if laughs["__loader__"] == "ListNode" else laughs
        laughs = sequence(laughs, again)
    forge(tmp_path / "model", laughs)
    with pytest.raises(ModelFileError, match="few nodes that stand for very many"):
        mercer.load(tmp_path / "model")


def test_a_node_that_contains_itself_is_refused(tmp_path):
    outer = sequence()
    outer["content"] = [sequence(dict(outer))]
    forge(tmp_path / "model", outer)
    with pytest.raises(ModelFileError, match="contain themselves"):
        mercer.load(tmp_path / "model")


def test_one_array_cannot_be_read_many_times(tmp_path):
    data = npy_of(np.zeros(3))
    arrays = [node("NdArrayNode", "numpy.ndarray", type="numpy", file="1.npy") for _ in range(2)]
    forge(tmp_path / "model", sequence(*arrays), {"1.npy": data})
    with pytest.raises(ModelFileError, match="damaged"):
        mercer.load(tmp_path / "model")


def npy_of(array):
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()


@pytest.mark.parametrize(
    "array", [np.zeros((2, 3), order="F"), np.array("ä"), np.arange(3) > 1, np.zeros((0, 2))]
)
def test_headers_are_read_as_numpy_reads_them(array):
    assert npy.read_form(npy_of(array)) == (array.shape, array.dtype)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"(3, 4)", b"(9, 9)"),
        (b"(3, 4), } ", b"(3, 4, 5) }"),
        (b"(3, 4), }        ", b"(999999999999), }"),
        (b"(3, 4)", b"(-3,4)"),
        (b"<f8", b"|O8"),
        (b"<f8", b"<U0"),
        (b"<f8", b"|V8"),
        (b"'<f8'", b"[1,2]"),
        (b"False", b"f( 1)"),
        (b"\x01\x00", b"\x07\x00"),
        (b"\x93NUMPY", b"\x80\x04NUMP"),
        (b"\x76\x00", b"\x70\x00"),
    ],
)
def test_headers_that_lie_are_refused(old, new):
    data = npy_of(np.zeros((3, 4)))
    assert old in data
    with pytest.raises(ModelFileError):
        npy.read_form(data.replace(old, new, 1))


def test_a_long_array_of_nothing_is_refused():
    data = (
        npy_of(np.array([], dtype=np.str_))
        .replace(b"<U1", b"<U0")
        .replace(b"(0,), }        ", b"(99999999,), } ")
    )
    with pytest.raises(ModelFileError, match="does not fit its bytes"):
        npy.read_form(data)


def test_a_random_state_that_points_beyond_its_words_is_refused(tmp_path):
    mercer.save(mercer.StumpSVC(random_state=np.random.RandomState(0)), tmp_path / "model")
    metadata, schema, arrays = unpack(tmp_path / "model")
    state = schema["content"]["content"]["random_state"]["content"]["content"]["state"]["content"]
    for pos in (-1, 625, 2**40, 0.5, True):
        state["pos"]["content"] = str(pos).lower()
        repack(tmp_path / "model", metadata, schema, arrays)
        with pytest.raises(ModelFileError):
            mercer.load(tmp_path / "model")
    state["pos"]["content"] = "624"
    repack(tmp_path / "model", metadata, schema, arrays)
    assert mercer.load(tmp_path / "model").random_state.randint(10) >= 0


@pytest.mark.parametrize(
    ("number", "advice"),
    [(FORMAT + 1, "update mercer"), (1, "save it with this version"), (None, "again"), (True, "again")],
)
def test_another_format_is_refused_with_the_names_of_both(model, number, advice):
    metadata, schema, arrays = unpack(model)
    repack(model, {**metadata, "format": number}, schema, arrays)
    for read in (mercer.load, describe):
        said = rf"its format is {number}, and mercer [0-9.]+ reads format {FORMAT}: .*{advice}"
        with pytest.raises(ModelFileError, match=said):
            read(model)
