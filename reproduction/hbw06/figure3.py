"""Figure 3 of [HBW06]: accuracy on four MNIST digits against the number of labels of two of them."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from reproduction.harness import Picture, Result, png_canvas
from reproduction.hbw06 import table3
from reproduction.hbw06.table3 import KINDS, LABELS, ROWS, medians_of

LOOKS = {  # colour, marker and style of each line
    "KB": ("#c44e52", "o", "-"),
    "KB-dis": ("#dd8452", "s", "-"),
    "KB C=1": ("#8172b3", "X", "-"),
    "Lin.": ("#8c8c8c", "^", "--"),
    "Poly.": ("#937860", "v", "--"),
    "RBF": ("#4c72b0", "D", "--"),
    "Tuned": ("#55a868", "P", "--"),
}


def draw_figure3(results: Sequence[Result], path: Path) -> None:
    """Draw the median accuracies against the number of labels of the small classes."""
    with png_canvas(path, (13, 4.6)) as canvas:
        axes = canvas.subplots(1, 3)
        medians = medians_of(results)
        for ax, kind in zip(axes, (KINDS[0], KINDS[1], KINDS[3]), strict=True):
            draw_lines(ax, medians, kind)
            ax.set(title=kind, xlabel="labels of each small class")
        axes[0].set_ylabel("median accuracy in %")
        canvas.legend(
            *axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=7, frameon=False
        )


def draw_lines(ax: Any, medians: Mapping[tuple[str, str], float], kind: str) -> None:
    """Draw a line of medians for each method that has results."""
    for name, (colour, marker, style) in LOOKS.items():
        places = {k: (row, f"{name} {kind}") for k, row in zip(LABELS, ROWS, strict=True)}
        line = {k: medians[place] for k, place in places.items() if place in medians}
        if line:
            ax.plot(*zip(*line.items(), strict=True), style, color=colour, marker=marker, ms=5, label=name)
    ax.set_xscale("log")
    ax.set_xticks(LABELS, labels=map(str, LABELS))
    ax.minorticks_off()
    ax.grid(axis="y", color="0.9")
    ax.spines[["top", "right"]].set_visible(False)


PICTURE = Picture("medians", "[HBW06] Figure 3, median accuracy against the number of labels", draw_figure3)
TABLE = replace(  # the trials of Table 3, and more
    table3.TABLE,
    key="hbw06-figure3",
    title="[HBW06] Figure 3, four MNIST digits, few labels of two of them",
    rows=ROWS,
    published={},  # a figure, but for the row of Table 3
    ours=(),
    pictures=(PICTURE,),
)
