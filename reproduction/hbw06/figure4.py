"""Figure 4 of [HBW06]: ROC curves of face retrieval, of the first repeat of Table 4."""

from pathlib import Path

from mercer.metrics import retrieval_auc, retrieval_roc
from reproduction.harness import Draws, Figure, png_canvas
from reproduction.hbw06.table4 import KEY, MEASURES, SETTINGS, draw, rank, represent

LOOKS = {"KB": ("#c44e52", "-"), "RCA": ("#4c72b0", "--"), "Euclidean": ("#8c8c8c", ":")}


def draw_figure4(path: Path, draws: Draws) -> None:
    """Draw the ROC curves of the first repeat into a PNG file."""
    with png_canvas(path, (10, 5)) as canvas:
        for ax, setting in zip(canvas.subplots(1, 2), SETTINGS[1:], strict=True):
            faces = represent(draw(setting, draws.of(KEY, setting, draws.first, "data")))
            for name, (colour, style) in LOOKS.items():
                similarity = MEASURES[name][0](faces, draws.of(KEY, setting, draws.first, "fit"))
                ranked = rank(faces, similarity)
                label = f"{name}, area {100 * retrieval_auc(*ranked):.1f} %"
                ax.plot(*retrieval_roc(*ranked), style, color=colour, label=label)
            ax.set(title=setting, xlabel="share of other pictures", ylabel="share of the subject's pictures")
            ax.set(xlim=(0, 1), ylim=(0, 1), box_aspect=1)
            ax.legend(loc="lower right", frameon=False)
            ax.spines[["top", "right"]].set_visible(False)


FIGURE = Figure(
    "hbw06-figure4", "[HBW06] Figure 4, ROC curves of face retrieval", draw_figure4, needs=("yaleb",)
)
