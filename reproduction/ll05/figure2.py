"""Figure 2 of Lin & Li [LL05]: decision boundaries of infinite and finite ensembles on 2-D threenorm.

The paper does not say how many rounds its AdaBoost ran, nor which rows it drew: both are our choice.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from mercer._typing import Array, Labels
from mercer.datasets import log_ratio, threenorm
from mercer.machines import PerceptronSVC, StumpSVC
from reproduction.baselines import AdaBoostPerceptron, AdaBoostStump
from reproduction.harness import Draws, Figure, png_canvas
from reproduction.ll05.tables1_2 import LOG2_C, N_TRAIN, ROUNDS, folds

KEY = "ll05-figure2"
REACH = 4.5  # the picture shows [−4.5, 4.5]²
TICKS = (-4, -2, 0, 2, 4)
GRID_STEPS = 451
THICK, THIN = 2.2, 0.9
N_FRESH = 20_000  # rows that the error in a title is measured on
COLOURS = {1: "#c44e52", -1: "#4c72b0"}


def ensembles(seed: int) -> dict[str, Any]:
    """Return the four ensembles of the figure, not yet fitted: infinite ones left, finite ones right."""
    T = max(ROUNDS)
    return {
        "SVM-Stump": StumpSVC("cv", Cs=2.0**LOG2_C, cv=folds(seed)),
        f"AdaBoost-Stump, T = {T}": AdaBoostStump(n_estimators=T),
        "SVM-Perc": PerceptronSVC("cv", Cs=2.0**LOG2_C, cv=folds(seed), method="gram"),
        f"AdaBoost-Perc, T = {T}": AdaBoostPerceptron(n_estimators=T, random_state=seed),
    }


def draw_figure2(path: Path, draws: Draws) -> None:
    """Fit the four ensembles, draw their boundaries (thick) and the Bayes boundary (thin) into a PNG file."""
    seed = draws.of(KEY, *([draws.first] if draws.first else []))
    rows = threenorm(N_TRAIN, 2, random_state=seed)
    fresh = threenorm(N_FRESH, 2, random_state=draws.of(KEY, "fresh"))
    with png_canvas(path, (9, 9.6)) as canvas:
        axes = canvas.subplots(2, 2, sharex=True, sharey=True)
        for ax, (name, model) in zip(axes.flat, ensembles(seed).items(), strict=True):
            model.fit(*rows)
            draw_panel(ax, model, *rows)
            ax.set_title(f"{name}: {percent_wrong(model.predict, *fresh):.1f} % error")
        canvas.suptitle(f"{N_TRAIN} rows of 2-D threenorm (Bayes error {percent_wrong(bayes, *fresh):.1f} %)")
        canvas.legend(
            *axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=4, frameon=False
        )


def draw_panel(ax: Any, model: Any, X: Array, y: Labels) -> None:
    """Draw the rows, the side of each class and both boundaries."""
    axis = np.linspace(-REACH, REACH, GRID_STEPS)
    points = np.column_stack([grid.ravel() for grid in np.meshgrid(axis, axis)])
    learned, optimal = (
        f.reshape(GRID_STEPS, -1) for f in (model.predict(points), log_ratio("threenorm", points))
    )
    ax.contourf(axis, axis, learned, levels=[-2, 0, 2], colors=[COLOURS[-1], COLOURS[1]], alpha=0.08)
    for label, marker, name in ((1, "o", "class +1"), (-1, "s", "class −1")):
        ax.scatter(*X[y == label].T, s=16, marker=marker, color=COLOURS[label], alpha=0.5, lw=0, label=name)
    for values, width, name in ((learned, THICK, "learned boundary"), (optimal, THIN, "Bayes boundary")):
        ax.contour(axis, axis, values, levels=[0], colors="black", linewidths=width)
        ax.plot([], [], color="black", lw=width, label=name)  # a contour has no entry in the legend
    ax.set(aspect="equal", xlim=(-REACH, REACH), ylim=(-REACH, REACH), xticks=TICKS, yticks=TICKS)


def bayes(X: Array) -> Labels:
    """Return the labels of the optimal classifier."""
    return np.where(log_ratio("threenorm", X) > 0, 1, -1)


def percent_wrong(predict: Callable[[Array], Labels], X: Array, y: Labels) -> float:
    """Return the share of wrong predictions in %."""
    return 100 * float(np.mean(predict(X) != y))


FIGURE = Figure(KEY, "[LL05] Figure 2, decision boundaries on 2-D threenorm", draw_figure2)
