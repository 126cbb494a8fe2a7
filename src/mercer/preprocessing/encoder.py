"""A table as numbers, by a transformer that becomes part of the saved pipeline."""

from typing import Any, NamedTuple, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_array, check_is_fitted

from mercer._typing import Array
from mercer.limits import check_memory
from mercer.preprocessing.columns import choose_kind
from mercer.preprocessing.errors import TableError, listed, quote
from mercer.preprocessing.kinds import CategoryColumn, DateColumn, Kind, NumberColumn, TextColumn
from mercer.preprocessing.missing import is_missing
from mercer.preprocessing.reading import check_names, plain_column
from mercer.scikit import check_feature_names, check_n_features
from mercer.validation import from_frame

COPIES = 4  # of the table as numbers: whole, scaled, one fold, and what a candidate makes of it


class Columns(NamedTuple):
    """The names of columns, by what they are."""

    numbers: list[str]
    dates: list[str]
    categories: list[str]
    texts: list[str]
    dropped: dict[str, str]  # and why

    @property
    def used(self) -> list[str]:
        """Return the columns that a model needs."""
        return [*self.numbers, *self.dates, *self.categories, *self.texts]


class TableEncoder(TransformerMixin, BaseEstimator):
    """Turn a table with texts, dates, categories and gaps into numbers, for any estimator.

    Numbers are used as they are, also with thousands separators, decimal commas, currencies or a unit;
    missing ones are replaced by the median, and marked by a feature of their own if they are many. Dates
    become year, month, day of the year, weekday, days since the first, and hour, as far as these vary.
    Categories are one-hot encoded, with a feature for missing cells, and one for rare categories if there are
    more than fifty. Free text becomes ten TF-IDF components. Columns of a single value, of row numbers, and
    of texts that are all different and have no words in common, are dropped; `dropped_` says why.

    The target is not used. Scale the features after it, for example by `ClippedScaler`.

    Attributes
    ----------
    columns_ : list
        The columns that are used: NumberColumn, DateColumn, CategoryColumn and TextColumn.
    dropped_ : dict
        The columns that are not, and why.
    notes_ : list of str
        What was decided where a column can be read in two ways.

    Examples
    --------
    >>> import pandas as pd
    >>> from mercer import TableEncoder
    >>> table = pd.DataFrame({"price": ["1,200", None, "90"], "colour": ["red", "blue", "red"]})
    >>> encoder = TableEncoder().fit(table)
    >>> encoder.transform(table)
    array([[1200.,    0.,    1.],
           [ 645.,    1.,    0.],
           [  90.,    0.,    1.]])
    >>> list(encoder.get_feature_names_out())
    ['price', 'colour: blue', 'colour: red']
    """

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find out what each column is.

        Parameters
        ----------
        X : DataFrame, or array-like of shape (n_samples, n_features)
            The table.
        y : object
            Not used.
        """
        table = as_table(X, least=2)
        check_feature_names(self, X, reset=True)
        check_n_features(self, X, reset=True)
        self.columns_: list[Kind] = []
        self.dropped_: dict[str, str] = {}
        self.notes_: list[str] = []
        commas_first = bool(table.attrs.get("commas_first", False))
        for name, column in table.items():
            kind, reason, note = choose_kind(column, str(name), commas_first=commas_first)
            if kind is None:
                self.dropped_[str(name)] = reason
            else:
                self.columns_.append(kind)
            self.notes_ += [note] if note else []
        if not self.columns_:
            raise TableError(f"No column of the table can be used as a feature: {self._reasons()}.")
        return self

    def transform(self, X: Any) -> Array:
        """Return the features of a table. It needs the columns that are used, by name, in any order."""
        check_is_fitted(self)
        table = as_table(X)
        if not hasattr(X, "columns"):
            check_n_features(self, X, reset=False)
        return self.encode(table, "the table")

    def encode(self, table: pd.DataFrame, source: object) -> Array:
        """Return the features of a table, or raise TableError.

        Parameters
        ----------
        table : DataFrame
            As `read_table` gives it.
        source : object
            Where it comes from, for error messages.
        """
        missing = [kind.name for kind in self.columns_ if kind.name not in table.columns]
        if missing:
            one = len(missing) == 1
            raise TableError(
                f"{source} lacks the column{'' if one else 's'} {listed(missing)}, which the model needs: "
                f"add {'it' if one else 'them'} (cells may be empty)."
            )
        width = len(self.get_feature_names_out())
        check_memory(COPIES * 8 * len(table) * width, f"{source} as numbers", "Take fewer rows.")
        features: Array = np.hstack([kind.encode(table[kind.name], source) for kind in self.columns_])
        return features

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Return the names of the features."""
        check_is_fitted(self)
        return np.array([name for kind in self.columns_ for name in kind.feature_names()], dtype=object)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = tags.input_tags.string = tags.input_tags.categorical = True
        return tags

    @property
    def by_kind(self) -> Columns:
        """The names of the columns, by what they are."""

        def names(kind: type) -> list[str]:
            return [one.name for one in self.columns_ if isinstance(one, kind)]

        used = names(NumberColumn), names(DateColumn), names(CategoryColumn), names(TextColumn)
        return Columns(*used, self.dropped_)

    def _reasons(self) -> str:
        if not self.dropped_:
            return "it has no columns besides those named by options; add some"
        name, reason = next(iter(self.dropped_.items()))
        in_all = f" ({len(self.dropped_)} columns were dropped in all)" if len(self.dropped_) > 1 else ""
        return f"{quote(name)} was dropped because {reason}{in_all}; add numeric or categorical columns"


def as_table(X: Any, least: int = 1) -> pd.DataFrame:
    """Return a table whose columns have names that are texts, and cells that are texts or numbers."""
    X = from_frame(X)
    if isinstance(X, pd.DataFrame):
        table = X
    else:
        rows = check_array(X, dtype=None, ensure_all_finite="allow-nan", ensure_min_samples=least)
        table = pd.DataFrame(rows, columns=[f"x{k}" for k in range(rows.shape[1])])
    check_names([str(name) for name in table.columns], "the table")
    plain = pd.DataFrame({str(name): plain_column(column) for name, column in table.items()})
    plain.attrs = dict(table.attrs)
    return plain.reset_index(drop=True)


def count_missing(encoder: TableEncoder, X: Any) -> dict[str, int]:
    """Return how many cells are missing of each column that is used."""
    table = as_table(X)
    return {
        one.name: int(
            is_missing(table[one.name], among_numbers=isinstance(one, NumberColumn | DateColumn)).sum()
        )
        for one in encoder.columns_
    }


def check_no_others(table: pd.DataFrame, columns: Columns, others: set[str], source: object) -> None:
    """Raise TableError for columns that the model does not know."""
    unknown = [name for name in table.columns if name not in {*columns.used, *columns.dropped, *others}]
    if unknown:
        one = len(unknown) == 1
        raise TableError(
            f"{source} has {'a column' if one else 'columns'} that the model does not know, {listed(unknown)}"
            f": drop {'it' if one else 'them'}, or rename {'it' if one else 'them'} as in training."
        )
