"""The SVM over all decision trees: exact on the Gram matrix, or on landmarks where rows are many [LL08]."""

import warnings
from collections.abc import Iterator, Sequence
from copy import copy
from functools import partial
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import check_scoring
from sklearn.utils import check_random_state, gen_batches

from mercer._typing import Array, Flags, Index
from mercer.kernels import Kernel, Ranked, Rescaled, Tree
from mercer.kernels.tree import median_gamma
from mercer.learners.one_hot import category_scale
from mercer.limits import check_gram_fits
from mercer.parameters import check_count, check_option, check_positive
from mercer.solvers.landmark_svm import solve_on_landmarks
from mercer.svm.base import Samples, SVMClassifier, check_samples
from mercer.svm.dual import run_in_threads
from mercer.svm.kernel_svc import PairwiseSVMs
from mercer.svm.libsvm import GramSVMs, finish_problems, solve_on_gram
from mercer.svm.multiclass import choose_classes, split_problems
from mercer.svm.selection import ChoosesC, check_score, make_grid, split_folds

EXACT_ROWS = 20_000  # "auto" is exact up to this number of rows: the Gram matrix is 3.2 GB
SELECTION_ROWS = 5000  # of which C and γ are chosen: on more, they hardly change
SURE_OF_A_CLASS = 20  # rows of each class that are among these, if it has as many
BLOCK = 2**23  # kernel values computed at a time: 64 MiB
HELD = 2**29  # kernel values in single precision that are kept between passes, 2 GiB; of more, none are


class TreeSVM(SVMClassifier):
    """What `TreeSVC` and `TreeSVCCV` share: the tree kernel, and how to compute with it."""

    def _check_training(self, X: Any, y: Any, sample_weight: ArrayLike | None) -> Samples:
        check_option(self.method, "method", ("auto", "exact", "nystroem"))
        check_count(self.n_landmarks, "n_landmarks")
        check_option(self.categories, "categories", ("auto", None))
        check_option(self.ranks, "ranks", (True, False))
        check_positive(self.tol, "tol")
        if self.max_iter is not None:
            check_count(self.max_iter, "max_iter")
        check_option(self.multi_class, "multi_class", ("ovo", "ovr"))
        samples = check_samples(self, X, y, sample_weight, self.class_weight)
        self._scheme = self.multi_class
        return samples

    def _columns(self, X: Array, weight: Array | None) -> "Columns":
        return find_columns(X, weight, ranks=self.ranks, categories=self.categories == "auto")

    def _fit_kernel(self, samples: Samples, kernel: Kernel, C: float, rng: Any) -> None:
        """Solve all problems for one kernel and one C, and keep the result."""
        rows = np.flatnonzero(samples.weight > 0)
        samples, n = samples.select(rows), len(rows)
        exact = self.method == "exact" or (self.method == "auto" and n <= EXACT_ROWS)
        self.method_ = "exact" if exact else "nystroem"
        self.kernel_ = kernel
        self.gamma_ = gamma_of(kernel)
        if exact:
            check_gram_fits(n, "Use method='nystroem', or fewer rows.")
            found = self._solve_exactly(kernel(samples.X), samples, C * samples.weight)
            support = np.flatnonzero(np.any(found.coef != 0, axis=1))
            found = found._replace(coef=found.coef[support])
        else:
            support = np.sort(rng.choice(n, min(n, self.n_landmarks), replace=False))
            found = self._solve_on(support, kernel, samples, C * samples.weight)
        self.svm_ = PairwiseSVMs(kernel, samples.X[support], *found)
        self.support_ = rows[support]
        self.dual_coef_ = found.coef.T
        self.intercept_, self.n_iter_ = found.intercept, found.n_iter

    def _solve_exactly(self, K: Array, samples: Samples, C: Array) -> GramSVMs:
        problems = split_problems(samples.label, len(self.classes_), self._scheme)
        found = self._solve(K, samples.label, C)
        found, self.objective_, self.residual_ = finish_problems(K, found, problems, C)
        return found

    def _solve(self, K: Array, label: Index, C: Array) -> GramSVMs:
        return solve_on_gram(K, label, C, self._scheme, tol=float(self.tol), max_iter=self.max_iter)

    def _solve_on(self, landmarks: Index, kernel: Kernel, samples: Samples, C: Array) -> GramSVMs:
        """Solve the problems on landmarks, in passes over the rows."""
        Z = samples.X[landmarks]
        problems = split_problems(samples.label, len(self.classes_), self._scheme)
        Y = np.zeros((len(samples.X), len(problems)))
        for p, problem in enumerate(problems):
            Y[problem.rows, p] = problem.y
        found = solve_on_landmarks(
            KernelBlocks(kernel, samples.X, Z),
            kernel(Z),
            Y,
            C,
            tol=float(self.tol),
            max_iter=self.max_iter or 500,
        )
        if found.gradient > self.tol:
            warnings.warn(
                f"{type(self).__name__} stopped after {found.n_iter} iterations with a relative gradient of "
                f"{found.gradient:.1e} (tol={self.tol:g}). Scale the features, or increase max_iter.",
                ConvergenceWarning,
                stacklevel=4,
            )
        self.objective_, self.residual_ = found.objective, np.full(len(problems), found.gradient)
        return GramSVMs(found.coef, found.intercept, np.full(len(problems), found.n_iter))

    def _decisions(self, X: Array) -> Array:
        return self.svm_(X)


class KernelBlocks:
    """Kernel values of rows with landmarks, block by block; kept between passes if they are not too many."""

    def __init__(self, kernel: Kernel, X: Array, Z: Array) -> None:
        self.kernel, self.X, self.Z = kernel, X, Z
        self.kept: dict[int, Array] | None = {} if len(X) * len(Z) <= HELD else None

    def __call__(self) -> Iterator[tuple[slice, Any]]:
        """Go over the rows."""
        for rows in gen_batches(len(self.X), max(1, BLOCK // len(self.Z))):
            K = None if self.kept is None else self.kept.get(rows.start)
            if K is None:
                K = self.kernel(self.X[rows], self.Z).astype(np.float32)
                if self.kept is not None:
                    self.kept[rows.start] = K
            yield rows, K


class TreeSVC(TreeSVM):
    r"""The soft-margin SVM over all decision trees [LL08].

    The tree kernel :math:`\exp(-\gamma \|x - x'\|_1)` is the mean of what all decision trees, of every depth,
    say about two samples (`mercer.kernels.Tree`). Unlike that of stumps, the SVM sees how features act
    together; like trees, it is not led astray by one feature far out.

    Up to 20 000 samples LIBSVM solves it on the Gram matrix, all classes in one call. Of more samples,
    `n_landmarks` drawn at random stand for all (Nyström's approximation), in O(n `n_landmarks`) time for each
    of some 20 passes and blocks of constant memory.

    Parameters
    ----------
    C : float, default=4.0
        The penalty of margin violations. Try 1 to 64.
    gamma : float or None, default=None
        γ; None is `relative_gamma` over the median distance of two samples.
    relative_gamma : float, default=1.0
        γ as a multiple of the median rule's, where `gamma` is None. Try 1/4 to 2; with thousands of samples
        and few features, up to 8.
    method : {"auto", "exact", "nystroem"}, default="auto"
        "exact" needs 16 n² bytes (n = 20 000: 6.4 GB) and says so before it starts if the machine has less.
        "auto" is exact up to 20 000 samples.
    n_landmarks : int, default=1000
        Number of landmarks of "nystroem".
    categories : {"auto", None}, default="auto"
        "auto" finds neighbouring columns that one-hot encode a category, whatever they were scaled by, and
        scales them so that another category is one step of two standard deviations of the other columns: one
        split, not two of lengths that rare categories make long. None leaves columns as they are.
    ranks : bool, default=False
        Whether numbers count by their ranks among the training samples (`mercer.kernels.Ranked`), in units of
        the ranks' standard deviation. Cuts are then as dense as the samples are, as those of a forest are:
        better where a feature has details at several scales, and samples are many enough to see them.
    tol : float, default=1e-3
        LIBSVM's tolerance for the optimality conditions; for "nystroem" the relative gradient.
    max_iter : int or None, default=None
        Maximum number of iterations: of LIBSVM, None as for `KernelSVC`, or passes, 500.
    class_weight : dict, "balanced" or None, default=None
        What multiplies C for the samples of each class.
    multi_class : {"ovo", "ovr"}, default="ovo"
        More than two classes: one against one, with votes counted as in LIBSVM; or one against the rest.
    random_state : int, RandomState or None, default=None
        Random seed of the landmarks. "exact" is not random.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        The classes.
    kernel_ : Tree, Rescaled or Ranked
        The kernel, with its γ, the scales of categories and the ranks.
    gamma_ : float
        γ.
    method_ : str
        "exact" or "nystroem".
    support_ : array of shape (n_support,)
        The row numbers of the support vectors, or of the landmarks.
    dual_coef_ : array of shape (n_problems, n_support)
        Their coefficients in the decision functions.
    intercept_, n_iter_ : arrays of shape (n_problems,)
        The intercepts, and the number of iterations.
    objective_, residual_ : arrays of shape (n_problems,)
        The minimum of (P2) and the violation of its optimality conditions, as in `StumpSVC`; for "nystroem"
        the minimum of the primal problem, and the relative gradient.

    Notes
    -----
    "nystroem" rounds the corner of the hinge loss over half a unit of the margin, without which passes would
    be many; scores differ by less than the choice of landmarks makes them differ.

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
    """

    def __init__(
        self,
        C: float = 4.0,
        *,
        gamma: float | None = None,
        relative_gamma: float = 1.0,
        method: str = "auto",
        n_landmarks: int = 1000,
        categories: str | None = "auto",
        ranks: bool = False,
        tol: float = 1e-3,
        max_iter: int | None = None,
        class_weight: Any = None,
        multi_class: str = "ovo",
        random_state: Any = None,
    ) -> None:
        self.C = C
        self.gamma = gamma
        self.relative_gamma = relative_gamma
        self.method = method
        self.n_landmarks = n_landmarks
        self.categories = categories
        self.ranks = ranks
        self.tol = tol
        self.max_iter = max_iter
        self.class_weight = class_weight
        self.multi_class = multi_class
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the SVM.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The samples.
        y : array-like of shape (n_samples,)
            Their classes, two or more.
        sample_weight : array-like of shape (n_samples,), default=None
            What multiplies C for each sample. Samples of weight zero are left out.
        """
        check_positive(self.C, "C")
        check_positive(self.relative_gamma, "relative_gamma")
        if self.gamma is not None:
            check_positive(self.gamma, "gamma")
        samples = self._check_training(X, y, sample_weight)
        counted = samples.select(np.flatnonzero(samples.weight > 0))
        columns, gamma = self._columns(counted.X, counted.sample_weight), self.gamma
        if gamma is None:
            gamma = self.relative_gamma * median_gamma(columns.seen(counted.X))
        kernel = columns.kernel(float(gamma))
        self._fit_kernel(samples, kernel, float(self.C), check_random_state(self.random_state))
        return self


class TreeSVCCV(ChoosesC, TreeSVM):
    """A `TreeSVC` whose C and γ are chosen by cross-validation, with one Gram matrix for each γ.

    Parameters
    ----------
    Cs : int or array-like, default=(1.0, 4.0, 16.0, 64.0)
        The values of C; a number of them is as in `StumpSVCCV`.
    gammas : array-like, default=(0.25, 0.5, 1.0, 2.0)
        The values of γ, as multiples of one over the median distance of two samples.
    cv, scoring
        As in `StumpSVCCV`.
    method, n_landmarks, categories, ranks, tol, max_iter, class_weight, multi_class
        As in `TreeSVC`.
    random_state : int, RandomState or None, default=None
        Random seed, of the landmarks and of the samples that C and γ are chosen on.
    n_jobs : int or None, default=None
        Number of threads, over the folds.

    Attributes
    ----------
    C_, gamma_ : float
        Those of the best mean score; of equals the smallest C, and of these the smallest γ.
    edge_ : {"lower", "upper"} or None
        The end of the values that `C_` is at; there, further values of C may be better.
    Cs_, gammas_ : arrays of shape (n_Cs,) and (n_gammas,)
        The values of C and of γ, ascending.
    scores_ : array of shape (n_folds, n_Cs, n_gammas)
        The scores.
    classes_, kernel_, method_, intercept_, support_, dual_coef_, objective_, residual_, n_iter_
        Of the fit to all samples, as in `TreeSVC`.

    Notes
    -----
    Of more than 5000 samples, C and γ are chosen on 5000, drawn at random from each class.

    Examples
    --------
    >>> from mercer import TreeSVCCV
    >>> from mercer.datasets import threenorm
    >>> X, y = threenorm(300, random_state=0)
    >>> model = TreeSVCCV().fit(X, y)
    >>> model.C_ < 64
    True
    """

    def __init__(
        self,
        Cs: int | ArrayLike = (1.0, 4.0, 16.0, 64.0),
        gammas: ArrayLike = (0.25, 0.5, 1.0, 2.0),
        cv: Any = 5,
        *,
        scoring: Any = None,
        method: str = "auto",
        n_landmarks: int = 1000,
        categories: str | None = "auto",
        ranks: bool = False,
        tol: float = 1e-3,
        max_iter: int | None = None,
        class_weight: Any = None,
        multi_class: str = "ovo",
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.Cs = Cs
        self.gammas = gammas
        self.cv = cv
        self.scoring = scoring
        self.method = method
        self.n_landmarks = n_landmarks
        self.categories = categories
        self.ranks = ranks
        self.tol = tol
        self.max_iter = max_iter
        self.class_weight = class_weight
        self.multi_class = multi_class
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(
        self, X: Any, y: Any, sample_weight: ArrayLike | None = None, groups: ArrayLike | None = None
    ) -> Self:
        """Choose C and γ by cross-validation, then fit the SVM to all samples.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The samples.
        y : array-like of shape (n_samples,)
            Their classes, two or more.
        sample_weight : array-like of shape (n_samples,), default=None
            What multiplies C for each sample. The scores are weighted alike, unless `scoring` is a callable.
            Samples of weight zero are left out.
        groups : array-like of shape (n_samples,), default=None
            What a splitter such as `sklearn.model_selection.GroupKFold` keeps together.
        """
        self.Cs_ = make_grid(self.Cs)
        samples = self._check_training(X, y, sample_weight)
        rng = check_random_state(self.random_state)
        kernels = self._make_kernels(samples.select(np.flatnonzero(samples.weight > 0)))
        some = draw_some(samples.label, samples.weight > 0, SELECTION_ROWS, rng)
        folds = split_folds(self.cv, samples, self.classes_, some, groups)
        self.scores_ = np.stack(
            [self._score_kernel(kernel, samples, some, folds) for kernel in kernels], axis=2
        )
        means = self.scores_.mean(axis=0)
        best_C, best_gamma = np.unravel_index(np.argmax(means), means.shape)
        self.C_ = float(self.Cs_[best_C])
        self._fit_kernel(samples, kernels[best_gamma], self.C_, rng)
        return self

    def _make_kernels(self, counted: Samples) -> list[Kernel]:
        columns = self._columns(counted.X, counted.sample_weight)
        self.gammas_ = make_multiples(self.gammas) * median_gamma(columns.seen(counted.X))
        return [columns.kernel(float(gamma)) for gamma in self.gammas_]

    def _score_kernel(
        self, kernel: Kernel, samples: Samples, some: Flags, folds: Sequence[tuple[Index, Index]]
    ) -> Array:
        """Return the scores of one kernel, for each fold and each C, on some of the samples."""
        K, place = kernel(samples.X[some]), np.cumsum(some) - 1
        few = samples.select(np.flatnonzero(some))
        work = [partial(self._score_fold, kernel, K, few, place[train], place[test]) for train, test in folds]
        return np.array(run_in_threads(self.n_jobs, work))

    def _score_fold(
        self, kernel: Kernel, K: Array, samples: Samples, train: Index, test: Index
    ) -> list[float]:
        known, held_out = samples.select(train), samples.select(test)
        K_train, K_test = K[np.ix_(train, train)], K[np.ix_(test, train)]
        scores = []
        for C in self.Cs_:
            found = self._solve(K_train, known.label, C * known.weight)
            if self.scoring is None:  # as accuracy_score
                chosen = choose_classes(found(K_test), len(self.classes_), self._scheme)
                scores.append(float(np.average(chosen == held_out.label, weights=held_out.sample_weight)))
            else:
                scores.append(self._score(PairwiseSVMs(kernel, known.X, *found), held_out))
        return scores

    def _score(self, svm: PairwiseSVMs, test: Samples) -> float:
        """Return the score of a candidate on the test rows."""
        candidate = copy(self)
        candidate.svm_ = svm
        weighted = test.sample_weight is not None and not callable(self.scoring)
        options = {"sample_weight": test.sample_weight} if weighted else {}
        scorer = check_scoring(candidate, scoring=self.scoring)
        score = scorer(candidate, test.X, self.classes_[test.label], **options)
        return check_score(score, self.scoring, len(test.X))


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


def make_multiples(gammas: ArrayLike) -> Array:
    """Return ascending multiples of the median rule's γ."""
    grid = np.unique(np.asarray(gammas, dtype=np.float64))
    if grid.size == 0 or not (np.all(np.isfinite(grid)) and grid[0] > 0):
        raise ValueError(f"gammas must be one positive number or more, got {gammas!r}.")
    return grid


def draw_some(label: Index, counts: Flags, n: int, rng: Any) -> Flags:
    """Return the rows that count, or some n of them: of each class the same share, but twenty or all."""
    if counts.sum() <= n:
        return counts
    some, order = np.zeros(len(label), dtype=bool), rng.permutation(np.flatnonzero(counts))
    for k in range(label.max() + 1):
        rows = order[label[order] == k]
        some[rows[: max(SURE_OF_A_CLASS, round(n * len(rows) / len(order)))]] = True
    return some
