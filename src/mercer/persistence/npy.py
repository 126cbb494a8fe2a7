"""The headers of stored arrays, read more strictly than NumPy reads them."""

import math
import re
from typing import NamedTuple

import numpy as np

from mercer.persistence.errors import ModelFileError

# Numbers, truth values, texts and dates. No objects, which NumPy would unpickle, and no records.
HEADER = re.compile(
    rb"\x93NUMPY\x01\x00(?P<length>..)"
    rb"\{'descr': '(?P<dtype>[<>|][biufcSUmM][0-9]{1,9}(\[[0-9a-zA-Z]{1,9}\])?)', "
    rb"'fortran_order': (True|False), "
    rb"'shape': \((?P<shape>|[0-9]{1,18},|[0-9]{1,18}(, [0-9]{1,18}){1,31})\), \} *\n",
    re.DOTALL,
)


class ArrayForm(NamedTuple):
    """What the header of a stored array says."""

    shape: tuple[int, ...]
    dtype: np.dtype


def read_form(data: bytes) -> ArrayForm:
    """Return shape and type of a stored array, having checked that just so many bytes are there."""
    header = HEADER.match(data)
    if header is None or header.end() != 10 + int.from_bytes(header["length"], "little"):
        raise ModelFileError("it holds an array whose header mercer does not read")
    dtype = np.dtype(header["dtype"].decode())
    shape = tuple(int(size) for size in header["shape"].decode().split(",") if size)
    if dtype.itemsize == 0 or math.prod(shape) * dtype.itemsize != len(data) - header.end():
        raise ModelFileError(f"an array of shape {shape} and type {dtype} does not fit its bytes")
    return ArrayForm(shape, dtype)
