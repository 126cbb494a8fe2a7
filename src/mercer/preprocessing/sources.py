"""The bytes of a table: from a file or the standard input, unpacked if they are compressed."""

import bz2
import gzip
import io
import lzma
import os
import stat
import sys
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import IO, Any

from mercer.limits import check_memory
from mercer.preprocessing.errors import TableError

STDIN = "-"
ZSTD = b"\x28\xb5\x2f\xfd"
CHUNK = 2**24
COPIES = 4  # of the bytes that are in memory at once: packed, unpacked, decoded, and as cells


def spoken(path: Path) -> str:
    """Return what a source is called in messages; letters that are not UTF-8 are replaced."""
    return "the standard input" if str(path) == STDIN else os.fsencode(path).decode("utf-8", "replace")


def read_bytes(path: Path) -> bytes:
    """Return what is in a file, or comes from the standard input, unpacked, or raise TableError."""
    if str(path) == STDIN:
        return _unpack(sys.stdin.buffer.read(), path)
    try:
        mode = path.stat().st_mode
        if stat.S_ISDIR(mode):
            raise TableError(f"{path} is a folder: name a file in it.")
        if not stat.S_ISREG(mode):
            raise TableError(f"{path} is not a file: save the table as one first, or pipe it to -.")
        check_memory(COPIES * path.stat().st_size, str(path), "Take fewer rows.")
        content = path.read_bytes()
    except FileNotFoundError as error:
        raise TableError(f"There is no file {path}: check the path.") from error
    except OSError as error:
        raise TableError(f"{path} cannot be read ({error.strerror}): check the path.") from error
    return _unpack(content, path)


def _unpack(content: bytes, path: Path) -> bytes:
    for start, opened in OPENERS.items():
        if content.startswith(start):
            try:
                with opened(io.BytesIO(content), path) as file:
                    return _read_all(file, path)
            except (OSError, EOFError, ValueError, lzma.LZMAError) as error:
                if isinstance(error, TableError):
                    raise
                raise TableError(f"{spoken(path)} is compressed and damaged: make it again.") from error
    return content


def _read_all(file: IO[bytes], path: Path) -> bytes:
    """Return all bytes; a small file may unpack to more than there is memory for."""
    parts, n_bytes = [], 0
    while part := file.read(CHUNK):
        parts.append(part)
        n_bytes += len(part)
        check_memory(COPIES * n_bytes, f"{spoken(path)}, unpacked,", "Take fewer rows.")
    return b"".join(parts)


def _open_zstd(file: io.BytesIO, path: Path) -> Any:
    for name in ("compression.zstd", "zstandard"):  # the first is Python's own, from 3.14 on
        if _is_there(name):
            return import_module(name).open(file, "rb")
    if _is_there("pyarrow"):
        return import_module("pyarrow").CompressedInputStream(file, "zstd")
    raise TableError(f"To read {spoken(path)}, which is compressed by zstd: pip install zstandard.")


def _is_there(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except ModuleNotFoundError:  # of a package that is not there
        return False


OPENERS: dict[bytes, Callable[[io.BytesIO, Path], Any]] = {
    b"\x1f\x8b": lambda file, path: gzip.GzipFile(fileobj=file),
    b"BZh": lambda file, path: bz2.BZ2File(file),
    b"\xfd7zXZ\x00": lambda file, path: lzma.LZMAFile(file),  # noqa: SIM115 (whoever reads it closes it)
    ZSTD: _open_zstd,
}
