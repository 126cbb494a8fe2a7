"""The part of the page that looks at pairs: a map of the samples, and how far apart held-out pairs are."""

from typing import Any

import numpy as np
from numpy.random import RandomState

from mercer._typing import Array
from mercer.kernels import Projected
from mercer.metrics import pair_auc
from mercer.pairs import Pairs
from mercer.report.content import Omitted, Section, Subject
from mercer.report.picture import Picture, draw_picture
from mercer.report.plots import pair_distances
from mercer.report.plots.pair_distances import kernel_distances, plot_pair_distances
from mercer.report.plots.style import read_classes
from mercer.report.scatter import group_classes
from mercer.report.sections.kernel import AXES, MAP_ROWS, draw_map, winners
from mercer.report.sections.ranking import pairs_were_drawn
from mercer.search.candidates import Candidate
from mercer.search.pairs import PairTask
from mercer.search.words import PAIRS_DRAWN

PLAIN_DISTANCE = "A plain kernel (the distance of standardised features)"
ONLY_PLAIN = "The winner is the plain kernel itself: there is no other picture to compare it with."


def show_pairs(subject: Subject) -> Section:
    """Return how far apart held-out pairs are, by the plain distance and as learned from the others."""
    if subject.pairs is None or not sum(len(kind) for kind in subject.pairs):
        raise Omitted("no pairs were given (pairs=)")
    task = PairTask(subject.X, subject.pairs, _unlabelled(subject))
    learned, test = task.folds(subject.search.cv, subject.seed)[0]
    learner = _learner(subject)
    kinds = {PLAIN_DISTANCE: None} if learner is None else {PLAIN_DISTANCE: None, winners(subject): learner}
    pictures = []
    for name, one in kinds.items():
        fitted = task.fit(Candidate(name, one, {}), {}, learned)
        pictures.append(_draw_distances(fitted.unscaled_kernel, task.samples.X, test, name))
    text = [
        f"Pairs that the kernel was not learned from: {len(test.similar)} similar, {len(test.dissimilar)} "
        "dissimilar. The less the two histograms overlap, the better.",
        *([PAIRS_DRAWN] if pairs_were_drawn(subject) else []),
        *([ONLY_PLAIN] if learner is None else []),
    ]
    return Section("pairs", "Distances of pairs", text, pictures)


def show_pair_map(subject: Subject) -> Section:
    """Return a map of samples without classes, by the kernel learned from all pairs."""
    after, X = subject.search.best_kernel_, subject.X
    assert after is not None  # whatever learns from pairs has a kernel
    learns = _learner(subject) is not None
    some = np.sort(RandomState(subject.seed).permutation(len(X))[:MAP_ROWS])
    plain = after.with_base(Projected(np.eye(X.shape[1])))
    names = [subject.name_row(i) for i in some]
    groups = group_classes(read_classes(None, len(some)))
    pictures = [
        draw_map(kernel, X[some], groups, names, caption)
        for caption, kernel in ((PLAIN_DISTANCE, plain), (winners(subject), after))[: 1 + learns]
    ]
    text = [
        f"Samples on {AXES} Point at one to see which it is.",
        "The winner's kernel was learned from all pairs." if learns else ONLY_PLAIN,
    ]
    return Section("map", "Map", text, pictures)


def _unlabelled(subject: Subject) -> Any:
    """Return more samples as numbers."""
    more, encoder = subject.unlabelled, subject.encoder
    return more if more is None or encoder is None else encoder.transform(more)


def _learner(subject: Subject) -> Any:
    """Return the learner that won; None if it is the plain distance, which learns nothing."""
    return subject.search.best_estimator_.named_steps.get("kernel")


def _draw_distances(kernel: Any, X: Array, test: Pairs, name: str) -> Picture:
    distances = np.concatenate([kernel_distances(kernel, X, kind) for kind in test])
    auc = pair_auc(-distances, np.repeat([True, False], [len(test.similar), len(test.dissimilar)]))
    return draw_picture(
        lambda figure: plot_pair_distances(kernel, X, test, figure.subplots()),
        pair_distances.SIZE,
        alt=f"Distances of held-out similar and dissimilar pairs. {name}.",
        caption=f"{name}: AUC {auc:.3f}",
    )
