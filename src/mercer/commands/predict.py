"""The command ``mercer predict``: classes and probabilities of new rows, or numbers and intervals."""

import csv
import json
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pandas as pd
import typer

from mercer.commands.errors import WrongRequestError
from mercer.commands.model import ENCODING_HELP, Model, blaming_the_table, id_heading, load_model, read_rows
from mercer.commands.outputs import as_json as to_json
from mercer.commands.outputs import check_outputs, print_table
from mercer.files import replace_file
from mercer.preprocessing.missing import WORDS, as_written

ROLES = ("row", "prediction", "probability", "low", "high")  # what the other columns are called
EXAMPLES = """For example:

\b
  mercer predict out.mercer new.csv                       prints CSV
  mercer predict out.mercer new.csv -o predictions.csv
  mercer predict out.mercer new.csv --keep-columns --json
  zcat new.csv.gz | mercer predict out.mercer -
"""


def predict(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="Model file of `mercer learn --model`.")],
    data: Annotated[
        Path,
        typer.Argument(
            metavar="DATA",
            help="Table with the columns that the model was trained on; - is the standard input.",
        ),
    ],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write to FILE instead of printing.")
    ] = None,
    keep_columns: Annotated[
        bool, typer.Option("--keep-columns", help="Print the columns of DATA too, as they are.")
    ] = False,
    coverage: Annotated[
        float,
        typer.Option(
            metavar="SHARE", help="Of a number: the share of true values that intervals shall hold."
        ),
    ] = 0.9,
    encoding: Annotated[str | None, typer.Option(help=ENCODING_HELP)] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of CSV.")] = False,
) -> None:
    """Predict the classes of new rows, with probabilities, or numbers with intervals.

    Columns are matched by name, in any order; others are ignored. The prediction is the most probable class,
    or what a threshold makes of the probabilities, if the model has one (`mercer show` says so).
    Probabilities, one per class, are calibrated on samples that the model was not fitted to. Of a number
    there are low and high, the ends of an interval, from errors on such samples.
    """
    if not 0.0 < coverage < 1.0:
        raise WrongRequestError(f"--coverage must be between 0 and 1, such as 0.9, not {coverage:g}.")
    check_outputs([output], [model, data])
    loaded = load_model(model)
    if not hasattr(loaded.search, "predict"):
        raise WrongRequestError(
            f"{model} was learned from pairs and has no classes or numbers: use `mercer similar`."
        )
    table = read_rows(loaded, data, encoding)
    with blaming_the_table(data):
        found = predictions(loaded, table, keep_columns=keep_columns, coverage=coverage)
    text = _as_json(loaded, found) if as_json else _as_csv(found)
    if output is None:
        print_table(text)
    else:
        replace_file(output, text.encode("utf-8"))
        typer.echo(f"{len(found)} predictions were written to {output}.", err=True)


def predictions(
    model: Model, table: pd.DataFrame, *, keep_columns: bool = False, coverage: float = 0.9
) -> pd.DataFrame:
    """Return a line for each row: its number, its id or all columns, and what is predicted."""
    found = pd.DataFrame({"row": np.arange(len(table))})
    kept = (
        table.columns if keep_columns else [name for name in table.columns if name == model.about.get("id")]
    )
    for name in kept:
        found[_heading(name, is_id=not keep_columns)] = as_written(table[name]).to_numpy()
    if model.predicts_numbers:
        low, high = model.search.predict_interval(table, coverage)
        found["prediction"] = model.search.predict(table)
        return found.assign(low=low, high=high)
    chances = model.search.predict_proba(table)
    classes = model.search.classes_
    found["prediction"] = classes[model.search.model_.decision.choose(chances)]
    heads = [f"probability {label}" for label in classes]
    return pd.concat([found, pd.DataFrame(chances, columns=heads)], axis=1)


def _heading(name: str, *, is_id: bool) -> str:
    """Return what a column of the table is called: its own name, if no other column has that."""
    if is_id:
        return id_heading(name, ROLES)
    return f"{name} (table)" if id_heading(name, ROLES) != name else name


def _as_csv(found: pd.DataFrame) -> str:
    """Return CSV; a class or a cell such as NA is in quotation marks, for it is not a missing value."""
    texts = found.select_dtypes(exclude="number")
    is_word = any(texts[name].astype(str).str.lower().isin(WORDS).any() for name in texts)
    quoting = csv.QUOTE_NONNUMERIC if is_word else csv.QUOTE_MINIMAL
    return str(found.to_csv(index=False, lineterminator="\n", quoting=quoting))


def _as_json(model: Model, found: pd.DataFrame) -> str:
    document: dict[str, Any] = {"predictions": found.to_dict(orient="records")}
    if not model.predicts_numbers:
        decision = model.search.result_.decision or "the most probable class"
        document = {"classes": model.search.classes_.tolist(), "decision": decision, **document}
    return json.dumps(to_json(document), indent=2, allow_nan=False) + "\n"
