"""Held-out samples as a plain kernel sees them, and as that of the model's main member does."""

from typing import Any

import numpy as np
from sklearn.gaussian_process.kernels import RBF
from sklearn.metrics import r2_score
from sklearn.preprocessing import KernelCenterer

from mercer._typing import Array, Index
from mercer.kernels import Projected, Rescaled
from mercer.metrics import alignment, ideal_kernel, pair_auc
from mercer.report.content import Omitted, Section, Table
from mercer.report.digits import plain
from mercer.report.picture import Picture, draw_picture
from mercer.report.plots import embedding, gram, pair_distances
from mercer.report.plots.embedding import plot_embedding
from mercer.report.plots.gram import colour_range, plot_gram
from mercer.report.plots.pair_distances import draw_distances
from mercer.report.plots.style import MATRIX_COLOURS, plain_text
from mercer.report.subject import Subject
from mercer.search.pairs import pair_distances as squared_distances

GRAM_ROWS = 300  # more would be smaller than a picture's dots
MAP_ROWS = 800
MOST_ROWS = 2500  # among which neighbours are looked for
N_NEIGHBOURS, N_SHOWN = 5, 3
MOST_QUERIES = 6  # samples whose neighbours are shown
TICKS = (0.0, 0.25, 0.5, 0.75, 1.0)  # places along sorted numbers that are named
PLAIN = "A plain kernel (RBF)"
PLAIN_DISTANCE = "A plain kernel (the distance of standardised features)"
ONLY_PLAIN = "The winner is the plain kernel itself: there is no other picture to compare it with."
AXES = (
    "the first two axes of kernel PCA, where the kernel's feature space has most variance: near is similar."
)


def main_kernel(subject: Subject) -> Any:
    """Return the main member's kernel, or say that there is none."""
    kernel = subject.search.best_kernel_
    if kernel is None:
        machine = type(subject.search.best_estimator_[-1]).__name__
        raise Omitted(f"the main member ({machine}) has no kernel that mercer knows")
    return kernel


def both_kernels(subject: Subject) -> dict[str, Any]:
    """Return what people start with, an RBF kernel with γ = 1 / the number of features, and the learned one.

    Of pairs the first is the plain distance, which may be the winner itself.
    """
    if subject.kind == "pairs":
        plain_one = main_kernel(subject).with_base(Projected(np.eye(subject.X.shape[1])))
        learned = {_winners(subject): main_kernel(subject)} if _learns(subject) else {}
        return {PLAIN_DISTANCE: plain_one, **learned}
    scaler = subject.search.best_estimator_[0]
    base = RBF(float(np.sqrt(len(scaler.mean_) / 2.0)), "fixed")
    usual = Rescaled(base, scaler.mean_, scaler.scale_, scaler.low_, scaler.high_)
    return {PLAIN: usual, _winners(subject): main_kernel(subject)}


def _winners(subject: Subject) -> str:
    return f"The main member's kernel ({subject.result.winner})"


def nearest_rows(kernel: Any, subject: Subject, rows: Index, n: int) -> Index:
    """Return which n of other samples are nearest to some by the kernel's distance."""
    others = subject.draw(MOST_ROWS)
    # ‖φ(x) − φ(z)‖² without k(x, x), which changes no order
    K = np.asarray(kernel(subject.X[rows], subject.X[others]))
    D = np.asarray(kernel.diag(subject.X[others]))[None, :] - 2.0 * K
    D[rows[:, None] == others[None, :]] = np.inf  # nobody is a neighbour of itself
    nearest: Index = others[np.argsort(D, axis=1, kind="stable")[:, :n]]
    return nearest


def show_grams(subject: Subject) -> Section:
    """Return the Gram matrices of both kernels, and what they come to in numbers."""
    kernels, is_number = both_kernels(subject), subject.kind == "number"
    rows = subject.held_out.rows
    rows = rows[subject.draw(GRAM_ROWS, subject.y[rows])]
    rows = rows[np.argsort(subject.y[rows], kind="stable")]
    matrices = {name: correlations(np.asarray(kernel(subject.X[rows]))) for name, kernel in kernels.items()}
    ranges = np.array([colour_range(K) for K in matrices.values()])
    limits = float(ranges[:, 0].min()), float(ranges[:, 1].max())
    pictures = [_draw_gram(subject, rows, K, name, limits) for name, K in matrices.items()]
    noun = "target" if is_number else "class"
    pattern = "is bright near the diagonal, and dark far from it"
    learner = getattr(subject.search.best_estimator_[-1], "learner", None)
    text = [
        *(["This kernel was learned from all samples, these too."] if hasattr(learner, "fit") else []),
        f"How similar held-out samples are to each other, sorted by {noun}. A kernel that knows the {noun} "
        f"{pattern if is_number else 'shows bright blocks along the diagonal'}. Both pictures have one "
        f"scale, from dark ({plain(limits[0], 2)}) to bright ({plain(limits[1], 2)}): similarity is the "
        "cosine of the angle between two samples, seen from the mean of all.",
    ]
    figures = [_measure(subject, kernel, rows) for kernel in kernels.values()]
    near = (
        f"R² of the mean of {N_NEIGHBOURS} nearest"
        if is_number
        else f"same class among {N_NEIGHBOURS} nearest"
    )
    lines = zip((f"alignment with the {noun}", near), *figures, strict=True)
    cells = [[name, plain(first, 3), plain(second, 3)] for name, first, second in lines]
    table = Table("The same in numbers: 1 is best", ["on held-out samples", *kernels], cells)
    notes = [
        "The plain kernel learns nothing: it is the RBF kernel on standardised features with the default "
        "width, γ = 1 / the number of features. Alignment is the cosine of the angle between the centred "
        "kernel matrix and the best one. A model does not need it: it weighs samples, and may predict well "
        "by a kernel that is less aligned."
    ]
    return Section("gram", "Similarities", text, pictures, [table], notes)


def _measure(subject: Subject, kernel: Any, rows: Index) -> tuple[float, float]:
    """Return how well a kernel knows the targets: its alignment, and what the nearest other samples say."""
    y, nearest = subject.y[rows], subject.y[nearest_rows(kernel, subject, rows, N_NEIGHBOURS)]
    if subject.kind == "number":
        ideal, known = np.outer(y - y.mean(), y - y.mean()), float(r2_score(y, nearest.mean(axis=1)))
    else:
        ideal, known = ideal_kernel(y), float((nearest == y[:, None]).mean())
    K = np.asarray(kernel(subject.X[rows]))
    return alignment(*(KernelCenterer().fit_transform(one) for one in (K, ideal))), known


def correlations(K: Array) -> Array:
    """Return the cosines of the angles between samples in feature space, seen from their mean."""
    centred: Array = KernelCenterer().fit_transform((K + K.T) / 2.0)
    lengths = np.sqrt(np.maximum(np.diag(centred), 1e-12 * max(float(np.trace(centred)), 1e-300)))
    cosines: Array = centred / np.outer(lengths, lengths)
    return cosines


def _draw_gram(subject: Subject, rows: Index, K: Array, name: str, limits: tuple[float, float]) -> Picture:
    """Return a matrix of sorted samples, with the names of classes or some of the numbers beside it."""

    def draw(figure: Any) -> None:
        ax, y = figure.subplots(), subject.y[rows]
        plot_gram(K, None, y if subject.kind == "class" else None, ax, limits=limits)
        if subject.kind == "number":
            places = np.unique(np.round(np.array(TICKS) * (len(y) - 1)).astype(np.intp))
            ax.set_yticks(places, [subject.text(y[k]) for k in places])
            ax.set_ylabel("target of the sample")

    return draw_picture(
        draw, gram.SIZE, alt=f"The similarities of {len(K)} held-out samples. {name}.", caption=name
    )


def show_maps(subject: Subject) -> Section:
    """Return the kernel PCA of samples by both kernels; of held-out ones, if there are targets."""
    rows, text = subject.draw(MAP_ROWS), f"Samples on {AXES}"
    if subject.kind != "pairs":
        held_out, text = subject.held_out.rows, f"Held-out samples on {AXES}"
        rows = held_out[subject.draw(MAP_ROWS, subject.y[held_out])]
    kernels = both_kernels(subject)
    pictures = [_draw_map(subject, rows, kernel, name) for name, kernel in kernels.items()]
    return Section("map", "Map", [text, *([] if len(kernels) > 1 else [ONLY_PLAIN])], pictures)


def _draw_map(subject: Subject, rows: Index, kernel: Any, name: str) -> Picture:
    """Return a map of samples, coloured by class, or from dark to bright by number."""

    def draw(figure: Any) -> None:
        ax = figure.subplots()
        y = subject.y[rows] if subject.kind == "class" else None
        plot_embedding(kernel, subject.X[rows], y, ax)
        if subject.kind == "number":
            values, points = subject.y[rows], ax.collections[0]
            points.set(array=values, cmap=MATRIX_COLOURS, clim=np.quantile(values, [0.03, 0.97]))
            figure.colorbar(points, ax=ax, label=plain_text(subject.target), extend="both")

    alt = f"A map of {len(rows)} samples by kernel PCA. {name}."
    return draw_picture(draw, embedding.SIZE, alt=alt, caption=name)


def show_neighbours(subject: Subject) -> Section:
    """Return the nearest other samples of a few held-out ones, of all classes or from low to high."""
    data, kernel = subject.held_out, main_kernel(subject)
    if subject.kind == "class":
        wrong, firsts = np.flatnonzero(data.predicted != data.y), np.unique(data.y, return_index=True)[1]
        chosen = [*firsts[: MOST_QUERIES - 1], *wrong[:1]]
    else:
        order, places = np.argsort(data.y, kind="stable"), np.linspace(0, len(data.y) - 1, MOST_QUERIES - 1)
        chosen = [*order[np.round(places).astype(np.intp)], np.argmax(np.abs(data.predicted - data.y))]
    few = np.array(list(dict.fromkeys(int(i) for i in chosen)))
    nearest = nearest_rows(kernel, subject, data.rows[few], N_SHOWN)
    rows = [
        [
            subject.name_row(data.rows[i]),
            subject.text(data.y[i]),
            subject.estimate(data.predicted[i]),
            *(f"{subject.name_row(j)}: {subject.text(subject.y[j])}" for j in near),
        ]
        for i, near in zip(few, nearest, strict=True)
    ]
    noun = "target" if subject.kind == "number" else "class"
    heads = ["held-out sample", noun, "predicted", *(f"nearest {k + 1}" for k in range(nearest.shape[1]))]
    table = Table("Nearest samples by the kernel's distance", heads, rows, stacks=True)
    text = [
        "A few held-out samples, and the other samples that are nearest to them by the kernel's distance, "
        f"each with its {noun}."
    ]
    return Section("neighbours", "Nearest neighbours", text, tables=[table])


# Where there are pairs, and nothing is predicted


def show_pairs(subject: Subject) -> Section:
    """Return how far apart held-out pairs are, by the plain distance and as learned from the others."""
    pairs, said = subject.search.held_out_
    is_similar, learned = said[:, 0] > 0, said[:, 1]
    by_plain = np.sqrt(squared_distances(both_kernels(subject)[PLAIN_DISTANCE], subject.X, pairs))
    pictures = [_draw_distances(by_plain, is_similar, PLAIN_DISTANCE)]
    if _learns(subject):
        pictures.append(_draw_distances(learned, is_similar, _winners(subject)))
    text = [
        f"Pairs that the kernel was not learned from: {is_similar.sum()} similar, {(~is_similar).sum()} "
        "dissimilar. The less the two histograms overlap, the better. Where no dissimilar pairs were listed, "
        "these are drawn at random.",
        *([] if _learns(subject) else [ONLY_PLAIN]),
    ]
    answer = f"{pictures[-1].caption}, on {len(pairs)} held-out pairs."
    return Section("pairs", "Distances of pairs", text, pictures, answer=("Can I trust it?", answer))


def _learns(subject: Subject) -> bool:
    """Return whether a learner won among pairs, and not the plain distance, which learns nothing."""
    return "kernel" in subject.search.best_estimator_.named_steps


def _draw_distances(distances: Array, is_similar: Any, name: str) -> Picture:
    return draw_picture(
        lambda figure: draw_distances([distances[is_similar], distances[~is_similar]], figure.subplots()),
        pair_distances.SIZE,
        alt=f"Distances of held-out similar and dissimilar pairs. {name}.",
        caption=f"{name}: AUC {pair_auc(-distances, is_similar):.3f}",
    )
