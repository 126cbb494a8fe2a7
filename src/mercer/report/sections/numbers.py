"""The parts of the page about predicted numbers: against true ones, residuals, intervals, shape functions."""

import numpy as np

from mercer.report.content import Omitted, Section, Subject, Table
from mercer.report.held_out import HeldOut
from mercer.report.picture import draw_picture
from mercer.report.plots import predictions
from mercer.report.plots.predictions import draw_residuals, plot_predictions
from mercer.report.plots.shapes import PANEL_SIZE, draw_panels, prepare_shapes
from mercer.report.sections.failures import COMPARE, MOST_SHOWN, tabulate_worst
from mercer.report.sections.model import MOST_SHAPES, SHAPE_COLUMNS, SHAPE_WIDTH, part_in_blend, stump_of
from mercer.report.targets import target_of
from mercer.search.words import percent

COVERAGE = 0.9  # of the intervals in the picture
COVERAGES = (0.5, 0.8, 0.9, 0.95)


def show_predictions(subject: Subject) -> Section:
    """Return held-out targets against what was predicted, and the residuals."""
    data = _data(subject)
    predicted = data.predicted
    low, high = subject.search.model_.interval_of(predicted, COVERAGE)
    n = len(data.y)
    half, most = map(target_of(subject).estimate, np.quantile(np.abs(data.y - predicted), [0.5, 0.9]))
    text = [
        f"{n} samples that the search held out: half of them are predicted to within {half}, nine out of ten "
        f"to within {most}.",
        f"On the line, predictions are right; the band is the {100 * COVERAGE:.0f} % interval. Where "
        "residuals are larger on one side, or show a curve, the model misses something.",
    ]
    pictures = [
        draw_picture(
            lambda figure: plot_predictions(data.y, predicted, low, high, figure.subplots()),
            predictions.SIZE,
            alt=f"True against predicted targets of {n} held-out samples, with their intervals.",
            caption="Predicted and true",
        ),
        draw_picture(
            lambda figure: draw_residuals(data.y, predicted, figure.subplots()),
            predictions.SIZE,
            alt=f"Residuals of {n} held-out samples against their predictions.",
            caption="Residuals",
        ),
    ]
    return Section("predictions", "Predicted against true", text, pictures)


def show_intervals(subject: Subject) -> Section:
    """Return how many held-out targets intervals hold, and how wide they are."""
    data = _data(subject)
    rows = []
    for coverage in COVERAGES:
        low, high = subject.search.model_.interval_of(data.predicted, coverage)
        width = target_of(subject).estimate(np.mean(high - low))
        inside = float(np.mean((low <= data.y) & (data.y <= high)))
        rows.append([f"{100 * coverage:.0f} %", percent(inside), width])
    text = [
        "The ends of an interval are the prediction plus quantiles of the errors on samples that were held "
        "out in the search, times how large errors are where the prediction is. Here they are tried on these "
        "samples themselves: on new ones they may hold a little less.",
    ]
    heads = ["interval", "held-out targets inside", "mean width"]
    return Section(
        "intervals", "Intervals", text, tables=[Table("Intervals as given, and as found", heads, rows)]
    )


def show_worst_predictions(subject: Subject) -> Section:
    """Return the held-out samples that are predicted worst."""
    data, target = _data(subject), target_of(subject)
    predicted = data.predicted
    low, high = subject.search.model_.interval_of(predicted, COVERAGE)
    worst = np.argsort(-np.abs(data.y - predicted), kind="stable")[:MOST_SHOWN]
    cells = [
        [
            target.text(data.y[i]),
            *map(target.estimate, (predicted[i], data.y[i] - predicted[i])),
            f"{target.estimate(low[i])} to {target.estimate(high[i])}",
        ]
        for i in worst
    ]
    heads = ["target", "predicted", "difference", f"{100 * COVERAGE:.0f} % interval"]
    table = tabulate_worst(subject, data, worst, "The largest difference first", heads, cells)
    text = [f"The held-out samples that are predicted worst: look whether their target is right. {COMPARE}"]
    return Section("failures", "The worst samples", text, tables=[table])


def show_number_shapes(subject: Subject) -> Section:
    """Return the shape functions of a stump regressor that predicts, alone or in the blend."""
    data = _data(subject)
    stump = stump_of(subject)
    if stump is None:
        raise Omitted("no stump regressor, which is a sum of functions of one feature each, predicts here")
    n_panels = min(MOST_SHAPES, data.X.shape[1])
    plan = prepare_shapes(stump, n_panels, subject.feature_names, data.X, None)
    n_columns = min(SHAPE_COLUMNS, n_panels)
    picture = draw_picture(
        lambda figure: draw_panels(figure, plan, n_columns, legend_columns=1),
        (SHAPE_WIDTH, PANEL_SIZE[1] * -(-n_panels // n_columns) + 0.7),
        alt=f"Shape functions of the {n_panels} most important features.",
    )
    text = [
        "The stump regressor is a sum of one function of each feature, in units of the target. Features "
        "whose functions vary most come first.",
        *part_in_blend(subject, "stump"),
    ]
    return Section("shapes", "Shape functions", text, [picture])


def _data(subject: Subject) -> HeldOut:
    if subject.held_out is None:
        raise Omitted("nothing was held out")
    return subject.held_out
