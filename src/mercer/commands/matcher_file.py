"""Models that match records: learned from judged pairs, kept in a file, and the tables that they are for."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
import typer

from mercer.commands.errors import WrongRequestError
from mercer.commands.model import describe_file
from mercer.matching import PairMatcher
from mercer.matching.words import error_sentence
from mercer.pairs import Pairs
from mercer.persistence import ModelFileError, load, save
from mercer.preprocessing import TableError, find_ids, read_table
from mercer.preprocessing.judged_file import read_judged
from mercer.preprocessing.missing import as_written

MADE_BY = "mercer match"  # in the notes of a model
MODEL = typer.Argument(metavar="MODEL", help="Model file; it is made if there are --pairs to learn from.")
DATA = typer.Argument(metavar="DATA", help="Table of records.")
OTHER = typer.Argument(metavar="[OTHER]", help="A second table: then a pair has one row of each.")
PAIRS = typer.Option(
    metavar="FILE",
    help="Judged pairs: two columns of rows (numbers from 0, or ids), and one with yes, no or unsure.",
)
IDS = typer.Option("--id", metavar="COLUMN", help="Column of row names, which is not compared.")
DROP = typer.Option(metavar="COLUMNS", help="Columns that are not compared, separated by commas.")


class Tables(NamedTuple):
    """The records of one table, or of two."""

    left: pd.DataFrame
    right: pd.DataFrame | None
    ids: tuple[pd.Series | None, pd.Series | None]

    @property
    def other(self) -> pd.DataFrame:
        """Return the table of the second row of a pair."""
        return self.left if self.right is None else self.right


class MatchRequest(NamedTuple):
    """What the commands that match have in common."""

    model: Path
    data: Path
    other: Path | None
    pairs: Path | None
    ids: str | None
    drop: str | None


def open_matcher(
    request: MatchRequest, *, may_begin: bool = False, **settings: Any
) -> tuple[PairMatcher, Tables]:
    """Return a model and the tables; if there are pairs, it learns from them and is saved.

    Parameters
    ----------
    request : MatchRequest
        What the user asks for.
    may_begin : bool
        Whether a new model may know no pairs.
    settings : object
        Of a new model: parameters of `PairMatcher`.
    """
    is_new = not request.model.exists()
    if is_new and request.pairs is None and not may_begin:
        raise WrongRequestError(
            f"There is no file {request.model}: learn it from judged pairs with --pairs, or begin with "
            f"`mercer ask {request.model} {request.data}`."
        )
    about: dict[str, Any] = {} if is_new else _about(request.model)
    named = request.ids if request.ids is not None else about.get("id")
    tables = read_tables(request.data, request.other, named)
    if is_new:
        matcher = begin(tables, named, (request.drop or "").split(","), **settings)
    else:
        matcher, _ = load_matcher(request.model)
    if request.pairs is not None:
        tell(matcher, tables, request.pairs)
        say_what_is_known(matcher)
    if request.pairs is not None or is_new:
        keep(matcher, request.model, named)
    return matcher, tables


def load_matcher(path: Path) -> tuple[PairMatcher, dict[str, Any]]:
    """Return a model that matches records, and what its file says of it."""
    about = _about(path)
    return load(path), about


def check_learned(threshold: float | None, model: Path, data: Path) -> None:
    """Refuse a model that knows no pair that is the same."""
    if threshold is None:
        raise WrongRequestError(
            f"{model} knows no two rows that are the same: judge some, `mercer ask {model} {data}`."
        )


def keep(matcher: PairMatcher, path: Path, ids: str | None) -> None:
    """Save a model."""
    save(matcher, path, about={"made_by": MADE_BY, "id": ids})


def say_what_is_known(matcher: PairMatcher) -> None:
    """Print what was learned from judged pairs."""
    if matcher.error_ is not None:
        typer.echo(error_sentence(matcher.error_, matcher.reference_), err=True)
    for note in matcher.notes_:
        typer.echo(note, err=True)


def side_by_side(tables: Tables, found: pd.DataFrame, names: list[str]) -> pd.DataFrame:
    """Return pairs with the columns of both records, each beside the other."""
    parts = {name: found[name].to_numpy() for name in found}
    if tables.ids[0] is not None and tables.ids[1] is not None:
        parts |= {"row": tables.ids[0].iloc[found["row"]].to_numpy()}
        parts |= {"other": tables.ids[1].iloc[found["other"]].to_numpy()}
    for name in names:
        parts[f"left_{name}"] = as_written(tables.left[name]).iloc[found["row"]].to_numpy()
        parts[f"right_{name}"] = as_written(tables.other[name]).iloc[found["other"]].to_numpy()
    return pd.DataFrame(parts)


def _about(path: Path) -> dict[str, Any]:
    about = dict(describe_file(path).about)
    if about.get("made_by") != MADE_BY or not isinstance(about.get("id"), str | None):
        raise WrongRequestError(
            f"{path} does not match records: learn a model that does, with --pairs and another file name."
        )
    return about


def read_tables(data: Path, other: Path | None, ids: str | None) -> Tables:
    """Read the records of one table, or of two."""
    tables = [read_table(path) for path in (data, other) if path is not None]
    named = [
        None if ids is None else find_ids(table, ids, path)
        for table, path in zip(tables, (data, other), strict=False)
    ]
    return Tables(tables[0], tables[1] if other else None, (named[0], named[-1]))


def begin(tables: Tables, ids: str | None, drop: Sequence[str], **settings: Any) -> PairMatcher:
    """Return a new model that knows the tables, and no pair yet."""
    shared = [name for name in tables.left.columns if name in tables.other.columns]
    columns = [name for name in shared if name != ids and name not in drop]
    return PairMatcher(columns=columns, **settings).fit(tables.left, right=tables.right)


def tell(matcher: PairMatcher, tables: Tables, path: Path) -> None:
    """Learn from the judged pairs of a file."""
    judged = read_judged(path, (len(tables.left), len(tables.other)), tables.ids)
    try:
        matcher.tell(
            tables.left, Pairs(judged.similar, judged.dissimilar), right=tables.right, unsure=judged.unsure
        )
    except (TableError, ModelFileError):
        raise
    except ValueError as error:
        raise WrongRequestError(f"{path}: {error}.") from error
