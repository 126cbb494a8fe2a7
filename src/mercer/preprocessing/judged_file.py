"""Judged pairs from a file: the same, different, or unsure."""

import os
from typing import NamedTuple

import numpy as np
import pandas as pd

from mercer._typing import Index
from mercer.preprocessing.errors import TableError, quote
from mercer.preprocessing.pair_file import id_text, row_numbers
from mercer.preprocessing.reading import read_table

ANSWER = "answer"  # the column of answers, if it is not the third of three
SAME = {"1", "yes", "y", "same", "similar", "match", "true"}
DIFFERENT = {"0", "no", "n", "different", "dissimilar", "false"}
UNSURE = {"unsure", "u"}


class JudgedPairs(NamedTuple):
    """Pairs of row numbers, by answer. The field names are those of `Pairs`, and one more."""

    similar: Index
    dissimilar: Index
    unsure: Index


def read_judged(
    path: str | os.PathLike[str],
    sizes: tuple[int, int],
    ids: "tuple[pd.Series | None, pd.Series | None]" = (None, None),
) -> JudgedPairs:
    """Read judged pairs: two columns of rows, and one of answers.

    Answers are yes, no or unsure (or 1 and 0, same and different). They are in the column `answer`, or in
    the third of three; without any, all pairs are the same. A pair without an answer is not judged yet, and
    left out.

    Parameters
    ----------
    path : str or path-like
        A table with a line of column names.
    sizes : tuple of two int
        The number of rows of the table that each column of rows is about.
    ids : tuple of two Series, optional
        The ids of these rows, if the file has ids and not numbers.
    """
    table = read_table(path)
    if len(table.columns) < 2:
        raise TableError(f"{path} has one column: it should have two of rows, and a third with yes or no.")
    answers = _answers(table, path)
    told = answers.notna().to_numpy()
    table, answers = table[told].reset_index(drop=True), answers[told].to_numpy()
    if not len(table):
        raise TableError(f"{path} has no answers: write yes, no or unsure into its column of answers.")
    rows = np.column_stack([row_numbers(table.iloc[:, k], path, sizes[k], ids[k]) for k in (0, 1)])
    return JudgedPairs(*(rows[answers == kind] for kind in ("same", "different", "unsure")))


def _answers(table: pd.DataFrame, path: object) -> pd.Series:
    """Return same, different or unsure for each line; NaN where there is no answer."""
    if ANSWER in table.columns:
        column = table[ANSWER]
    elif len(table.columns) == 3:
        column = table.iloc[:, 2]
    elif len(table.columns) == 2:
        return pd.Series("same", index=table.index)
    else:
        raise TableError(f"{path} has no column {quote(ANSWER)}: name the column of answers so.")
    if column.isna().all():
        return column
    texts = column.map(id_text, na_action="ignore").str.lower().str.removesuffix(".0")
    words = {"same": SAME, "different": DIFFERENT, "unsure": UNSURE}
    found = texts.map({word: answer for answer, all_words in words.items() for word in all_words})
    wrong = texts.notna() & found.isna()
    if wrong.any():
        raise TableError(
            f"Line {int(wrong.to_numpy().argmax()) + 2} of {path} has the answer "
            f"{quote(column[wrong].iloc[0])}: write yes, no or unsure."
        )
    return found
