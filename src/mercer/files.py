"""Files that are written whole or not at all."""

import os
import stat
import tempfile
from contextlib import suppress
from pathlib import Path


def is_stream(path: Path) -> bool:
    """Return whether there is a pipe or a device, to write to, where a file would be replaced."""
    # stat itself goes through links: what /dev/stdout leads to need not have a name that can be resolved
    return path.exists() and not path.is_file() and not path.is_dir()


def replace_file(path: Path, content: bytes) -> None:
    """Write a file aside, then give it its name: whoever looks sees the old file or the new one, whole.

    Raises
    ------
    OSError
        If it cannot be written, as on a full disk. It names the file; what was there before is still there.
    """
    try:
        if is_stream(path):
            with path.open("wb") as stream:
                stream.write(content)
        else:
            _replace(Path(os.path.realpath(path)), content)  # through a link, to the file behind it
    except OSError as error:  # a failed write names no file, and any other one the file that was set aside
        raise OSError(error.errno, error.strerror, str(path)) from error


def _replace(path: Path, content: bytes) -> None:
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name[:100]}.", suffix=".tmp")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(name, _mode_of(path))
        os.replace(name, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(name)
        raise


def _mode_of(path: Path) -> int:
    """Return the permissions of the file that is replaced, or those that a new one gets."""
    with suppress(OSError):
        return stat.S_IMODE(path.stat().st_mode)
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
