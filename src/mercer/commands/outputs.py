"""What commands write: files, checked before the work, and JSON."""

import os
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import typer

from mercer.commands.errors import WrongRequestError
from mercer.files import is_stream
from mercer.shown import printable

LONGEST_LINE = 4000  # letters, on a terminal


def check_outputs(outputs: Iterable[Path | None], inputs: Iterable[Path | None]) -> None:
    """Refuse paths that cannot be written to, or that are those of the data or of each other."""
    taken = {os.path.realpath(path) for path in inputs if path is not None}
    for path in outputs:
        if path is None:
            continue
        _check_output(path)
        if is_stream(path):  # nothing of it is overwritten
            continue
        if os.path.realpath(path) in taken:
            raise WrongRequestError(f"{path} is named twice and would be overwritten: name another file.")
        taken.add(os.path.realpath(path))


def _check_output(path: Path) -> None:
    folder = path.absolute().parent
    try:
        path.stat()
    except FileNotFoundError:
        pass
    except OSError as error:  # such as a link to itself
        raise WrongRequestError(f"{path} cannot be written ({error.strerror}): name another file.") from error
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


def print_table(text: str) -> None:
    """Print a table: as it is into a file or a pipe; a terminal would obey control characters in names."""
    if sys.stdout.isatty():
        lines = printable(text, keep="\n").split("\n")
        text = "\n".join(line if len(line) <= LONGEST_LINE else f"{line[:LONGEST_LINE]}…" for line in lines)
    typer.echo(text, nl=False, color=True)  # or else it takes out what looks like a color


def write_or_keep(path: Path, write: Callable[[Path], None]) -> Path | None:
    """Write what took minutes to find; if its disk is full, among temporary files, and say where.

    Returns
    -------
    Path or None
        Where it is; None if it could not be written there either.
    """
    try:
        write(path)
        return path
    except OSError as error:
        reason = error.strerror
    try:
        other = Path(tempfile.mkdtemp(prefix="mercer-")) / path.name
        write(other)
    except OSError:
        typer.echo(f"{path} cannot be written ({reason}), nor a temporary file: make room for it.", err=True)
        return None
    typer.echo(f"{path} cannot be written ({reason}): it is in {other}.", err=True)
    return other


def as_json(value: Any) -> Any:
    """Return a value as JSON can hold it: NumPy's numbers as plain ones, what is not finite as None."""
    if isinstance(value, Mapping):
        return {str(name): as_json(part) for name, part in value.items()}
    if isinstance(value, list | tuple | np.ndarray):
        return [as_json(part) for part in value]
    if isinstance(value, bool | np.bool_):
        return bool(value)
    if isinstance(value, int | np.integer):
        return int(value)
    if isinstance(value, float | np.floating):
        return float(value) if np.isfinite(value) else None
    return value if value is None else str(value)
