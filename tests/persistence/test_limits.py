"""What is saved can be loaded: the limits of `load` hold for `save`; pipes and devices stay what they are."""

import os
import threading

import pytest

import mercer
from mercer.persistence import ModelFileError, archive, describe


@pytest.mark.parametrize("part", [archive.NOTES, archive.SCHEMA])
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


def test_the_largest_notes_that_are_saved_are_loaded(tmp_path):
    mercer.save(mercer.StumpSVC(), tmp_path / "small.mercer", about={"words": ""})
    with archive.ZipFile(tmp_path / "small.mercer") as small:
        room = archive.MOST_TEXT[archive.NOTES] - small.getinfo(archive.NOTES).file_size
    mercer.save(mercer.StumpSVC(), tmp_path / "large.mercer", about={"words": "a" * room})
    assert len(describe(tmp_path / "large.mercer").about["words"]) == room
    mercer.load(tmp_path / "large.mercer")
    with pytest.raises(ModelFileError, match="Drop columns"):
        mercer.save(mercer.StumpSVC(), tmp_path / "larger.mercer", about={"words": "a" * (room + 1)})
    assert not (tmp_path / "larger.mercer").exists()


@pytest.mark.parametrize("letter", ["列", "é", "\ud800"])
def test_letters_take_no_more_than_they_must(tmp_path, letter):
    about = {"columns": letter * 300_000}  # 6 bytes each, as JSON in ASCII has them, would be too many
    mercer.save(mercer.StumpSVC(), tmp_path / "out.mercer", about=about)
    assert describe(tmp_path / "out.mercer").about == about
    mercer.load(tmp_path / "out.mercer")


@pytest.mark.skipif(os.name != "posix", reason="there are no such pipes")
@pytest.mark.parametrize("through_a_link", [False, True])
def test_a_pipe_is_written_to_and_not_replaced(tmp_path, through_a_link):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    (tmp_path / "link").symlink_to(pipe)
    got = []
    reader = threading.Thread(target=lambda: got.append(pipe.read_bytes()), daemon=True)
    reader.start()
    archive.replace_file(tmp_path / "link" if through_a_link else pipe, b"content" * 9)
    reader.join(10)
    assert got == [b"content" * 9]
    assert pipe.is_fifo()
    assert (tmp_path / "link").is_symlink()
    assert sorted(os.listdir(tmp_path)) == ["link", "pipe"]


@pytest.mark.skipif(os.name != "posix", reason="there are no such pipes")
def test_a_pipe_without_a_name_is_written_to():
    """As /dev/stdout is one in `mercer predict … -o /dev/stdout | head`."""
    end, start = os.pipe()
    try:
        archive.replace_file(archive.Path(f"/dev/fd/{start}"), b"content")
        assert os.read(end, 100) == b"content"
    finally:
        os.close(end)
        os.close(start)
