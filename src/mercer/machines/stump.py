"""All decision stumps at once: the machines of the stump kernel, which are additive [LL05, IV]."""

from dataclasses import dataclass
from typing import Any

from sklearn.utils.validation import check_is_fitted

from mercer._typing import Array
from mercer.kernels import Stump
from mercer.machines.classifier import Classifier
from mercer.machines.functions import AdditiveFunction, ShapeFunction
from mercer.machines.machine import NamedMachine
from mercer.machines.problems import How
from mercer.machines.regressor import Regressor


@dataclass(kw_only=True, eq=False, repr=False)
class StumpMachine(NamedMachine):
    """What the machines of the stump kernel share: it, and the parameter `max_bins`."""

    max_bins: int | None = None

    def _kernels(self, X: Array, y: Any, weight: Array, given: dict[str, Any]) -> list[Any]:
        return [Stump()]

    def _how(self) -> How:
        return How("table", max_bins=self.max_bins)

    @property
    def _functions(self) -> list[AdditiveFunction]:
        check_is_fitted(self)
        (function,) = self.machines_
        functions: list[AdditiveFunction] = function.each
        return functions


@dataclass(kw_only=True, eq=False, repr=False)
class StumpSVC(Classifier, StumpMachine):
    r"""The soft-margin SVM over all decision stumps [LL05, Definition 2 and (P2)].

    The stump kernel :math:`\Delta_S - \|x - x'\|_1` is the inner product of what infinitely many decision
    stumps say about two samples. Its SVM is exactly an additive model,

    .. math:: f(x) = \sum_d g_d(x_d) + b, \qquad
              \min_{g, b} \tfrac14 \sum_d \int g_d'(t)^2 dt + \sum_i C_i \max(0, 1 - y_i f(x_i)),

    with piecewise linear :math:`g_d` (`shape_functions_`) that are constant beyond the data. The solver
    (`mercer.solvers.newton`) uses this: no Gram matrix, O(n D) memory, O(n D) for each product with the
    kernel. LIBSVM on the Gram matrix finds the same classifier, at O(n²); for few samples it is called.

    The kernel adds up distances: scale the features, best by `ClippedScaler`, as for any SVM.

    Parameters
    ----------
    C : float or "cv", default=1.0
        The penalty of margin violations. Features in [−1, 1] need values of about 2⁻¹⁰ to 2 [LL05, VI]. "cv"
        is the best of `Cs` by cross-validation, along paths of warm starts.
    loss : {"hinge", "log_loss", "squared_error"} or Loss, default="hinge"
        The SVM's loss; that of logistic regression, which gives probabilities (`predict_proba`); or least
        squares on ±1.
    max_bins : int or None, default=None
        None solves the exact problem. With a number (256 is good) each feature has at most that number of
        bins of equally many samples, and each value moves to the mean of its bin: faster for many samples,
        and for most data the same classifier.
    Cs : int or array-like, default=11
        The values of C for ``C="cv"``, or how many from 2⁻¹⁷ to 2³ in equal ratios, as in [LL05].
    cv : int, splitter or iterable, default=5
        The folds for ``C="cv"``, as in `sklearn.linear_model.LogisticRegressionCV`.
    scoring : str, callable or None, default=None
        The score to maximise by ``C="cv"``; None is the accuracy, or minus the log loss for "log_loss".
    tol : float, default=1e-3
        The largest violation of the optimality conditions at which to stop, as in `sklearn.svm.SVC`; for the
        log-loss, and with bins from some thousands of samples on, ten times the relative duality gap.
    max_iter : int or None, default=None
        Maximum number of iterations (Newton steps; for few samples, LIBSVM's). None is 1000 Newton steps.
    class_weight : dict, "balanced" or None, default=None
        What multiplies C for the samples of each class.
    multi_class : {"auto", "ovo", "ovr"}, default="auto"
        More than two classes: one against one ("auto"), with votes counted as in LIBSVM, or of "log_loss"
        with coupled probabilities; or one against the rest.
    random_state : int, RandomState or None, default=None
        Random seed of the samples that the bins are chosen on, if there are more than 200 000. Without bins
        nothing is random.
    n_jobs : int or None, default=None
        Number of threads, over the folds, or the two-class problems of more than two classes.

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
    C_ : float
        For ``C="cv"``, the C of the best mean score, the smallest of equals.
    edge_ : {"lower", "upper"} or None
        The end of the values that `C_` is at; there, further values of C may be better.
    Cs_ : array of shape (n_Cs,)
        The values of C, ascending.
    scores_ : array of shape (n_folds, n_Cs)
        The scores. A path ends when two values of C in a row are worse than the best by more than a
        standard error, or one by more than five; those that were not tried have NaN.

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
    >>> StumpSVC(C="cv").fit(X, y).C_ < 1
    True
    """

    @property
    def shape_functions_(self) -> list[Any]:
        """The g_d of f(x) = Σ_d g_d(x_d) + b."""
        shapes: list[list[ShapeFunction]] = [function.shapes() for function in self._functions]
        return shapes[0] if len(self.classes_) == 2 else shapes


@dataclass(kw_only=True, eq=False, repr=False)
class StumpRegressor(Regressor, StumpMachine):
    r"""Regression with the stump kernel, as an additive model [LL05].

    The stump kernel :math:`\Delta_S - \|x - x'\|_1` is the inner product of what infinitely many decision
    stumps say about two samples. With a loss ℓ of numbers in place of the hinge its machine is

    .. math:: f(x) = \sum_d g_d(x_d) + b, \qquad
              \min_{g, b} \tfrac14 \sum_d \int g_d'(t)^2 dt + \sum_i C_i \, \ell(y_i, f(x_i)),

    a first-order smoothing spline of each feature: piecewise linear :math:`g_d` (`shape_functions_`) that are
    constant beyond the data. The solver is that of `StumpSVC`: no Gram matrix, O(n D) memory.

    The target is standardised inside: C and ε do not depend on its units, but for ``loss="poisson"``, where
    a thousand counts say more than one, and C for targets in thousands is a thousand times that for units.
    The kernel adds up distances: scale the features, best by `ClippedScaler`. Samples may be tensors of
    torch, within ``sklearn.config_context(array_api_dispatch=True)``: with bins they are computed with where
    they are, on a GPU for example.

    Parameters
    ----------
    C : float or "cv", default=1.0
        The weight of the losses against the penalty. Standardised features need values of about 2⁻¹⁰ (noise
        almost everywhere) to 2¹⁰ (almost none). "cv" is the best of `Cs` by cross-validation.
    loss : {"squared_error", "absolute_error", "quantile", "epsilon_insensitive", "poisson"} or Loss
        (y − f)² / 2 for the mean, the default; \|y − f\| for the median; the pinball loss for a quantile;
        max(0, \|y − f\| − ε); or exp f − y f for counts and other targets of at least 0, with exp f as the
        prediction.
    quantile : float, default=0.5
        The level, for ``loss="quantile"``.
    epsilon : float, default=0.1
        ε in standard deviations of the target, for ``loss="epsilon_insensitive"``.
    max_bins : int or None, default=None
        None solves the exact problem. With a number (256 is good) each feature has at most that number of
        bins of equally many samples, and each value moves to the mean of its bin: faster for many samples.
    Cs : int or array-like, default=12
        The values of C for ``C="cv"``, or how many from 2⁻¹² to 2¹⁰ in equal ratios.
    cv : int, splitter, iterable or "loo", default=5
        The folds for ``C="cv"``, as in `sklearn.linear_model.LassoCV`; but a number of folds takes samples in
        random order. "loo" leaves each sample out, in closed form, for ``loss="squared_error"``.
    scoring : str, callable or None, default=None
        The score to maximise by ``C="cv"``; None is minus the mean of the loss.
    tol : float, default=1e-3
        Ten times the relative duality gap at which to stop; for the absolute error and quantiles without
        bins, the largest violation of the optimality conditions.
    max_iter : int or None, default=None
        Maximum number of Newton steps; None is 1000. Squared errors of samples in bins take steps of
        conjugate gradients, which are quicker: None is 10 000.
    random_state : int, RandomState or None, default=None
        Random seed of the folds, and of the samples that the bins are chosen on, if there are more than
        200 000.
    n_jobs : int or None, default=None
        Number of threads, over the folds, or several targets.

    Attributes
    ----------
    shape_functions_ : list
        Knots and values of g_d per feature, in units of the target (of its logarithm for "poisson"), of mean
        zero over the knots. For several targets one such list for each.
    intercept_ : float or array of shape (n_targets,)
        b, for these shape functions.
    objective_, residual_ : float or arrays of shape (n_targets,)
        The minimum of the dual problem of the standardised target, and how far it is from optimal.
    n_iter_ : int
        Number of Newton steps.
    C_, edge_, Cs_, scores_
        As in `StumpSVC`.
    unseen_ : UnseenErrors
        The errors of the folds' test samples at this C, for `predict_interval`.

    Notes
    -----
    [LL05] has classifiers alone; the losses of numbers are ours. A target that is constant is predicted as it
    is. Two quantiles make an interval whose width depends on x; with ``C="cv"`` there is `predict_interval`.

    Examples
    --------
    >>> from sklearn.datasets import make_friedman1
    >>> from mercer import StumpRegressor
    >>> X, y = make_friedman1(500, random_state=0)
    >>> model = StumpRegressor(C=16.0).fit(X, y)
    >>> X_new, y_new = make_friedman1(500, random_state=1)
    >>> model.score(X_new, y_new) > 0.7
    True
    >>> model = StumpRegressor(C="cv", random_state=0).fit(X, y)
    >>> low, high = model.predict_interval(X_new, coverage=0.9)
    >>> bool(0.85 < ((low <= y_new) & (y_new <= high)).mean() < 0.95)
    True
    """

    @property
    def shape_functions_(self) -> list[Any]:
        """The g_d of f(x) = Σ_d g_d(x_d) + b, in units of the target."""
        shapes = [
            [ShapeFunction(knots, scale * values) for knots, values in function.shapes()]
            for function, scale in zip(self._functions, self._scaling.scale, strict=True)
        ]
        return shapes[0] if self._one_target else shapes
