"""What there is: every table and figure, the data that each needs, and whether they are at hand."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import rich.box
import rich.table

from mercer.datasets.real import FOLDER_VARIABLE
from mercer.papers.harness.experiment import Figure, Table


def to_terminal(catalogue: Mapping[str, Table | Figure]) -> rich.table.Table:
    """Return the list for a terminal."""
    caption = f"Sets that are not in the folder {FOLDER_VARIABLE} are looked for on OpenML."
    listing = rich.table.Table("key", "what", "data", box=rich.box.SIMPLE_HEAD, caption=caption)
    for key, item in catalogue.items():
        listing.add_row(key, item.title, describe_data(item))
    return listing


def to_markdown(catalogue: Mapping[str, Table | Figure]) -> str:
    """Return the list as a Markdown table."""
    lines = [f"| {key} | {item.title} | {describe_data(item)} |" for key, item in catalogue.items()]
    return "\n".join(["| key | what | data |", "| --- | --- | --- |", *lines]) + "\n"


def to_json(catalogue: Mapping[str, Table | Figure]) -> list[dict[str, Any]]:
    """Return the list as plain values."""
    return [
        {
            "key": key,
            "kind": type(item).__name__.lower(),
            "title": item.title,
            "rows": list(item.rows) if isinstance(item, Table) else [],
            "methods": [method.name for method in item.methods] if isinstance(item, Table) else [],
            "needs": needed(item),
            "missing": [name for name in needed(item) if not is_in_folder(name)],
        }
        for key, item in catalogue.items()
    ]


def describe_data(item: Table | Figure) -> str:
    """Say in a few words what data an item needs and which of them are not in the folder."""
    names = needed(item)
    if not names:
        return "generated"
    missing = [name for name in names if not is_in_folder(name)]
    count = "1 set" if len(names) == 1 else f"{len(names)} sets"
    if not missing:
        return f"{count}, {'all ' if len(names) > 1 else ''}in {FOLDER_VARIABLE}"
    return f"{count}; not in {FOLDER_VARIABLE}: {', '.join(missing)}"


def needed(item: Table | Figure) -> list[str]:
    """Return the names of the data sets that the published rows need."""
    if isinstance(item, Figure):
        return []
    return list(dict.fromkeys(item.needs[row] for row in item.published_rows if row in item.needs))


def is_in_folder(name: str) -> bool:
    """Whether the folder of data has a file for this set; nothing is downloaded to find out."""
    folder = os.environ.get(FOLDER_VARIABLE, "")
    return folder != "" and (Path(folder) / f"{name}.npz").is_file()
