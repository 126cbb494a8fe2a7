"""What is saved can be loaded: the limits of `load` hold for `save`."""

import os

import pytest

import mercer
from mercer.persistence import ModelFileError, archive, describe


@pytest.mark.parametrize("part", [archive.METADATA, archive.SCHEMA])
def test_what_would_be_too_large_to_load_is_not_saved(tmp_path, monkeypatch, part):
    path = tmp_path / "out.mercer"
    mercer.save(mercer.StumpSVC(C=3.0), path)
    before = path.read_bytes()
    monkeypatch.setitem(archive.MOST_TEXT, part, 100)
    with pytest.raises(ModelFileError, match=f"was not saved: its {part}.* Drop columns"):
        mercer.save(mercer.StumpSVC(), path)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["out.mercer"]
    with pytest.raises(ModelFileError):  # the oracle: it is load that has the limit
        mercer.load(path)


def test_the_largest_metadata_that_are_saved_are_loaded(tmp_path):
    mercer.save(mercer.StumpSVC(), tmp_path / "small.mercer", about={"words": ""})
    with archive.ZipFile(tmp_path / "small.mercer") as small:
        room = archive.MOST_TEXT[archive.METADATA] - small.getinfo(archive.METADATA).file_size
    mercer.save(mercer.StumpSVC(), tmp_path / "large.mercer", about={"words": "a" * room})
    assert len(describe(tmp_path / "large.mercer").about["words"]) == room
    mercer.load(tmp_path / "large.mercer")
    with pytest.raises(ModelFileError, match="Drop columns"):
        mercer.save(mercer.StumpSVC(), tmp_path / "larger.mercer", about={"words": "a" * (room + 1)})
    assert not (tmp_path / "larger.mercer").exists()


def test_what_would_hold_too_many_values_to_load_is_not_saved(tmp_path, monkeypatch):
    path = tmp_path / "out.mercer"
    mercer.save(mercer.StumpSVC(), path)
    monkeypatch.setattr(archive, "MOST_VALUES", 10)
    with pytest.raises(ModelFileError, match=r"was not saved: .* Drop columns"):
        mercer.save(mercer.StumpSVC(C=2.0), path)
    with pytest.raises(ModelFileError, match="more than 10 values"):
        mercer.load(path)
    monkeypatch.undo()
    assert mercer.load(path).C == 1.0


@pytest.mark.parametrize("letter", ["列", "é", "\ud800"])
def test_letters_take_no_more_than_they_must(tmp_path, letter):
    about = {"columns": letter * 300_000}  # 6 bytes each, as JSON in ASCII has them, would be too many
    mercer.save(mercer.StumpSVC(), tmp_path / "out.mercer", about=about)
    assert describe(tmp_path / "out.mercer").about == about
    mercer.load(tmp_path / "out.mercer")
