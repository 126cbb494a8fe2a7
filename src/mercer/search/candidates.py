"""The kernels that a search compares, each with the few settings that are tried."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.gaussian_process import kernels as sk_kernels
from sklearn.linear_model import Ridge, RidgeCV
from sklearn.model_selection import ParameterGrid
from sklearn.svm import SVC, SVR

from mercer.kernels.distance import DistanceKernel
from mercer.machines import (
    KernelRegressor,
    KernelSVC,
    PerceptronRegressor,
    PerceptronSVC,
    StumpRegressor,
    StumpSVC,
    TreeRegressor,
    TreeSVC,
)
from mercer.search.trees import (
    BoostingClassifier,
    BoostingRegressor,
    ForestClassifier,
    ForestRegressor,
)

REFERENCE, NUMBER_REFERENCE = "RBF-SVM", "RBF-ridge"  # what the others are compared with
NAMES = (
    "tree-svm",
    "tree-logistic",
    "tree-ranks",
    "perceptron",
    "perceptron-logistic",
    "superkernel",
    REFERENCE,
    "stump",
    "relevance",
    "linear",
    "boosted",
    "idealized",
    "RBF-squares",
    "forest",
    "boosting",
    "kernelboost",
)  # of the default candidates, in the order without unlabelled rows
NUMBER_NAMES = (
    "tree",
    "perceptron",
    NUMBER_REFERENCE,
    "stump",
    "relevance",
    "linear",
    "forest",
    "boosting",
)

RELATIVE_CS = [1.0, 10.0, 100.0]  # of kernels whose scale is taken out
PENALTIES = [1e2, 1e3, 1e4, 1e5]  # of a superkernel whose SVM has C = 100
USUAL_PENALTIES = [1e3, 1e4]  # few rows hardly tell the others apart from these
PERCEPTRON_CS = [0.01, 0.03, 0.1, 0.3, 1.0, 3.0]
TREE_GRID = {"C": [1.0, 4.0, 16.0], "relative_gamma": [0.25, 0.5, 1.0]}
LOCAL_GRID = {"C": [1.0, 4.0, 16.0], "relative_gamma": [0.5, 1.0, 2.0, 4.0]}  # of many rows
RANKS_GRID = {"C": [1.0, 4.0, 16.0], "relative_gamma": [1.0, 2.0, 4.0, 8.0]}
LOGISTIC_TREE_GRID = {"C": [0.5, 4.0, 32.0], "relative_gamma": [0.25, 0.5, 1.0]}
FOREST_GRID = {"random_splits": [True, False], "min_samples_leaf": [1, 3]}
BOOSTING_GRID = {"learning_rate": [0.05], "max_leaf_nodes": [6, 24]}
MANY_GRIDS = {"random_splits": [True, False]}, {"learning_rate": [0.1], "max_leaf_nodes": [24]}
SQUARES_CS = [0.3, 3.0, 30.0]
STUMP_CS = [2.0**k for k in (-10, -7, -4, -1, 2)]
LOGISTIC_CS = [0.01, 0.1, 1.0, 10.0]
RELEVANCE_CS = [1.0, 4.0, 16.0]
ENDLESS = 10_000_000  # steps: LIBSVM's own limit, without which it may go round in circles for ever
DECIDING = 1000  # rows that decide on the weights of features
MANY_ROWS = 2000
LANDMARK_ROWS, LOGISTIC_ROWS = 8000, 5000  # of more, some stand for all: a Gram matrix takes too long
BY_LANDMARKS = 0.4  # the power with which time grows: most of it is for the landmarks themselves
BY_MANY = 1.5  # and for those of numbers, which grow by conjugate gradients
RIDGE_ROWS = 5000  # whose Gram matrix takes seconds to be inverted
FEW_ROWS = 1000  # of more rows a kernel may be more local
BOOSTED_CLASSES = 20  # up to so many: each round grows a tree for each class
FEW_FEATURES = 15  # up to so many, a covariance for each component is not too many numbers


STUMPS = (StumpSVC, StumpRegressor)
RBF = sk_kernels.RBF(1.0, "fixed")


class Candidate(NamedTuple):
    """A named estimator with the settings to try."""

    name: str
    estimator: BaseEstimator
    grid: Mapping[str, Any]
    growth: float = 2.0  # the power of the number of rows with which its time rises
    on_request: bool = False  # whether it takes part only where it is named
    gram_rows: int = (
        0  # up to so many rows, of which landmarks could stand for all, the Gram matrix is faster
    )
    turn: float = 4.0  # times the seconds that a Gram matrix takes for landmarks, of as many samples

    def settings(self) -> list[dict[str, Any]]:
        """Return all settings, one dict each."""
        return [dict(setting) for setting in ParameterGrid(dict(self.grid))]


def default_candidates(
    n_rows: int, n_features: int, random_state: int, *, unlabelled: bool = False, n_classes: int = 2
) -> list[Candidate]:
    """Return the kernels of mercer, an RBF and a linear SVM, and trees, for rows that are standardised.

    Of two classes some minimise the log loss: what ranks samples, and makes probabilities, the hinge does not
    say. Of several, pairs of classes are coupled, which does the same for hinges in less time. Least squares
    take one decomposition for all classes, however many. Trees make other mistakes than kernels.

    First those that are good on most data (of rows without labels only KernelBoost makes much); the order and
    what is left out of the learners' full strength for the sake of time were settled on the sets of [LL05],
    with other splits than those of the published comparison. Of few rows with labels the idealized kernel
    takes part on request only: it takes a fifth of the time of all, and the blend is as good without it.
    """
    # with their solvers; a model that was found predicts without them
    from mercer.learners import BoostedKernel, IdealizedKernel, KernelBoost, RelevanceKernel, Superkernel

    few, many, two = n_rows <= FEW_ROWS, n_rows > LANDMARK_ROWS, n_classes == 2
    seed: dict[str, Any] = {"random_state": random_state}
    bins: dict[str, Any] = {"max_bins": 256 if n_rows > MANY_ROWS else None}
    method, theirs = ("landmarks" if n_rows > n else "auto" for n in (LANDMARK_ROWS, LOGISTIC_ROWS))
    log: dict[str, Any] = {"loss": "log_loss", "method": theirs}
    loss: dict[str, Any] = {"loss": "log_loss" if two else "hinge"}
    tree_grid = TREE_GRID if few else LOCAL_GRID
    forest_grid, boosting_grid = (FOREST_GRID, BOOSTING_GRID) if few else MANY_GRIDS
    boosted = BoostedKernel(n_rounds=20, **seed)
    relevance = RelevanceKernel(n_rounds=3 if few else 5, max_rows=DECIDING, **seed)
    idealized = IdealizedKernel(max_rank=12, tol=1e-2, **seed)
    if unlabelled:  # few labels do not say which C: rows shall be told apart
        kind, their_Cs = "full" if n_features <= FEW_FEATURES else "tied", [10.0]
        mixtures = KernelBoost(n_rounds=15, covariance_type=kind, n_starts=2, **seed)
    else:  # where every row has a label, mixtures of few parameters found at once do as well
        their_Cs = RELATIVE_CS
        mixtures = KernelBoost(n_rounds=15, covariance_type="diag", n_starts=1, **seed)
    penalties = {"learner__penalty": USUAL_PENALTIES if few else PENALTIES}
    on_request = few and not unlabelled
    candidates = [
        Candidate("tree-svm", TreeSVC(method=method, **seed), tree_grid, gram_rows=LANDMARK_ROWS),
        Candidate("tree-logistic", TreeSVC(**log, **seed), LOGISTIC_TREE_GRID, 2.5, not two, LOGISTIC_ROWS),
        Candidate(
            "tree-ranks", TreeSVC(ranks=True, method=method, **seed), RANKS_GRID, 2.0, few, LANDMARK_ROWS
        ),
        Candidate(
            "perceptron", PerceptronSVC(method=method, **seed), {"C": PERCEPTRON_CS}, gram_rows=LANDMARK_ROWS
        ),
        Candidate(
            "perceptron-logistic",
            PerceptronSVC(**log, **seed),
            {"C": LOGISTIC_CS},
            2.5,
            not two,
            LOGISTIC_ROWS,
        ),
        Candidate("superkernel", KernelSVC(Superkernel()), penalties),
        rbf_candidate(n_features, many, random_state),
        Candidate("stump", StumpSVC(**loss, **bins), {"C": STUMP_CS}, 1.3),
        Candidate(
            "relevance",  # which draws samples to learn from, if they are many
            KernelSVC(relevance, method=method),
            {"C": RELEVANCE_CS},
            2.0 if few else 1.2,
            gram_rows=LANDMARK_ROWS,
        ),
        Candidate("linear", KernelSVC(**loss), {"C": LOGISTIC_CS}, 1.2),
        Candidate("boosted", KernelSVC(boosted, relative_C=True), {"C": RELATIVE_CS}),
        Candidate("idealized", KernelSVC(idealized, relative_C=True), {"C": RELATIVE_CS}, 1.5, on_request),
        Candidate(
            "RBF-squares",
            KernelSVC(RBF, loss="squared_error", multi_class="ovr", **seed),
            {"C": SQUARES_CS, "learner__length_scale": [float(np.sqrt(n_features) * k) for k in (0.5, 1, 2)]},
            2.5,
            gram_rows=RIDGE_ROWS,
        ),
        Candidate("forest", ForestClassifier(**seed), forest_grid, 1.2),
        Candidate("boosting", BoostingClassifier(**seed), boosting_grid, 1.0, n_classes > BOOSTED_CLASSES),
    ]
    kernelboost = Candidate(
        "kernelboost",
        KernelSVC(mixtures, relative_C=True),
        {"C": their_Cs},
        1.2 if unlabelled else 2.0,  # of samples with labels it weighs every pair
    )
    return [kernelboost, *candidates] if unlabelled else [*candidates, kernelboost]


def rbf_candidate(n_features: int, many: bool, random_state: int) -> Candidate:
    """Return the SVM that people use; of many rows some stand for all."""
    gammas = [k / n_features for k in (0.1, 0.25, 0.5, 1.0)]
    if not many:
        grid = {"C": [0.5, 4.0, 32.0, 256.0], "gamma": gammas}
        return Candidate(REFERENCE, SVC(max_iter=ENDLESS), grid, growth=2.3)
    machine = KernelSVC(RBF, method="landmarks", random_state=random_state)
    widths = [float(np.sqrt(0.5 / gamma)) for gamma in gammas]
    grid = {"C": [4.0, 32.0], "learner__length_scale": widths}
    return Candidate(REFERENCE, machine, grid, 2.3, gram_rows=LANDMARK_ROWS)


def number_candidates(n_rows: int, n_features: int, random_state: int) -> list[Candidate]:
    """Return the kernels of mercer that numbers are learned with, RBF ridge, linear regression and trees.

    First those that are good on most data. Ridge regression on a kernel chooses its C by the leave-one-out
    error, which it has in closed form.
    """
    from mercer.learners import RelevanceKernel

    widths = [float(np.sqrt(n_features) * k) for k in (0.5, 1.0, 2.0, 4.0)]
    seed: dict[str, Any] = {"random_state": random_state}
    bins = 256 if n_rows > MANY_ROWS else None
    relevance = RelevanceKernel(n_rounds=5, max_rows=DECIDING, **seed)
    tree_grid = {"C": [1.0, 8.0, 64.0, 512.0], "relative_gamma": [0.25, 0.5, 1.0]}
    forest_grid, boosting_grid = (FOREST_GRID, BOOSTING_GRID) if n_rows <= FEW_ROWS else MANY_GRIDS
    shapes = {"learner__base": ["tree", "rbf"], "learner__width": [0.25, 0.5, 1.0]}
    how: dict[str, Any] = {"method": "landmarks", **seed} if n_rows > RIDGE_ROWS else {}
    return [
        Candidate("tree", TreeRegressor(**seed), tree_grid, gram_rows=RIDGE_ROWS, turn=BY_MANY),
        Candidate("perceptron", PerceptronRegressor(**seed), {"C": [0.125, 1.0, 8.0, 64.0, 512.0]}),
        Candidate(
            NUMBER_REFERENCE,
            KernelRegressor(RBF, **how),
            {"learner__length_scale": widths},
            1.9,
            gram_rows=RIDGE_ROWS,
            turn=BY_MANY,
        ),
        Candidate(
            "stump", StumpRegressor(max_bins=bins), {"C": [2.0**k for k in (-6, -3, 0, 3, 6)]}, growth=1.3
        ),
        Candidate(
            "relevance",
            KernelRegressor(relevance, **how),
            shapes if n_rows > MANY_ROWS else {},
            1.4,  # most of the time of some thousand rows is for learning from a sample
            gram_rows=RIDGE_ROWS,
            turn=BY_MANY,
        ),
        Candidate("linear", RidgeCV(alphas=np.logspace(-2, 4, 13)), {}, growth=1.0),
        Candidate("forest", ForestRegressor(**seed), forest_grid, 1.2),
        Candidate("boosting", BoostingRegressor(**seed), boosting_grid, 1.0),
    ]


def choose_candidates(
    given: Any,
    known: Sequence[Candidate],
    suits: Callable[[Any], bool],
    wanted: str,
    growth: float = 2.0,
) -> list[Candidate]:
    """Return the candidates to compare: those known, some by their names, the user's own, or both.

    A user's own are a dict, or (name, estimator) or (name, estimator, grid) in a list.
    """
    if given is None:
        return [one for one in known if not one.on_request]
    if isinstance(given, Mapping):
        items: list[Any] = [
            (name, *(value if isinstance(value, tuple) and not isinstance(value, Candidate) else (value,)))
            for name, value in given.items()
        ]
    elif isinstance(given, list | tuple):
        items = list(given)
        if not items:
            raise ValueError(f"no such candidates: []; there are {', '.join(one.name for one in known)}")
    else:
        items = []
    if not items:
        raise TypeError(f"candidates must be names, or map names to estimators, each {wanted}; got {given!r}")
    by_name = {candidate.name: candidate for candidate in known}
    unknown = [one for one in items if isinstance(one, str) and one not in by_name]
    if unknown:
        raise ValueError(f"no such candidates: {unknown}; there are {', '.join(by_name)}")
    chosen = [by_name[one] if isinstance(one, str) else _own(one, suits, wanted, growth) for one in items]
    names = [one.name for one in chosen]
    if len(set(names)) < len(names):
        raise ValueError(f"the names of candidates must differ; got {names}")
    return chosen


def _own(given: Any, suits: Callable[[Any], bool], wanted: str, growth: float) -> Candidate:
    """Return a user's own candidate, checked."""
    if not isinstance(given, tuple) or len(given) not in (2, 3):
        raise TypeError(f"a candidate is a name, (name, estimator) or (name, estimator, grid); got {given!r}")
    name, estimator, grid = (*given, {})[:3]
    if isinstance(estimator, Candidate):
        _own((name, estimator.estimator, estimator.grid), suits, wanted, growth)
        return estimator._replace(name=str(name))
    fits = estimator is None or (not isinstance(estimator, type) and hasattr(estimator, "fit"))
    if not fits or not suits(estimator):
        raise TypeError(f"candidate {name!r} must be {wanted}; got {estimator!r}")
    if not isinstance(grid, Mapping):
        raise TypeError(f"the grid of candidate {name!r} must map parameters to lists; got {grid!r}")
    unknown = set(grid) - set(estimator.get_params() if estimator is not None else ())
    if unknown:
        raise ValueError(f"the grid of candidate {name!r} has unknown parameters: {sorted(unknown)}")
    return Candidate(str(name), estimator, grid, growth)


def kernel_of(fitted: Any, X: Any = None) -> sk_kernels.Kernel | None:
    """Return the kernel of a fitted classifier or regressor, if it has one that is known here.

    Given samples X, distance kernels have the constant that makes them positive definite on these.
    """
    kernel = getattr(fitted, "kernel_", None)
    if isinstance(kernel, DistanceKernel) and X is not None:
        return type(kernel).spanning(X)
    if isinstance(kernel, sk_kernels.Kernel):
        return kernel
    if isinstance(fitted, SVC | SVR) and fitted.kernel == "rbf":
        return sk_kernels.RBF(float(1.0 / np.sqrt(2.0 * fitted._gamma)), "fixed")
    if isinstance(fitted, Ridge | RidgeCV) or (isinstance(fitted, SVC | SVR) and fitted.kernel == "linear"):
        return sk_kernels.DotProduct(0.0, "fixed")
    if isinstance(fitted, SVC | SVR) and isinstance(fitted.kernel, sk_kernels.Kernel):
        return clone(fitted.kernel)
    return None
