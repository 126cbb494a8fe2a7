"""The command ``mercer explain``: what each column adds to the prediction for a row."""

import json
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from rich.table import Table
from rich.text import Text

from mercer.commands.errors import WrongRequestError, one_line
from mercer.commands.messages import say
from mercer.commands.model import blaming_the_table, load_model, read_rows
from mercer.commands.outputs import as_json as to_json
from mercer.commands.similar import find_start, remembered_ids
from mercer.preprocessing.missing import as_written
from mercer.search.effects import effects_of

EXAMPLES = """For example:

\b
  mercer explain out.mercer data.csv --row 17             by row number, from 0
  mercer explain out.mercer data.csv --row ada            by id, if the model was learned with --id
"""


def explain(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="Model file of `mercer learn --model`.")],
    data: Annotated[
        Path, typer.Argument(metavar="DATA", help="Table with the row, and others to compare it with.")
    ],
    row: Annotated[str, typer.Option(metavar="ROW", help="The id of a row, or its number, from 0.")],
    top: Annotated[int, typer.Option(min=1, help="Number of columns to print, those that add most.")] = 20,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Say what each column of a row adds to its prediction, compared with other rows of the table.

    What columns add sums to the difference between what is said of the row (log odds of the predicted class,
    or the number) and the mean over a hundred others. Exact if the model is a sum of curves; else these are
    Shapley values.
    """
    loaded = load_model(model)
    if not hasattr(loaded.search, "predict"):
        raise WrongRequestError(f"{model} was learned from pairs and predicts nothing: use `mercer similar`.")
    table = read_rows(loaded, data)
    start = find_start(row, len(table), remembered_ids(loaded, table))
    with blaming_the_table(data):
        found = effects_of(loaded.search, table, start)
    cells = {name: as_written(table[name]).iloc[start] for name in found.names}
    order = np.argsort(-np.abs(found.added), kind="stable")
    if as_json:
        columns = [
            {"column": found.names[j], "value": cells[found.names[j]], "adds": found.added[j]} for j in order
        ]
        document = {"row": start, **found._asdict(), "columns": columns}
        document = {name: value for name, value in document.items() if name not in ("names", "added")}
        typer.echo(json.dumps(to_json(document), indent=2, allow_nan=False))
        return
    shown = Table("column", "value", "adds")
    for j in order[:top]:
        shown.add_row(
            *(Text(one_line(t)) for t in (found.names[j], cells[found.names[j]], f"{found.added[j]:+.4g}"))
        )
    unit = "the logarithm of the target" if getattr(loaded.search, "log", False) else "the target"
    unit = unit if found.label is None else f"log odds of {found.label}"
    if found.label is not None and len(loaded.search.classes_) > 2:
        unit = f"the log probability of {found.label}, less the mean of all classes"
    rest = float(found.added[order[top:]].sum())
    how = "exact: the model is a sum of curves, one for each column" if found.is_exact else "Shapley values"
    say(
        f"Row {start}: {unit} {found.value:.4g}; the mean over other rows is {found.mean:.4g}.",
        f"What columns add ({how}):",
        shown,
        *([f"All others: {rest:+.4g}."] if len(order) > top else []),
    )
