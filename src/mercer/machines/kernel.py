"""Machines of any kernel, given or learned: a learner and a machine with its kernel as one estimator."""

from dataclasses import dataclass, field
from typing import Any, Self

from numpy.typing import ArrayLike
from sklearn.base import clone, is_regressor
from sklearn.gaussian_process import kernels as sk_kernels
from sklearn.utils.validation import has_fit_parameter

from mercer._typing import Array
from mercer.array_api import is_tensor, namespace, take
from mercer.kernels.tree import fit_kernel
from mercer.learners.base import check_unlabelled
from mercer.machines.classifier import Classifier
from mercer.machines.machine import Machine
from mercer.machines.problems import How
from mercer.machines.regressor import Regressor
from mercer.scikit import check_feature_names, with_callbacks


@dataclass(kw_only=True, eq=False, repr=False)
class LearningMachine(Machine):
    """A machine of any kernel, given or learned, with `learner`, `method`, `n_landmarks`, `max_bins`."""

    learner: Any = field(default=None, kw_only=False)
    method: str = "auto"
    n_landmarks: int | None = None
    max_bins: int | None = None

    @with_callbacks
    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        groups: Any = None,
        pairs: Any = None,
        unlabelled: Any = None,
    ) -> Self:
        """Learn the kernel, then the machine.

        Parameters
        ----------
        X : array-like, dask.array or dask.dataframe of shape (n_samples, n_features)
            The samples; within ``sklearn.config_context(array_api_dispatch=True)`` also a tensor.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Their classes, two or more; or their targets, one number of each sample or several.
        sample_weight : array-like of shape (n_samples,), optional
            What multiplies `C` for each sample. Samples of weight zero are left out of the machine; the
            learner does not see weights.
        groups : array-like of shape (n_samples,), optional
            What a splitter keeps together, for ``C="cv"``.
        pairs : Pairs, optional
            Similar and dissimilar rows of `X`, for the learner.
        unlabelled : array-like of shape (n_unlabelled, n_features), optional
            More samples, without classes or targets, for the learner.
        """
        given = {"pairs": pairs, "unlabelled": unlabelled}
        return self._run(X, y, sample_weight, groups, {k: v for k, v in given.items() if v is not None})

    def _how(self) -> How:
        return How(self.method, self.n_landmarks, self.max_bins)

    @property
    def _learns(self) -> bool:
        return self.learner is not None and not isinstance(self.learner, sk_kernels.Kernel)

    def _kernels(self, X: Array, y: Any, weight: Array, given: dict[str, Any]) -> list[Any]:
        self.learner_ = learn(self, X, y, given)
        if self.learner_ is not None:
            return [self.learner_.kernel_]
        (counted,) = namespace(weight).nonzero(weight > 0)
        return [as_kernel(self.learner, X if len(counted) == len(X) else take(X, counted))]


def learn(machine: Any, X: Array, y: Any, given: dict[str, Any]) -> Any:
    """Return the learner of a machine, fitted; None for a kernel, which has nothing to learn."""
    learner = machine.learner
    if learner is None or isinstance(learner, sk_kernels.Kernel):
        if given:
            what, name = " and ".join(given), type(machine).__name__
            raise ValueError(
                f"{what} given, but the kernel {learner} is fixed: give {name} a learner instead"
            )
        return None
    if isinstance(learner, type) or not hasattr(learner, "fit"):
        raise TypeError(f"learner must be a learner, a scikit-learn kernel or None, not {learner!r}")
    if "unlabelled" in given and not is_tensor(given["unlabelled"]):  # the learner sees no names
        check_feature_names(machine, given["unlabelled"], reset=False)
        given = {**given, "unlabelled": check_unlabelled(given["unlabelled"], X.shape[1])}
    is_number = is_regressor(machine) and has_fit_parameter(learner, "target")
    fitted = clone(learner).fit(X, **{"target" if is_number else "y": y}, **given)
    if not hasattr(fitted, "kernel_"):
        raise TypeError(f"learner must leave a kernel_ when it is fitted; {learner!r} does not")
    return fitted


def as_kernel(kernel: Any, X: Array) -> Any:
    """Return a given kernel, with what it takes from the samples; None is the plain inner product."""
    if kernel is None:
        return sk_kernels.DotProduct(sigma_0=0.0, sigma_0_bounds="fixed")
    return fit_kernel(clone(kernel), X)


@dataclass(kw_only=True, eq=False, repr=False)
class KernelSVC(Classifier, LearningMachine):
    r"""A kernel learner and a machine with its kernel as one classifier.

    `fit` learns the kernel and then solves, for each pair of classes,

    .. math:: \min_{w, b} \tfrac12 \|w\|^2 + \sum_i C_i \, \ell(y_i (\langle w, \phi(x_i) \rangle + b)),

    where φ is the feature map of the learned kernel, :math:`C_i` is `C` times the weights of the sample and
    of its class, and ℓ is the hinge, max(0, 1 − m): the soft-margin SVM [LL05, (P1)]. Since the kernel is
    learned inside `fit`, cross-validation of the whole learns it from the training folds alone: nothing
    leaks.

    Parameters
    ----------
    learner : learner, kernel or None, default=None
        An estimator whose ``fit(X, y, *, pairs, unlabelled)`` leaves a `kernel_`; or a kernel (of mercer or
        of scikit-learn), for which there is nothing to learn. None is the plain inner product.
    C : float, "cv" or None, default=None
        The penalty of margin violations. Learned kernels have scales of their own: search C over 1e-4 … 1e2.
        None is the C that the learner learns for, if it has an `svm_C` (`Superkernel`), and else 1. "cv" is
        the best of `Cs` by cross-validation, relative to the kernel's scale as with `relative_C`; a kernel
        that is learned from labels is learned in each fold.
    loss : {"hinge", "log_loss", "squared_error"} or Loss, default="hinge"
        The SVM's loss; that of logistic regression, which gives probabilities (`predict_proba`); or least
        squares on ±1. A `mercer.solvers.newton.Loss` of your own will do, too.
    relative_C : bool, default=False
        Whether `C` is divided by the mean squared distance of the samples, weighted by `sample_weight`, from
        their mean in the feature space of the kernel, so that its scale does not matter: then search C over
        0.1 … 100.
    kernel_per_class_pair : bool, default=False
        Whether each pair of classes has the part of the kernel that suits it, which the learner's
        `kernel_for` chooses: of `KernelBoost`, the number of rounds that is best aligned with the labels of
        these two [HBW06, 2.4]. The kernel is learned once, from all classes: those with few labels profit
        from the others. Each pair then is a problem of its own, in which `class_weight="balanced"` balances
        the two classes and `relative_C` looks at their samples. Predictions take longer.
    multi_class : {"auto", "ovo", "ovr", "multinomial"}, default="auto"
        More than two classes: one against one, one against the rest, or all at once by the multinomial
        log-loss. "auto" is "ovo", and for "log_loss" "multinomial" where it can be (not on tables and slices,
        nor for Dask collections).
    method : {"auto", "table", "sliced", "features", "gram", "landmarks"}, default="auto"
        How to compute. "gram": on the Gram matrix, in O(n²) memory; LIBSVM minimises the hinge. "features": a
        kernel with a finite feature map of p features, by Newton steps, O(n p) memory. "landmarks": samples
        drawn at random stand for all (Nyström's approximation), as features. "table" is for `kernels.Stump`,
        "sliced" for `kernels.Perceptron`, as in `StumpSVC` and `PerceptronSVC`. "auto" takes a table for the
        stump kernel, features where there are any and p ≤ n / 5, n the samples of a pair of classes, and the
        Gram matrix up to 20 000 samples with the hinge (5000 with other losses); beyond, slices or landmarks.
    n_landmarks : int or None, default=None
        Number of landmarks; None is 2000. By the thousand they take conjugate gradients, O(n m) each. Kernel
        values take 2 GB at most, or, of more than 670 000 samples, 4 GB: of a million there are 800
        landmarks, whatever is asked for, and of more fewer. Of several classes at once, tensors and Dask
        collections, where features take O(n m²), None is 2000 up to 17 000 samples, and fewer of more.
    max_bins : int or None, default=None
        Number of bins of a feature, for "table" and "sliced".
    Cs : int or array-like, default=9
        The values of C for ``C="cv"``, or how many from 2⁻⁴ to 2¹² in equal ratios.
    tol : float, default=1e-3
        The largest violation of the optimality conditions at which to stop, as in `sklearn.svm.SVC`, or ten
        times the relative duality gap; of few features, a millionth of it.
    max_iter : int or None, default=None
        Maximum number of iterations per problem. None: 1000 Newton steps; of LIBSVM, as many as needed, but
        where it goes round in circles it is given a larger tolerance, and a warning says so.
    random_state : int, RandomState or None, default=None
        Random seed of landmarks and slices, and of the samples that choose C.
    cv, scoring, class_weight, n_jobs
        As in `StumpSVC`.

    Attributes
    ----------
    learner_ : estimator or None
        The fitted learner; None where a kernel was given.
    kernel_ : kernel
        The kernel that was learned or given.
    method_ : str
        How it was computed.
    machines_ : list of functions
        One for all pairs of classes (0, 1), (0, 2), …, or one for each pair with `kernel_per_class_pair`.
        Called on rows, it returns their decision values. Those of a kernel have `kernel`, `anchors` (the
        support vectors or landmarks, the only samples that are kept; None if the features were used), `coef`
        and `intercept`.
    classes_, support_, dual_coef_, intercept_, objective_, residual_, n_iter_, C_, Cs_, scores_, edge_
        As in `StumpSVC`; not `support_` and `dual_coef_` with `kernel_per_class_pair`.

    Notes
    -----
    "gram" and "features" give the same decision function up to the tolerance. LIBSVM's default one leaves up
    to about 10⁻²; where at most 150 samples of a problem lie on the margin, the linear equations that say so
    give the other digits. LIBLINEAR is not used: it penalises the intercept, which is another problem. From
    3000 samples on, LIBSVM computes the Gaussian kernel itself.

    LIBSVM stores the kernel in single precision, which a large constant in the kernel uses up. Hence K is
    centred first, K_ij − m_i − m_j: since Σ y_i λ_i = 0 this gives the same SVM (the argument of
    [LL05, Theorem 2]) but for its intercept, which Σ y_i λ_i m_i puts right.

    `sample_weight` is for the machine; the learner does not see it. With `pairs` the kernel is learned from
    them alone, and `y` is for the machine. They are row numbers of the `X` of the same `fit`:
    cross-validation, which passes on parts of `X`, does not renumber them.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from mercer import KernelSVC
    >>> from mercer.kernels import Perceptron
    >>> X, y = load_iris(return_X_y=True)
    >>> model = KernelSVC(Perceptron(), C="cv", loss="log_loss").fit(X, y)
    >>> bool(model.score(X, y) > 0.95)
    True

    Few labels, and a kernel for each pair of classes:

    >>> from mercer import KernelBoost
    >>> learner = KernelBoost(n_rounds=5, random_state=0)
    >>> model = KernelSVC(learner, C=100.0, kernel_per_class_pair=True)
    >>> bool(model.fit(X[::5], y[::5], unlabelled=X).score(X, y) > 0.9)
    True
    """

    _grid = (-4, 12)
    C: float | str | None = None
    relative_C: bool = False  # noqa: N815
    kernel_per_class_pair: bool = False
    Cs: int | ArrayLike = 9

    @property
    def _default_penalty(self) -> Any:
        return 1.0 if self.relative_C else getattr(self.learner, "svm_C", 1.0)

    @property
    def _is_relative(self) -> bool:
        return bool(self.relative_C) or self._selects

    @property
    def _has_pairs(self) -> bool:
        return bool(self.kernel_per_class_pair)


@dataclass(kw_only=True, eq=False, repr=False)
class KernelRegressor(Regressor, LearningMachine):
    r"""A kernel learner and a machine of numbers with its kernel as one regressor.

    `fit` learns the kernel and then solves

    .. math:: \min_{w, b} \tfrac12 \|w\|^2 + \sum_i C_i \, \ell(y_i, \langle w, \phi(x_i) \rangle + b),

    where φ is the feature map of the learned kernel. With the squared error this is kernel ridge regression:
    one eigendecomposition gives the fit for every C, and what each sample's error would be without it, in
    closed form. Of more than 2000 samples, some (1000 to 2000) choose C in this way. Since the kernel is
    learned inside `fit`, cross-validation of the whole learns it from the training folds alone.

    Parameters
    ----------
    learner : learner, kernel or None, default=None
        An estimator whose ``fit(X, *, target, pairs, unlabelled)`` leaves a `kernel_`; or a kernel (of mercer
        or of scikit-learn), for which there is nothing to learn. None is the plain inner product.
    C : float or "cv", default="cv"
        The weight of the losses against the penalty, for a kernel and a target of standard deviation one:
        their scales do not matter. "cv" is the best of `Cs`.
    loss, quantile, epsilon
        As in `StumpRegressor`.
    method : {"auto", "table", "sliced", "features", "gram", "landmarks"}, default="auto"
        How to compute, as in `KernelSVC`. "auto" takes the Gram matrix up to 10 000 samples with the squared
        error, and up to 5000 with other losses.
    n_landmarks, max_bins
        As in `KernelSVC`. With the squared error None is 1000 landmarks of more than 5000 samples, then twice
        as many, and again, for as long as held-out samples gain by it: at most 10 000, one for two samples,
        and some ten seconds' work each time.
    Cs : int or array-like, default=31
        The values of C for ``C="cv"``, or how many from 2⁻¹⁰ to 2²⁰ in equal ratios.
    cv : "loo", int, splitter or iterable, default="loo"
        How ``C="cv"`` judges. "loo" leaves each sample out, in closed form, for ``loss="squared_error"``; for
        other losses it is five folds.
    tol : float, default=1e-3
        Ten times the relative duality gap at which to stop, or the violation of the optimality conditions;
        the squared error has a closed form.
    random_state : int, RandomState or None, default=None
        Random seed of folds, landmarks and slices.
    scoring, max_iter, n_jobs
        As in `StumpRegressor`.

    Attributes
    ----------
    learner_, kernel_, method_
        As in `KernelSVC`.
    C_, edge_, Cs_, intercept_, objective_, residual_
        As in `StumpRegressor`.
    scores_ : array of shape (n_Cs,) or (n_folds, n_Cs)
        Minus the leave-one-out mean squared errors in variances of the targets, of the samples that chose C;
        or the scores of the folds.
    unseen_ : UnseenErrors
        The leave-one-out errors at `C_`, or those of the folds, for `predict_interval`.
    machines_ : list of functions
        The function of the standardised targets, with its support vectors, as in `KernelSVC`.
    n_iter_ : int
        Number of Newton steps; one for the squared error.

    Notes
    -----
    The learner is told that y holds numbers, whatever their values are. `RelevanceKernel` learns from them;
    `BoostedKernel`, `IdealizedKernel` and `KernelBoost`, which in their papers know classes and pairs, learn
    from the pairs that `Pairs.from_target` makes of near and far numbers.

    The leave-one-out errors are exact for a kernel that is given: of a learned one, what it has learned from
    a sample stays.

    Examples
    --------
    >>> from sklearn.datasets import make_friedman1
    >>> from sklearn.gaussian_process.kernels import RBF
    >>> from mercer import KernelRegressor
    >>> X, y = make_friedman1(300, n_features=5, random_state=0)
    >>> model = KernelRegressor(RBF(2.0)).fit(X, y)
    >>> X_new, y_new = make_friedman1(300, n_features=5, random_state=1)
    >>> model.score(X_new, y_new) > 0.95
    True
    """

    _grid = (-10, 20)
    C: float | str | None = "cv"
    Cs: int | ArrayLike = 31
    cv: Any = "loo"

    @property
    def _is_relative(self) -> bool:
        return True
