"""Models that ``mercer learn`` has saved, and new tables for them."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
import typer

from mercer.commands.errors import WrongRequestError, one_line
from mercer.persistence import Description, ModelFileError, describe, load
from mercer.preprocessing import TableEncoder, TableError, read_table
from mercer.preprocessing.errors import listed
from mercer.preprocessing.sources import spoken
from mercer.search import KernelSearchCV, KernelSearchRegressor, SearchResult

MADE_BY = "mercer learn"  # in the notes of a model
ENCODING_HELP = "Encoding of text files, such as cp1252. Default: UTF-8, or inferred and reported."
ROLES = ("target", "id", "weight", "group")


class Model(NamedTuple):
    """A search with what its file says of it; to predict, the search is enough."""

    search: KernelSearchCV | KernelSearchRegressor
    about: dict[str, Any]

    @property
    def encoder(self) -> TableEncoder:
        """Return what makes numbers of a table."""
        encoder: TableEncoder = self.search.encoder_
        return encoder

    @property
    def names(self) -> set[str]:
        """Return the columns that the model does not use and yet knows: classes, ids, weights and groups."""
        return {str(self.about[role]) for role in ROLES if self.about.get(role)}

    @property
    def predicts_numbers(self) -> bool:
        """Return whether it predicts numbers, with intervals."""
        return isinstance(self.search, KernelSearchRegressor)


def describe_file(path: Path) -> Description:
    """Return what a file says of itself, or say that there is none."""
    if not path.exists():
        raise WrongRequestError(f"There is no file {path}: create one with `mercer learn … --model {path}`.")
    with _saying_what_it_is(path):
        return describe(path)


def load_model(path: Path) -> Model:
    """Load a model that takes tables."""
    about = describe_file(path).about
    with _saying_what_it_is(path):
        search = load(path)
    is_search = isinstance(search, KernelSearchCV | KernelSearchRegressor)
    if not is_search or not isinstance(getattr(search, "encoder_", None), TableEncoder):
        raise WrongRequestError(
            f"{path} is not from `mercer learn`, or from that of an older mercer, and does not take tables: "
            "train it again with `mercer learn`, or use it in Python with mercer.load."
        )
    with blaming_the_notes(path):
        names = [about.get(role) for role in ROLES]
        if not all(name is None or isinstance(name, str) for name in names):
            raise TypeError("the name of a column is not a string")
        return Model(search, about)


def result_of(about: Mapping[str, Any]) -> SearchResult:
    """Return the search's result from what a model says of itself."""
    return SearchResult.from_dict(about["search"])


@contextmanager
def blaming_the_notes(path: Path) -> Iterator[None]:
    """Turn what goes wrong with the notes of a model, which anybody may have written, into a sentence."""
    try:
        yield
    except Exception as error:
        raise WrongRequestError(
            f"The metadata in {path} were not written by `mercer learn`: train the model again, or use it in "
            "Python with mercer.load."
        ) from error


@contextmanager
def _saying_what_it_is(path: Path) -> Iterator[None]:
    """Put what readers of ZIP, JSON and arrays say of strange bytes in words: a file that is no model."""
    try:
        yield
    except ModelFileError as error:
        if isinstance(error.__cause__, MemoryError | None) or not getattr(error.__cause__, "is_damage", True):
            raise  # it is in words
        raise WrongRequestError(
            f"{path} is not a model file, or is damaged: name a file written by `mercer learn --model`."
        ) from error


def id_heading(name: str, others: Iterable[str]) -> str:
    """Return what the column of ids is called where it is printed: its own name, if no other has that."""
    return "id" if any(name == other or name.startswith(f"{other} ") for other in others) else name


def read_rows(model: Model, path: Path, encoding: str | None = None) -> pd.DataFrame:
    """Return a table whose columns are those of the model, by their names; others are named and ignored."""
    table, columns = read_table(path, encoding), model.encoder.by_kind
    known = {*columns.used, *columns.dropped, *model.names}
    unknown = [name for name in table.columns if name not in known]
    said = [f"Ignored, as the model does not know them: {listed(unknown)}."] if unknown else []
    for sentence in [*said, *filter(None, [table.attrs.get("remark")])]:
        typer.echo(one_line(sentence), err=True)
    return table


@contextmanager
def blaming_the_table(path: Path) -> Iterator[None]:
    """Name the file in what is wrong with a table."""
    try:
        yield
    except TableError as error:
        raise TableError(str(error).replace("the table", spoken(path), 1)) from error
