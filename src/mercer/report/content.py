"""What a page is made of, and how numbers and settings read."""

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.random import RandomState

from mercer.pairs import Pairs
from mercer.report.held_out import HeldOut
from mercer.report.picture import Picture
from mercer.search.label_task import Rows


class Table(NamedTuple):
    """A table; the first cell of each row is the name of that row."""

    caption: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    best: int | None = None  # the row to stand out
    folded: bool = False  # whether it opens on demand
    stacks: bool = False  # whether its rows become blocks on a phone: for few rows of many long cells


class Section(NamedTuple):
    """A part of the page under its own heading."""

    key: str
    title: str
    text: Sequence[str]
    pictures: Sequence[Picture] = ()
    tables: Sequence[Table] = ()


class Subject(NamedTuple):
    """What the page is about."""

    search: Any
    rows: Rows  # without classes if the search was one among pairs: y is empty
    feature_names: list[str]
    pairs: Pairs | None
    held_out: HeldOut | None
    rng: RandomState
    row_names: Sequence[int | str]  # numbers, or names
    data_name: str = ""  # what the data are called, such as a file; none: nobody said

    def name_row(self, i: int) -> str:
        """Return what the i-th row is called."""
        name = self.row_names[i]
        return name if isinstance(name, str) else f"row {name}"


class Omitted(Exception):  # noqa: N818  # nothing is wrong: there is nothing to show
    """A section has nothing to show; the sentence says why."""


def percent(share: float) -> str:
    """Return a share as percent, with one digit after the point."""
    return unbroken(f"{100 * share:.1f} %") if np.isfinite(share) else "–"


def points(difference: float) -> str:
    """Return a difference of shares in percentage points, with its sign."""
    return signed(100 * difference, 1)


def signed(value: float, digits: int) -> str:
    """Return a number with its sign, and so many digits after the point; zero has none."""
    if not np.isfinite(value):
        return "–"
    rounded = round(value, digits)
    return f"{rounded:+.{digits}f}".replace("-", "−") if rounded else f"{0.0:.{digits}f}"


def plain_note(note: str) -> str:
    """Return why a candidate did not run to the end, without the names that Python gives to errors."""
    return re.sub(r"\b\w*(?:Error|Exception): (?=\S)", "", note)


def span(low: float, high: float) -> tuple[str, str]:
    """Return the ends of a range, with as many digits as it takes to tell them apart."""
    digits = max(0, 1 - math.floor(math.log10(high - low))) if high > low else 2
    is_plain = digits <= 6 and max(abs(low), abs(high)) < 1e6
    first, second = (
        signed(end, digits).lstrip("+") if is_plain else f"{end:.3g}".replace("-", "−") for end in (low, high)
    )
    return first, second


def unbroken(text: str) -> str:
    """Return a text that a browser leaves on one line."""
    return text.replace(" ", "\N{NO-BREAK SPACE}")


def duration(seconds: float) -> str:
    """Return a time with three digits that count, short ones in milliseconds."""
    if not np.isfinite(seconds):
        return "–"
    value, unit = (seconds, "s") if seconds >= 0.9995 else (1000 * seconds, "ms")
    digits = f"{value:.0f}" if value >= 999.5 else f"{value:.3g}"
    return unbroken(f"{digits} {unit}")


def describe_settings(settings: Mapping[str, Any]) -> str:
    """Return settings by their own names, whatever they are settings of, with floats shortened."""
    shown = (f"{name.rpartition('__')[2]}={_brief(value)}" for name, value in settings.items())
    return ", ".join(shown)


def _brief(value: Any) -> str:
    if isinstance(value, (float, np.floating)):
        return f"{value:.4g}"
    return repr(value.item() if isinstance(value, np.generic) else value)
