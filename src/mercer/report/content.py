"""What a page is made of, and how numbers and settings read."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.random import RandomState

from mercer.pairs import Pairs
from mercer.search.evaluation import Rows

from .held_out import HeldOut
from .picture import Picture


class Table(NamedTuple):
    """A table; the first cell of each row is the name of that row."""

    caption: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    best: int | None = None  # the row to stand out
    folded: bool = False  # whether it opens on demand


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


class Omitted(Exception):  # noqa: N818  # nothing is wrong: there is nothing to show
    """A section has nothing to show; the sentence says why."""


def percent(share: float) -> str:
    """Return a share as percent, with one digit after the point; the space does not break."""
    return f"{100 * share:.1f}\N{NO-BREAK SPACE}%" if np.isfinite(share) else "–"


def points(difference: float) -> str:
    """Return a difference of shares in percentage points, with its sign."""
    return f"{100 * difference:+.1f}".replace("-", "−") if np.isfinite(difference) else "–"


def number(value: float) -> str:
    """Return a number with three digits that count."""
    return f"{value:.3g}" if np.isfinite(value) else "–"


def describe_settings(settings: Mapping[str, Any]) -> str:
    """Return settings as they would be typed, floats shortened."""
    shown = (f"{name}={_brief(value)}" for name, value in settings.items())
    return ", ".join(shown)


def _brief(value: Any) -> str:
    if isinstance(value, (float, np.floating)):
        return f"{value:.4g}"
    return repr(value.item() if isinstance(value, np.generic) else value)
