"""The SVM over all decision stumps, exact and without a Gram matrix [LL05, IV]."""

from collections.abc import Iterator, Sequence
from numbers import Integral
from typing import Any

from numpy.typing import ArrayLike
from sklearn.utils import check_scalar
from sklearn.utils._array_api import _expit
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from mercer._typing import Array
from mercer.array_api import is_of_numpy, namespace
from mercer.parameters import check_option
from mercer.solvers.stump_svm import HINGE, LogLoss
from mercer.svm.additive import (
    ShapeFunction,
    TrainingRows,
    fit_path,
)
from mercer.svm.base import Samples
from mercer.svm.dual import DualSVC, FixedCSVC, Progress, TablePlan, TwoClassSVM
from mercer.svm.few_rows import FewRows, are_few, fit_by_libsvm
from mercer.svm.multiclass import TwoClassProblem, combine_probabilities
from mercer.svm.selection import SelectedCSVC

LOSSES = {"hinge": HINGE, "log_loss": LogLoss()}


class StumpSVM(DualSVC):
    """What `StumpSVC` and `StumpSVCCV` share: the stump kernel, and the parameter `max_bins`."""

    def _plan(self, n_rows: int) -> None:
        if self.max_bins is not None:
            check_scalar(self.max_bins, "max_bins", Integral, min_val=2, max_val=65_536)
        check_option(self.loss, "loss", tuple(LOSSES))
        self._draw_seed(self.max_bins is not None)

    @property
    def _computes_on_device(self) -> bool:
        return self.max_bins is not None

    def _path(
        self, X: Array, y: Array, weight: Array, Cs: Sequence[float], progress: Progress | None
    ) -> Iterator[TwoClassSVM]:
        rows = TrainingRows.prepare(X, self.max_bins, self._seed)
        options: dict[str, Any] = {"tol": float(self.tol), "max_iter": self.max_iter, "progress": progress}
        return fit_path(rows, y, weight, Cs, LOSSES[self.loss], **options)

    def _table(self, n_features: int) -> TablePlan:
        if self.max_bins is None:
            raise ValueError("StumpSVC needs bins for Dask collections: set max_bins, for example to 256.")
        return TablePlan(LOSSES[self.loss])

    def _paths_together(
        self, samples: Samples, problems: Sequence[TwoClassProblem], Cs: Sequence[float]
    ) -> Iterator[Sequence[TwoClassSVM]] | None:
        if (
            self.loss != "hinge"
            or not is_of_numpy(samples.X)
            or not are_few(len(samples.X), len(self.classes_), Cs)
        ):
            return None
        rows = FewRows.prepare(samples.X, self.max_bins, self._seed)
        return fit_by_libsvm(rows, problems, samples, Cs, self._scheme, float(self.tol), self.max_iter)

    @available_if(lambda self: self.loss == "log_loss")
    def predict_proba(self, X: Any) -> Array:
        """Return the probability of each class, for ``loss="log_loss"``.

        More than two classes: for each class the mean of its probabilities against the others (one against
        one), or its share of all probabilities (one against the rest).

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The samples.

        Returns
        -------
        array of shape (n_samples, n_classes)
            The probabilities, in the order of `classes_`.
        """
        return self._answer(X, _estimate, "predict_proba")

    @property
    def shape_functions_(self) -> list[Any]:
        """The g_d of f(x) = Σ_d g_d(x_d) + b."""
        check_is_fitted(self)
        shapes: list[list[ShapeFunction]] = [function.shapes() for function in self._functions]
        return shapes[0] if len(self.classes_) == 2 else shapes


def _estimate(model: StumpSVM, decisions: Array) -> Array:
    p = _expit(decisions, xp=namespace(decisions))
    return combine_probabilities(p, len(model.classes_), model._scheme)


class StumpSVC(FixedCSVC, StumpSVM):
    r"""The soft-margin SVM over all decision stumps [LL05, Definition 2 and (P2)].

    The stump kernel :math:`\Delta_S - \|x - x'\|_1` is the inner product of what infinitely many decision
    stumps say about two samples. Its SVM is exactly an additive model,

    .. math:: f(x) = \sum_d g_d(x_d) + b, \qquad
              \min_{g, b} \tfrac14 \sum_d \int g_d'(t)^2 dt + \sum_i C_i \max(0, 1 - y_i f(x_i)),

    with piecewise linear :math:`g_d` (`shape_functions_`) that are constant beyond the data. The solver
    (`mercer.solvers.stump_svm`) uses this: no Gram matrix, O(n D) memory, O(n D) for each product with the
    kernel. LIBSVM on the Gram matrix finds the same classifier, at O(n²); for few samples it is called.

    The kernel adds up distances: scale the features, best by `ClippedScaler`, as for any SVM.

    Parameters
    ----------
    C : float, default=1.0
        The penalty of margin violations. Features in [−1, 1] need values of about 2⁻¹⁰ to 2 [LL05, VI].
    loss : {"hinge", "log_loss"}, default="hinge"
        The SVM's loss, or that of logistic regression, which gives probabilities: `predict_proba`.
    max_bins : int or None, default=None
        None solves the exact problem. With a number (256 is good) each feature has at most that number of
        bins of equally many samples, and each value moves to the mean of its bin: faster for many samples,
        and for most data the same classifier.
    tol : float, default=1e-3
        The largest violation of the optimality conditions at which to stop, as in `sklearn.svm.SVC`; for the
        log-loss, and with bins from some thousands of samples on, ten times the relative duality gap.
    max_iter : int or None, default=None
        Maximum number of iterations (Newton steps; for few samples, LIBSVM's). None is 1000
        Newton steps.
    class_weight : dict, "balanced" or None, default=None
        What multiplies C for the samples of each class.
    multi_class : {"ovo", "ovr"}, default="ovo"
        More than two classes: one against one, with votes counted as in LIBSVM; or one against the rest.
    random_state : int, RandomState or None, default=None
        Random seed of the samples that the bins are chosen on, if there are more than 200 000. Without bins
        nothing is random.
    n_jobs : int or None, default=None
        Number of threads, over the two-class problems of more than two classes.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        The classes.
    shape_functions_ : list
        Knots and values of g_d per feature, of mean zero over the support vectors (over the bins). For more
        than two classes one such list per problem, in the order (0, 1), (0, 2), … or class by class.
    intercept_ : array of shape (n_problems,)
        b, for these shape functions.
    support_ : array of shape (n_support,)
        The row numbers of the support vectors: training samples with a nonzero coefficient. None of them for
        samples of Dask, whose coefficients stay with the chunks.
    dual_coef_ : array of shape (n_problems, n_support)
        y_i λ_i of (P2), of each support vector.
    objective_, residual_, n_iter_ : arrays of shape (n_problems,)
        The minimum of (P2), the violation of its optimality conditions, and the number of iterations.

    Notes
    -----
    Departures from the paper. The constant Δ_S is left out, which changes nothing (Theorem 2). The paper's
    solver is LIBSVM; this one finds the same minimum.

    With `max_bins`, new samples are not moved to bins: f is linear between the means of the bins.

    Examples
    --------
    >>> from mercer import StumpSVC
    >>> from mercer.datasets import twonorm
    >>> X, y = twonorm(300, random_state=0)
    >>> model = StumpSVC(C=0.01).fit(X, y)
    >>> X_new, y_new = twonorm(1000, random_state=1)
    >>> model.score(X_new, y_new) > 0.95
    True
    """

    def __init__(
        self,
        C: float = 1.0,
        *,
        loss: str = "hinge",
        max_bins: int | None = None,
        tol: float = 1e-3,
        max_iter: int | None = None,
        class_weight: Any = None,
        multi_class: str = "ovo",
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.C = C
        self.loss = loss
        self.max_bins = max_bins
        self.tol = tol
        self.max_iter = max_iter
        self.class_weight = class_weight
        self.multi_class = multi_class
        self.random_state = random_state
        self.n_jobs = n_jobs


class StumpSVCCV(SelectedCSVC, StumpSVM):
    """A `StumpSVC` whose C is chosen by cross-validation along warm-started paths.

    Parameters
    ----------
    Cs : int or array-like, default=11
        The values of C, or how many from 2⁻¹⁷ to 2³ in equal ratios, as in [LL05].
    cv : int, splitter or iterable, default=5
        The folds, as in `sklearn.linear_model.LogisticRegressionCV`.
    scoring : str, callable or None, default=None
        The score to maximise; None is the accuracy.
    loss, max_bins, tol, max_iter, class_weight, multi_class, random_state
        As in `StumpSVC`.
    n_jobs : int or None, default=None
        Number of threads, over the folds.

    Attributes
    ----------
    C_ : float
        The C of the best mean score, the smallest of equals.
    edge_ : {"lower", "upper"} or None
        The end of the values that `C_` is at; there, further values of C may be better.
    Cs_ : array of shape (n_Cs,)
        The values of C, ascending.
    scores_ : array of shape (n_folds, n_Cs)
        The scores.
    classes_, shape_functions_, intercept_, support_, dual_coef_, objective_, residual_, n_iter_
        Of the fit to all samples, as in `StumpSVC`.

    Examples
    --------
    >>> from mercer import StumpSVCCV
    >>> from mercer.datasets import twonorm
    >>> X, y = twonorm(300, random_state=0)
    >>> model = StumpSVCCV().fit(X, y)
    >>> model.C_ < 1
    True
    """

    def __init__(
        self,
        Cs: int | ArrayLike = 11,
        cv: Any = 5,
        *,
        scoring: Any = None,
        loss: str = "hinge",
        max_bins: int | None = None,
        tol: float = 1e-3,
        max_iter: int | None = None,
        class_weight: Any = None,
        multi_class: str = "ovo",
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.Cs = Cs
        self.cv = cv
        self.scoring = scoring
        self.loss = loss
        self.max_bins = max_bins
        self.tol = tol
        self.max_iter = max_iter
        self.class_weight = class_weight
        self.multi_class = multi_class
        self.random_state = random_state
        self.n_jobs = n_jobs
