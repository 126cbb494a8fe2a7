"""The command ``mercer show``: what is in a model file."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from mercer.commands.errors import one_line
from mercer.commands.messages import data_sentences, finding_sentences, legend, ranking_parts, say
from mercer.commands.model import MADE_BY, blaming_the_notes, describe_file, result_of
from mercer.commands.outputs import as_json as to_json
from mercer.persistence import Description

EXAMPLES = """For example:

\b
  mercer show out.mercer
  mercer show out.mercer --json
"""


def show(
    model: Annotated[
        Path, typer.Argument(metavar="MODEL", help="A file of `mercer learn` or `mercer.save`.")
    ],
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Show what is in a model file: the kernel, its settings, its expected error, and the versions.

    The model itself is not loaded. In a file from an untrusted source these words are untrusted too.
    """
    found = describe_file(model)
    if as_json:
        with blaming_the_notes(model):  # nested too deep, for one
            document = asdict(found)
            document = {"class": document.pop("class_name"), **document}
            text = json.dumps(to_json(document), indent=2, allow_nan=False)
        typer.echo(text)
        return
    with blaming_the_notes(model):
        parts = _what_was_learned(found) if found.about.get("made_by") == MADE_BY else _what_was_saved(found)
    say(
        f"{model}: {found.class_name}, saved {found.saved}",
        *parts,
        "Made with " + ", ".join(f"{name} {number}" for name, number in found.versions.items()) + ".",
    )


def _what_was_learned(found: Description) -> list[str | Table]:
    about = found.about
    result = result_of(about)
    return [
        *data_sentences(about),
        *ranking_parts(result),
        *legend(about, result),
        *finding_sentences(about, result),
        f"Random seed {about['seed']}, budget {about['budget']:g} s.",
    ]


def _what_was_saved(found: Description) -> list[str | Table]:
    return [_pairs("setting", found.settings), *([_pairs("about", found.about)] if found.about else [])]


def _pairs(title: str, values: dict[str, Any]) -> Table:
    table = Table(title, "value")
    for name, value in values.items():
        table.add_row(Text(one_line(name)), Text(one_line(value)))
    return table
