"""The command ``mercer similar``: the rows that are nearest by the learned kernel."""

import json
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
import pandas as pd
import typer
from rich.table import Table
from rich.text import Text
from sklearn.utils import gen_batches

from mercer._typing import Array, Index
from mercer.commands.errors import WrongRequestError, one_line
from mercer.commands.matcher_file import MADE_BY as MATCHES
from mercer.commands.matcher_file import check_learned, load_matcher
from mercer.commands.messages import WIDTH, say
from mercer.commands.model import (
    Model,
    blaming_the_table,
    describe_file,
    id_heading,
    load_model,
    read_rows,
)
from mercer.commands.outputs import as_json as to_json
from mercer.commands.outputs import check_outputs
from mercer.files import replace_file
from mercer.preprocessing import TableError, find_ids, read_table
from mercer.preprocessing.errors import listed, quote
from mercer.preprocessing.missing import as_written
from mercer.preprocessing.pair_file import find_row

BLOCK = 2**14  # rows whose features are computed at a time
ROLES = ("query", "row", "distance", "probability", "class", "target")  # what the other columns are called
EXAMPLES = """For example:

\b
  mercer similar out.mercer data.csv --query 17           by row number, from 0
  mercer similar out.mercer data.csv --query ada --top 3  by id, if the model was learned with --id
  mercer similar out.mercer data.csv --query ada --id name
  mercer similar out.mercer data.csv --query 3 --query 5
  mercer similar out.mercer data.csv --from new.csv --all -o nearest.csv
"""


class Side(NamedTuple):
    """A table, and the ids of its rows."""

    table: pd.DataFrame
    ids: pd.Series | None

    @property
    def heading(self) -> str:
        """Return what the column of ids is called."""
        return id_heading(str(self.ids.name), ROLES) if self.ids is not None else ""


def similar(
    model: Annotated[
        Path, typer.Argument(metavar="MODEL", help="Model file of `mercer learn`, `match` or `ask`.")
    ],
    data: Annotated[
        Path, typer.Argument(metavar="DATA", help="Table with the columns that the model was trained on.")
    ],
    query: Annotated[
        list[str] | None,
        typer.Option(metavar="ROW", help="A query: the id of a row, or its number, from 0. May be repeated."),
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="Each row is a query.")] = False,
    origin: Annotated[
        Path | None, typer.Option("--from", metavar="FILE", help="The queries are rows of FILE.")
    ] = None,
    top: Annotated[int, typer.Option(min=1, help="Number of rows to print for each query.")] = 10,
    ids: Annotated[
        str | None,
        typer.Option("--id", metavar="COLUMN", help="Column of row names. Default: that of `learn --id`."),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="Write a CSV file, with all columns."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Find the rows of a table that are nearest to one of them, or to rows of another table.

    By the distance of the learned kernel; if the model matches records, by the probability that they match.
    """
    if every == bool(query):
        raise WrongRequestError("Which rows are the queries? Give --query ROW, once or more, or --all.")
    check_outputs([output], [model, data, origin])
    request = Request(model, data, origin, None if every else query, top, ids)
    matches = describe_file(model).about.get("made_by") == MATCHES
    near, asked, found = _by_probability(request) if matches else _by_distance(request)
    if near.ids is not None:
        found.insert(2, near.heading, near.ids.iloc[found["row"]].to_numpy())
    if as_json:
        documents = [
            {"query": int(start), "neighbours": lines.drop(columns="query").to_dict(orient="records")}
            for start, lines in found.groupby("query", sort=False)
        ]
        document = documents[0] if query is not None and len(query) == 1 else documents
        typer.echo(json.dumps(to_json(document), indent=2, allow_nan=False))
        return
    several = found["query"].nunique() > 1
    if several and asked.ids is not None:
        found["query"] = asked.ids.iloc[found["query"]].to_numpy()
    rows = near.table.iloc[found["row"]].drop(columns=near.heading, errors="ignore")
    names = [name for name in rows if name not in found]
    wide = pd.concat([found, rows[names].apply(as_written).reset_index(drop=True)], axis=1)
    if output is not None:
        replace_file(output, wide.to_csv(index=False, lineterminator="\n").encode("utf-8"))
        typer.echo(f"{len(wide)} rows were written to {output}.", err=True)
    else:
        say(_as_table(wide if several else wide.drop(columns="query"), found.shape[1]))


class Request(NamedTuple):
    """What a user asks for; no queries stand for all rows."""

    model: Path
    data: Path
    origin: Path | None
    queries: list[str] | None
    top: int
    ids: str | None


def _by_distance(request: Request) -> tuple[Side, Side, pd.DataFrame]:
    """Return the table, that of the queries, and the nearest rows by the kernel of a search."""
    model = load_model(request.model)
    if request.ids is not None:  # a column that the model shall not mind
        model = model._replace(about={**model.about, "id": request.ids})
    near = _read_side(model, request.data, request.ids)
    asked = near if request.origin is None else _read_side(model, request.origin, request.ids)
    starts = _find_starts(request, asked)
    encoded = []
    for path, side in ((request.data, near), (request.origin, asked)):
        if path is not None:
            with blaming_the_table(path):
                encoded.append(model.encoder.transform(side.table))
    rows, queries = encoded[0], encoded[-1]
    found = []
    for start in starts:
        apart = distances(model.search.best_kernel_, rows, queries[start : start + 1])
        if request.origin is None:
            apart[start] = np.inf
        nearest = np.argsort(apart, kind="stable")[: min(request.top, int(np.isfinite(apart).sum()))]
        found.append(pd.DataFrame({"query": start, "row": nearest, "distance": apart[nearest]}))
    frame = pd.concat(found, ignore_index=True)
    target = model.about.get("target")
    if target in near.table.columns:
        role = "class" if model.about.get("numbers") is None else "target"
        frame[role] = as_written(near.table[target]).iloc[frame["row"]].to_numpy()
        near = near._replace(table=near.table.drop(columns=target))
    return near, asked, frame


def _by_probability(request: Request) -> tuple[Side, Side, pd.DataFrame]:
    """Return the table, that of the queries, and the rows that are likeliest to match."""
    matcher, about = load_matcher(request.model)
    check_learned(matcher.threshold_, request.model, request.data)
    named = request.ids if request.ids is not None else about.get("id")
    sides = []
    for path in (request.data, request.origin):
        if path is not None:
            table = read_table(path)
            sides.append(Side(table, None if named is None else find_ids(table, named, path)))
    starts = _find_starts(request, sides[-1])
    right = None if request.origin is None else sides[0].table
    found = matcher.nearest(sides[-1].table, starts, request.top, right=right)
    return sides[0], sides[-1], found.rename(columns={"row": "query", "other": "row"})


def _read_side(model: Model, path: Path, ids: str | None) -> Side:
    table = read_rows(model, path)
    return Side(table, remembered_ids(model, table) if ids is None else find_ids(table, ids, path))


def _find_starts(request: Request, asked: Side) -> Index:
    n = len(asked.table)
    if request.queries is None:
        return np.arange(n)
    if request.ids is not None:
        return np.array([find_row(one, n, asked.ids) for one in request.queries], dtype=np.intp)
    return np.array([find_start(one, n, asked.ids) for one in request.queries], dtype=np.intp)


def distances(kernel: Any, X: Array, q: Array) -> Array:
    """Return ‖φ(x) − φ(q)‖ of all rows x to q, of shape (1, d), in the feature space of the kernel."""
    if kernel is None:
        raise WrongRequestError("The model has no kernel that mercer knows: train one with `mercer learn`.")
    squared = np.empty(len(X))
    for rows in gen_batches(len(X), BLOCK):
        squared[rows] = kernel.diag(X[rows]) - 2.0 * np.asarray(kernel(q, X[rows]))[0]
    return np.sqrt(np.maximum(squared + kernel.diag(q), 0.0))


def remembered_ids(model: Model, table: pd.DataFrame) -> pd.Series | None:
    """Return the ids that rows had in the training, if this table has them too and no two are alike."""
    name = str(model.about.get("id"))
    if name not in table.columns:
        return None
    try:
        return find_ids(table, name, "")
    except TableError:
        return None


def find_start(query: str, n_rows: int, named: pd.Series | None) -> int:
    """Return the row that a user means: by its id if there is such an id, otherwise by its number."""
    if named is not None and (named == query).any():
        return find_row(query, n_rows, named)
    try:
        return find_row(query, n_rows, None)
    except ValueError as error:  # a TableError, or a number of more digits than Python reads
        ids = "" if named is None else f", with ids such as {listed(named[:3])}"
        raise WrongRequestError(
            f"There is no row {quote(query)}: rows are numbered 0 to {n_rows - 1}{ids}; --id names a "
            "column of ids."
        ) from error


def _as_table(found: pd.DataFrame, n_needed: int) -> Table:
    """Return a table for a terminal: the first columns, and of the others those that fit."""
    cells = {name: [_cell(value) for value in column] for name, column in found.items()}
    widths = [3 + max(map(len, [str(name), *column])) for name, column in cells.items()]
    n_kept = max(n_needed, int(np.sum(np.cumsum(widths) < WIDTH)))
    kept = list(cells)[:n_kept]
    table = Table(*map(str, kept))
    for line in zip(*(cells[name] for name in kept), strict=True):
        table.add_row(*map(Text, line))
    return table


def _cell(value: Any) -> str:
    """Return a value as it is printed; a row without a class has an empty cell, as in its file."""
    if isinstance(value, float):
        return "" if np.isnan(value) else f"{value:.6g}"
    return one_line(value)
