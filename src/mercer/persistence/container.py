"""The bytes of a file: a line that says what it is, what it says of itself, its structure, and its arrays.

Nothing is compressed and nothing may be longer than the file, so that its size bounds what reading it takes.
Lengths are checked before anything of that length is read, and a checksum before anything is built.
"""

import json
import math
import os
import re
import stat
import struct
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mercer.limits import check_memory
from mercer.persistence.errors import ModelFileError, TooLargeError, refuse_format

FORMAT = 4  # 1 to 3 were ZIP archives
FIRST_LINE = b"mercer model, format %d\n"
HEAD = struct.Struct("<QQQIII")  # lengths of metadata, structure and arrays, and the checksum of each
MOST_METADATA, MOST_STRUCTURE = 2**22, 2**24  # bytes
MOST_VALUES = 2**18  # in metadata or structure: of small ones each takes up to 70 bytes
MOST_EMPTY = 2**24  # the product of the other lengths of an array without values
DTYPE = re.compile(r"\|b1|\|[iu]1|<[iu][248]|<f[48]|<U[1-9][0-9]{0,5}")
CHANGED = "it is damaged: it is not what was written"
COPIES = 3  # of all arrays that are in memory at once while an estimator is loaded


class Head(NamedTuple):
    """How long the parts of a file are, and their checksums."""

    metadata: int
    structure: int
    arrays: int
    of_metadata: int
    of_structure: int
    of_arrays: int


class Content(NamedTuple):
    """What is in a file."""

    metadata: dict[str, Any]
    root: Any
    arrays: list[NDArray[Any]]


def check_is_file(path: Path) -> None:
    """Raise OSError if there is no such file, and refuse pipes and devices, which never end."""
    mode = path.stat().st_mode
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(f"{path} is a folder: give the path of a file that mercer.save wrote")
    if not stat.S_ISREG(mode):
        raise ModelFileError(f"{path} is not a file: give the path of one that mercer.save wrote")


def pack(metadata: Mapping[str, Any], structure: Any, arrays: Sequence[NDArray[Any]]) -> bytes:
    """Return a file as bytes: the same for the same content."""
    orders: list[Any] = ["F" if array.flags.fnc and array.ndim > 1 else "C" for array in arrays]
    arrays = [array.astype(array.dtype.newbyteorder("<"), copy=False) for array in arrays]
    forms = [[array.dtype.str, array.shape, order] for array, order in zip(arrays, orders, strict=True)]
    notes, body = (
        json.dumps(text, separators=(",", ":")).encode()
        for text in (metadata, {"arrays": forms, "root": structure})
    )
    data = [array.tobytes(order) for array, order in zip(arrays, orders, strict=True)]
    checksum = 0
    for part in data:
        checksum = zlib.crc32(part, checksum)
    sums = zlib.crc32(notes), zlib.crc32(body), checksum
    head = HEAD.pack(len(notes), len(body), sum(map(len, data)), *sums)
    return b"".join([FIRST_LINE % FORMAT, head, notes, body, *data])


def read_head(file: BinaryIO) -> Head:
    """Return how long the parts of a file are, having checked that it is as long as they are together."""
    size = file.seek(0, os.SEEK_END)
    file.seek(0)
    first = FIRST_LINE % FORMAT
    found = file.read(len(first))
    if found != first:
        refuse_format(found, FORMAT)
    head = Head(*HEAD.unpack(file.read(HEAD.size)))
    if len(first) + HEAD.size + head.metadata + head.structure + head.arrays != size:
        raise ModelFileError("it is damaged: it has another length than it says", is_damage=True)
    if head.metadata > MOST_METADATA or head.structure > MOST_STRUCTURE:
        raise TooLargeError(f"its texts have {head.metadata + head.structure} bytes, more than are loaded")
    return head


def read_text(file: BinaryIO, length: int, checksum: int) -> dict[str, Any]:
    """Return one of the two parts that are JSON, unless it would take much memory."""
    text = file.read(length)
    if zlib.crc32(text) != checksum:
        raise ModelFileError(CHANGED, is_damage=True)
    n = count_values(text)
    if n > MOST_VALUES:
        raise TooLargeError(f"it has {n} values beside its arrays, and no more than {MOST_VALUES} are loaded")
    found = json.loads(text)
    if not isinstance(found, dict):
        raise ModelFileError("its texts are not those of mercer.save")
    return found


def read_content(file: BinaryIO) -> Content:
    """Return what is in a file, having checked that all of it is there and as it was written."""
    head = read_head(file)
    metadata = read_text(file, head.metadata, head.of_metadata)
    body = read_text(file, head.structure, head.of_structure)
    check_memory(COPIES * head.arrays, "the file", "Load it on a larger machine.")
    forms = [_form(*form) for form in body["arrays"]]
    if sum(n for *_, n in forms) != head.arrays:
        raise ModelFileError("its arrays have other sizes than it says")
    arrays, checksum = [], 0
    for dtype, shape, order, n in forms:
        data = np.empty(n, dtype=np.uint8)
        file.readinto(data)  # type: ignore[attr-defined]
        checksum = zlib.crc32(data.data, checksum)
        arrays.append(data.view(dtype).reshape(shape, order=order))
    if checksum != head.of_arrays:
        raise ModelFileError(CHANGED, is_damage=True)
    for array in arrays:
        _check_bits(array)
    return Content(metadata, body["root"], arrays)


def count_values(text: bytes) -> int:
    """Return a bound on the values in JSON: each is the first of a list or an object, or follows a comma."""
    return sum(text.count(sign) for sign in (b"{", b"[", b","))


def _form(dtype: Any, shape: Any, order: Any) -> tuple[np.dtype, tuple[int, ...], Any, int]:
    known = isinstance(dtype, str) and DTYPE.fullmatch(dtype) and order in ("C", "F")
    lengths = isinstance(shape, list) and len(shape) <= 4 and all(type(n) is int and n >= 0 for n in shape)
    if not known or not lengths:
        raise ModelFileError("it holds an array of a kind that mercer does not read")
    n = math.prod(shape) * np.dtype(dtype).itemsize
    if not n and math.prod(max(length, 1) for length in shape) > MOST_EMPTY:
        raise ModelFileError("it holds an array of no values that is too long")
    return np.dtype(dtype), tuple(shape), order, n


def _check_bits(array: NDArray[Any]) -> None:
    """Refuse truth values that are neither, and characters that there are not: NumPy takes them on trust."""
    flat = array.reshape(-1, order="A")
    if array.size and (
        (array.dtype.kind == "b" and flat.view(np.uint8).max() > 1)
        or (array.dtype.kind == "U" and flat.view(np.uint32).max() > 0x10FFFF)
    ):
        raise ModelFileError("it holds an array whose bits mean nothing")
