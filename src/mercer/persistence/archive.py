"""The ZIP archive of an estimator: what is in it, and what it may be.

``mercer.json``  what the estimator is (see `metadata`)
``schema.json``  the estimator, as skops describes it (see `schema`)
``<n>.npy``      its arrays, not compressed: an archive holds no more than its size on the disk says
"""

import io
import json
import os
import re
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile, ZipInfo

from mercer.limits import check_memory
from mercer.persistence.errors import ModelFileError

METADATA, SCHEMA = "mercer.json", "schema.json"
MOST_TEXT = {METADATA: 2**20, SCHEMA: 2**25}  # bytes when uncompressed; a node of the schema takes about 200
MOST_VALUES = 2**20  # in one of these: 40 kB may unpack to ten million empty dictionaries, which take 1 GB
ARRAY_NAME = re.compile(r"[0-9]{1,20}\.npy")
COPIES = 3  # of all arrays that are in memory at once while an estimator is loaded


def check_is_file(path: Path) -> None:
    """Raise OSError if there is no such file, and refuse pipes and devices, which never end."""
    mode = path.stat().st_mode
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(f"{path} is a folder: give the path of a file that mercer.save wrote")
    if not stat.S_ISREG(mode):
        raise ModelFileError(f"{path} is not a file: give the path of one that mercer.save wrote")


def open_archive(file: BinaryIO) -> ZipFile:
    """Open an archive and check, before anything is read, that its parts are as they should be."""
    size = file.seek(0, os.SEEK_END)
    check_memory(COPIES * size, "the file", "Load it on a larger machine.")
    archive = ZipFile(file)
    infos = archive.infolist()
    names = [info.filename for info in infos]
    if len(set(names)) < len(names) or not {METADATA, SCHEMA} <= set(names):
        raise ModelFileError("it is not a file of mercer.save: parts are missing or there twice")
    for info in infos:
        _check_part(info)
    if sum(info.compress_size for info in infos) > size:  # parts that share their bytes
        raise ModelFileError("its parts are larger than the file")
    return archive


def _check_part(info: ZipInfo) -> None:
    most = MOST_TEXT.get(info.filename)
    if most is not None:
        if info.compress_type not in (ZIP_STORED, ZIP_DEFLATED) or info.file_size > most:
            raise ModelFileError(f"its {info.filename} has {info.file_size} bytes, more than {most}")
    elif not ARRAY_NAME.fullmatch(info.filename):
        raise ModelFileError(f"it is not a file of mercer.save: it holds {ascii(info.filename)[:100]}")
    elif info.compress_type != ZIP_STORED:
        raise ModelFileError("its arrays are compressed, which mercer.save never does")


def check_sizes(content: bytes, path: object) -> None:
    """Refuse an archive that would be refused for its size when it is loaded, before it is on the disk."""
    with ZipFile(io.BytesIO(content)) as archive:
        for name, most in MOST_TEXT.items():
            text = archive.read(name)
            if len(text) > most or _count_values(text) > MOST_VALUES:
                raise ModelFileError(
                    f"{path} was not saved: its {name}, which lists columns and categories, would have "
                    f"{len(text)} bytes with {_count_values(text)} values, and no more than {most} with "
                    f"{MOST_VALUES} are loaded. Drop columns of many categories."
                )


def read_text(archive: ZipFile, name: str) -> dict[str, Any]:
    """Return one of the two parts that are JSON, unless it would take much memory."""
    content = archive.read(name)
    if _count_values(content) > MOST_VALUES:
        raise ModelFileError(f"its {name} has more than {MOST_VALUES} values")
    text = json.loads(content)
    if not isinstance(text, dict):
        raise ModelFileError(f"its {name} is not a JSON object")
    return text


def _count_values(text: bytes) -> int:
    """Return a bound on the values in JSON: each is the first of a list or an object, or follows a comma."""
    return sum(text.count(sign) for sign in (b"{", b"[", b","))


def read_arrays(archive: ZipFile) -> dict[str, bytes]:
    """Return the bytes of all arrays, by name."""
    return {name: archive.read(name) for name in archive.namelist() if name.endswith(".npy")}


def pack(texts: Mapping[str, dict[str, Any]], arrays: Mapping[str, bytes]) -> bytes:
    """Return an archive as bytes: the same for the same content, whenever it is made."""
    buffer = io.BytesIO()
    with ZipFile(buffer, "w") as archive:
        for name, text in texts.items():
            content = json.dumps(text, separators=(",", ":"), ensure_ascii=False)
            data = content.encode("utf-8", "surrogatepass")  # json.loads takes half letters, too
            archive.writestr(ZipInfo(name), data, compress_type=ZIP_DEFLATED)
        for name, data in arrays.items():
            archive.writestr(ZipInfo(name), data, compress_type=ZIP_STORED)
    return buffer.getvalue()
