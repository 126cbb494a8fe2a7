"""The front of every classifier: from classes to two-class problems, and back to classes or probabilities."""

from collections.abc import Callable, Iterator
from copy import copy
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils import check_random_state, compute_sample_weight
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from mercer._typing import Array, Index
from mercer.array_api import like, namespace, take, to_numpy
from mercer.machines.functions import features_of, has_features
from mercer.machines.labels import LabelledSamples, check_samples
from mercer.machines.losses import class_loss
from mercer.machines.machine import LearningMachine, Machine
from mercer.machines.multiclass import choose_classes, score_classes, soften, split_problems
from mercer.machines.places import follow, is_lazy
from mercer.machines.problems import MULTINOMIAL, How, Options, Problem, Problems, Solved
from mercer.machines.rows_of import SOFTMAX_ROWS, prepare
from mercer.machines.samples import PreparedSamples
from mercer.machines.selection import Trial, check_score, draw_some, split_classes
from mercer.parameters import check_option
from mercer.scikit import CallbackContext, average, with_callbacks
from mercer.solvers.newton import LogLoss, Loss
from mercer.validation import check_rows

Answer = Callable[[Any, Array], Any]  # of a model, to the decision values of rows
FEW_CLASSES = 5  # of fewer, problems are not so many that LIBSVM should have them all at once
FACTORS = tuple(2.0 ** np.arange(-2.0, 1.25, 0.25).round(2))  # of f, for probabilities
SELECTION_ROWS = 5000  # of which C is chosen where kernels are dear: on more, it hardly changes


class Classifier(ClassifierMixin, Machine):
    """A machine of two-class problems. It has the parameters `class_weight` and `multi_class` too."""

    _scheme = "ovo"  # one against one, unless a fit decided otherwise

    def _check_parameters(self) -> Loss:
        """Return the loss."""
        self._check_machine()
        check_option(self.multi_class, "multi_class", ("auto", "ovo", "ovr", MULTINOMIAL))
        return class_loss(self.loss)

    def _choose_scheme(self, loss: Loss, can_be_joint: bool) -> str:
        """Return how several classes become problems; the multinomial one needs features or a Gram matrix."""
        if self.multi_class == MULTINOMIAL and not (can_be_joint and self._is_log):
            raise ValueError(
                "multi_class='multinomial' is for loss='log_loss' in memory, on a Gram matrix, features or "
                "landmarks: use multi_class='auto'."
            )
        if self.multi_class != "auto":
            return str(self.multi_class)
        return MULTINOMIAL if can_be_joint and self._is_log else "ovo"

    def _fit(
        self, X: Any, y: Any, sample_weight: Any, groups: Any, given: dict[str, Any], context: CallbackContext
    ) -> None:
        """Choose what is to be chosen, solve every two-class problem, and keep the result."""
        loss = self._check_parameters()
        if is_lazy(X):
            from mercer.machines.distributed import fit_classes  # and Dask, which is here

            fit_classes(self, X, y, sample_weight, loss, context)
            return
        samples = check_samples(self, X, y, sample_weight, self.class_weight)
        self._check_extent(samples)
        if not self._computes_on(samples.X):
            samples = samples.in_memory(self)
        weight = self._given_weight(samples) * to_numpy(samples.weight > 0)
        kernels = self._kernels(samples.X, samples.y, weight, given)
        self.kernel_, C, factor = kernels[0], self._penalty, 1.0
        counted, rows = samples.counted()
        how = self._resolve(self.kernel_, loss, counted.X, len(self.classes_), self._effort(counted))
        is_joint = how.method in ("gram", "features", "landmarks") and not self._has_pairs
        self._scheme = self._choose_scheme(loss, is_joint)
        if self._selects:
            self.kernel_, C, factor = self._select(samples, kernels, how, groups, given, loss, context)
        self.C_ = float(C)
        with self._reporting(context) as options:
            each = self._solve(counted, how, self.C_, loss, options)
        self._warn_unless_done(each)
        self._keep([solved._replace(function=solved.function.scaled(factor)) for solved in each], rows)
        follow(self, X)

    def _effort(self, samples: LabelledSamples) -> float:
        """Return C times the variance of the samples, in which LIBSVM's time grows, where it is asked for."""
        if self._selects or len(self.classes_) < FEW_CLASSES or not has_features(self.kernel_):
            return np.inf
        C = float(self._penalty) * float(samples.weight.max())
        if self._is_relative:
            return C
        return C * float(namespace(samples.X).var(features_of(self.kernel_, samples.X), axis=0).sum())

    def _solve(
        self, samples: LabelledSamples, how: How, C: float, loss: Loss, options: Options
    ) -> list[Solved]:
        """Solve all problems with one kernel, or each with its own."""
        problems = split_problems(samples.label, samples.weight, len(self.classes_), self._scheme)
        if self._has_pairs:
            return [self._solve_pair(samples, problem, how, C, loss, options) for problem in problems.each]
        prepared = prepare(self.kernel_, samples.X, how)
        C = C / self._unit(prepared, self._given_weight(samples))
        return [next(prepared.solve_path(problems, [C], loss, options))]

    @property
    def _has_pairs(self) -> bool:
        """Whether each pair of classes has its own kernel."""
        return False

    def _solve_pair(
        self, samples: LabelledSamples, problem: Problem, how: How, C: float, loss: Loss, options: Options
    ) -> Solved:
        """Solve the problem of two classes with the kernel, and with the weights, that suit them."""
        pair = samples if problem.rows is None else samples.select(problem.rows)
        weight, xp = pair.weight, namespace(pair.label)
        if self.class_weight == "balanced":
            weight = like(pair.weight, compute_sample_weight("balanced", to_numpy(pair.y)))
            weight = weight if pair.sample_weight is None else weight * pair.sample_weight
        kernel = self.learner_.kernel_for(pair.X, pair.label)
        prepared = prepare(kernel, pair.X, how)
        positive = xp.astype(problem.y > 0, xp.int64)
        problems = Problems([Problem(None, problem.y, weight)], positive, weight)
        C = C / self._unit(prepared, self._given_weight(pair))
        return next(prepared.solve_path(problems, [C], loss, options))

    def _given_weight(self, samples: LabelledSamples) -> Array:
        """Return by what samples count for the distances that C may be relative to."""
        given = samples.sample_weight
        return np.ones(len(samples.X)) if given is None else to_numpy(given)

    def _keep(self, each: list[Solved], rows: Any) -> None:
        self.machines_ = [solved.function for solved in each]
        if len(each) == 1:
            self.support_, self.dual_coef_ = rows[each[0].support], each[0].coef
        self.intercept_ = np.concatenate([to_numpy(solved.function.intercept) for solved in each])
        for name in ("objective", "residual", "n_iter"):
            setattr(self, f"{name}_", np.concatenate([getattr(solved, name) for solved in each]))

    def _select(
        self,
        samples: LabelledSamples,
        kernels: list[Any],
        how: How,
        groups: Any,
        given: dict[str, Any],
        loss: Loss,
        context: CallbackContext,
    ) -> tuple[Any, float, float]:
        """Return the kernel, the C and the factor of f of the best mean score, of equals the smallest C."""
        counts, label = to_numpy(samples.weight > 0), to_numpy(samples.label)
        if how.method in ("gram", "landmarks"):
            most = SOFTMAX_ROWS if self._scheme == MULTINOMIAL else SELECTION_ROWS
            counts = draw_some(label, counts, most, check_random_state(self.random_state))
            how = how._replace(method="gram")
        folds = split_classes(self.cv, samples.X, label, counts, self.classes_, groups)
        tried = self._compare(samples, folds, kernels, how, given, loss, context)
        return tried.kernel, tried.C, self._factors[tried.factor]

    @property
    def _factors(self) -> tuple[float, ...]:
        """Return what f may be multiplied by to give probabilities, as held-out samples say."""
        return FACTORS if self._is_log and self.scoring is None else (1.0,)

    def _targets(self, samples: LabelledSamples) -> Any:
        return samples.y

    def _walk(
        self,
        prepared: PreparedSamples,
        samples: LabelledSamples,
        train: Index,
        test: Index,
        loss: Loss,
        Cs: Array,
    ) -> Iterator[Trial]:
        """Fit the training samples of a fold for each C, and look at its test samples."""
        train, test = like(samples.label, train), like(samples.label, test)
        known, part, held_out = samples.select(train), prepared.select(train), samples.select(test)
        problems = split_problems(known.label, known.weight, len(self.classes_), self._scheme)
        path = list(Cs / self._unit(part, self._given_weight(known)))
        for solved in part.solve_path(problems, path, loss, self._options()._replace(n_jobs=1)):
            scores = self._score(solved, prepared.values(solved, test, train), held_out)
            yield Trial(scores, None if solved.is_done else solved)

    def _score(self, solved: Solved, values: Array, test: LabelledSamples) -> list[float]:
        """Return the score of a candidate on the test rows, for each factor."""
        candidate = copy(self)
        candidate.machines_ = [solved.function]
        weight, xp = test.sample_weight, namespace(values)
        if self.scoring is None:  # accuracy_score or log_loss, without checking again what has been checked
            if self._is_log:
                rows = xp.arange(len(values), device=values.device)
                each = (_estimate(candidate, factor * values)[rows, test.label] for factor in self._factors)
                good = [xp.log(xp.clip(probability, 1e-15, 1.0)) for probability in each]
            else:
                good = [xp.astype(_choose(candidate, values) == test.label, xp.float64)]
            return [float(average(one, weights=weight, xp=xp)) for one in good]
        from sklearn.metrics import check_scoring

        weighted = weight is not None and not callable(self.scoring)
        options = {"sample_weight": weight} if weighted else {}
        scorer = check_scoring(candidate, scoring=self.scoring)
        score = scorer(candidate, test.X, take(self.classes_, test.label), **options)
        return [check_score(score, self.scoring, len(test.X))]

    @property
    def _is_log(self) -> bool:
        return isinstance(class_loss(self.loss), LogLoss)

    def decision_function(self, X: Any) -> Array:
        """Return the decision values.

        Two classes: f(x), positive for ``classes_[1]``. More: one score per class. One against one it is the
        number of votes plus the sum of the decision values squashed into (−1/3, 1/3), as in scikit-learn;
        with ``loss="log_loss"`` it is the logarithm of the probability, but for a constant.

        Parameters
        ----------
        X : array-like, dask.array or dask.dataframe of shape (n_samples, n_features)
            The samples.

        Returns
        -------
        array of shape (n_samples,) or (n_samples, n_classes)
            The decision values; of a collection of Dask, not computed yet.
        """
        return self._answer(X, _score, "decision_function")

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the class of each sample.

        One against one it is the first class that has the most votes, as in LIBSVM and `sklearn.svm.SVC`;
        where several have, another one may have the largest value of `decision_function`. With
        ``loss="log_loss"`` it is the most probable class.

        Parameters
        ----------
        X : array-like, dask.array or dask.dataframe of shape (n_samples, n_features)
            The samples.

        Returns
        -------
        array of shape (n_samples,)
            The classes; of a collection of Dask, not computed yet.
        """
        return self._answer(X, _predict, "predict")

    @available_if(lambda self: self._is_log)
    def predict_proba(self, X: Any) -> Array:
        """Return the probability of each class, for ``loss="log_loss"``.

        Parameters
        ----------
        X : array-like, dask.array or dask.dataframe of shape (n_samples, n_features)
            The samples.

        Returns
        -------
        array of shape (n_samples, n_classes)
            The probabilities, in the order of `classes_`.
        """
        return self._answer(X, _estimate, "predict_proba")

    def _predict_with_values(self, X: Any) -> tuple[NDArray[Any], Array]:
        """Return what `predict` and `decision_function` do, in the time of one of them."""
        both: tuple[NDArray[Any], Array] = self._answer(
            X, lambda *given: (_predict(*given), _score(*given)), "predict"
        )
        return both

    def _answer(self, X: Any, answer: Answer, method: str) -> Any:
        """Return what decision values say: an array, or, of a collection of Dask, one not computed yet."""
        check_is_fitted(self)
        if is_lazy(X):
            from mercer.machines.chunks import map_rows

            return map_rows(self, X, answer)
        self._check_place(X, method)
        return answer(self, self._values(check_rows(self, X, reset=False)))


def _score(model: Classifier, values: Array) -> Array:
    return score_classes(values, len(model.classes_), model._scheme, model._is_log)


def _choose(model: Classifier, values: Array) -> Any:
    return choose_classes(values, len(model.classes_), model._scheme, model._is_log)


def _predict(model: Classifier, values: Array) -> NDArray[Any]:
    chosen: NDArray[Any] = take(model.classes_, _choose(model, values))
    return chosen


def _estimate(model: Classifier, values: Array) -> Array:
    return soften(values, len(model.classes_), model._scheme)


class NamedClassifier(Classifier):
    """A classifier of a kernel that has a name: what it shares is `fit`."""

    @with_callbacks
    def fit(
        self, X: Any, y: Any, sample_weight: ArrayLike | None = None, groups: ArrayLike | None = None
    ) -> Self:
        """Fit the machine; with ``C="cv"``, choose C by cross-validation first.

        Parameters
        ----------
        X : array-like, dask.array or dask.dataframe of shape (n_samples, n_features)
            The samples. Those of Dask stay where they are, in chunks of rows. So does a tensor, within
            ``sklearn.config_context(array_api_dispatch=True)``.
        y : array-like or collection of Dask of shape (n_samples,)
            Their classes, two or more.
        sample_weight : array-like or collection of Dask of shape (n_samples,), default=None
            What multiplies C for each sample. Samples of weight zero are left out. Scores of folds are
            weighted alike, unless `scoring` is a callable.
        groups : array-like of shape (n_samples,), default=None
            What a splitter such as `sklearn.model_selection.GroupKFold` keeps together, for ``C="cv"``.
        """
        context = self._init_callback_context(max_subtasks=None, sequential_subtasks=False)
        context.call_on_fit_task_begin(estimator=self)
        self._fit(X, y, sample_weight, groups, {}, context)
        context.call_on_fit_task_end(estimator=self)
        return self


class KernelSVC(LearningMachine, Classifier):
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
    class_weight : dict, "balanced" or None, default=None
        What multiplies `C` for the samples of each class, as in `sklearn.svm.SVC`.
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
    cv : int, splitter or iterable, default=5
        The folds for ``C="cv"``, as in `sklearn.linear_model.LogisticRegressionCV`.
    scoring : str, callable or None, default=None
        The score to maximise by ``C="cv"``; None is the accuracy, or minus the log loss for "log_loss".
    tol : float, default=1e-3
        The largest violation of the optimality conditions at which to stop, as in `sklearn.svm.SVC`, or ten
        times the relative duality gap; of few features, a millionth of it.
    max_iter : int or None, default=None
        Maximum number of iterations per problem. None: 1000 Newton steps; of LIBSVM, as many as needed, but
        where it goes round in circles it is given a larger tolerance, and a warning says so.
    random_state : int, RandomState or None, default=None
        Random seed of landmarks and slices, and of the samples that choose C.
    n_jobs : int or None, default=None
        Number of threads, over the folds, or the problems of more than two classes.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        The classes.
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
    support_, dual_coef_, intercept_, objective_, residual_, n_iter_
        As in `StumpSVC`; the first two not with `kernel_per_class_pair`.
    C_, Cs_, scores_, edge_
        As in `StumpSVC`, for ``C="cv"``.

    Notes
    -----
    "gram" and "features" give the same decision function up to the tolerance. LIBSVM's default one leaves up
    to about 10⁻²; where at most 150 samples of a problem lie on the margin, the linear equations that say so
    give the other digits. LIBLINEAR is not used: it penalises the intercept, which is another problem. From
    3000 samples on, LIBSVM computes the Gaussian kernel itself.

    More than two classes vote one against one, and the first class of the most votes is the prediction, as in
    `sklearn.svm.SVC`.

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

    def __init__(
        self,
        learner: Any = None,
        *,
        C: float | str | None = None,
        loss: Any = "hinge",
        relative_C: bool = False,
        kernel_per_class_pair: bool = False,
        class_weight: Any = None,
        multi_class: str = "auto",
        method: str = "auto",
        n_landmarks: int | None = None,
        max_bins: int | None = None,
        Cs: int | ArrayLike = 9,
        cv: Any = 5,
        scoring: Any = None,
        tol: float = 1e-3,
        max_iter: int | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.learner = learner
        self.C = C
        self.loss = loss
        self.relative_C = relative_C
        self.kernel_per_class_pair = kernel_per_class_pair
        self.class_weight = class_weight
        self.multi_class = multi_class
        self.method = method
        self.n_landmarks = n_landmarks
        self.max_bins = max_bins
        self.Cs = Cs
        self.cv = cv
        self.scoring = scoring
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.n_jobs = n_jobs

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
        y : array-like of shape (n_samples,)
            Their classes, two or more.
        sample_weight : array-like of shape (n_samples,), optional
            What multiplies `C` for each sample. Samples of weight zero are left out of the machine.
        groups : array-like of shape (n_samples,), optional
            What a splitter keeps together, for ``C="cv"``.
        pairs : Pairs, optional
            Similar and dissimilar rows of `X`, for the learner.
        unlabelled : array-like of shape (n_unlabelled, n_features), optional
            More samples, without classes, for the learner.

        Returns
        -------
        KernelSVC
            This estimator.
        """
        if self.kernel_per_class_pair and not hasattr(self.learner, "kernel_for"):
            raise TypeError(
                "kernel_per_class_pair=True needs a learner with kernel_for, such as KernelBoost; "
                f"{self.learner!r} has none"
            )
        given = {"pairs": pairs, "unlabelled": unlabelled}
        given = {name: value for name, value in given.items() if value is not None}
        context = self._init_callback_context(max_subtasks=None, sequential_subtasks=False)
        context.call_on_fit_task_begin(estimator=self)
        self._fit(X, y, sample_weight, groups, given, context)
        context.call_on_fit_task_end(estimator=self)
        return self

    @property
    def _default_penalty(self) -> Any:
        return 1.0 if self.relative_C else getattr(self.learner, "svm_C", 1.0)

    @property
    def _is_relative(self) -> bool:
        return bool(self.relative_C) or self._selects

    @property
    def _has_pairs(self) -> bool:
        return bool(self.kernel_per_class_pair)
