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
HEAD = struct.Struct("<QIQQI")  # length and checksum of the metadata; lengths of structure and arrays, checksum
MOST_METADATA, MOST_STRUCTURE = 2**22, 2**24  # bytes
MOST_VALUES = 2**18  # in metadata or structure: of small ones each takes up to 70 bytes
MOST_EMPTY = 2**24  # the product of the other lengths of an array without values
DTYPE = re.compile(r"\|b1|\|[iu]1|<[iu][248]|<f[48]|<U[1-9][0-9]{0,5}")
COPIES = 3  # of all arrays that are in memory at once while an estimator is loaded


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
    orders = ["F" if array.flags.fnc and array.ndim > 1 else "C" for array in arrays]
    arrays = [array.astype(array.dtype.newbyteorder("<"), copy=False) for array in arrays]
    forms = [[array.dtype.str, array.shape, order] for array, order in zip(arrays, orders, strict=True)]
    notes, body = (
        json.dumps(text, separators=(",", ":")).encode()
        for text in (metadata, {"arrays": forms, "root": structure})
    )
    data = [array.tobytes(order) for array, order in zip(arrays, orders, strict=True)]  # type: ignore[call-overload]
    checksum = zlib.crc32(body)
    for part in data:
        checksum = zlib.crc32(part, checksum)
    head = HEAD.pack(len(notes), zlib.crc32(notes), len(body), sum(map(len, data)), checksum)
    return b"".join([FIRST_LINE % FORMAT, head, notes, body, *data])


def read_metadata_part(file: BinaryIO) -> tuple[dict[str, Any], int, int, int]:
    """Return what a file says of itself, the lengths of structure and arrays, and their checksum."""
    size = file.seek(0, os.SEEK_END)
    file.seek(0)
    first = FIRST_LINE % FORMAT
    found = file.read(len(first))
    if found != first:
        refuse_format(found, FORMAT)
    length, checksum, n_structure, n_arrays, rest = HEAD.unpack(file.read(HEAD.size))
    if len(first) + HEAD.size + length + n_structure + n_arrays != size:
        raise ModelFileError("it is damaged: it has another length than it says", is_damage=True)
    if length > MOST_METADATA or n_structure > MOST_STRUCTURE:
        raise TooLargeError(f"its texts have {length + n_structure} bytes, more than are loaded")
    text = file.read(length)
    if zlib.crc32(text) != checksum:
        raise ModelFileError("it is damaged: it is not what was written", is_damage=True)
    metadata = parse(text)
    if not isinstance(metadata, dict):
        raise ModelFileError("its metadata are not those of mercer.save")
    return metadata, n_structure, n_arrays, rest


def read_content(file: BinaryIO) -> Content:
    """Return what is in a file, having checked that all of it is there and as it was written."""
    metadata, n_structure, n_arrays, expected = read_metadata_part(file)
    check_memory(COPIES * n_arrays, "the file", "Load it on a larger machine.")
    text = file.read(n_structure)
    body = parse(text)
    forms = [_form(*form) for form in body["arrays"]]
    if sum(n for *_, n in forms) != n_arrays:
        raise ModelFileError("its arrays have other sizes than the file")
    arrays, checksum = [], zlib.crc32(text)
    for dtype, shape, order, n in forms:
        data = np.empty(n, dtype=np.uint8)
        file.readinto(data)  # type: ignore[attr-defined]
        checksum = zlib.crc32(data, checksum)
        arrays.append(data.view(dtype).reshape(shape, order=order))
    if checksum != expected:
        raise ModelFileError("it is damaged: it is not what was written", is_damage=True)
    for array in arrays:
        _check_bits(array)
    return Content(metadata, body["root"], arrays)


def parse(text: bytes) -> Any:
    """Return the values of a JSON text, unless they would take much memory: 3 bytes may stand for 70."""
    n = count_values(text)
    if n > MOST_VALUES:
        raise TooLargeError(f"it has {n} values beside its arrays, and no more than {MOST_VALUES} are loaded")
    return json.loads(text)


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
