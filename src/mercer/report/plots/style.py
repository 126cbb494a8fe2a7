"""What all pictures share: where they are drawn, colour-blind safe colours, and plain text."""

from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import column_or_1d

from mercer._typing import Index

# of Okabe and Ito, who chose them for all kinds of colour vision; without black, and yellow last
COLOURS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#b3a200")
MARKERS = "osD^vPX"  # colours are never the only sign
MATRIX_COLOURS = "cividis"  # the same to all kinds of colour vision, on light and on dark ground
LEGEND_LETTERS = 44  # that stand side by side below a picture
LONGEST_NAME = 24  # letters of a name that a picture has room for
LARGE = 1e4


class Classes(NamedTuple):
    """The classes of samples: their names, and which one each sample has."""

    names: list[str]
    of_row: Index

    def rows(self, k: int) -> Index:
        """Return the samples of a class."""
        return np.flatnonzero(self.of_row == k)


def read_classes(y: Any, n_rows: int) -> Classes:
    """Return the classes in their order; one class without a name if there are none."""
    if y is None:
        return Classes([""], np.zeros(n_rows, dtype=np.intp))
    label = column_or_1d(y)
    if len(label) != n_rows:
        raise ValueError(f"there are {n_rows} samples, but {len(label)} labels")
    found, of_row = np.unique(label, return_inverse=True)
    return Classes([str(name) for name in found], of_row.astype(np.intp))


def plain_text(name: Any, longest: int = LONGEST_NAME) -> str:
    """Return a name as matplotlib shows it letter by letter: on one line, not too long, no mathematics."""
    text = "".join(letter if letter.isprintable() else " " for letter in str(name))
    short = text if len(text) <= longest else f"{text[: longest - 1]}…"
    return short.replace("$", r"\$")


def colour_of(k: int) -> str:
    """Return the colour of the k-th class."""
    return COLOURS[k % len(COLOURS)]


def marker_of(k: int) -> str:
    """Return the marker of the k-th class; classes of one colour have different ones."""
    return MARKERS[(k + k // len(COLOURS)) % len(MARKERS)]


def ink() -> str:
    """Return the colour of text, which is light where the ground is dark."""
    import matplotlib

    return str(matplotlib.rcParams["text.color"])


def dashed() -> dict[str, Any]:
    """Return how lines are drawn that others are compared with."""
    return {"color": ink(), "lw": 1.0, "ls": (0, (4, 3)), "alpha": 0.6}


def tidy(ax: Any, *more: str) -> None:
    """Take away the frame above and to the right."""
    ax.spines[["top", "right", *more]].set_visible(False)


def shorten_numbers(*axes: Any) -> None:
    """Let large numbers along axes be read as 20k or 1.5M."""
    from matplotlib.ticker import EngFormatter

    for axis in axes:
        if np.abs(axis.get_view_interval()).max() >= LARGE:
            axis.set_major_formatter(EngFormatter(sep=""))


def make_axes(ax: Any, size: tuple[float, float]) -> Any:
    """Return the axes, or those of a new figure of this size in inches."""
    return new_figure(size, "compressed").subplots() if ax is None else ax


def new_figure(size: tuple[float, float], layout: str) -> Any:
    """Return a new figure of pyplot, of this size in inches."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError("A picture needs matplotlib: pip install 'mercer[app]'.") from error

    return plt.figure(figsize=size, layout=layout)
