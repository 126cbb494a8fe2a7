"""What notebooks show: names with bars, in HTML that follows the notebook's own colours."""

from collections.abc import Sequence
from html import escape
from typing import NamedTuple

WIDTH, HEIGHT = 180, 12  # of a bar, in pixels
COLOUR = "#3b82b5"  # on light and on dark ground
MARKED = "#d55e00"


class Line(NamedTuple):
    """A name with a bar, an interval, and what stands behind it; places are shares of the width."""

    name: str
    share: float
    cells: Sequence[str] = ()
    low: float | None = None
    high: float | None = None
    is_marked: bool = False


def show_bars(lines: Sequence[Line], heads: Sequence[str] = ()) -> str:
    """Return a table of names, bars and texts; names are texts, whatever they contain."""
    head = "".join(f'<th style="text-align:left">{escape(name)}</th>' for name in heads)
    body = "".join(
        f'<tr><th style="text-align:left">{escape(line.name)}{" ★" if line.is_marked else ""}</th>'
        f"<td>{_draw(line)}</td>"
        + "".join(f'<td style="text-align:left">{escape(cell)}</td>' for cell in line.cells)
        + "</tr>"
        for line in lines
    )
    return f"<table>{f'<thead><tr>{head}</tr></thead>' if heads else ''}<tbody>{body}</tbody></table>"


def paragraphs(*sentences: str) -> str:
    """Return sentences as HTML."""
    return "".join(f"<p>{escape(sentence)}</p>" for sentence in sentences if sentence)


def _draw(line: Line) -> str:
    place = WIDTH * min(max(line.share, 0.0), 1.0)
    drawn = f'<rect width="{place:.1f}" height="{HEIGHT}" fill="{MARKED if line.is_marked else COLOUR}"/>'
    if line.low is not None and line.high is not None:
        ends = [WIDTH * min(max(end, 0.0), 1.0) for end in (line.low, line.high)]
        drawn += (
            f'<path d="M{ends[0]:.1f} {HEIGHT / 2}H{ends[1]:.1f}" stroke="currentColor" stroke-width="2"/>'
        )
    return f'<svg width="{WIDTH}" height="{HEIGHT}" aria-hidden="true">{drawn}</svg>'
