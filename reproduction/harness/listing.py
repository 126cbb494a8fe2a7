"""The catalogue: every table and figure, the data sets that each needs, and whether they are available."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import rich.box
import rich.table

from mercer.datasets.real import FOLDER_VARIABLE
from reproduction.harness.experiment import Figure, Table
from reproduction.harness.show import markdown_table

Catalogue = Mapping[str, Table | Figure]
HEADINGS = ("key", "title", "data")


def to_terminal(catalogue: Catalogue) -> rich.table.Table:
    """Return the list for a terminal."""
    caption = f"Data sets that are not in the folder {FOLDER_VARIABLE} are looked up on OpenML."
    listing = rich.table.Table(*HEADINGS, box=rich.box.SIMPLE_HEAD, caption=caption)
    for line in _lines(catalogue):
        listing.add_row(*line)
    return listing


def to_markdown(catalogue: Catalogue) -> str:
    """Return the list as a Markdown table."""
    return markdown_table(HEADINGS, _lines(catalogue)) + "\n"


def to_json(catalogue: Catalogue) -> list[dict[str, Any]]:
    """Return the list as plain values."""
    return [
        {
            "key": key,
            "kind": type(item).__name__.lower(),
            "title": item.title,
            "rows": list(item.rows) if isinstance(item, Table) else [],
            "methods": [method.name for method in item.methods] if isinstance(item, Table) else [],
            "needs": needed(item),
            "missing": missing(item),
        }
        for key, item in catalogue.items()
    ]


def _lines(catalogue: Catalogue) -> list[tuple[str, str, str]]:
    return [(key, item.title, describe_data(item)) for key, item in catalogue.items()]


def describe_data(item: Table | Figure) -> str:
    """Say in a few words which data an item needs and which of them are not in the folder."""
    n = len(needed(item))
    if n == 0:
        return "generated"
    count = "1 set" if n == 1 else f"{n} sets"
    if absent := missing(item):
        return f"{count}; not in {FOLDER_VARIABLE}: {', '.join(absent)}"
    return f"{count}, {'all ' if n > 1 else ''}in {FOLDER_VARIABLE}"


def needed(item: Table | Figure) -> list[str]:
    """Return the names of the data sets that a figure, or the published rows of a table, need."""
    if isinstance(item, Figure):
        return list(item.needs)
    return list(dict.fromkeys(item.needs[row] for row in item.published_rows if row in item.needs))


def missing(item: Table | Figure) -> list[str]:
    """Return those that have no file in the folder of data sets; nothing is downloaded to find out."""
    folder = os.environ.get(FOLDER_VARIABLE, "")
    return [name for name in needed(item) if not (folder and (Path(folder) / f"{name}.npz").is_file())]
