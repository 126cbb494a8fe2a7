"""All decision trees at once: the machines of the tree kernel, on a Gram matrix or on landmarks [LL08]."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from mercer._typing import Array
from mercer.array_api import to_numpy
from mercer.kernels import Kernel, Ranked, Rescaled, Tree
from mercer.kernels.tree import median_gamma
from mercer.learners.one_hot import category_scale
from mercer.machines.classifier import NamedClassifier
from mercer.machines.machine import Machine
from mercer.machines.problems import How
from mercer.machines.regressor import NamedRegressor
from mercer.machines.selection import make_multiples
from mercer.parameters import check_option, check_positive


class TreeMachine(Machine):
    """What the machines of the tree kernel share: γ, and how columns come to it."""

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
        self.gammas_ = make_multiples(self.gammas) * usual
        return [columns.kernel(float(gamma)) for gamma in self.gammas_]

    @property
    def gamma_(self) -> float:
        """γ of the kernel."""
        return gamma_of(self.kernel_)


class TreeSVC(TreeMachine, NamedClassifier):
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
    loss : {"hinge", "log_loss", "squared_error"} or Loss, default="hinge"
        As in `StumpSVC`.
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
        The values of C for ``C="cv"``; a number of them is as in `StumpSVC`.
    gammas : array-like, default=(0.25, 0.5, 1.0, 2.0)
        The values of γ for ``C="cv"``, as multiples of one over the median distance of two samples. They are
        for `gamma` None.
    cv, scoring
        As in `StumpSVC`.
    tol, max_iter
        As in `KernelSVC`.
    class_weight : dict, "balanced" or None, default=None
        What multiplies C for the samples of each class.
    multi_class : {"ovo", "ovr"}, default="ovo"
        More than two classes: one against one, with votes counted as in LIBSVM; or one against the rest.
    random_state : int, RandomState or None, default=None
        Random seed of the landmarks, and of the samples that choose C and γ.
    n_jobs : int or None, default=None
        Number of threads, as in `StumpSVC`.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        The classes.
    kernel_ : Tree, Rescaled or Ranked
        The kernel, with its γ, the scales of categories and the ranks.
    gamma_ : float
        γ.
    method_ : str
        "gram" or "landmarks".
    support_ : array of shape (n_support,)
        The row numbers of the support vectors, or of the landmarks.
    dual_coef_ : array of shape (n_problems, n_support)
        Their coefficients in the decision functions.
    intercept_, objective_, residual_, n_iter_, C_, edge_, Cs_
        As in `StumpSVC`.
    gammas_ : array of shape (n_gammas,)
        The values of γ, ascending, for ``C="cv"``.
    scores_ : array of shape (n_folds, n_Cs) or (n_folds, n_Cs, n_gammas)
        The scores.

    References
    ----------
    [LL08] H.-T. Lin, L. Li. Support vector machinery for infinite ensemble learning. Journal of Machine
    Learning Research 9, 285-312, 2008.

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

    _grid = (-17, 3)

    def __init__(
        self,
        C: float | str = 4.0,
        *,
        gamma: float | None = None,
        relative_gamma: float = 1.0,
        loss: Any = "hinge",
        method: str = "auto",
        n_landmarks: int | None = None,
        categories: str | None = "auto",
        ranks: bool = False,
        Cs: int | ArrayLike = (1.0, 4.0, 16.0, 64.0),
        gammas: ArrayLike = (0.25, 0.5, 1.0, 2.0),
        cv: Any = 5,
        scoring: Any = None,
        tol: float = 1e-3,
        max_iter: int | None = None,
        class_weight: Any = None,
        multi_class: str = "auto",
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.C = C
        self.gamma = gamma
        self.relative_gamma = relative_gamma
        self.loss = loss
        self.method = method
        self.n_landmarks = n_landmarks
        self.categories = categories
        self.ranks = ranks
        self.Cs = Cs
        self.gammas = gammas
        self.cv = cv
        self.scoring = scoring
        self.tol = tol
        self.max_iter = max_iter
        self.class_weight = class_weight
        self.multi_class = multi_class
        self.random_state = random_state
        self.n_jobs = n_jobs


class TreeRegressor(TreeMachine, NamedRegressor):
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
    loss, quantile, epsilon
        As in `StumpRegressor`.
    method, n_landmarks
        As in `TreeSVC`.
    categories, ranks
        How columns come to the kernel, as in `TreeSVC`.
    Cs : int or array-like, default=(0.25, 1.0, 4.0, 16.0, 64.0, 256.0, 1024.0)
        The values of C for ``C="cv"``; a number of them is as in `StumpRegressor`.
    gammas : array-like, default=(0.125, 0.25, 0.5, 1.0, 2.0)
        The values of γ for ``C="cv"``, as in `TreeSVC`.
    cv, scoring, tol, max_iter
        As in `StumpRegressor`.
    random_state : int, RandomState or None, default=None
        Random seed of the folds, the landmarks and the samples that choose C and γ.
    n_jobs : int or None, default=None
        Number of threads, over the folds, or several targets.

    Attributes
    ----------
    kernel_ : Tree or Rescaled
        The kernel, with its γ and the scales of categories.
    gamma_ : float
        γ.
    method_ : str
        "gram" or "landmarks".
    intercept_, objective_, residual_, n_iter_, C_, edge_, Cs_, unseen_
        As in `StumpRegressor`.
    gammas_, scores_
        As in `TreeSVC`; scores are NaN for the C that were not tried, as in `StumpRegressor`.

    Notes
    -----
    Where 3000 samples choose C and γ, a fit to the first fold's training samples shows the errors of its test
    samples, for intervals.

    References
    ----------
    [LL08] H.-T. Lin, L. Li. Support vector machinery for infinite ensemble learning. Journal of Machine
    Learning Research 9, 285-312, 2008.

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

    _grid = (-12, 10)

    def __init__(
        self,
        C: float | str = 4.0,
        *,
        gamma: float | None = None,
        relative_gamma: float = 0.5,
        loss: Any = "squared_error",
        quantile: float = 0.5,
        epsilon: float = 0.1,
        method: str = "auto",
        n_landmarks: int | None = None,
        categories: str | None = "auto",
        ranks: bool = False,
        Cs: int | ArrayLike = (0.25, 1.0, 4.0, 16.0, 64.0, 256.0, 1024.0),
        gammas: ArrayLike = (0.125, 0.25, 0.5, 1.0, 2.0),
        cv: Any = 5,
        scoring: Any = None,
        tol: float = 1e-3,
        max_iter: int | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.C = C
        self.gamma = gamma
        self.relative_gamma = relative_gamma
        self.loss = loss
        self.quantile = quantile
        self.epsilon = epsilon
        self.method = method
        self.n_landmarks = n_landmarks
        self.categories = categories
        self.ranks = ranks
        self.Cs = Cs
        self.gammas = gammas
        self.cv = cv
        self.scoring = scoring
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.n_jobs = n_jobs


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
