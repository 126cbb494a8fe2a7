"""The part of a table to run, from the names that a user typed."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from reproduction.harness.experiment import Figure, Method, Table
from reproduction.harness.store import Cell, Result


class UnknownNameError(LookupError):
    """A name that does not exist; the message lists those that do."""


@dataclass(frozen=True)
class Selection:
    """Some rows and methods of a table, and the number of repeats."""

    table: Table
    rows: tuple[str, ...]
    methods: tuple[Method, ...]
    repeats: int

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that the selected methods fill in."""
        return tuple(column for method in self.methods for column in method.columns)

    def cells(self) -> Iterator[Cell]:
        """Yield every cell, repeat by repeat, so that a run that is stopped has a bit of everything."""
        for repeat in range(self.repeats):
            for row in self.rows:
                for method in self.methods:
                    yield Cell(row, method.name, repeat)

    def without(self, rows: Iterable[str]) -> "Selection":
        """Return the selection without those rows."""
        left_out = set(rows)
        return replace(self, rows=tuple(row for row in self.rows if row not in left_out))

    def covers(self, result: Result) -> bool:
        """Whether the result belongs to this selection and was computed under the current protocol."""
        row, name, repeat = result.cell
        method = next((method for method in self.methods if method.name == name), None)
        return (
            method is not None
            and row in self.rows
            and repeat < self.repeats
            and result.fingerprint == self.table.fingerprint(method)
            and result.values.keys() == set(method.columns)
        )


def choose(
    catalogue: Mapping[str, Table | Figure],
    keys: Sequence[str],
    *,
    data: Sequence[str] = (),
    methods: Sequence[str] = (),
    repeats: int | None = None,
) -> list[Selection | Figure]:
    """Return what to run: figures as they are, of each table the rows and methods that were asked for.

    With several tables, a name need be in one of them only; a table that has none of the names is left out.
    """
    _check("table or figure", keys, catalogue)
    chosen = [catalogue[key] for key in dict.fromkeys(keys)]
    tables = [item for item in chosen if isinstance(item, Table)]
    _check("data set", data, [row for table in tables for row in table.rows])
    _check("method", methods, [name for table in tables for m in table.methods for name in _names(m)])
    selections = [
        item if isinstance(item, Figure) else select(item, data, methods, repeats) for item in chosen
    ]
    return [item for item in selections if isinstance(item, Figure) or (item.rows and item.methods)]


def select(table: Table, data: Sequence[str], methods: Sequence[str], repeats: int | None) -> Selection:
    """Return the part of a table that has these names; without names, all that the paper has."""
    rows = tuple(row for row in table.rows if row in data) if data else table.published_rows
    wanted = tuple(method for method in table.methods if not methods or {*_names(method)} & {*methods})
    return Selection(table, rows, wanted, repeats or table.repeats)


def _names(method: Method) -> tuple[str, ...]:
    return method.name, *method.columns


def _check(kind: str, names: Iterable[str], known: Iterable[str]) -> None:
    there = list(dict.fromkeys(known))
    for name in names:
        if name not in there:
            listed = ", ".join(there) or "none here"
            raise UnknownNameError(f"There is no {kind} {name!r}; choose from: {listed}.")
