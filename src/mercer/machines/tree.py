"""All decision trees at once: the machines of the tree kernel, on a Gram matrix or on landmarks [LL08]."""

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from mercer._typing import Array
from mercer.array_api import to_numpy
from mercer.kernels import Kernel, Ranked, Rescaled, Tree
from mercer.kernels.tree import median_gamma
from mercer.learners.one_hot import category_scale
from mercer.machines.classifier import Classifier
from mercer.machines.machine import NamedMachine
from mercer.machines.problems import How
from mercer.machines.regressor import Regressor
from mercer.machines.selection import check_grid
from mercer.parameters import check_option, check_positive


@dataclass(kw_only=True, eq=False, repr=False)
class TreeMachine(NamedMachine):
    """What the machines of the tree kernel share: γ, and how columns come to it."""

    gamma: float | None = None
    relative_gamma: float = 1.0
    method: str = "auto"
    n_landmarks: int | None = None
    categories: str | None = "auto"
    ranks: bool = False
    gammas: ArrayLike = (0.25, 0.5, 1.0, 2.0)

    _methods = ("auto", "gram", "landmarks")

    def _how(self) -> How:
        return How(self.method, self.n_landmarks)

    def _kernels(self, X: Array, y: Any, weight: Array, given: dict[str, Any]) -> list[Any]:
        check_option(self.categories, "categories", ("auto", None))
        check_option(self.ranks, "ranks", (True, False))
        check_positive(self.relative_gamma, "relative_gamma")
        rows = np.flatnonzero(to_numpy(weight) > 0)
        X, weight = to_numpy(X)[rows], to_numpy(weight)[rows]
        columns = find_columns(X, weight, ranks=self.ranks, categories=self.categories == "auto")
        if self.gamma is not None:
            check_positive(self.gamma, "gamma")
            return [columns.kernel(float(self.gamma))]
        usual = median_gamma(columns.seen(X))
        if not self._selects:
            return [columns.kernel(self.relative_gamma * usual)]
        self.gammas_ = check_grid(self.gammas, "gammas") * usual
        return [columns.kernel(float(gamma)) for gamma in self.gammas_]

    @property
    def gamma_(self) -> float:
        """γ of the kernel."""
        return gamma_of(self.kernel_)


@dataclass(kw_only=True, eq=False, repr=False)
class TreeSVC(Classifier, TreeMachine):
    r"""The soft-margin SVM over all decision trees [LL08].

    The tree kernel :math:`\exp(-\gamma \|x - x'\|_1)` is the mean of what all decision trees, of every depth,
    say about two samples (`mercer.kernels.Tree`). Unlike that of stumps, the SVM sees how features act
    together; like trees, it is not led astray by one feature far out.

    Up to 20 000 samples LIBSVM solves it on the Gram matrix, all classes in one call. Of more samples,
    `n_landmarks` drawn at random stand for all (Nyström's approximation), in O(n `n_landmarks`) time for each
    of some 20 passes, and memory.

    Parameters
    ----------
    C : float or "cv", default=4.0
        The penalty of margin violations. Try 1 to 64. "cv" is the best of `Cs`, and γ of `gammas`, by
        cross-validation; of more than 5000 samples, on 5000 drawn at random from each class.
    gamma : float or None, default=None
        γ; None is `relative_gamma` over the median distance of two samples.
    relative_gamma : float, default=1.0
        γ as a multiple of the median rule's, where `gamma` is None. Try 1/4 to 2; with thousands of samples
        and few features, up to 8.
    method : {"auto", "gram", "landmarks"}, default="auto"
        "gram" needs 16 n² bytes (n = 20 000: 6.4 GB) and says so before it starts if the machine has less.
        "auto" takes the Gram matrix up to 20 000 samples with the hinge, and up to 5000 with other losses.
    n_landmarks : int or None, default=None
        Number of landmarks, as in `KernelSVC`.
    categories : {"auto", None}, default="auto"
        "auto" finds neighbouring columns that one-hot encode a category, whatever they were scaled by, and
        scales them so that another category is one step of two standard deviations of the other columns: one
        split, not two of lengths that rare categories make long. None leaves columns as they are.
    ranks : bool, default=False
        Whether numbers count by their ranks among the training samples (`mercer.kernels.Ranked`), in units of
        the ranks' standard deviation. Cuts are then as dense as the samples are, as those of a forest are:
        better where a feature has details at several scales, and samples are many enough to see them.
    Cs : int or array-like, default=(1.0, 4.0, 16.0, 64.0)
        The values of C for ``C="cv"``, as in `StumpSVC`.
    gammas : array-like, default=(0.25, 0.5, 1.0, 2.0)
        The values of γ for ``C="cv"``, as multiples of one over the median distance of two samples. They are
        for `gamma` None.
    random_state : int, RandomState or None, default=None
        Random seed of the landmarks, and of the samples that choose C and γ.
    loss, cv, scoring, tol, max_iter, class_weight, multi_class, n_jobs
        As in `KernelSVC`.

    Attributes
    ----------
    kernel_ : Tree, Rescaled or Ranked
        The kernel, with its γ, the scales of categories and the ranks.
    gamma_ : float
        γ.
    method_ : str
        "gram" or "landmarks".
    classes_, support_, dual_coef_, intercept_, objective_, residual_, n_iter_, C_, edge_, Cs_
        As in `StumpSVC`; those of landmarks, where they stand for the support vectors.
    gammas_ : array of shape (n_gammas,)
        The values of γ, ascending, for ``C="cv"``.
    scores_ : array of shape (n_folds, n_Cs) or (n_folds, n_Cs, n_gammas)
        The scores.

    Examples
    --------
    >>> from mercer import TreeSVC
    >>> from mercer.datasets import threenorm
    >>> X, y = threenorm(300, random_state=0)
    >>> model = TreeSVC().fit(X, y)
    >>> X_new, y_new = threenorm(1000, random_state=1)
    >>> model.score(X_new, y_new) > 0.8
    True
    >>> TreeSVC(C="cv").fit(X, y).C_ < 64
    True
    """

    C: float | str | None = field(default=4.0, kw_only=False)
    Cs: int | ArrayLike = (1.0, 4.0, 16.0, 64.0)


@dataclass(kw_only=True, eq=False, repr=False)
class TreeRegressor(Regressor, TreeMachine):
    r"""Regression with the tree kernel [LL08].

    The tree kernel :math:`\exp(-\gamma \|x - x'\|_1)` is the mean of what all decision trees, of every depth,
    say about two samples (`mercer.kernels.Tree`). The machine sees how features act together, and like trees
    it is not led astray by one feature far out.

    Up to 10 000 samples (5000 for other losses than squares) it is solved on the Gram matrix, in O(n³). Of
    more, m = `n_landmarks` drawn at random stand for all (Nyström's approximation), in O(n m²).

    Parameters
    ----------
    C : float or "cv", default=4.0
        The weight of the losses against the penalty. Try 1 to 1000. "cv" is the best of `Cs`, and γ of
        `gammas`, by cross-validation; of more than 3000 samples, on 3000 drawn at random.
    gamma : float or None, default=None
        γ; None is `relative_gamma` over the median distance of two samples.
    relative_gamma : float, default=0.5
        γ as a multiple of the median rule's, where `gamma` is None. Try 1/8 to 2.
    Cs : int or array-like, default=(0.25, 1.0, 4.0, 16.0, 64.0, 256.0, 1024.0)
        The values of C for ``C="cv"``, as in `StumpRegressor`.
    method, n_landmarks, categories, ranks, gammas
        As in `TreeSVC`; the values of γ are 1/8 to 2 times the median rule's.
    random_state : int, RandomState or None, default=None
        Random seed of the folds, the landmarks and the samples that choose C and γ.
    loss, quantile, epsilon, cv, scoring, tol, max_iter, n_jobs
        As in `StumpRegressor`.

    Attributes
    ----------
    kernel_, gamma_, method_, gammas_, scores_
        As in `TreeSVC`.
    intercept_, objective_, residual_, n_iter_, C_, edge_, Cs_, unseen_
        As in `StumpRegressor`.

    Notes
    -----
    Where 3000 samples choose C and γ, a fit to the first fold's training samples shows the errors of its test
    samples, for intervals.

    Examples
    --------
    >>> from sklearn.datasets import make_friedman1
    >>> from mercer import TreeRegressor
    >>> X, y = make_friedman1(500, n_features=5, random_state=0)
    >>> model = TreeRegressor(C=100.0).fit(X, y)
    >>> X_new, y_new = make_friedman1(500, n_features=5, random_state=1)
    >>> model.score(X_new, y_new) > 0.9
    True
    """

    C: float | str | None = field(default=4.0, kw_only=False)
    relative_gamma: float = 0.5
    Cs: int | ArrayLike = (0.25, 1.0, 4.0, 16.0, 64.0, 256.0, 1024.0)
    gammas: ArrayLike = (0.125, 0.25, 0.5, 1.0, 2.0)


class Columns(NamedTuple):
    """How rows come to the tree kernel: as ranks, or as they are; divided by a scale, or not."""

    ranked: Ranked | None
    scale: Array | None

    def seen(self, X: Array) -> Array:
        """Return rows as the tree kernel sees them."""
        rows = X if self.ranked is None else self.ranked.ranks(X)
        return rows if self.scale is None else rows / self.scale

    def kernel(self, gamma: float) -> Kernel:
        """Return the kernel of a γ."""
        tree = Tree(gamma)
        scaled = tree if self.scale is None else Rescaled(tree, np.zeros(len(self.scale)), self.scale)
        return scaled if self.ranked is None else self.ranked.with_base(scaled)


def find_columns(X: Array, weight: Array | None, *, ranks: bool, categories: bool) -> Columns:
    """Return ranks in units of their standard deviation, if they are wanted, and the scale of categories."""
    if not ranks:
        return Columns(None, category_scale(X, weight) if categories else None)
    distinct = np.unique(X, axis=0)  # a row that is there twice counts as one of twice the weight
    ranked = Ranked.spanning(distinct, Tree())
    rows = ranked.ranks(distinct)
    deviation = rows.std(axis=0)
    deviation = np.where(deviation > 0, deviation, 1.0)
    scale = category_scale(rows / deviation) if categories else None
    return Columns(ranked, deviation if scale is None else deviation * scale)


def gamma_of(kernel: Any) -> float:
    """Return the γ of the tree kernel that others are wrapped around."""
    while not isinstance(kernel, Tree):
        kernel = kernel.base
    gamma: float = kernel.gamma  # type: ignore[assignment]  # a fitted one has its γ
    return float(gamma)
