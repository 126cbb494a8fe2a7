"""What a page is made of."""

from collections.abc import Sequence
from typing import NamedTuple

from mercer.report.picture import Picture


class Table(NamedTuple):
    """A table; the first cell of each row is the name of that row."""

    caption: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    best: Sequence[int] = ()  # the rows to highlight, with a star
    folded: bool = False  # whether it opens on demand
    stacks: bool = False  # whether its rows become blocks on a phone: for few rows of many long cells
    leads: Sequence[int] = ()  # the rows that begin a group, where rows belong together


class Section(NamedTuple):
    """A part of the page under its own heading."""

    key: str
    title: str
    text: Sequence[str]
    pictures: Sequence[Picture] = ()
    tables: Sequence[Table] = ()
    notes: Sequence[str] = ()  # for those who want to know more, after the rest
    answer: tuple[str, str] | None = None  # to a question that is asked at the top of the page


class Chapter(NamedTuple):
    """A question that people ask, and the sections that answer it."""

    key: str
    question: str
    sections: Sequence[Section]
    folded: bool = False  # whether it opens on demand


class Bar(NamedTuple):
    """A value among others, as a bar of the headline."""

    name: str
    value: str
    share: float  # of the longest bar, in percent
    is_this: bool = False


class Headline(NamedTuple):
    """What the page says to those who read no further."""

    title: str
    value: str
    what: str  # the value is: "expected error on new samples"
    more: str  # its interval, or another number
    measured: str  # what the bars show
    bars: Sequence[Bar]
    facts: Sequence[tuple[str, str]]
    sentences: Sequence[str]
    warnings: Sequence[str] = ()  # what must not be overlooked


class Omitted(Exception):  # noqa: N818  # nothing is wrong: there is nothing to show
    """A section has nothing to show; the sentence says why."""
