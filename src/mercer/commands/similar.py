"""The command ``mercer similar``: the rows that are nearest by the learned kernel."""

import json
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pandas as pd
import typer
from rich.table import Table
from rich.text import Text
from sklearn.utils import gen_batches

from mercer._typing import Array
from mercer.commands.errors import WrongRequestError, one_line
from mercer.commands.messages import say
from mercer.commands.model import Model, blaming_the_table, id_heading, load_model, read_rows
from mercer.commands.outputs import as_json as to_json
from mercer.preprocessing import TableError, find_ids
from mercer.preprocessing.errors import listed, quote
from mercer.preprocessing.missing import as_written
from mercer.preprocessing.pair_file import find_row

BLOCK = 2**14  # rows whose features are computed at a time
ROLES = ("row", "distance", "class", "target")  # what the other columns are called
EXAMPLES = """For example:

\b
  mercer similar out.mercer data.csv --query 17           by row number, from 0
  mercer similar out.mercer data.csv --query ada --top 3  by id, if the model was learned with --id
  mercer similar out.mercer data.csv --query ada --id name
"""


def similar(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="Model file of `mercer learn --model`.")],
    data: Annotated[
        Path, typer.Argument(metavar="DATA", help="Table with the columns that the model was trained on.")
    ],
    query: Annotated[
        str, typer.Option(metavar="ROW", help="The query: the id of a row, or its number, from 0.")
    ],
    top: Annotated[int, typer.Option(min=1, help="Number of rows to print.")] = 10,
    ids: Annotated[
        str | None,
        typer.Option("--id", metavar="COLUMN", help="Column of row names. Default: that of `learn --id`."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Find the rows of a table that are nearest to one of them, by the distance of the learned kernel."""
    loaded = load_model(model)
    if ids is not None:  # a column that the model shall not mind
        loaded = loaded._replace(about={**loaded.about, "id": ids})
    table = read_rows(loaded, data)
    with blaming_the_table(data):
        rows = loaded.encoder.transform(table)
    if ids is None:
        named = remembered_ids(loaded, table)
        start = find_start(query, len(table), named)
    else:
        named = find_ids(table, ids, data)
        start = find_row(query, len(table), named)
    found = neighbours(loaded, table, rows, start, top)
    if named is not None:
        found.insert(1, id_heading(str(named.name), ROLES), named.iloc[found["row"]].to_numpy())
    if as_json:
        document = {"query": start, "neighbours": found.to_dict(orient="records")}
        typer.echo(json.dumps(to_json(document), indent=2, allow_nan=False))
    else:
        say(_as_table(found))


def neighbours(model: Model, table: pd.DataFrame, rows: Array, start: int, top: int) -> pd.DataFrame:
    """Return the nearest rows but the start itself: distances, and targets if the table has them."""
    apart = distances(model.search.best_kernel_, rows, start)
    nearest = [row for row in np.argsort(apart, kind="stable") if row != start][:top]
    found = pd.DataFrame({"row": np.array(nearest, dtype=int), "distance": apart[nearest]})
    target = model.about.get("target")
    if target in table.columns:
        role = "class" if model.about.get("numbers") is None else "target"
        found[role] = as_written(table[target]).iloc[nearest].to_numpy()
    return found


def distances(kernel: Any, X: Array, query: int) -> Array:
    """Return ‖φ(x) − φ(q)‖ of all rows x to the query row q, in the feature space of the kernel."""
    if kernel is None:
        raise WrongRequestError("The model has no kernel that mercer knows: train one with `mercer learn`.")
    q, squared = X[query : query + 1], np.empty(len(X))
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


def _as_table(found: pd.DataFrame) -> Table:
    table = Table(*found.columns)
    for line in found.to_dict(orient="records"):
        table.add_row(*(Text(_cell(value)) for value in line.values()))
    return table


def _cell(value: Any) -> str:
    """Return a value as it is printed; a row without a class has an empty cell, as in its file."""
    if isinstance(value, float):
        return "" if np.isnan(value) else f"{value:.6g}"
    return one_line(value)
