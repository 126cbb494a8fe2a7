"""What a page is about: a search, the table that it was fitted to, and what is known of held-out samples."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.random import RandomState
from numpy.typing import NDArray
from sklearn.inspection import permutation_importance
from sklearn.metrics import log_loss

from mercer._typing import Array, Index
from mercer.preprocessing import TableEncoder
from mercer.preprocessing.encoder import count_missing
from mercer.preprocessing.kinds import (
    DateColumn,
    Kind,
    NumberColumn,
    category_texts,
    read_dates,
    read_numbers,
)
from mercer.report.content import Omitted
from mercer.report.digits import decimals, finest, plain, quantity
from mercer.search import KernelSearchCV, KernelSearchRegressor, SearchResult
from mercer.search.task import order_by_class

HEAD, TAIL = 24, 16  # letters of a long text that are shown


REPEATS = 3  # shufflings of a column
MOST_PREDICTIONS = 100_000  # of shuffled samples, in all
LEAST_ROWS = 50


class Importance(NamedTuple):
    """How much worse predictions get when the values of a column are shuffled among samples."""

    score: str  # its name
    rises: Array  # (n_columns, REPEATS)
    order: Index  # the most important column first


class HeldOut(NamedTuple):
    """Samples that the search held out, each once, with what the model says of them unseen."""

    rows: Index
    y: NDArray[Any]
    predicted: NDArray[Any]
    chances: Array | None  # (n_samples, n_classes)


@dataclass(frozen=True, eq=False)
class Subject:
    """A search and its data, as the sections ask for them."""

    search: KernelSearchCV | KernelSearchRegressor
    kind: str  # what is predicted: "class", "number", or nothing of "pairs"
    frame: pd.DataFrame  # what was searched on
    y: Any
    seed: int  # for whatever is drawn at random
    row_names: Sequence[int | str]  # numbers, or names
    about: Mapping[str, Any]  # such as the names of a file and of what is predicted

    @property
    def result(self) -> SearchResult:
        """Return what the search found."""
        return self.search.result_

    @property
    def target(self) -> str:
        """Return what is predicted, by its name if that is known."""
        return str(self.about.get("target", "the class" if self.kind == "class" else "the target"))

    @cached_property
    def held_out(self) -> HeldOut:
        """Return what the search has kept, or say that there is nothing."""
        if self.kind == "pairs":
            raise Omitted("nothing is predicted")
        found, first = np.unique(self.search.held_out_.rows, return_index=True)
        said = self.search.held_out_.said[first]
        if self.kind == "number":
            return HeldOut(found, self.y[found], said, None)
        predicted = self.search.classes_[self.search.model_.decision.choose(said)]
        return HeldOut(found, self.y[found], predicted, said)

    @cached_property
    def X(self) -> Array:  # noqa: N802  # the name that all arrays of samples have
        """Return all samples as the numbers that kernels take."""
        encoder = self.search.encoder_
        numbers = self.frame if encoder is None else encoder.transform(self.frame)
        return np.asarray(numbers, dtype=np.float64)

    def draw(self, n: int, of: Any = None) -> Index:
        """Return at most n samples, or places among targets, at random; of each class as large a share."""
        y = self.y if of is None else of
        if self.kind != "class":
            return np.sort(RandomState(self.seed).permutation(len(self.frame if y is None else y))[:n])
        place = order_by_class(np.unique(y, return_inverse=True)[1], self.seed)
        return np.sort(np.argsort(place, kind="stable")[:n])

    # Columns of the table

    @cached_property
    def kinds(self) -> dict[str, Kind]:
        """Return what mercer's encoder took columns for; nothing of columns that are numbers already."""
        encoder = self.search.encoder_
        return {kind.name: kind for kind in encoder.columns_} if isinstance(encoder, TableEncoder) else {}

    @property
    def columns(self) -> list[str]:
        """Return the names of the columns that the model needs."""
        return list(self.kinds) or [str(name) for name in self.frame.columns]

    def numbers(self, name: str) -> Array | None:
        """Return a column as numbers, of dates as seconds, with NaN where they are missing; or None."""
        kind, column = self.kinds.get(name), self.frame[name]
        if isinstance(kind, DateColumn):
            return read_dates(column, kind.written)
        if isinstance(kind, NumberColumn):
            return read_numbers(column, kind.written)
        is_number = kind is None and pd.api.types.is_numeric_dtype(column)
        return column.to_numpy(dtype=np.float64) if is_number else None

    def read(self, name: str, rows: Any) -> list[str]:
        """Return cells of a column as texts."""
        values, cells = self.numbers(name), self.frame[name]
        if values is None or self.is_date(name):
            return ["missing" if pd.isna(cell) else _brief(cell) for cell in category_texts(cells).iloc[rows]]
        known = values[np.isfinite(values)]
        digits = decimals(known) if len(known) else 0
        return ["missing" if np.isnan(value) else plain(float(value), digits) for value in values[rows]]

    def is_date(self, name: str) -> bool:
        """Return whether a column has dates."""
        return isinstance(self.kinds.get(name), DateColumn)

    @cached_property
    def importance(self) -> Importance:
        """Return how much each column matters to the score that was asked for, or to a usual one."""
        search, names = self.search, self.columns
        some = self.draw(max(LEAST_ROWS, MOST_PREDICTIONS // (len(names) * REPEATS)))
        rises = permutation_importance(
            search,
            self.frame[names].iloc[some],
            self.y[some],
            scoring=_scorer(search),
            n_repeats=REPEATS,
            random_state=self.seed,
        ).importances
        usual = "log loss" if self.kind == "class" else "RMSE"
        score = usual if search.scoring is None else self.result.metric.name
        return Importance(score, rises, np.argsort(-rises.mean(axis=1), kind="stable"))

    @cached_property
    def gaps(self) -> dict[str, int]:
        """Return how many cells of each column are missing, of a table that mercer has encoded."""
        return count_missing(self.search.encoder_, self.frame) if self.kinds else {}

    # How things are called

    def name_row(self, i: int) -> str:
        """Return what the i-th row is called."""
        name = self.row_names[i]
        return name if isinstance(name, str) else f"row {name}"

    @cached_property
    def _digits(self) -> tuple[int, int]:
        most = finest(self.y)
        return decimals(self.y, most), most

    def text(self, value: Any) -> str:
        """Return a target as it is read: a class by its name, a number with the digits of all."""
        return quantity(float(value), self._digits[0]) if self.kind == "number" else str(value)

    def estimate(self, value: Any) -> str:
        """Return a prediction as it is read: a number to a thousandth of the targets' range."""
        return quantity(float(value), self._digits[1]) if self.kind == "number" else str(value)


def _scorer(search: Any) -> Any:
    """Return the score that was asked for; if none was, minus the log loss or the RMSE."""
    if search.scoring is not None:
        return lambda model, X, y: model.score(X, y)
    if hasattr(search, "predict_proba"):
        return lambda model, X, y: -log_loss(y, model.predict_proba(X), labels=model.classes_)
    return "neg_root_mean_squared_error"


def _brief(cell: Any) -> str:
    """Return a cell as it is written: of midnight the day, of a long text both ends, which may tell it."""
    text = str(cell).removesuffix("T00:00:00")
    return text if len(text) <= HEAD + TAIL else f"{text[:HEAD]}…{text[-TAIL:]}"
