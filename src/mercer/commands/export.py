"""The command ``mercer export``: a model that other programs compute, without Python."""

from pathlib import Path
from typing import Annotated

import typer

from mercer.commands.errors import WrongRequestError
from mercer.commands.model import load_model
from mercer.commands.outputs import check_outputs
from mercer.export import FORMATS, ExportError
from mercer.export import export as write_export

EXAMPLES = """For example:

\b
  mercer learn data.csv --target label --candidates stump,linear --model out.mercer
  mercer export out.mercer --to sql --table customers --keep id -o out.sql
  mercer export out.mercer --to onnx -o out.onnx
"""


def export(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="Model file of `mercer learn --model`.")],
    to: Annotated[
        str,
        typer.Option(
            metavar="|".join(FORMATS), help="A graph for ONNX Runtime, one SQL query, or a table of points."
        ),
    ],
    output: Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="The file to write.")],
    table: Annotated[
        str, typer.Option(metavar="NAME", help="With --to sql: the table that is queried.")
    ] = "samples",
    keep: Annotated[
        str, typer.Option(metavar="A,B,…", help="With --to sql: further columns to keep, such as ids.")
    ] = "",
) -> None:
    """Write an additive model for programs without Python: as ONNX, SQL or JSON.

    A model of stump and linear members is a sum of functions, one per column, and is written exactly. Train
    it with --candidates stump,linear; others are refused. ONNX takes one input of shape (rows, 1) per column,
    numbers as double (NaN if missing) and categories as text (empty if missing).
    """
    if to not in FORMATS:
        raise WrongRequestError(f"--to is one of {', '.join(FORMATS)}; got {to}.")
    check_outputs([output], [model])
    kept = [name.strip() for name in keep.split(",") if name.strip()]
    try:
        write_export(load_model(model).search, output, to=to, table=table, keep=kept)
    except ExportError as error:
        raise WrongRequestError(str(error)) from error
    typer.echo(f"Wrote {output}.", err=True)
