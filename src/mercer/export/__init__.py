"""A model that leaves Python: an additive one as an ONNX graph, as one SQL query, or as a JSON document."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mercer.export.document import to_json
from mercer.export.onnx_graph import to_onnx
from mercer.export.scorecard import ExportError, scorecard
from mercer.export.sql import to_sql
from mercer.files import replace_file
from mercer.parameters import check_option

__all__ = ["ExportError", "export"]

FORMATS = ("onnx", "sql", "json")


def export(
    model: Any, path: str | Path, *, to: str, table: str = "samples", keep: Sequence[str] = ()
) -> None:
    """Write an additive model as a file that needs no Python.

    Parameters
    ----------
    model : estimator
        A fitted search whose members are all stump or linear machines
        (``KernelSearchCV(["stump", "linear"])``), a stump machine, or a pipeline of scalers and one.
    path : str or Path
        The file to write.
    to : {"onnx", "sql", "json"}
        A graph for ONNX Runtime, which takes one input per column; a query that any database answers; or the
        numbers of the model, with the formula.
    table : str, default="samples"
        For SQL, the table that is queried.
    keep : sequence of str
        For SQL, further columns of that table to keep beside the predictions, such as ids.
    """
    check_option(to, "to", FORMATS)
    card = scorecard(model)
    written = {"onnx": to_onnx, "sql": lambda card: to_sql(card, table, keep).encode(), "json": to_json}[to](
        card
    )
    replace_file(Path(path), written)
