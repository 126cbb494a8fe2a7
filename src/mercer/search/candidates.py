"""The kernels that a search compares, each with the few settings that are tried."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.gaussian_process import kernels as sk_kernels
from sklearn.linear_model import Ridge, RidgeCV
from sklearn.model_selection import ParameterGrid
from sklearn.svm import SVC, SVR

from mercer.kernels import Perceptron, Stump
from mercer.machines import KernelSVC, PerceptronRegressor, PerceptronSVC, StumpRegressor, StumpSVC, TreeSVC

REFERENCE = "RBF-SVM"  # what the others are compared with
NAMES = (
    "tree-svm",
    "tree-ranks",
    "perceptron",
    "superkernel",
    REFERENCE,
    "stump",
    "relevance",
    "linear",
    "boosted",
    "idealized",
    "kernelboost",
)  # of the default candidates, in the order without unlabelled rows

RELATIVE_CS = [1.0, 10.0, 100.0]  # of kernels whose scale is taken out
PENALTIES = [1e2, 1e3, 1e4, 1e5]  # of a superkernel whose SVM has C = 100
USUAL_PENALTIES = [1e3, 1e4]  # few rows hardly tell the others apart from these
PERCEPTRON_CS = [0.01, 0.03, 0.1, 0.3, 1.0, 3.0]
TREE_GRID = {"C": [1.0, 4.0, 16.0, 64.0], "relative_gamma": [0.25, 0.5, 1.0]}
LOCAL_GRID = {"C": [1.0, 4.0, 16.0, 64.0], "relative_gamma": [0.5, 1.0, 2.0, 4.0]}  # of many rows
RANKS_GRID = {"C": [1.0, 4.0, 16.0], "relative_gamma": [1.0, 2.0, 4.0, 8.0]}
RELEVANCE_CS = [1.0, 4.0, 16.0]
ENDLESS = 10_000_000  # steps: LIBSVM's own limit, without which it may go round in circles for ever
DECIDING = 1000  # rows that decide on the weights of features
MANY_ROWS = 2000
FEW_ROWS = 1000  # of more rows a kernel may be more local
FEW_FEATURES = 15  # up to so many, a covariance for each component is not too many numbers


STUMPS = (StumpSVC, StumpRegressor)
PERCEPTRONS = (PerceptronSVC, PerceptronRegressor)


class Candidate(NamedTuple):
    """A named estimator with the settings to try."""

    name: str
    estimator: BaseEstimator
    grid: Mapping[str, Any]
    growth: float = 2.0  # the power of the number of rows with which its time rises
    on_request: bool = False  # whether it takes part only where it is named
    most_rows: float = float("inf")  # of more, so many are drawn for the last fit: time grows with n³
    settles: float = float("inf")  # of more rows its time grows no longer: it draws so many

    def settings(self) -> list[dict[str, Any]]:
        """Return all settings, one dict each."""
        return [dict(setting) for setting in ParameterGrid(dict(self.grid))]


def default_candidates(
    n_rows: int, n_features: int, random_state: int, *, unlabelled: bool = False
) -> list[Candidate]:
    """Return the kernels of mercer, and an RBF and a linear SVM, for rows that are standardised.

    First those that are good on most data (of rows without labels only KernelBoost makes much), see
    `mercer.search.selection_rule`; the order and what is left out
    of the learners' full strength for the sake of time were settled on the sets of [LL05], with other splits
    than those of the published comparison. Of few rows with labels the idealized kernel takes part on request
    only: there it takes a fifth of the time of all, and the blend is as good without it.
    """
    # with their solvers; a model that was found predicts without them
    from mercer.learners import BoostedKernel, IdealizedKernel, KernelBoost, RelevanceKernel, Superkernel

    gammas = [0.1 / n_features, 0.25 / n_features, 0.5 / n_features, 1.0 / n_features]
    bins = 256 if n_rows > MANY_ROWS else None
    boosted = BoostedKernel(n_rounds=20, random_state=random_state)
    few = n_rows <= FEW_ROWS  # of which ranks say as much as numbers
    relevance = RelevanceKernel(n_rounds=3 if few else 5, max_rows=DECIDING, random_state=random_state)
    idealized = IdealizedKernel(max_rank=12, tol=1e-2, random_state=random_state)
    if unlabelled:  # few labels do not say which C: rows shall be told apart
        kind, their_Cs = "full" if n_features <= FEW_FEATURES else "tied", [10.0]
        mixtures = KernelBoost(n_rounds=15, covariance_type=kind, n_starts=2, random_state=random_state)
    else:  # where every row has a label, mixtures of few parameters found at once do as well
        their_Cs = RELATIVE_CS
        mixtures = KernelBoost(n_rounds=15, covariance_type="diag", n_starts=1, random_state=random_state)
    pairs = 1.2 if unlabelled else 2.0  # of samples with labels it weighs every pair
    kernelboost = Candidate(
        "kernelboost", KernelSVC(mixtures, relative_C=True), {"C": their_Cs}, growth=pairs
    )
    tree = Candidate("tree-svm", TreeSVC(random_state=random_state), TREE_GRID if few else LOCAL_GRID)
    ranks = Candidate(
        "tree-ranks", TreeSVC(ranks=True, random_state=random_state), RANKS_GRID, on_request=few
    )
    first, last = ([kernelboost], []) if unlabelled else ([], [kernelboost])
    return [
        *first,
        tree,
        ranks,
        Candidate("perceptron", PerceptronSVC(random_state=random_state), {"C": PERCEPTRON_CS}),
        Candidate(
            "superkernel",
            KernelSVC(Superkernel()),
            {"learner__penalty": USUAL_PENALTIES if few else PENALTIES},
        ),
        Candidate(
            REFERENCE, SVC(max_iter=ENDLESS), {"C": [0.5, 4.0, 32.0, 256.0], "gamma": gammas}, growth=2.3
        ),
        Candidate(
            "stump", StumpSVC(max_bins=bins), {"C": [2.0**k for k in (-10, -7, -4, -1, 2)]}, growth=1.3
        ),
        Candidate("relevance", KernelSVC(relevance), {"C": RELEVANCE_CS}, settles=DECIDING),
        Candidate("linear", KernelSVC(), {"C": [0.01, 0.1, 1.0]}, growth=1.2),
        Candidate("boosted", KernelSVC(boosted, relative_C=True), {"C": RELATIVE_CS}),
        Candidate(
            "idealized",
            KernelSVC(idealized, relative_C=True),
            {"C": RELATIVE_CS},
            growth=1.5,
            on_request=few and not unlabelled,
        ),
        *last,
    ]


def pick(names: Sequence[str], known: Sequence[Candidate]) -> list[Candidate]:
    """Return those of the known candidates that are named, in the order of the names."""
    by_name = {candidate.name: candidate for candidate in known}
    unknown = [name for name in names if name not in by_name]
    if unknown or not names:
        raise ValueError(f"no such candidates: {unknown}; there are {', '.join(by_name)}")
    return [by_name[name] for name in names]


def are_names(given: Any) -> bool:
    """Whether candidates are given by their names alone."""
    return isinstance(given, (list, tuple)) and all(isinstance(name, str) for name in given)


def as_candidates(
    given: Any, wanted: str, suits: Callable[[Any], bool], growth: float = 2.0
) -> list[Candidate]:
    """Return a user's candidates: names of estimators, of (estimator, grid), or of a `Candidate`."""
    if not isinstance(given, Mapping) or not given:
        raise TypeError(f"candidates must map names to estimators, each {wanted}")
    candidates = []
    for name, value in given.items():
        if isinstance(value, Candidate):
            one = value._replace(name=str(name))
        else:
            estimator, grid = value if isinstance(value, tuple) and len(value) == 2 else (value, {})
            one = Candidate(str(name), estimator, grid, growth)
        if isinstance(one.estimator, type) or not suits(one.estimator):
            raise TypeError(f"candidate {name!r} must be {wanted}; got {value!r}")
        _check_grid(one)
        candidates.append(one)
    return candidates


def _check_grid(candidate: Candidate) -> None:
    """Refuse a grid that is none, or of parameters that the estimator does not have."""
    name, grid = candidate.name, candidate.grid
    if not isinstance(grid, Mapping):
        raise TypeError(f"the grid of candidate {name!r} must map parameters to lists; got {grid!r}")
    unknown = set(grid) - set(candidate.estimator.get_params() if candidate.estimator is not None else ())
    if unknown:
        raise ValueError(f"the grid of candidate {name!r} has unknown parameters: {sorted(unknown)}")


def kernel_of(fitted: Any, X: Any = None) -> sk_kernels.Kernel | None:
    """Return the kernel of a fitted classifier or regressor, if it has one that is known here.

    Given samples X, distance kernels have the constant that makes them positive definite on these.
    """
    kernel = getattr(fitted, "kernel_", None)
    if isinstance(kernel, sk_kernels.Kernel):
        return kernel
    if isinstance(fitted, STUMPS):
        return Stump() if X is None else Stump.spanning(X)
    if isinstance(fitted, PERCEPTRONS):
        return Perceptron() if X is None else Perceptron.spanning(X)
    if isinstance(fitted, SVC | SVR) and fitted.kernel == "rbf":
        return sk_kernels.RBF(float(1.0 / np.sqrt(2.0 * fitted._gamma)), "fixed")
    if isinstance(fitted, Ridge | RidgeCV) or (isinstance(fitted, SVC | SVR) and fitted.kernel == "linear"):
        return sk_kernels.DotProduct(0.0, "fixed")
    if isinstance(fitted, SVC | SVR) and isinstance(fitted.kernel, sk_kernels.Kernel):
        return clone(fitted.kernel)
    return None
