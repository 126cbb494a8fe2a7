"""A file is replaced whole or not at all; pipes and devices stay what they are."""

import errno
import os
import threading
from pathlib import Path

import pytest

from mercer.files import replace_file


def full_disk(*_):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))  # as a failed write does, without a name


@pytest.mark.parametrize("call", ["fsync", "replace", "chmod"])
@pytest.mark.parametrize("there", [True, False])
def test_a_full_disk_is_reported_with_the_name_of_the_file_and_keeps_what_was_there(
    tmp_path, monkeypatch, call, there
):
    path = tmp_path / "out"
    if there:
        path.write_bytes(b"old")
    monkeypatch.setattr(os, call, full_disk)
    with pytest.raises(OSError, match="No space left on device") as caught:
        replace_file(path, b"new")
    assert (caught.value.errno, caught.value.filename) == (errno.ENOSPC, str(path))
    assert [file.read_bytes() for file in tmp_path.iterdir()] == ([b"old"] if there else [])


def test_a_folder_that_does_not_exist_is_reported_with_the_name_of_the_file(tmp_path):
    with pytest.raises(FileNotFoundError) as caught:
        replace_file(tmp_path / "nowhere" / "out", b"new")
    assert caught.value.filename == str(tmp_path / "nowhere" / "out")


def test_a_link_is_followed_and_permissions_are_kept(tmp_path):
    path = tmp_path / "out"
    path.write_bytes(b"old")
    path.chmod(0o640)
    (tmp_path / "link").symlink_to(path)
    replace_file(tmp_path / "link", b"new")
    assert (tmp_path / "link").is_symlink()
    assert (path.read_bytes(), path.stat().st_mode & 0o777) == (b"new", 0o640)


@pytest.mark.skipif(os.name != "posix", reason="there are no such pipes")
@pytest.mark.parametrize("through_a_link", [False, True])
def test_a_pipe_is_written_to_and_not_replaced(tmp_path, through_a_link):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    (tmp_path / "link").symlink_to(pipe)
    got = []
    reader = threading.Thread(target=lambda: got.append(pipe.read_bytes()), daemon=True)
    reader.start()
    replace_file(tmp_path / "link" if through_a_link else pipe, b"content" * 9)
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
        replace_file(Path(f"/dev/fd/{start}"), b"content")
        assert os.read(end, 100) == b"content"
    finally:
        os.close(end)
        os.close(start)
