"""The command ``mercer predict``: classes and decision values of new rows."""

import json
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pandas as pd
import typer

from mercer.commands.errors import WrongRequestError
from mercer.commands.model import Model, id_heading, load_model, read_rows
from mercer.commands.outputs import check_outputs
from mercer.commands.search_run import as_json as to_json
from mercer.files import replace_file

ROLES = ("row", "prediction", "decision")  # what the other columns are called
EXAMPLES = """For example:

\b
  mercer predict out.mercer new.csv                       prints CSV
  mercer predict out.mercer new.csv -o predictions.csv
  mercer predict out.mercer new.csv --json
"""


def predict(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="Model file of `mercer learn --model`.")],
    data: Annotated[
        Path, typer.Argument(metavar="DATA", help="Table with the columns that the model was trained on.")
    ],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write to FILE instead of printing.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of CSV.")] = False,
) -> None:
    """Predict the classes of new rows, with decision values.

    Columns are matched by name, in any order. With two classes there is one decision value, positive for the
    second class (in the order of `mercer show`); with more there is one per class. The larger, the surer.
    """
    check_outputs([output], [model, data])
    loaded = load_model(model)
    if not hasattr(loaded.pipeline, "predict"):
        raise WrongRequestError(f"{model} was learned from pairs and has no classes: use `mercer similar`.")
    table, rows = read_rows(loaded, data)
    found = predictions(loaded, table, rows)
    text = _as_json(loaded, found) if as_json else found.to_csv(index=False, lineterminator="\n")
    if output is None:
        typer.echo(text, nl=False)
    else:
        replace_file(output, text.encode("utf-8"))
        typer.echo(f"{len(found)} predictions were written to {output}.", err=True)


def predictions(model: Model, table: pd.DataFrame, rows: pd.DataFrame) -> pd.DataFrame:
    """Return a line for each row: its number, its id if there is one, its class and the decision values."""
    found = pd.DataFrame({"row": np.arange(len(rows))})
    name = str(model.about.get("id"))
    if name in table.columns:
        found[id_heading(name, ROLES)] = table[name].to_numpy()
    found["prediction"] = model.pipeline.predict(rows)
    values = np.asarray(model.pipeline.decision_function(rows), dtype=float)
    if values.ndim == 1:
        found["decision"] = values
        return found
    each = pd.DataFrame(values, columns=[f"decision {label}" for label in model.pipeline.classes_])
    return pd.concat([found, each], axis=1)


def _as_json(model: Model, found: pd.DataFrame) -> str:
    document: dict[str, Any] = {
        "classes": model.pipeline.classes_.tolist(),
        "predictions": found.to_dict(orient="records"),
    }
    return json.dumps(to_json(document), indent=2, allow_nan=False) + "\n"
