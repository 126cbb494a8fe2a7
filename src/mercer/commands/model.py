"""Models that ``mercer learn`` has saved, and new tables for them."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
from sklearn.pipeline import Pipeline

from mercer._typing import Array
from mercer.commands.errors import WrongRequestError
from mercer.persistence import Description, ModelFileError, describe, load
from mercer.preprocessing import Columns, TableEncoder, read_table
from mercer.preprocessing.encoder import check_no_others
from mercer.preprocessing.sources import spoken
from mercer.search import Calibration, SearchResult

MADE_BY = "mercer learn"  # in the notes of a model
ROLES = ("target", "id", "weight", "group")


class Model(NamedTuple):
    """A model with what its file says of it."""

    pipeline: Pipeline
    about: dict[str, Any]
    columns: Columns

    @property
    def of_features(self) -> Pipeline:
        """Return what comes after the encoder of tables."""
        return self.pipeline[1:]

    @property
    def names(self) -> set[str]:
        """Return the columns that the model does not use and yet knows: classes, ids, weights and groups."""
        return {str(self.about[role]) for role in ROLES if self.about.get(role)}

    @property
    def predicts_numbers(self) -> bool:
        """Return whether it predicts numbers, with intervals."""
        return hasattr(self.pipeline[-1], "predict_interval")

    def calibration(self) -> Calibration | None:
        """Return what makes probabilities of decision values; files of older versions have none."""
        document = self.about.get("calibration")
        if document is None:
            return None
        calibration = Calibration.from_dict(document)
        if len(calibration.offsets) != len(self.pipeline.classes_):
            raise ValueError("there is not one offset per class")
        return calibration


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
        pipeline = load(path)
    is_ours = about.get("made_by") == MADE_BY and isinstance(pipeline, Pipeline)
    if not is_ours or not pipeline.steps or not isinstance(pipeline[0], TableEncoder):
        raise WrongRequestError(
            f"{path} is not from `mercer learn`, or from that of an older mercer, and does not take tables: "
            "train it again with `mercer learn`, or use it in Python with mercer.load."
        )
    with blaming_the_notes(path):
        names = [about.get(role) for role in ROLES]
        if not all(name is None or isinstance(name, str) for name in names):
            raise TypeError("the name of a column is not a string")
        dropped = dict(about["columns"]["dropped"])
        model = Model(pipeline, about, pipeline[0].by_kind._replace(dropped=dropped))
        model.calibration()
        return model


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
        if isinstance(error.__cause__, ModelFileError | MemoryError | None):
            raise  # it is in words
        raise WrongRequestError(
            f"{path} is not a model file, or is damaged: name a file written by `mercer learn --model`."
        ) from error


def id_heading(name: str, others: Iterable[str]) -> str:
    """Return what the column of ids is called where it is printed: its own name, if no other has that."""
    return "id" if any(name == other or name.startswith(f"{other} ") for other in others) else name


def read_rows(model: Model, path: Path) -> tuple[pd.DataFrame, Array]:
    """Return a table as it is, and as features: columns by their names, in any order."""
    table, source = read_table(path), spoken(path)
    check_no_others(table, model.columns, model.names, source)
    encoder: TableEncoder = model.pipeline[0]
    return table, encoder.encode(table, source)
