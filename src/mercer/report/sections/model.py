"""The part of the page that looks into the model: shape functions and Gaussians."""

from typing import Any

import numpy as np

from mercer.report.content import Omitted, Section, Subject
from mercer.report.held_out import draw_rows
from mercer.report.picture import Picture, draw_picture
from mercer.report.plots import gaussians
from mercer.report.plots.additive_model import read_model
from mercer.report.plots.gaussians import is_mixture, plot_gaussians
from mercer.report.plots.shapes import PANEL_SIZE, SIDES, draw_panels, prepare_shapes
from mercer.report.plots.style import ink, plain_text
from mercer.search.candidates import STUMPS
from mercer.search.words import is_blend

SHAPE_COLUMNS, MOST_SHAPES = 2, 6  # of a picture: a phone has room for two panels side by side
SHAPE_WIDTH = 4.5  # inches
MOST_DRAWN = 1000  # samples
MOST_LEVELS = 20  # of categories
NOT_ADDITIVE = "only a stump machine is a sum of functions of one feature each"
MOST_PROBLEMS = 3  # pairs of classes whose shape functions are drawn


def show_shapes(subject: Subject) -> Section:
    """Return the shape functions of a stump SVM."""
    data = subject.held_out
    model = None if data is None else stump_of(subject)
    if data is None or model is None:
        raise Omitted(NOT_ADDITIVE)
    if len(subject.levels) == len(subject.feature_names):
        raise Omitted("all features are levels of categories")
    n_problems, shown = _problems(model[-1])
    pictures = [_draw_shapes(subject, k) for k in shown]
    text = [
        "The stump machine is a sum of one function of each feature. Where a curve is above zero, the "
        "feature is evidence for one class, below zero for the other. Features whose functions vary most "
        "come first.",
        *part_in_blend(subject, _name_of(subject)),
    ]
    if n_problems > len(shown):
        text.append(f"{len(shown)} of {n_problems} pairs of classes are shown.")
    return Section("shapes", "Shape functions", text, pictures)


def show_levels(subject: Subject) -> Section:
    """Return what the levels of categories contribute to a stump SVM."""
    data = subject.held_out
    model = None if data is None else stump_of(subject)
    if data is None or model is None:
        raise Omitted(NOT_ADDITIVE)
    if not subject.levels:
        raise Omitted("there are no categories")
    _, shown = _problems(model[-1])
    text = ["What it adds to the stump machine's decision that a row has this level, by column."]
    return Section("levels", "Levels of categories", text, [_draw_levels(subject, k) for k in shown])


def stump_of(subject: Subject) -> Any:
    """Return the stump machine that is a member of the model; None if there is none."""
    members = [one for _, one in subject.search.model_.members if isinstance(one[-1], STUMPS)]
    return members[0] if members else None


def _name_of(subject: Subject) -> str:
    return next(name for name, one in subject.search.model_.members if isinstance(one[-1], STUMPS))


def part_in_blend(subject: Subject, name: str) -> list[str]:
    """Say how much a candidate has to say in the predictions; nothing if it predicts alone."""
    blend = subject.result.blend
    if not is_blend(subject.result):
        return []
    return [f"{name} is {100 * blend[name]:.0f} % of the blend that predicts."]


def _problems(svm: Any) -> tuple[int, list[int | None]]:
    """Return how many two-class problems there are, and which are shown."""
    n_classes = len(svm.classes_)
    n_problems = 1 if n_classes == 2 else n_classes * (n_classes - 1) // 2
    return n_problems, [None] if n_problems == 1 else list(range(min(n_problems, MOST_PROBLEMS)))


def _draw_levels(subject: Subject, problem: int | None) -> Picture:
    data = subject.held_out
    assert data is not None
    additive = read_model(stump_of(subject), problem, subject.feature_names)
    rises = {
        d: float(np.interp(1.0, *additive.shapes[d]) - np.interp(0.0, *additive.shapes[d]))
        for d in subject.levels
    }
    chosen = sorted(rises, key=lambda d: -abs(rises[d]))[:MOST_LEVELS]
    chosen.sort(key=lambda d: d)  # levels of a column stand together
    first, second = additive.classes or ("lower", "higher")

    def draw(figure: Any) -> None:
        ax = figure.subplots()
        values = [rises[d] for d in chosen]
        ax.barh(range(len(chosen)), values, color=[SIDES[value > 0] for value in values], height=0.7)
        ax.set_yticks(range(len(chosen)), [plain_text(additive.names[d]) for d in chosen])
        ax.set_ylim(len(chosen) - 0.5, -0.5)
        ax.axvline(0.0, color=ink(), lw=0.8)
        ax.set_xlabel("contribution to the decision")
        ax.tick_params(left=False)
        ax.spines[["top", "right", "left"]].set_visible(False)

    return draw_picture(
        draw,
        (SHAPE_WIDTH + 0.6, 0.9 + 0.28 * len(chosen)),
        alt=f"Contributions of the {len(chosen)} levels that matter most: {first} against {second}.",
        caption=f"{second} (to the right) against {first} (to the left)",
    )


def _draw_shapes(subject: Subject, problem: int | None) -> Picture:
    data = subject.held_out
    assert data is not None
    order = prepare_shapes(stump_of(subject), data.X.shape[1], subject.feature_names, data.X, problem).chosen
    chosen = [d for d in order if d not in subject.levels][:MOST_SHAPES]
    n_panels = len(chosen)
    plan = prepare_shapes(stump_of(subject), chosen, subject.feature_names, data.X, problem)
    n_columns = min(SHAPE_COLUMNS, n_panels)
    size = (SHAPE_WIDTH, PANEL_SIZE[1] * -(-n_panels // n_columns) + 0.7)
    first, second = plan.additive.classes or ("lower", "higher")
    return draw_picture(
        lambda figure: draw_panels(figure, plan, n_columns, legend_columns=1),
        size,
        alt=f"Shape functions of the {n_panels} most important features: {first} against {second}.",
        caption=f"{second} (above zero) against {first} (below)",
    )


def show_gaussians(subject: Subject) -> Section:
    """Return the Gaussians of a KernelBoost kernel."""
    data = subject.held_out
    if data is None or not is_mixture(data.after):
        raise Omitted("only KernelBoost is made of Gaussians")
    kernel, some = data.after, draw_rows(data.y, MOST_DRAWN, subject.seed, by_class=True)
    picture = draw_picture(
        lambda figure: plot_gaussians(kernel, data.X[some], data.y[some], figure.subplots()),
        gaussians.SIZE,
        alt="The Gaussians of the mixtures of largest weight, and the held-out samples coloured by class.",
    )
    text = [
        "Each ellipse is a Gaussian, drawn at two standard deviations and projected onto the first two "
        f"principal axes of the samples. At most {gaussians.MOST_MIXTURES} mixtures are drawn, those of "
        "largest weight; the larger the weight, the bolder the line. Two samples are similar if they are "
        "likely to come from the same Gaussian."
    ]
    return Section("gaussians", "Gaussians", text, [picture])
