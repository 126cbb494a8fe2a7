"""The numbers of [KT03] under our columns."""

from collections.abc import Mapping

from reproduction.harness import Number, published

COLUMNS = ("Euclidean", "learned", "Xing")  # of Tables 2 to 4
IN_PAPER = {  # our columns, and those of the paper beside which they stand
    "Euclidean": "Euclidean",
    "Clip R": "learned",  # the paper's own: the QP, and no pair beyond R
    "Exact": "learned",
    "Exact R": "learned",
    "Exact rest": "learned",
    "Xing": "Xing",
    "Xing rest": "Xing",
}


def numbers_beside(columns: Mapping[str, str], numbers: str) -> dict[tuple[str, str], Number]:
    """Return the published numbers under our columns, given the column of the paper for each."""
    in_paper = published(COLUMNS, numbers)
    return {
        (row, ours): number
        for ours, theirs in columns.items()
        for (row, column), number in in_paper.items()
        if column == theirs
    }
