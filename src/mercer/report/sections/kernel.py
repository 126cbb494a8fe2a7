"""The middle of the page: held-out samples as a plain kernel sees them, and as the winner's does."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.preprocessing import KernelCenterer

from mercer._typing import Array, Index
from mercer.kernels.description import count
from mercer.report.content import Omitted, Section, Subject, Table, span
from mercer.report.held_out import N_NEIGHBOURS, HeldOut, count_neighbours, measure, nearest_rows
from mercer.report.picture import Picture, draw_picture
from mercer.report.plots import confusion, gram
from mercer.report.plots.confusion import count_confusions, plot_confusion
from mercer.report.plots.embedding import map_rows
from mercer.report.plots.gram import colour_range, gram_matrix, plot_gram
from mercer.report.plots.style import read_classes
from mercer.report.scatter import Scatter, draw_scatter
from mercer.search.label_task import draw_by_class
from mercer.search.words import percent

GRAM_ROWS = 300  # more would be smaller than a picture's dots
MAP_ROWS = 800
AXES = (
    "the first two axes of kernel PCA, where the kernel's feature space has most variance: near is similar."
)
ENOUGH_ROWS = 5  # held out of each class, for pictures and numbers to mean something
PLAIN = "A plain kernel (RBF)"
MOST_QUERIES = 6  # samples whose neighbours are shown
FEW_CLASSES = 10
MOST_LISTED = 30  # classes of the confusion matrix as a table


def show_grams(subject: Subject) -> Section:
    """Return the Gram matrices of both kernels, and what they come to in numbers."""
    data, after = _kernel(subject)
    few = _some(data, GRAM_ROWS, subject)
    kernels = {PLAIN: data.before, winners(subject): after}
    matrices = {name: correlations(np.asarray(kernel(data.X[few]))) for name, kernel in kernels.items()}
    ranges = np.array([colour_range(K) for K in matrices.values()])
    limits = float(ranges[:, 0].min()), float(ranges[:, 1].max())
    pictures = [_draw_gram(K, data.y[few], name, limits) for name, K in matrices.items()]
    dark, bright = span(*limits)
    text = [
        *few_rows(data),
        "How similar the held-out samples are to each other, sorted by class. A kernel that knows the "
        "classes shows bright blocks along the diagonal. Both pictures have one scale, from dark "
        f"({dark}) to bright ({bright}): similarity is the cosine of the angle between two samples, "
        "seen from the mean of all.",
    ]
    table = _figures(subject, data, after)
    notes = [
        "The plain kernel learns nothing: it is the RBF kernel on standardised features with the default "
        "width, γ = 1 / the number of features.",
        "Alignment is the cosine of the angle between the centred kernel matrix and the one that is 1 for "
        "two samples of the same class and 0 for others. An SVM does not need it: it weighs samples, and may "
        "separate well by a kernel that is less aligned.",
    ]
    return Section("gram", "Similarities", text, pictures, [table], notes)


def correlations(K: Array) -> Array:
    """Return the cosines of the angles between samples in feature space, seen from their mean."""
    centred: Array = KernelCenterer().fit_transform((K + K.T) / 2.0)
    lengths = np.sqrt(np.maximum(np.diag(centred), 1e-12 * max(float(np.trace(centred)), 1e-300)))
    cosines: Array = centred / np.outer(lengths, lengths)
    return cosines


def _draw_gram(K: Array, y: Any, name: str, limits: tuple[float, float]) -> Picture:
    return draw_picture(  # without a bar, whose numbers would make one matrix smaller than the other
        lambda figure: plot_gram(K, None, y, figure.subplots(), bar=False, limits=limits),
        gram.SIZE,
        alt=f"The similarities of {len(K)} held-out samples sorted by class. {name}.",
        caption=name,
    )


def show_maps(subject: Subject) -> Section:
    """Return the kernel PCA of held-out samples by both kernels."""
    data, after = _kernel(subject)
    few = _some(data, MAP_ROWS, subject)
    names = [f"{subject.name_row(data.rows[i])}: {data.y[i]}" for i in few]
    pictures = [
        draw_map(kernel, data.X[few], data.y[few], names, caption)
        for caption, kernel in ((PLAIN, data.before), (winners(subject), after))
    ]
    text = [
        *few_rows(data),
        f"Held-out samples on {AXES} Point at one to see which it is.",
    ]
    return Section("map", "Map", text, pictures)


def draw_map(kernel: Any, X: Any, y: Any, names: Sequence[str], caption: str) -> Scatter:
    """Return the map of samples by kernel PCA."""
    K = gram_matrix(kernel, X)
    places, shares = map_rows(K)
    coloured = "" if y is None else ", marked by class"
    first, second = (f"{100 * share:.0f} % of the variance" for share in shares)
    return draw_scatter(
        places,
        read_classes(y, len(K)),
        names,
        alt=f"A map of {len(K)} samples by kernel PCA{coloured}. {caption}.",
        caption=caption,
        labels=(f"first axis: {first}", f"second axis: {second}"),
    )


def show_confusion(subject: Subject) -> Section:
    """Return which classes are taken for which."""
    data = _data(subject)
    guess = data.predictor.predict(data.X)
    names, counts = count_confusions(data.y, guess)
    n_wrong = int((guess != data.y).sum())
    picture = draw_picture(
        lambda figure: plot_confusion(data.y, guess, figure.subplots()),
        confusion.figure_size(len(names)),
        alt=f"The confusion matrix of {len(guess)} held-out samples; {n_wrong} predicted wrong.",
    )
    text = [
        *few_rows(data),
        f"Predicted wrong: {n_wrong} of {len(guess)} held-out samples ({percent(n_wrong / len(guess))}), by "
        f"a model fitted to {len(data.learned_rows)} others. The settings were selected on all samples: the "
        "error to expect on new samples is the one at the top of the page.",
    ]
    recall = counts.diagonal() / np.maximum(counts.sum(axis=1), 1)
    precision = counts.diagonal() / np.maximum(counts.sum(axis=0), 1)
    lines = [
        [name, str(n), percent(float(found)) if n else "–", percent(float(right)) if m else "–"]
        for name, n, m, found, right in zip(
            names, counts.sum(axis=1), counts.sum(axis=0), recall, precision, strict=True
        )
    ]
    heads = ["class", "held-out samples", "recall: of them found", "precision: of those said, right"]
    tables = [Table("By class", heads, lines, folded=len(names) > FEW_CLASSES)]
    if len(names) <= MOST_LISTED:
        rows = [[name, *map(str, line)] for name, line in zip(names, counts, strict=True)]
        caption = "Samples by true and predicted class"
        tables.append(Table(caption, ["true class", *names], rows, folded=True))
    return Section("confusion", "Confusion matrix", text, [picture], tables)


def show_neighbours(subject: Subject) -> Section:
    """Return the nearest training samples of a few held-out ones, one of each class."""
    data, after = _kernel(subject)
    queries = _queries(data)
    guess = data.predictor.predict(data.X[queries])
    nearest = nearest_rows(after, data.X[queries], data.X_learned, N_NEIGHBOURS)
    rows = [
        [
            subject.name_row(data.rows[i]),
            str(data.y[i]),
            str(guessed),
            *(f"{subject.name_row(data.learned_rows[j])}: {data.y_learned[j]}" for j in near),
        ]
        for i, guessed, near in zip(queries, guess, nearest, strict=True)
    ]
    places = [f"nearest {k + 1}" for k in range(nearest.shape[1])]
    heads = ["held-out sample", "class", "predicted", *places]
    table = Table("Nearest training samples by the kernel's distance", heads, rows, stacks=True)
    text = [
        "A few held-out samples, and the training samples that are nearest to them by the kernel's distance, "
        "with their classes."
    ]
    if not isinstance(subject.row_names[0], str):
        text.append("Rows are counted from 0, including those without a class.")
    return Section("neighbours", "Nearest neighbours", text, tables=[table])


def _queries(data: HeldOut) -> list[int]:
    """Return a sample of each class, and one that is predicted wrong if there is one."""
    _, firsts = np.unique(data.y, return_index=True)
    wrong = np.flatnonzero(data.predictor.predict(data.X) != data.y)
    chosen = [*(int(i) for i in firsts[: MOST_QUERIES - 1]), *(int(i) for i in wrong[:1])]
    return list(dict.fromkeys(chosen))


def few_rows(data: HeldOut) -> list[str]:
    """Say that few held-out samples mean little, if they are few."""
    labels, counts = np.unique(data.y, return_counts=True)
    fewest = int(np.argmin(counts))
    if counts[fewest] >= ENOUGH_ROWS:
        return []
    samples = count(int(counts[fewest]), "sample")
    return [
        f"Only {samples} of class {labels[fewest]} could be held out: pictures and numbers of this few "
        "samples mean little."
    ]


def winners(subject: Subject) -> str:
    """Return what the winner's kernel is called."""
    return f"The winner's kernel ({subject.result.winner})"


def _figures(subject: Subject, data: HeldOut, after: Any) -> Table:
    n_nearest = count_neighbours(data)
    names = (
        "alignment with the classes",
        f"same class among {n_nearest} nearest" if n_nearest > 1 else "same class as the nearest",
    )
    pairs = zip(names, measure(data.before, data), measure(after, data), strict=True)
    rows = [[name, f"{first:.3f}", f"{second:.3f}"] for name, first, second in pairs]
    return Table("The same in numbers: 1 is best", ["on held-out samples", PLAIN, winners(subject)], rows)


def _some(data: HeldOut, most: int, subject: Subject) -> Index:
    return draw_by_class(data.y, most, subject.seed, least=2)


def _data(subject: Subject) -> HeldOut:
    if subject.held_out is None:
        raise Omitted("there is no model fitted to a part of the samples")
    return subject.held_out


def _kernel(subject: Subject) -> tuple[HeldOut, Any]:
    data = _data(subject)
    if data.after is None:
        raise Omitted(f"the winner ({type(data.model[-1]).__name__}) has no kernel that mercer knows")
    return data, data.after
