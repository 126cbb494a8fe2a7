"""Figure 1 of [KT03]: kernel matrices of the toy data before and after learning.

They are those of the first repeat of a run of Table 3; rows are in the order of the classes.
"""

from pathlib import Path
from typing import Any

import numpy as np

from mercer._typing import Array, Labels
from reproduction.harness import Draws, Figure, png_canvas
from reproduction.kt03.data import draw_whole
from reproduction.kt03.table3 import EXPERIMENT, features_of

ROW = "toy-linear"
PANELS = {
    "Euclidean": "(a) inner product",
    "Exact": "(b) learned kernel, exact PSD",
    "Clip R": "(b′) learned kernel, the paper's QP",
    "Xing": "(c) Xing et al.",
}


def draw_figure1(path: Path, draws: Draws) -> None:
    """Draw the kernel matrices of the toy data before and after learning into a PNG file."""
    draw = draw_whole(ROW, draws.of(EXPERIMENT, ROW, draws.first, "data"))
    seed = draws.of(EXPERIMENT, ROW, draws.first, "fit")
    with png_canvas(path, (16, 4.4)) as canvas:
        axes = canvas.subplots(1, len(PANELS))
        for ax, (name, title) in zip(axes, PANELS.items(), strict=True):
            F = features_of(name, draw, seed)
            image = draw_matrix(ax, F @ F.T, draw.train.y)
            ax.set_title(title)
        canvas.colorbar(image, ax=axes, shrink=0.8, label="value, in units of the 99th percentile")


def draw_matrix(ax: Any, K: Array, y: Labels) -> Any:
    """Draw a kernel matrix in grey, white the largest, with lines between the classes."""
    order = np.argsort(-y, kind="stable")
    # the scale of a learned kernel means nothing, and a few extreme values would leave the others in one grey
    K = K[np.ix_(order, order)] / np.percentile(np.abs(K), 99)
    image = ax.imshow(K, cmap="gray", vmin=-1, vmax=1, interpolation="nearest")
    for border in np.flatnonzero(np.diff(y[order])) + 0.5:
        ax.axvline(border, color="#c44e52", lw=0.8)
        ax.axhline(border, color="#c44e52", lw=0.8)
    ax.set(xlabel="rows, class +1 then −1", ylabel="rows, class +1 then −1")
    return image


FIGURE = Figure("kt03-figure1", "[KT03] Figure 1, kernel matrices of the toy data", draw_figure1)
