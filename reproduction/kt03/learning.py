"""How the kernels of [KT03, Section 4] are learned, and how their penalties are chosen.

The paper gives neither C_S and C_D nor ν. Here ν is 0.1, C_D is ten times C_S, and C_S is one of four values,
in the units of `IdealizedKernel`, and of more where the best of these is the largest or the smallest. It is
chosen by cross-validation on what the learner is given, never on
test rows: for nearest neighbours by their error on training rows that were left out (and no pair of which was
used), for clusterings, where there are no labels, by the AUC of the distances of pairs that were left out. Of
equal ones the default is taken, then the smallest.

D of Section 4.1 is not given either. ``other`` are all pairs of different classes, which is nearly all the
information in the labels. ``rest`` needs no labels, everything that is not in S: the learner draws five such
pairs per row, some of them wrong.

R, the median distance beyond which no pair is used (3.2.5), is for pairs that follow from labels. Of
listed pairs all are kept; ``R`` columns have the paper's rule for them, too.
"""

import warnings
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.random import RandomState
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier

from mercer._typing import Array, Index, Labels
from mercer.learners import IdealizedKernel
from mercer.learners.neighbours import guess_dissimilar
from mercer.metrics import pair_auc
from mercer.pairs import Pairs
from reproduction.baselines import XingMetric

PENALTIES = (1e3, 1e1, 1e5, 1e7)  # C_similar, the default first
FACTOR, LEAST, MOST = 100.0, 1e-3, 1e15  # how the grid grows, and where that ends
RATIO = 10.0  # C_dissimilar over C_similar
NU = 0.1
TOL = 1e-4  # of the optimum: fine enough for errors of neighbours and of clusters
N_FOLDS = 3
GRID_IN_WORDS = (
    f"C_similar in {', '.join(f'{C:.0e}' for C in sorted(PENALTIES))} and on to {LEAST:.0e} and {MOST:.0e} "
    "until the best is inside, "
    f"C_dissimilar {RATIO:.0f} times it, nu {NU}, tol {TOL}"
)

Loss = Callable[[float], float]


class Learning(NamedTuple):
    """How a kernel is learned, but for its penalty."""

    psd: str  # "exact" or "clip"
    radius: str  # "auto" keeps listed pairs; "median" is R for all
    seed: int

    def learner(self, C: float) -> IdealizedKernel:
        """Return the learner with a penalty, not yet fitted."""
        return IdealizedKernel(
            C_similar=C,
            C_dissimilar=RATIO * C,
            nu=NU,
            psd=self.psd,
            radius=self.radius,
            tol=TOL,
            random_state=self.seed,
        )


def xing_metric(seed: int) -> XingMetric:
    """Return Xing's metric, not yet fitted."""
    return XingMetric(tol=TOL, random_state=seed)


def pairs_of(y: Labels, similar: Index, dissimilar: str) -> Pairs:
    """Return S with D, the pairs of other classes or, to be drawn by the learner, none."""
    return Pairs(similar, Pairs.from_labels(y).dissimilar if dissimilar == "other" else ())


def learn_for_neighbours(Z: Array, y: Labels, pairs: Pairs, how: Learning) -> IdealizedKernel:
    """Fit with the penalty of the least nearest-neighbour error on rows that were left out."""
    splitter = StratifiedKFold(N_FOLDS, shuffle=True, random_state=how.seed)
    folds = [(kept, left, pairs.within(kept)) for kept, left in splitter.split(Z, y)]

    def loss(C: float) -> float:
        errors = [
            neighbour_error(how.learner(C).fit(Z[kept], pairs=part), Z[kept], y[kept], Z[left], y[left])
            for kept, left, part in folds
            if len(part.similar)
        ]
        return float(np.mean(errors)) if errors else 0.0

    return how.learner(best_penalty(loss)).fit(Z, pairs=pairs)


def learn_for_clusters(Z: Array, pairs: Pairs, how: Learning) -> IdealizedKernel:
    """Fit with the penalty of the largest AUC on pairs that were left out."""
    folds = list(split_pairs(pairs, len(Z), RandomState(how.seed)))

    def loss(C: float) -> float:
        scores = [auc(how.learner(C).fit(Z, pairs=kept), Z, left) for kept, left in folds]
        return -float(np.mean(scores))

    return how.learner(best_penalty(loss)).fit(Z, pairs=pairs)


def best_penalty(loss: Loss) -> float:
    """Return the penalty of the least loss, of equal ones the first in `PENALTIES`.

    The grid grows until that is neither the least nor the largest; a warning says where it cannot.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # of penalties that are tried: some are too small
        losses = {C: loss(C) for C in PENALTIES}
        best = min(losses, key=losses.__getitem__)
        while best in (min(losses), max(losses)) and LEAST < best < MOST:
            beyond = best * FACTOR if best == max(losses) else best / FACTOR
            losses[beyond] = loss(beyond)
            best = min(losses, key=losses.__getitem__)
    if not LEAST < best < MOST:
        warnings.warn(f"the best C_similar is at the end of the grid, {best:.0e}", UserWarning, stacklevel=2)
    return best


def neighbour_error(metric: IdealizedKernel, Z: Array, y: Labels, Z_test: Array, y_test: Labels) -> float:
    """Return the error in % of the nearest neighbour in a learned metric."""
    return one_neighbour_error(metric.transform(Z), y, metric.transform(Z_test), y_test)


def one_neighbour_error(F: Array, y: Labels, F_test: Array, y_test: Labels) -> float:
    """Return the error in % of the nearest neighbour, given features."""
    predicted = KNeighborsClassifier(1).fit(F, y).predict(F_test)
    return 100 * float(np.mean(predicted != y_test))


def split_pairs(pairs: Pairs, n_rows: int, stream: RandomState) -> Iterator[tuple[Pairs, Pairs]]:
    """Yield pairs to learn from and pairs to be judged on.

    If no dissimilar ones are given, those to be judged on are drawn, and the learner draws its own.
    """
    splitter = KFold(N_FOLDS, shuffle=True, random_state=stream)
    similar, dissimilar = (np.asarray(kind, dtype=np.intp).reshape(-1, 2) for kind in pairs)
    given = len(dissimilar) > 0
    unlike = dissimilar if given else guess_dissimilar(n_rows, similar, stream)
    for (kept, left), (kept_unlike, left_unlike) in zip(
        splitter.split(similar), splitter.split(unlike), strict=True
    ):
        yield (
            Pairs(similar[kept], unlike[kept_unlike] if given else ()),
            Pairs(similar[left], unlike[left_unlike]),
        )


def auc(metric: IdealizedKernel, Z: Array, pairs: Pairs) -> float:
    """Return how well the distances separate similar pairs from dissimilar ones."""
    F = metric.transform(Z)
    rows = np.concatenate(pairs)
    distance = np.linalg.norm(F[rows[:, 0]] - F[rows[:, 1]], axis=1)
    return pair_auc(-distance, np.arange(len(rows)) < len(pairs.similar))
