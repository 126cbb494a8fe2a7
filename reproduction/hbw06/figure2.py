"""Figure 2 of [HBW06]: the Gaussians that KernelBoost learns, and the separator of its kernel.

It is the first repeat of Table 1 with 100 labels. Ellipses are one standard deviation wide, as in the paper,
and the darker, the later the round.
"""

from pathlib import Path
from typing import Any

import numpy as np

from mercer._typing import Array
from mercer.kernels import Mixture
from reproduction.harness import Draws, Figure, png_canvas
from reproduction.hbw06.classifiers import Draw, fit_kernelboost
from reproduction.hbw06.table1 import KEY, ROWS, SETTINGS, draw

COLOURS = ("#4c72b0", "#c44e52")
NAMES = ("class −1", "class +1")
REACH, GRID_STEPS = (2.7, 1.85), 300
N_POINTS = 100  # of an ellipse
ON_MARGIN = 1e-3  # how far beyond the margin a row still counts as on it


def draw_figure2(path: Path, draws: Draws) -> None:
    """Draw the Gaussians that were learned, and the separator that they make, into a PNG file."""
    row = ROWS[1]
    data = draw(row, draws.of(KEY, row, draws.first, "data"))
    model = fit_kernelboost(data, draws.of(KEY, row, draws.first, "fit"), SETTINGS, dissolve=True)
    with png_canvas(path, (12, 5.2)) as canvas:
        left, right = canvas.subplots(1, 2, sharex=True, sharey=True)
        draw_rows(left, data)
        draw_ellipses(left, model.learner_.kernel_)
        left.set_title(f"Gaussians of {model.learner_.n_rounds_} rounds (one standard deviation; dark: late)")
        draw_separator(right, model)
        draw_rows(right, data)
        mark_support(right, model, data)
        wrong = float(np.mean(model.predict(data.X_test) != data.y_test))
        right.set_title(f"separator and support vectors (black dots): {100 * wrong:.1f} % error")
        left.set(xlim=(-REACH[0], REACH[0]), ylim=(-REACH[1], REACH[1]))
        for ax in (left, right):
            ax.set_aspect("equal")
            ax.spines[["top", "right"]].set_visible(False)
        canvas.legend(*left.get_legend_handles_labels(), loc="outside lower center", ncols=3, frameon=False)


def draw_rows(ax: Any, data: Draw) -> None:
    """Draw the labelled rows, a colour for each class, and the others in grey."""
    ax.scatter(*data.X_test.T, s=5, color="0.75", lw=0, label="unlabelled")
    for label, (colour, marker) in enumerate(zip(COLOURS, "so", strict=True)):
        rows = data.X[data.y == label]
        ax.scatter(*rows.T, s=22, color=colour, marker=marker, alpha=0.8, lw=0, label=NAMES[label])


def draw_ellipses(ax: Any, kernel: Mixture) -> None:
    """Draw an ellipse of one standard deviation for each Gaussian; those of later rounds are darker."""
    n_rounds = len(kernel.alpha)
    for t in range(n_rounds):
        grey = 0.85 * (1 - (t + 1) / n_rounds)
        for mean, covariance in zip(kernel.means[t], kernel.covariances(t), strict=True):
            ax.plot(*ellipse(mean, covariance).T, color=str(grey), lw=1.1)


def ellipse(mean: Array, covariance: Array) -> Array:
    """Return points one standard deviation from the mean."""
    angle = np.linspace(0.0, 2 * np.pi, N_POINTS)
    values, vectors = np.linalg.eigh(covariance)
    points: Array = mean + (np.column_stack([np.cos(angle), np.sin(angle)]) * np.sqrt(values)) @ vectors.T
    return points


def draw_separator(ax: Any, model: Any) -> None:
    """Draw the side of each class, and the line between them."""
    axes = [np.linspace(-reach, reach, GRID_STEPS) for reach in REACH]
    points = np.column_stack([grid.ravel() for grid in np.meshgrid(*axes)])
    values = model.decision_function(points).reshape(GRID_STEPS, GRID_STEPS)
    ax.contourf(*axes, np.sign(values), levels=[-2, 0, 2], colors=COLOURS, alpha=0.12)
    ax.contour(*axes, values, levels=[0], colors="black", linewidths=1.6)


def mark_support(ax: Any, model: Any, data: Draw) -> None:
    """Draw a black dot into each support vector: a row on the margin, or on its wrong side."""
    margin = np.where(data.y == 1, 1.0, -1.0) * model.decision_function(data.X)
    ax.scatter(*data.X[margin <= 1 + ON_MARGIN].T, s=14, color="black", lw=0, zorder=3)


FIGURE = Figure("hbw06-figure2", "[HBW06] Figure 2, the Gaussians and the separator", draw_figure2)
