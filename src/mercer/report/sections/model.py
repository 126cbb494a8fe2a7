"""The part of the page that looks into the winner: rounds, shape functions, Gaussians; and pairs."""

from functools import partial
from typing import Any

import numpy as np

from mercer.kernels import Projected, Rescaled
from mercer.quality import pair_auc
from mercer.report.content import Omitted, Section, Subject, percent
from mercer.report.picture import Picture, draw_on_axes, draw_picture
from mercer.report.plots import gaussians, pair_distances, rounds
from mercer.report.plots.gaussians import is_mixture, plot_gaussians
from mercer.report.plots.pair_distances import kernel_distances, plot_pair_distances
from mercer.report.plots.rounds import plot_rounds, staged_errors
from mercer.report.plots.shapes import PANEL_SIZE, draw_panels, prepare_shapes
from mercer.report.sections.kernel import MAP_ROWS, draw_map, winners
from mercer.report.sections.ranking import GUESSED, is_guessed
from mercer.search.pair_folds import split_pairs
from mercer.search.pair_task import PairRows, learn_scaled
from mercer.svm import StumpSVC, StumpSVCCV

SHAPE_COLUMNS, MOST_SHAPES = 2, 6  # of a picture: a phone has room for two panels side by side
SHAPE_WIDTH = 4.5  # inches
PLAIN_DISTANCE = "A plain kernel (the distance of standardised features)"
ONLY_PLAIN = "The winner is the plain kernel itself: there is no other picture to compare it with."
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
        draw_on_axes(lambda ax: plot_rounds(errors, ax)),
        rounds.SIZE,
        alt=f"The error on held-out rows is {first} after the first round and {last} after the last one, "
        f"round {errors.rounds[-1]}.",
    )
    text = ["The error of an SVM with the kernel as it was after so many rounds."]
    return Section("rounds", "How it was built", text, [picture])


def show_shapes(subject: Subject) -> Section:
    """Return the shape functions of a stump SVM."""
    data = subject.held_out
    if data is None or not isinstance(data.model[-1], (StumpSVC, StumpSVCCV)):
        raise Omitted("only a stump SVM is a sum of functions of one feature each")
    n_classes = len(data.model[-1].classes_)
    n_problems = 1 if n_classes == 2 else n_classes * (n_classes - 1) // 2
    n_shown = min(n_problems, MOST_PROBLEMS)
    pictures = [_draw_shapes(subject, None if n_problems == 1 else k) for k in range(n_shown)]
    text = [
        "The model is a sum of one function of each feature. Where a curve is above zero, the feature speaks "
        "for one class, below it for the other; the most important features come first."
    ]
    if n_problems > n_shown:
        text.append(f"{n_shown} of {n_problems} pairs of classes are shown.")
    return Section("shapes", "What each feature says", text, pictures)


def _draw_shapes(subject: Subject, problem: int | None) -> Picture:
    data = subject.held_out
    assert data is not None
    n_panels = min(MOST_SHAPES, data.X.shape[1])
    plan = prepare_shapes(data.model, n_panels, subject.feature_names, data.X, problem)
    n_columns = min(SHAPE_COLUMNS, n_panels)
    size = (SHAPE_WIDTH, PANEL_SIZE[1] * -(-n_panels // n_columns) + 0.7)
    first, second = plan.additive.classes
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
        draw_on_axes(lambda ax: plot_gaussians(kernel, data.X, data.y, ax)),
        gaussians.SIZE,
        alt="The Gaussians of the mixtures of largest weight, and the held-out rows coloured by class.",
    )
    text = [
        "Ellipses are two standard deviations of a Gaussian, projected onto the axes along which the rows "
        f"spread most; the {gaussians.MOST_MIXTURES} mixtures of largest weight at most, bolder for more "
        "weight. Two rows are alike if they are likely to come from the same one."
    ]
    return Section("gaussians", "The Gaussians", text, [picture])


def show_pairs(subject: Subject) -> Section:
    """Return how far apart held-out pairs are, by the plain distance and as learned from the others."""
    if subject.pairs is None:
        raise Omitted("there are no pairs (pairs=)")
    X, search = subject.rows.X, subject.search
    learned, test = split_pairs(subject.pairs, len(X), search.cv, subject.rng)[0]
    rows = PairRows(X, subject.pairs, subject.rows.unlabelled)
    learner = search.best_estimator_.named_steps.get("kernel")
    pictures = []
    kinds = {PLAIN_DISTANCE: None} if learner is None else {PLAIN_DISTANCE: None, winners(subject): learner}
    for name, one in kinds.items():
        scaler, _, kernel = learn_scaled(one, rows, learned)
        raw = Rescaled(kernel, scaler.mean_, scaler.scale_)
        pictures.append(
            draw_picture(
                draw_on_axes(partial(plot_pair_distances, raw, X, test)),
                pair_distances.SIZE,
                alt=f"Distances of held-out similar and dissimilar pairs. {name}.",
                caption=f"{name}: AUC {_auc(raw, X, test):.3f}",
            )
        )
    text = [
        f"Pairs that the kernel was not learned from: {len(test.similar)} similar, {len(test.dissimilar)} "
        "dissimilar. The less the hills overlap, the better.",
        *([GUESSED] if is_guessed(subject.pairs) else []),
        *([ONLY_PLAIN] if learner is None else []),
    ]
    return Section("pairs", "How far apart pairs are", text, pictures)


def _auc(kernel: Any, X: Any, test: Any) -> float:
    distances = np.concatenate([kernel_distances(kernel, X, kind) for kind in test])
    return pair_auc(-distances, np.repeat([True, False], [len(test.similar), len(test.dissimilar)]))


def show_pair_map(subject: Subject) -> Section:
    """Return a map of rows without classes, by the kernel learned from all pairs."""
    after, X = subject.search.best_kernel_, subject.rows.X
    learns = "kernel" in subject.search.best_estimator_.named_steps
    some = np.sort(subject.rng.permutation(len(X))[:MAP_ROWS])
    plain = Rescaled(Projected(np.eye(X.shape[1])), after.center, after.scale)
    pictures = [
        draw_map(kernel, X[some], None, caption)
        for caption, kernel in ((PLAIN_DISTANCE, plain), (winners(subject), after))[: 1 + learns]
    ]
    text = [
        "Rows on the two axes of largest spread in the kernel's own space (kernel PCA): near is alike.",
        "The winner's kernel was learned from all pairs." if learns else ONLY_PLAIN,
    ]
    return Section("map", "A map of the rows", text, pictures)
