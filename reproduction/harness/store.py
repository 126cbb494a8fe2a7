"""Finished results on disk, one JSON line each: nothing that was computed is lost."""

import json
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import NamedTuple


class Cell(NamedTuple):
    """The unit of work: one method on one repeat of one data set."""

    row: str
    method: str
    repeat: int


@dataclass(frozen=True)
class Result:
    """The outcome of a finished cell: a value for each of the method's columns."""

    cell: Cell
    fingerprint: str
    values: dict[str, float]
    seconds: float
    warnings: list[str] = field(default_factory=list)

    def to_line(self) -> str:
        """Return the result as a line of JSON."""
        record = asdict(self) | {"cell": self.cell._asdict()}
        return json.dumps(record, allow_nan=False) + "\n"

    @classmethod
    def from_line(cls, line: str) -> "Result":
        """Read a line that `to_line` wrote; ValueError, KeyError or TypeError if it is not one."""
        record = json.loads(line)
        return cls(**(record | {"cell": Cell(**record["cell"]), "values": dict(record["values"])}))


def by_column(results: Iterable[Result]) -> dict[tuple[str, str], dict[int, float]]:
    """Return the values of each (row, column), by repeat and in their order."""
    values: dict[tuple[str, str], dict[int, float]] = {}
    for result in sorted(results, key=lambda result: result.cell):
        for column, value in result.values.items():
            values.setdefault((result.cell.row, column), {})[result.cell.repeat] = value
    return values


class Store:
    """The results of one experiment in a file ``<experiment>.jsonl`` of a folder.

    A result is written at once and whole. A line that cannot be read, such as the last one of a process that
    was killed while it wrote, is ignored: its cell is computed again. Where a cell occurs twice, the last
    result counts.

    Parameters
    ----------
    folder : Path
        Created when the first result is written.
    experiment : str
        The experiment's name.
    """

    def __init__(self, folder: Path, experiment: str) -> None:
        self.path = folder / f"{experiment}.jsonl"

    def __iter__(self) -> Iterator[Result]:
        if not self.path.exists():
            return
        for line in self.path.read_text(encoding="utf-8", errors="replace").splitlines():
            try:
                yield Result.from_line(line)
            except (ValueError, KeyError, TypeError):
                continue

    def append(self, result: Result) -> None:
        """Write one result, on a line of its own even after a damaged one."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("ab") as file:
            line = result.to_line().encode()
            file.write(b"\n" + line if self._ends_within_a_line() else line)

    def forget(self, is_stale: Callable[[Result], bool]) -> None:
        """Drop the results for which `is_stale` holds; the file is replaced whole or not at all."""
        kept = [result.to_line() for result in self if not is_stale(result)]
        if self.path.exists():
            replacement = self.path.with_suffix(".tmp")
            replacement.write_text("".join(kept), encoding="utf-8")
            os.replace(replacement, self.path)

    def _ends_within_a_line(self) -> bool:
        if self.path.stat().st_size == 0:
            return False
        with self.path.open("rb") as file:
            file.seek(-1, os.SEEK_END)
            return file.read(1) != b"\n"
