"""Figures as they stand in the page: drawn for light and for dark ground, and carried inside the file."""

import base64
import io
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

DPI = 150  # dots per inch; the page shows an inch as 96, or fewer on a phone

N_COLOURS = 256  # of a palette: a page of pictures in full colour is twice as long

# the grounds and inks are those of the page
LIGHT = {"ground": "#ffffff", "ink": "#1c2126"}
DARK = {"ground": "#171b20", "ink": "#dfe4ea"}


class Picture(NamedTuple):
    """A figure in both schemes, as data addresses, and what it shows in words."""

    light: str
    dark: str
    alt: str
    caption: str
    width: int  # in the page's pixels
    height: int


def draw_picture(
    draw: Callable[[Any], Any], size: tuple[float, float], *, alt: str, caption: str = ""
) -> Picture:
    """Let a function draw into a new figure, once on light ground and once on dark, and keep both.

    The figures belong to no window system, and the user's style of matplotlib has no say.
    """
    light, dark = (_render(draw, size, **scheme) for scheme in (LIGHT, DARK))
    return Picture(light, dark, alt, caption, round(96 * size[0]), round(96 * size[1]))


def _render(draw: Callable[[Any], Any], size: tuple[float, float], ground: str, ink: str) -> str:
    import matplotlib.style
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from PIL import Image

    with matplotlib.style.context(["default", _scheme(ground, ink)]), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*Glyph")  # letters that the font has not: a box is shown
        figure = Figure(figsize=size, dpi=DPI, layout="compressed")
        canvas = FigureCanvasAgg(figure)
        draw(figure)
        canvas.draw()
    buffer = io.BytesIO()
    image = Image.fromarray(np.asarray(canvas.buffer_rgba())).convert("RGB")
    image.quantize(N_COLOURS).save(buffer, "png", optimize=True)
    return f"data:image/png;base64,{base64.b64encode(buffer.getvalue()).decode('ascii')}"


def _scheme(ground: str, ink: str) -> dict[str, Any]:
    inked = ("text.color", "axes.edgecolor", "axes.labelcolor", "xtick.color", "ytick.color")
    grounds = ("figure.facecolor", "axes.facecolor", "savefig.facecolor")
    return dict.fromkeys(inked, ink) | dict.fromkeys(grounds, ground) | {"font.size": 10.5}
