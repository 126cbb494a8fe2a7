"""Files that commands write, checked before the work."""

import os
import tempfile
from collections.abc import Iterable
from pathlib import Path

from mercer.commands.errors import WrongRequestError
from mercer.files import is_stream


def check_outputs(outputs: Iterable[Path | None], inputs: Iterable[Path | None]) -> None:
    """Refuse paths that cannot be written to, or that are those of the data or of each other."""
    taken = {path.resolve() for path in inputs if path is not None}
    for path in outputs:
        if path is None:
            continue
        _check_output(path)
        if is_stream(path):  # nothing of it is overwritten
            continue
        if path.resolve() in taken:
            raise WrongRequestError(f"{path} is named twice and would be overwritten: name another file.")
        taken.add(path.resolve())


def _check_output(path: Path) -> None:
    folder = path.absolute().parent
    if path.is_dir():
        raise WrongRequestError(f"{path} is a folder: name a file.")
    if is_stream(path):
        if not os.access(path, os.W_OK):
            raise WrongRequestError(f"{path} is not writable: name another file.")
        return
    if not folder.is_dir():
        raise WrongRequestError(f"There is no folder {folder} for {path.name}: create it first.")
    try:
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise WrongRequestError(
            f"Folder {folder} is not writable ({error.strerror}): name another one."
        ) from error
