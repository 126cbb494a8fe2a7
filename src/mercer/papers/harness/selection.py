"""From the names that a user typed to tables, rows and methods, or to a sentence that says what there is."""

from collections.abc import Iterable, Mapping, Sequence

from mercer.papers.harness.experiment import Figure, Method, Table
from mercer.papers.harness.runner import Selection


class UnknownNameError(LookupError):
    """A name that is not there; the message says which are."""


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
    for key in keys:
        _require("table or figure", key, catalogue)
    chosen = [catalogue[key] for key in dict.fromkeys(keys)]
    tables = [item for item in chosen if isinstance(item, Table)]
    _require_all("data set", data, (row for table in tables for row in table.rows))
    _require_all("method", methods, (name for table in tables for name in _method_names(table)))
    selections = [
        item if isinstance(item, Figure) else select(item, data, methods, repeats) for item in chosen
    ]
    return [item for item in selections if isinstance(item, Figure) or (item.rows and item.methods)]


def select(table: Table, data: Sequence[str], methods: Sequence[str], repeats: int | None) -> Selection:
    """Return the part of a table that has these names; without names, all that the paper has."""
    rows = tuple(row for row in table.rows if row in data) if data else table.published_rows
    wanted = tuple(method for method in table.methods if not methods or _is_named(method, methods))
    return Selection(table, rows, wanted, repeats or table.repeats)


def _method_names(table: Table) -> Iterable[str]:
    return (name for method in table.methods for name in (method.name, *method.columns))


def _is_named(method: Method, names: Sequence[str]) -> bool:
    return any(name in (method.name, *method.columns) for name in names)


def _require_all(kind: str, names: Iterable[str], known: Iterable[str]) -> None:
    there = list(dict.fromkeys(known))
    for name in names:
        _require(kind, name, there)


def _require(kind: str, name: str, known: Iterable[str]) -> None:
    if name not in known:
        raise UnknownNameError(f"There is no {kind} {name!r}; there are: {', '.join(known) or 'none here'}.")
