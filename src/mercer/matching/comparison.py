"""Two tables, compared column by column: the values of all kernels for pairs of records."""

from typing import Any, NamedTuple, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from mercer._typing import Array, Flags, Index
from mercer.matching.cells import plain_texts, read_columns, record_keys
from mercer.matching.columns import ComparedColumn, PreparedColumn, Spelled, choose_column
from mercer.matching.edits import edit_similarity
from mercer.matching.views import View
from mercer.preprocessing import TableError

WHOLE = "(all columns)"  # a record as one text: cells that stand in the wrong column are alike there


class Records(NamedTuple):
    """A table, ready to be compared."""

    columns: list[PreparedColumn]
    keys: NDArray[np.uint64]  # one for each record, the same for the same cells

    @property
    def views(self) -> list[View]:
        """Return the views of all columns, one for each kernel."""
        return [view for column in self.columns for view in column.views]

    @property
    def known(self) -> Flags:
        """Return which cells are known. Shape (n, n_columns)."""
        return np.column_stack([column.known for column in self.columns])


class Similarities(NamedTuple):
    """Pairs of records: how similar they are, by each kernel, and which columns are known in both."""

    values: Array  # (n_pairs, n_kernels), 0 where a cell is missing
    edits: Array  # (n_pairs, n_columns), by the edit distance; 0 for columns that have none
    known: Flags  # (n_pairs, n_columns)

    def of(self, pairs: Any) -> "Similarities":
        """Return those of some pairs."""
        return Similarities(self.values[pairs], self.edits[pairs], self.known[pairs])

    def and_those(self, others: "Similarities") -> "Similarities":
        """Return these and others behind them."""
        return Similarities(
            np.concatenate([self.values, others.values]),
            np.concatenate([self.edits, others.edits]),
            np.concatenate([self.known, others.known]),
        )


class Comparison(NamedTuple):
    """How records are compared: the columns, each with its kernels."""

    columns: list[ComparedColumn]

    @classmethod
    def of(cls, left: pd.DataFrame, right: pd.DataFrame | None) -> Self:
        """Find out how each column that both tables have is compared."""
        tables = [left] if right is None else [left, right]
        names = [n for n in left.columns if n != WHOLE and (right is None or n in right.columns)]
        if not names:
            raise TableError("The two tables have no column in common: rename those that mean the same.")
        chosen = [choose_column(name, [table[name] for table in tables]) for name in names]
        columns = [one for one in chosen if one is not None]
        if not columns:
            raise TableError("No column has two different values: there is nothing to compare records by.")
        whole = [_whole(table[[column.name for column in columns]]) for table in tables]
        if len(columns) > 1 and any(isinstance(column, Spelled) for column in columns):
            columns.append(Spelled.of(pd.concat(whole, ignore_index=True), WHOLE))
        return cls(columns)

    @property
    def names(self) -> list[str]:
        """Return the names of the columns that are compared."""
        return [column.name for column in self.columns if column.name != WHOLE]

    @property
    def column_of(self) -> Index:
        """Return for each kernel the number of its column."""
        return np.repeat(np.arange(len(self.columns)), [len(column.kernels) for column in self.columns])

    @property
    def kernel_names(self) -> list[str]:
        """Return what the kernels are, in words."""
        return [f"{column.name}: {kernel}" for column in self.columns for kernel in column.kernels]

    def prepare(self, table: Any, what: str) -> Records:
        """Return the records of a table."""
        columns = read_columns(table, self.names, what)
        cells = dict(columns.items()) | {WHOLE: _whole(columns)}
        prepared = [column.prepare(cells[column.name], what) for column in self.columns]
        return Records(prepared, record_keys(columns))

    def paired(self, left: Records, right: Records, i: Index, j: Index) -> Similarities:
        """Compare the records i[p] of one table with j[p] of the other."""
        values, edits, known = [], [], []
        for column, a, b in zip(self.columns, left.columns, right.columns, strict=True):
            for mine, its in zip(a.views, b.views, strict=True):
                values.append(mine.paired(its, i, j))  # type: ignore[arg-type]  # they are of one kind
            known.append(a.known[i] & b.known[j])
            if a.letters is not None and b.letters is not None and column.has_edits:
                edits.append(edit_similarity(a.letters, b.letters, i, j) * known[-1])
            else:
                edits.append(np.zeros(len(i)))
        return Similarities(np.column_stack(values), np.column_stack(edits), np.column_stack(known))


def _whole(columns: pd.DataFrame) -> pd.Series:
    """Return the known cells of each record as one text."""
    texts = [plain_texts(column) for _, column in columns.items()]
    return pd.Series([" ".join(cells).strip() for cells in zip(*texts, strict=True)], dtype=object)
