"""The middle of the page: held-out samples as a plain kernel sees them, and as the winner's does."""

from typing import Any

import numpy as np

from mercer._typing import Index
from mercer.kernels.description import count
from mercer.report.content import Omitted, Section, Subject, Table, span
from mercer.report.held_out import N_NEIGHBOURS, HeldOut, count_neighbours, measure, nearest_rows
from mercer.report.picture import Picture, draw_picture
from mercer.report.plots import confusion, embedding, gram
from mercer.report.plots.confusion import count_confusions, plot_confusion
from mercer.report.plots.embedding import plot_embedding
from mercer.report.plots.gram import colour_range, plot_gram
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
MOST_LISTED = 30  # classes of the confusion matrix as a table


def show_grams(subject: Subject) -> Section:
    """Return the Gram matrices of both kernels, and what they come to in numbers."""
    data, after = _kernel(subject)
    few = _some(data, GRAM_ROWS, subject)
    pictures = [
        _draw_gram(kernel, data.X[few], data.y[few], name)
        for name, kernel in ((PLAIN, data.before), (winners(subject), after))
    ]
    text = [
        *few_rows(data),
        "How similar the held-out samples are to each other, sorted by class: bright is similar. A kernel "
        "that knows the classes shows bright blocks along the diagonal. The colours of each picture are "
        "scaled to its own range: compare the patterns, not the colours.",
        "The plain kernel learns nothing: it is the RBF kernel on standardised features with the default "
        "width, γ = 1 / the number of features.",
        "Alignment is the cosine of the angle to the matrix that is 1 for two samples of the same class and "
        "0 for others. Compare the centred one: it does not depend on a constant added to a kernel.",
    ]
    return Section("gram", "Gram matrices", text, pictures, [_figures(subject, data, after)])


def _draw_gram(kernel: Any, X: Any, y: Any, name: str) -> Picture:
    K = np.asarray(kernel(X))
    dark, bright = span(*colour_range(K))
    return draw_picture(  # without a bar, whose numbers would make one matrix smaller than the other
        lambda figure: plot_gram(K, None, y, figure.subplots(), bar=False),
        gram.SIZE,
        alt=f"The Gram matrix of {len(K)} held-out samples sorted by class. {name}.",
        caption=f"{name}: dark is {dark}, bright {bright}",
    )


def show_maps(subject: Subject) -> Section:
    """Return the kernel PCA of held-out samples by both kernels."""
    data, after = _kernel(subject)
    few = _some(data, MAP_ROWS, subject)
    pictures = [
        draw_map(kernel, data.X[few], data.y[few], name)
        for name, kernel in ((PLAIN, data.before), (winners(subject), after))
    ]
    text = [
        *few_rows(data),
        f"Held-out samples on {AXES}",
    ]
    return Section("map", "Kernel PCA", text, pictures)


def draw_map(kernel: Any, X: Any, y: Any, caption: str) -> Picture:
    """Return the map of samples as a picture."""
    K = np.asarray(kernel(X))
    coloured = "" if y is None else ", coloured by class"
    return draw_picture(
        lambda figure: plot_embedding(K, None, y, figure.subplots()),
        embedding.SIZE,
        alt=f"A map of {len(K)} samples by kernel PCA{coloured}. {caption}.",
        caption=caption,
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
    tables = []
    if len(names) <= MOST_LISTED:
        rows = [[name, *map(str, line)] for name, line in zip(names, counts, strict=True)]
        tables = [Table("Samples by true and predicted class", ["true class", *names], rows, folded=True)]
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
        "alignment, both centred",
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
