"""The middle of the page: held-out samples as a plain kernel sees them, and as the winner's does."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.preprocessing import KernelCenterer

from mercer._typing import Array
from mercer.report.content import Omitted, Section, Subject, Table, span
from mercer.report.held_out import N_NEIGHBOURS, HeldOut, nearest_rows
from mercer.report.picture import Picture, draw_picture
from mercer.report.plots import confusion, gram
from mercer.report.plots.confusion import count_confusions, plot_confusion
from mercer.report.plots.embedding import map_rows
from mercer.report.plots.gram import colour_range, gram_matrix
from mercer.report.scatter import Groups, Scatter, draw_scatter
from mercer.report.sections.calibration import describe_conflicts, find_verdicts
from mercer.report.targets import Target, target_of
from mercer.search.words import percent, signed

GRAM_ROWS = 300  # more would be smaller than a picture's dots
MAP_ROWS = 800
AXES = (
    "the first two axes of kernel PCA, where the kernel's feature space has most variance: near is similar."
)
PLAIN = "A plain kernel (RBF)"
FEW_CLASSES = 6
MOST_LISTED = 30  # classes of the confusion matrix as a table


def show_grams(subject: Subject) -> Section:
    """Return the Gram matrices of both kernels, and what they come to in numbers."""
    data, after = _kernel(subject)
    target = target_of(subject)
    few = target.draw(data.y, GRAM_ROWS, subject.seed)
    kernels = {PLAIN: data.before, winners(subject): after}
    matrices = {name: correlations(np.asarray(kernel(data.X[few]))) for name, kernel in kernels.items()}
    ranges = np.array([colour_range(K) for K in matrices.values()])
    limits = float(ranges[:, 0].min()), float(ranges[:, 1].max())
    pictures = [_draw_gram(target, K, data.y[few], name, limits) for name, K in matrices.items()]
    dark, bright = span(*limits)
    text = [
        *target.doubts(data),
        *_says_what_it_saw(subject),
        f"How similar the held-out samples are to each other, sorted by {target.noun}. {target.pattern} "
        f"Both pictures have one scale, from dark ({dark}) to bright ({bright}): similarity is the cosine "
        "of the angle between two samples, seen from the mean of all.",
    ]
    figures = (target.measure(kernel, data, few) for kernel in (data.before, after))
    named = zip(target.figure_names(data), *figures, strict=True)
    rows = [
        [name, signed(first, 3).lstrip("+"), signed(second, 3).lstrip("+")] for name, first, second in named
    ]
    heads = ["on held-out samples", PLAIN, winners(subject)]
    table = Table("The same in numbers: 1 is best", heads, rows)
    notes = [
        "The plain kernel learns nothing: it is the RBF kernel on standardised features with the default "
        "width, γ = 1 / the number of features.",
        f"Alignment is the cosine of the angle between the centred kernel matrix and the one that "
        f"{target.ideal}. A model does not need it: it weighs samples, and may predict well by a kernel that "
        "is less aligned.",
    ]
    return Section("gram", "Similarities", text, pictures, [table], notes)


def _says_what_it_saw(subject: Subject) -> list[str]:
    """Say that a learned kernel has seen the samples; nothing of one that learns nothing."""
    learner = getattr(subject.search.best_estimator_[-1], "learner", None)
    return ["This kernel was learned from all samples, these too."] if hasattr(learner, "fit") else []


def correlations(K: Array) -> Array:
    """Return the cosines of the angles between samples in feature space, seen from their mean."""
    centred: Array = KernelCenterer().fit_transform((K + K.T) / 2.0)
    lengths = np.sqrt(np.maximum(np.diag(centred), 1e-12 * max(float(np.trace(centred)), 1e-300)))
    cosines: Array = centred / np.outer(lengths, lengths)
    return cosines


def _draw_gram(target: Target, K: Array, y: Any, name: str, limits: tuple[float, float]) -> Picture:
    return draw_picture(
        lambda figure: target.plot(K, y, figure.subplots(), limits),
        gram.SIZE,
        alt=f"The similarities of {len(K)} held-out samples sorted by {target.noun}. {name}.",
        caption=name,
    )


def show_maps(subject: Subject) -> Section:
    """Return the kernel PCA of held-out samples by both kernels."""
    data, after = _kernel(subject)
    target = target_of(subject)
    few = target.draw(data.y, MAP_ROWS, subject.seed)
    names = [f"{subject.name_row(data.rows[i])}: {target.text(data.y[i])}" for i in few]
    groups = target.group(data.y[few])
    pictures = [
        draw_map(kernel, data.X[few], groups, names, caption, f", marked by {target.noun}")
        for caption, kernel in ((PLAIN, data.before), (winners(subject), after))
    ]
    text = [
        *target.doubts(data),
        f"Held-out samples on {AXES} Point at one to see which it is.",
    ]
    return Section("map", "Map", text, pictures)


def draw_map(
    kernel: Any, X: Any, groups: Groups, names: Sequence[str], caption: str, marked: str = ""
) -> Scatter:
    """Return the map of samples by kernel PCA."""
    K = gram_matrix(kernel, X)
    places, shares = map_rows(K)
    first, second = (f"{100 * share:.0f} % of the variance" for share in shares)
    return draw_scatter(
        places,
        groups,
        names,
        alt=f"A map of {len(K)} samples by kernel PCA{marked}. {caption}.",
        caption=caption,
        labels=(f"first axis: {first}", f"second axis: {second}"),
    )


def show_confusion(subject: Subject) -> Section:
    """Return which classes are taken for which."""
    data = _data(subject)
    guess = data.predicted
    names, counts = count_confusions(data.y, guess)
    metric = subject.result.metric
    on_new = "the error to expect on new samples is at the top of the page."
    if metric.key != "error":
        on_new = f"the top of the page is about the {metric.name}, not this error."
    n_wrong = int((guess != data.y).sum())
    picture = draw_picture(
        lambda figure: plot_confusion(data.y, guess, figure.subplots()),
        confusion.figure_size(len(names)),
        alt=f"The confusion matrix of {len(guess)} held-out samples; {n_wrong} predicted wrong.",
    )
    text = [
        *target_of(subject).doubts(data),
        f"Predicted wrong: {n_wrong} of {len(guess)} samples that the search held out "
        f"({percent(n_wrong / len(guess))}); " + on_new,
        *describe_conflicts(find_verdicts(subject)),
    ]
    recall = counts.diagonal() / np.maximum(counts.sum(axis=1), 1)
    precision = counts.diagonal() / np.maximum(counts.sum(axis=0), 1)
    lines = [
        [name, str(n), percent(float(found)) if n else "–", percent(float(right)) if m else "–"]
        for name, n, m, found, right in zip(
            names, counts.sum(axis=1), counts.sum(axis=0), recall, precision, strict=True
        )
    ]
    heads = ["class", "held-out samples", "recall: share found", "precision: share right"]
    tables = [Table("By class", heads, lines, folded=len(names) > FEW_CLASSES)]
    if len(names) <= MOST_LISTED:
        rows = [[name, *map(str, line)] for name, line in zip(names, counts, strict=True)]
        caption = "Samples by true and predicted class"
        tables.append(Table(caption, ["true class", *names], rows, folded=True))
    return Section("confusion", "Confusion matrix", text, [picture], tables)


def show_neighbours(subject: Subject) -> Section:
    """Return the nearest training samples of a few held-out ones, of each class or from low to high."""
    data, _ = _kernel(subject)
    target = target_of(subject)
    queries = target.choose(data)
    verdicts, guess = find_verdicts(subject), data.predicted
    nearest = nearest_rows(data.after, data, np.array(queries), N_NEIGHBOURS)
    rows = [
        [
            subject.name_row(data.rows[i]),
            target.text(data.y[i]),
            target.estimate(guess[i]) if verdicts is None else verdicts.name(i),
            *(f"{subject.name_row(data.other_rows[j])}: {target.text(data.y_others[j])}" for j in near),
        ]
        for i, near in zip(queries, nearest, strict=True)
    ]
    places = [f"nearest {k + 1}" for k in range(nearest.shape[1])]
    heads = ["held-out sample", target.noun, "predicted", *places]
    table = Table("Nearest samples by the kernel's distance", heads, rows, stacks=True)
    text = [
        "A few held-out samples, and the other samples that are nearest to them by the kernel's distance, "
        f"each with its {target.noun}."
    ]
    if not isinstance(subject.row_names[0], str):
        text.append(f"Rows are counted from 0, including those without a {target.noun}.")
    return Section("neighbours", "Nearest neighbours", text, tables=[table])


def winners(subject: Subject) -> str:
    """Return what the main member's kernel is called."""
    return f"The main member's kernel ({subject.result.winner})"


def _data(subject: Subject) -> HeldOut:
    if subject.held_out is None:
        raise Omitted("nothing was held out")
    return subject.held_out


def _kernel(subject: Subject) -> tuple[HeldOut, Any]:
    data = _data(subject)
    if data.after is None:
        machine = type(subject.search.best_estimator_[-1]).__name__
        raise Omitted(f"the main member ({machine}) has no kernel that mercer knows")
    return data, data.after
