"""`mercer learn --pairs` on records: names and texts that are compared column by column."""

import json
import shlex
import sys
from pathlib import Path
from typing import Any, NamedTuple

import typer
from rich.table import Table
from rich.text import Text

from mercer.commands.errors import FAILED, WrongRequestError, one_line
from mercer.commands.matcher_file import Tables, begin, keep, read_tables, tell
from mercer.commands.messages import say
from mercer.commands.outputs import as_json as to_json
from mercer.commands.outputs import write_or_keep
from mercer.matching import PairMatcher
from mercer.matching.cells import have_names
from mercer.matching.words import error_sentence
from mercer.preprocessing.errors import listed

MATCH, KERNEL = "match", "kernel"  # what may be learned from pairs
SPARE = "add --task kernel to learn a kernel of numbers and categories instead"


class RecordRequest(NamedTuple):
    """What a user names."""

    data: Path
    right: Path | None
    pairs: Path
    ids: str | None
    drop: tuple[str, ...]
    model: Path | None
    seed: int
    as_json: bool


def find_names(request: RecordRequest) -> list[str]:
    """Return the columns of names and texts, for which records are better compared than features."""
    table = read_tables(request.data, None, None).left
    others = {request.ids, *request.drop}
    return [name for name in table.columns if name not in others and have_names(table[name])]


def learn_matches(request: RecordRequest, names: list[str]) -> None:
    """Learn which records match, say what was learned, and save it."""
    tables = read_tables(request.data, request.right, request.ids)
    if names and not request.as_json:
        say(
            f"Columns of names or texts: {listed(names)}. So records are compared column by column; {SPARE}.",
            file=sys.stderr,
        )
    matcher = begin(tables, request.ids, request.drop, random_state=request.seed)
    tell(matcher, tables, request.pairs)
    written = None
    if request.model is not None:
        written = write_or_keep(request.model, lambda path: keep(matcher, path, request.ids))
    if request.as_json:
        document = {**_as_document(matcher), "model": None if written is None else str(written)}
        typer.echo(json.dumps(to_json(document), indent=2, allow_nan=False))
    else:
        say(*_sentences(matcher, tables), *_next_steps(request, written))
    if written != request.model:
        raise typer.Exit(FAILED)


def _as_document(matcher: PairMatcher) -> dict[str, Any]:
    judged = matcher.judged_.answer
    return {
        "task": "match",
        "pairs": {"same": int(judged.sum()), "different": int((~judged).sum())},
        "columns": matcher.column_weights_,
        "threshold": matcher.threshold_,
        "error": None if matcher.error_ is None else _plainly(matcher.error_),
        "reference": None if matcher.reference_ is None else _plainly(matcher.reference_),
        "notes": matcher.notes_,
    }


def _plainly(error: Any) -> dict[str, Any]:
    fields = error._asdict().items()
    return {name: value._asdict() if hasattr(value, "_asdict") else value for name, value in fields}


def _sentences(matcher: PairMatcher, tables: Tables) -> list[Any]:
    weights = matcher.column_weights_
    total = sum(weights.values()) or 1.0
    columns = Table("column", "weight")
    for name, weight in sorted(weights.items(), key=lambda item: -item[1]):
        columns.add_row(Text(one_line(name)), Text(f"{100 * weight / total:.0f} %"))
    said: list[Any] = [
        f"{len(tables.left)} rows{_and_right(tables)}; {len(matcher.judged_.answer)} judged pairs."
    ]
    said += [columns] if matcher.threshold_ is not None else []
    said += [error_sentence(matcher.error_, matcher.reference_)] if matcher.error_ is not None else []
    if matcher.threshold_ is not None:
        said.append(f"Two rows match if the probability is {matcher.threshold_:.2g} or more.")
    return [*said, *matcher.notes_]


def _and_right(tables: Tables) -> str:
    return "" if tables.right is None else f" and {len(tables.right)} in the second table"


def _next_steps(request: RecordRequest, written: Path | None) -> list[str]:
    if written is None:
        return ["The model was not saved: use --model FILE."]
    files = shlex.join(str(path) for path in (written, request.data, request.right) if path is not None)
    grouped = [f"Groups of rows:     mercer group {files} -o groups.csv"] if request.right is None else []
    return [
        f"The model is in {written}.",
        f"All matches:        mercer match {files} -o matches.csv",
        *grouped,
        f"Pairs worth asking: mercer ask {files}",
    ]


def refuse_options(given: dict[str, Any]) -> None:
    """Refuse options that records have no use for."""
    for option, value in given.items():
        if value:
            raise WrongRequestError(f"{option} is not for records: leave it out, or {SPARE}.")
