"""What a page is made of, and how times and ranges read on it."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from mercer._typing import Array
from mercer.pairs import Pairs
from mercer.preprocessing import TableEncoder
from mercer.preprocessing.kinds import CategoryColumn, NumberColumn
from mercer.report.held_out import HeldOut
from mercer.report.picture import Picture
from mercer.report.scatter import Scatter
from mercer.search import KernelSearchCV, KernelSearchRegressor, SearchResult
from mercer.search.words import signed

MOST_DIGITS, TOO_LARGE = 6, 1e9  # of numbers that are read without a power of ten


class Table(NamedTuple):
    """A table; the first cell of each row is the name of that row."""

    caption: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    best: int | None = None  # the row to highlight
    folded: bool = False  # whether it opens on demand
    stacks: bool = False  # whether its rows become blocks on a phone: for few rows of many long cells
    leads: Sequence[int] = ()  # the rows that begin a group, where rows belong together


class Section(NamedTuple):
    """A part of the page under its own heading."""

    key: str
    title: str
    text: Sequence[str]
    pictures: Sequence[Picture | Scatter] = ()
    tables: Sequence[Table] = ()
    notes: Sequence[str] = ()  # for those who want to know more, after the rest

    @property
    def is_narrow(self) -> bool:
        """Return whether two such sections fit side by side: one picture, and a short table or none."""
        return len(self.pictures) == 1 and not self.notes


class Chapter(NamedTuple):
    """A question that people ask, and the sections that answer it."""

    key: str
    question: str
    sections: Sequence[Section]

    def is_alone(self, k: int) -> bool:
        """Return whether the k-th section is a narrow one that has none beside it."""
        narrow = [section.is_narrow for section in self.sections]
        before = 0
        while before < k and narrow[k - 1 - before]:
            before += 1
        return narrow[k] and before % 2 == 0 and not (k + 1 < len(narrow) and narrow[k + 1])


class Bar(NamedTuple):
    """A value among others, as a bar of the headline."""

    name: str
    value: str
    share: float  # of the longest bar, in percent
    is_this: bool = False


class Headline(NamedTuple):
    """What the page says to those who read no further."""

    title: str
    what: str  # the number is: "expected error on new samples"
    value: str
    interval: str
    bars: Sequence[Bar]
    facts: Sequence[tuple[str, str]]
    sentences: Sequence[str]
    warnings: Sequence[str] = ()  # what must not be overlooked


@dataclass(frozen=True, eq=False)
class Subject:
    """What the page is about."""

    search: KernelSearchCV | KernelSearchRegressor
    kind: str  # what is predicted: "class", "number", or nothing of "pairs"
    table: Any  # what was searched on
    X: Array  # as numbers
    y: Any
    pairs: Pairs | None
    unlabelled: Any
    feature_names: list[str]
    held_out: HeldOut | None
    seed: int  # for whatever is drawn at random
    row_names: Sequence[int | str]  # numbers, or names
    data_name: str = ""  # such as a file; empty if it is unknown
    target_name: str = ""
    encoder: TableEncoder | None = None  # what made the numbers of a table
    seconds: float = float("nan")  # that the search took
    gaps: Mapping[str, int] = field(default_factory=dict)  # missing cells by column, where that is known

    @property
    def columns(self) -> dict[str, list[int]]:
        """Return the features of each column of the table; of an array each feature is one."""
        if self.encoder is None:
            return {name: [d] for d, name in enumerate(self.feature_names)}
        ends = np.cumsum([len(kind.feature_names()) for kind in self.encoder.columns_])
        starts = [0, *ends[:-1]]
        kinds = zip(self.encoder.columns_, starts, ends, strict=True)
        return {kind.name: list(range(start, end)) for kind, start, end in kinds}

    @property
    def levels(self) -> set[int]:
        """Return the features that are 0 or 1: a row has a level of a category, or misses a number."""
        if self.encoder is None:
            return {d for d, x in enumerate(self.X.T) if set(np.unique(x)) == {0.0, 1.0}}
        kinds = zip(self.encoder.columns_, self.columns.values(), strict=True)
        two_valued = {CategoryColumn: slice(None), NumberColumn: slice(1, None)}
        return {d for kind, mine in kinds if type(kind) in two_valued for d in mine[two_valued[type(kind)]]}

    @property
    def result(self) -> SearchResult:
        """Return what the search found."""
        return self.search.result_

    def name_row(self, i: int) -> str:
        """Return what the i-th row is called."""
        name = self.row_names[i]
        return name if isinstance(name, str) else f"row {name}"


class Omitted(Exception):  # noqa: N818  # nothing is wrong: there is nothing to show
    """A section has nothing to show; the sentence says why."""


def finest(values: Array) -> int:
    """Return how many digits after the decimal point a thousandth of the range has."""
    spread = float(np.ptp(values)) or float(np.abs(values).max()) or 1.0
    return max(0, 3 - math.floor(math.log10(spread)))


def decimals(values: Array, others: int | None = None) -> int:
    """Return how many digits after the decimal point values are read with.

    Their own if these are no finer than a thousandth of the range, and else `others`; by default, those of a
    hundredth.
    """
    most = finest(values)
    for digits in range(min(most, MOST_DIGITS) + 1):
        if np.allclose(np.round(values, digits), values, rtol=0.0, atol=1e-9 * 10.0 ** (3 - most)):
            return digits
    return max(0, most - 1) if others is None else others


def plain(value: float, digits: int) -> str:
    """Return a number with so many digits after the decimal point, or a power of ten where these are many."""
    if digits <= MOST_DIGITS and abs(value) < TOO_LARGE:
        return signed(value, digits).lstrip("+")
    return f"{value:.3g}".replace("-", "−")


def spread_of(values: Array) -> tuple[str, str, str]:
    """Return the ends and the median of some values.

    The ends have the digits of the values, the median one more if it is between two of them, and at least
    two significant ones.
    """
    digits, middle = decimals(values), float(np.median(values))
    own = decimals(np.append(values, middle))
    if middle and round(middle, own) != middle:
        own = max(own, 1 - math.floor(math.log10(abs(middle))))
    return plain(float(values.min()), digits), plain(float(values.max()), digits), plain(middle, own)


def span(low: float, high: float) -> tuple[str, str]:
    """Return the ends of a range, with as many digits as it takes to see that they differ."""
    digits = max(0, 1 - math.floor(math.log10(high - low))) if high > low else 2
    return plain(low, digits), plain(high, digits)


def steps(values: Sequence[float]) -> list[str]:
    """Return ascending numbers, with as many digits as it takes to tell each from the next."""
    digits = max(0, -math.floor(math.log10(np.diff(values).min()))) if len(values) > 1 else 2
    return [plain(value, digits) for value in values]


def unbroken(text: str) -> str:
    """Return a text that a browser leaves on one line."""
    return text.replace(" ", "\N{NO-BREAK SPACE}")


def duration(seconds: float) -> str:
    """Return a time with three significant digits, short ones in milliseconds."""
    if not np.isfinite(seconds):
        return "–"
    value, unit = (seconds, "s") if seconds >= 0.9995 else (1000 * seconds, "ms")
    digits = f"{value:.0f}" if value >= 999.5 else f"{value:.3g}"
    return unbroken(f"{digits} {unit}")
