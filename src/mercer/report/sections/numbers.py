"""The parts of the page about predicted numbers: against true ones, residuals, and intervals."""

from typing import Any

import numpy as np

from mercer._typing import Array
from mercer.report.content import Section, Table
from mercer.report.picture import Picture, draw_picture
from mercer.report.plots.style import COLOURS, dashed, shorten_numbers, tidy
from mercer.report.subject import HeldOut, Subject
from mercer.search.words import percent

SIZE = (4.5, 3.6)  # inches
COVERAGE = 0.9  # of the intervals in the picture
COVERAGES = (0.5, 0.8, 0.9, 0.95)


def show_predictions(subject: Subject) -> Section:
    """Return held-out targets against what was predicted, and the residuals."""
    data = subject.held_out
    half, most = map(subject.estimate, np.quantile(np.abs(data.y - data.predicted), [0.5, 0.9]))
    text = [
        f"{len(data.y)} samples that the search held out: half of them are predicted to within {half}, nine "
        f"out of ten to within {most}.",
        f"On the line, predictions are right; the band is the {100 * COVERAGE:.0f} % interval. Where "
        "residuals are larger on one side, or show a curve, the model misses something.",
    ]
    ends = subject.search.model_.interval_of(data.predicted, COVERAGE)
    pictures = [_draw(data, "Predicted and true", ends), _draw(data, "Residuals")]
    return Section("predictions", "Predicted and true", text, pictures)


def _draw(data: HeldOut, caption: str, ends: tuple[Array, Array] | None = None) -> Picture:
    """Draw true numbers with their intervals against predicted ones, or what is left of them."""

    def draw(figure: Any) -> None:
        ax, predicted = figure.subplots(), data.predicted
        if ends is None:
            ax.axhline(0.0, **dashed())
        else:
            order, line = np.argsort(predicted, kind="stable"), [predicted.min(), predicted.max()]
            ax.fill_between(
                predicted[order], *(end[order] for end in ends), color=COLOURS[0], alpha=0.2, lw=0
            )
            ax.plot(line, line, **dashed())
        ax.plot(predicted, data.y - predicted if ends is None else data.y, "o", ms=3, color=COLOURS[0])
        ax.set(xlabel="predicted", ylabel="true − predicted" if ends is None else "true")
        ax.locator_params(nbins=6)
        shorten_numbers(ax.xaxis, ax.yaxis)
        tidy(ax)

    return draw_picture(draw, SIZE, alt=f"{caption}: {len(data.y)} held-out samples.", caption=caption)


def show_intervals(subject: Subject) -> Section:
    """Return how many held-out targets intervals hold, and how wide they are."""
    data, rows = subject.held_out, []
    for coverage in COVERAGES:
        low, high = subject.search.model_.interval_of(data.predicted, coverage)
        inside = percent(float(np.mean((low <= data.y) & (data.y <= high))))
        width = np.quantile(high - low, [0.05, 0.5, 0.95])
        rows.append([f"{100 * coverage:.0f} %", inside, *map(subject.estimate, width)])
    text = [
        "The ends of an interval are the prediction plus quantiles of the errors on samples that were held "
        "out in the search, times how large errors are where the prediction is. Here they are tried on these "
        "samples themselves: on new ones they may hold a little less."
    ]
    name, inside, _, width, _ = rows[COVERAGES.index(COVERAGE)]
    answer = f"{name} intervals hold {inside} of held-out targets; half of them are narrower than {width}."
    heads = ["interval", "held-out targets inside", "width of a narrow one", "median width", "of a wide one"]
    tables = [Table("Intervals as given, and as found", heads, rows)]
    return Section("intervals", "Intervals", text, (), tables, (), ("Can I trust it?", answer))
