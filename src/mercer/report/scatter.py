"""Samples as marks in the plane that say their names when pointed at: SVG, without a script."""

from collections.abc import Sequence
from html import escape
from typing import NamedTuple

import numpy as np

from mercer._typing import Array, Index
from mercer.report.plots.style import COLOURS, Classes

WIDTH, HEIGHT, MARGIN = 440.0, 380.0, 12.0
EDGE = 24.0  # for the names of the axes
MARKS = (  # of about the same area, around the origin: colours are never the only sign
    "M-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0z",
    "M-3.5-3.5h7v7h-7z",
    "M0-5l5 5l-5 5l-5-5z",
    "M0-5l4.6 8.6h-9.2z",
    "M0 5l-4.6-8.6h9.2z",
    "M-1.5-4.5h3v3h3v3h-3v3h-3v-3h-3v-3h3z",
    "M-4-2.4l1.6-1.6l2.4 2.4l2.4-2.4l1.6 1.6l-2.4 2.4l2.4 2.4l-1.6 1.6l-2.4-2.4l-2.4 2.4l-1.6-1.6l2.4-2.4z",
)


class Key(NamedTuple):
    """A group of samples in the legend, such as a class."""

    name: str
    mark: str
    colour: str


class Groups(NamedTuple):
    """Samples that look the same on a map: the keys of the groups, and which one each sample is in."""

    keys: Sequence[Key]
    of_row: Index


class Scatter(NamedTuple):
    """A map of samples."""

    svg: str
    alt: str
    caption: str
    legend: Sequence[Key]


def group_classes(classes: Classes) -> Groups:
    """Return a group for each class."""
    return Groups([Key(name, *_sign(k)) for k, name in enumerate(classes.names)], classes.of_row)


def draw_scatter(
    places: Array, groups: Groups, names: Sequence[str], *, alt: str, caption: str, labels: tuple[str, str]
) -> Scatter:
    """Return samples as marks, each with a name to be seen when pointed at; both axes have the same scale."""
    keys, spots = groups.keys, _fit(places)
    marks = [
        f'<path d="{keys[k].mark}" fill="{keys[k].colour}" transform="translate({x:.1f} {y:.1f})">'
        f"<title>{escape(name)}</title></path>"
        for (x, y), k, name in zip(spots, groups.of_row, names, strict=True)
    ]
    across, up = labels
    box = f"-{EDGE:.0f} 0 {WIDTH + EDGE:.0f} {HEIGHT + EDGE:.0f}"
    svg = (
        f'<svg class="map" viewBox="{box}" role="img" aria-label="{escape(alt)}">'
        f'<path class="frame" d="M1 1V{HEIGHT:.0f}H{WIDTH:.0f}"/>{"".join(marks)}'
        f'<text x="{WIDTH / 2:.0f}" y="{HEIGHT + 17:.0f}">{escape(across)}</text>'
        f'<text x="{-HEIGHT / 2:.0f}" y="-8" transform="rotate(-90)">{escape(up)}</text></svg>'
    )
    return Scatter(svg, alt, caption, keys if keys[0].name else [])


def _sign(k: int) -> tuple[str, str]:
    """Return the mark and the colour of the k-th class; classes of one colour have different marks."""
    return MARKS[(k + k // len(COLOURS)) % len(MARKS)], COLOURS[k % len(COLOURS)]


def _fit(places: Array) -> Array:
    """Return places in the picture's units, the second axis upwards."""
    low, high = places.min(axis=0), places.max(axis=0)
    room = np.array([WIDTH, HEIGHT]) - 2.0 * MARGIN
    widths = np.maximum(high - low, 1e-300)
    scale = float(np.min(room / widths)) if np.any(high > low) else 1.0
    middle = np.array([WIDTH, HEIGHT]) / 2.0
    spots: Array = middle + (places - (low + high) / 2.0) * scale * np.array([1.0, -1.0])
    return spots
