"""The part of the page that looks into the winner: rounds, shape functions, Gaussians."""

from mercer.report.content import Omitted, Section, Subject
from mercer.report.picture import Picture, draw_picture
from mercer.report.plots import gaussians, rounds
from mercer.report.plots.gaussians import is_mixture, plot_gaussians
from mercer.report.plots.rounds import plot_rounds, staged_errors
from mercer.report.plots.shapes import PANEL_SIZE, draw_panels, prepare_shapes
from mercer.search.words import percent
from mercer.svm import StumpSVC, StumpSVCCV

SHAPE_COLUMNS, MOST_SHAPES = 2, 6  # of a picture: a phone has room for two panels side by side
SHAPE_WIDTH = 4.5  # inches
MOST_PROBLEMS = 3  # pairs of classes whose shape functions are drawn


def show_rounds(subject: Subject) -> Section:
    """Return how the error falls with the rounds of a boosted winner."""
    data = subject.held_out
    if data is None or not hasattr(getattr(data.model[-1], "learner_", None), "staged_kernels"):
        raise Omitted("only boosted kernels are built round by round")
    scaler, svm = data.model[0], data.model[-1]
    X, X_new = scaler.transform(data.X_learned), scaler.transform(data.X)
    errors = staged_errors(svm, X, data.y_learned, X_new, data.y)
    first, last = percent(errors.held_out[0]), percent(errors.held_out[-1])
    picture = draw_picture(
        lambda figure: plot_rounds(errors, figure.subplots()),
        rounds.SIZE,
        alt=f"The error on held-out samples is {first} after the first round and {last} after the last one, "
        f"round {errors.rounds[-1]}.",
    )
    text = ["The error of an SVM with the kernel as it was after each number of rounds."]
    return Section("rounds", "Error by round", text, [picture])


def show_shapes(subject: Subject) -> Section:
    """Return the shape functions of a stump SVM."""
    data = subject.held_out
    if data is None or not isinstance(data.model[-1], StumpSVC | StumpSVCCV):
        raise Omitted("only a stump SVM is a sum of functions of one feature each")
    n_classes = len(data.model[-1].classes_)
    n_problems = 1 if n_classes == 2 else n_classes * (n_classes - 1) // 2
    n_shown = min(n_problems, MOST_PROBLEMS)
    pictures = [_draw_shapes(subject, None if n_problems == 1 else k) for k in range(n_shown)]
    text = [
        "The model is a sum of one function of each feature. Where a curve is above zero, the feature is "
        "evidence for one class, below zero for the other. The most important features come first."
    ]
    if n_problems > n_shown:
        text.append(f"{n_shown} of {n_problems} pairs of classes are shown.")
    return Section("shapes", "Shape functions", text, pictures)


def _draw_shapes(subject: Subject, problem: int | None) -> Picture:
    data = subject.held_out
    assert data is not None
    n_panels = min(MOST_SHAPES, data.X.shape[1])
    plan = prepare_shapes(data.model, n_panels, subject.feature_names, data.X, problem)
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
    kernel = data.after
    picture = draw_picture(
        lambda figure: plot_gaussians(kernel, data.X, data.y, figure.subplots()),
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
