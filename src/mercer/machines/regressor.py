"""The front of every regressor: targets are standardised, fitted one by one, and brought back."""

from collections.abc import Iterator
from copy import copy
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import MultiOutputMixin, RegressorMixin
from sklearn.metrics import check_scoring
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from mercer._typing import Array
from mercer.array_api import like, to_numpy
from mercer.machines.gram_samples import GramSamples, choose_some
from mercer.machines.intervals import UnseenErrors, check_coverage
from mercer.machines.landmark_samples import grow_landmarks
from mercer.machines.losses import NumberLoss, number_loss
from mercer.machines.machine import LearningMachine, Machine
from mercer.machines.places import check_few, follow, is_lazy
from mercer.machines.problems import How, Solved
from mercer.machines.rows_of import prepare
from mercer.machines.samples import PreparedSamples
from mercer.machines.selection import Trial, check_score, split_numbers, thin_folds
from mercer.machines.targets import NumberSamples, TargetScaling, check_numbers
from mercer.scikit import CallbackContext, with_callbacks
from mercer.solvers.ridge import RidgePath
from mercer.validation import check_rows

SELECTION_ROWS = 3000  # of which C is chosen where kernels are dear: on more, it hardly changes
LEAVE_ONE_OUT = "loo"


class Regressor(MultiOutputMixin, RegressorMixin, Machine):
    """A machine of one target or several. It has the parameters `quantile` and `epsilon` too."""

    def _check_parameters(self) -> NumberLoss:
        """Return the loss."""
        self._check_machine()
        return self._number_loss()

    def _number_loss(self) -> NumberLoss:
        return number_loss(self.loss, self.quantile, self.epsilon)

    def _fit(
        self, X: Any, y: Any, sample_weight: Any, groups: Any, given: dict[str, Any], context: CallbackContext
    ) -> None:
        """Choose what is to be chosen, fit every target, and keep the result."""
        loss = self._check_parameters()
        if is_lazy(X):
            from mercer.machines.distributed import fit_numbers  # and Dask, which is here

            fit_numbers(self, X, y, sample_weight, loss, context)
            return
        samples = check_numbers(self, X, y, sample_weight, loss.is_log)
        self._check_extent(samples)
        if not self._computes_on(samples.X):
            check_few(samples.X)
            samples = samples._replace(X=to_numpy(samples.X))
        loss = number_loss(self.loss, self.quantile, self.epsilon, samples.spread())
        kernels = self._kernels(samples.X, self._shape(samples.Y), samples.weight, given)
        counted = samples.select(np.flatnonzero(samples.weight > 0))
        how = self._resolve(kernels[0], loss.solver, counted.X)
        self.kernel_, C = kernels[0], self._penalty
        if self._selects and self._leaves_one_out(loss):
            C = self._choose_by_leaving_out(counted, loss)
        elif self._selects:
            self.kernel_, C = self._select(samples, kernels, how, groups, given, loss, context)
        self.C_ = float(C)
        self._scaling = TargetScaling.of(counted, loss.is_log)
        prepared, problems = prepare(self.kernel_, counted.X, how), self._scaling.pose(counted)
        C = self.C_ / self._unit(prepared, counted.weight)
        prepared = grow_landmarks(prepared, problems, C)
        with self._reporting(context) as options:
            solved = next(prepared.solve_path(problems, [C], loss.solver, options))
        if self._leaves_one_out(loss):
            Y = np.column_stack([problem.y for problem in problems.each])
            error, some = prepared.left_out(Y, counted.weight, C)
            self.unseen_ = UnseenErrors(self._scaling.scale * error, counted.weight[some], False)
        self._warn_unless_done([solved])
        self._keep(solved)
        follow(self, X)

    def _leaves_one_out(self, loss: NumberLoss) -> bool:
        """Return whether C is judged by leaving each sample out, in closed form."""
        return bool(isinstance(self.cv, str) and self.cv == LEAVE_ONE_OUT and loss.name == "squared_error")

    def _keep(self, solved: Solved) -> None:
        self.machines_ = [solved.function]
        each = to_numpy(solved.function.intercept)
        self.intercept_ = self._shape_numbers(self._scaling.offset + self._scaling.scale * each)
        self.objective_ = self._shape_numbers(solved.objective)
        self.residual_ = self._shape_numbers(solved.residual)
        self.n_iter_ = int(solved.n_iter.max())

    def _shape_numbers(self, numbers: Array) -> Any:
        return float(numbers[0]) if self._one_target else numbers

    def _shape(self, columns: Array) -> Array:
        return columns[:, 0] if self._one_target else columns

    def _choose_by_leaving_out(self, samples: NumberSamples, loss: NumberLoss) -> float:
        """Return the C of the least leave-one-out error, of some of the samples, on their Gram matrix."""
        few = samples.select(choose_some(len(samples.X)))
        few = few._replace(X=to_numpy(few.X))
        problems = TargetScaling.of(few, loss.is_log).pose(few)
        gram = GramSamples.of(self.kernel_, few.X)
        Y = np.column_stack([problem.y for problem in problems.each])
        path, unit = RidgePath.of(gram.K, Y, few.weight), self._unit(gram, few.weight)
        left_out = (path.solve(C / unit)[1] for C in self.Cs_)
        errors = [np.average(error**2, axis=0, weights=few.weight).mean() for error in left_out]
        self.scores_ = -np.array(errors)
        return float(self.Cs_[int(np.argmin(errors))])

    def _select(
        self,
        samples: NumberSamples,
        kernels: list[Any],
        how: How,
        groups: Any,
        given: dict[str, Any],
        loss: NumberLoss,
        context: CallbackContext,
    ) -> tuple[Any, float]:
        """Return the kernel and the C of the best mean score, of equals the smallest C."""
        counts = samples.weight > 0
        cv = 5 if isinstance(self.cv, str) and self.cv == LEAVE_ONE_OUT else self.cv
        folds = all_folds = split_numbers(cv, samples.X, samples.Y, counts, groups, how.seed)
        some, its_how = counts, how
        if how.method in ("gram", "landmarks"):
            its_how = how._replace(method="gram")
            if counts.sum() > SELECTION_ROWS:
                some = np.zeros_like(counts)
                # another generator than that of the folds, whose first numbers would be one of them
                rng = np.random.default_rng(how.seed)
                some[rng.choice(np.flatnonzero(counts), SELECTION_ROWS, replace=False)] = True
                folds = thin_folds(all_folds, some)
        tried = self._compare(samples, folds, kernels, its_how, given, loss, context)
        trials = tried.trials
        if folds is not all_folds:  # what it is like with all samples, of the first fold
            folds, kernel = all_folds[:1], None if self._learns_in_folds(given) else tried.kernel
            walks = self._walks(samples, folds, kernel, how, given, loss, np.array([tried.C]))
            trials = [next(walk) for walk in walks]
        test = np.concatenate([test for _, test in folds])
        predicted = np.concatenate([trial.predicted for trial in trials])
        self.unseen_ = UnseenErrors.of(samples.Y[test], predicted, samples.weight[test], loss.is_log)
        return tried.kernel, tried.C

    def _targets(self, samples: NumberSamples) -> Any:
        return self._shape(samples.Y)

    def _walk(
        self,
        prepared: PreparedSamples,
        samples: NumberSamples,
        train: Any,
        test: Any,
        loss: NumberLoss,
        Cs: Array,
    ) -> Iterator[Trial]:
        """Fit the training rows of a fold for each C, and look at its test rows."""
        rows, others = like(samples.X, train), like(samples.X, test)
        known = NumberSamples(samples.X[rows], samples.Y[train], samples.weight[train])
        held_out = NumberSamples(samples.X[others], samples.Y[test], samples.weight[test])
        scaling, part = TargetScaling.of(known, loss.is_log), prepared.select(rows)
        path = list(np.asarray(Cs) / self._unit(part, known.weight))
        options = self._options()._replace(n_jobs=1)
        for solved in part.solve_path(scaling.pose(known), path, loss.solver, options):
            predicted = to_numpy(scaling.predict(prepared.values(solved, others, rows)))
            candidate = copy(self)
            candidate.machines_, candidate._scaling = [solved.function], scaling
            score = self._score(candidate, held_out, predicted, loss)
            yield Trial([score], None if solved.is_done else solved, predicted)

    def _score(self, candidate: Any, test: NumberSamples, predicted: Array, loss: NumberLoss) -> float:
        """Return the score of a candidate on the test rows."""
        if self.scoring is None:
            return -float(loss.error(test.Y, predicted, sample_weight=test.weight))
        options = {} if callable(self.scoring) else {"sample_weight": test.weight}
        scorer = check_scoring(candidate, scoring=self.scoring)
        score = scorer(candidate, test.X, like(test.X, self._shape(test.Y)), **options)
        return check_score(score, self.scoring, len(test.X))

    def predict(self, X: Any) -> Array:
        """Return the predictions.

        Parameters
        ----------
        X : array-like, dask.array or dask.dataframe of shape (n_samples, n_features)
            The samples.

        Returns
        -------
        array of shape (n_samples,) or (n_samples, n_targets)
            The predicted targets; of a collection of Dask, not computed yet.
        """
        check_is_fitted(self)
        if is_lazy(X):
            from mercer.machines.chunks import map_rows

            return map_rows(self, X, _answer)
        self._check_place(X, "predict")
        return _answer(self, self._values(check_rows(self, X, reset=False)))

    @available_if(lambda self: self._selects or self._leaves_one_out(self._number_loss()))
    def predict_interval(self, X: Any, coverage: float = 0.9) -> tuple[Array, Array]:
        """Return intervals that hold the targets of about this share of new samples.

        Their ends are the prediction plus quantiles of the errors for samples that a fit had not seen, as in
        conformal prediction: those of the folds, or of ``cv="loo"`` those of leaving one out (the jackknife).
        With ``loss="poisson"`` errors count as multiples of the root of the prediction.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The samples.
        coverage : float, default=0.9
            The share of new targets that shall be inside; as many shall be below as above. Of few samples
            (19 for 90 %) a warning says that it is not reached.

        Returns
        -------
        low, high : arrays of shape (n_samples,) or (n_samples, n_targets)
            The ends.
        """
        check_is_fitted(self)
        check_coverage(coverage)
        self._check_place(X, "predict_interval")
        predicted = self._scaling.predict(self._values(check_rows(self, X, reset=False)))
        low, high = self.unseen_.interval(to_numpy(predicted), coverage)
        return self._shape(like(predicted, low)), self._shape(like(predicted, high))


def _answer(model: Regressor, values: Array) -> Array:
    return model._shape(model._scaling.predict(values))


class NamedRegressor(Regressor):
    """A regressor of a kernel that has a name: what it shares is `fit`."""

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
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Their targets: numbers, one of each sample or several. With samples of Dask one alone, which may
            be a collection of Dask.
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


class KernelRegressor(LearningMachine, Regressor):
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
    scoring : str, callable or None, default=None
        The score of folds to maximise; None is minus the mean of the loss.
    tol : float, default=1e-3
        Ten times the relative duality gap at which to stop, or the violation of the optimality conditions;
        the squared error has a closed form.
    max_iter : int or None, default=None
        Maximum number of Newton steps; None is 1000.
    random_state : int, RandomState or None, default=None
        Random seed of folds, landmarks and slices.
    n_jobs : int or None, default=None
        Number of threads, over the folds, or several targets.

    Attributes
    ----------
    learner_ : estimator or None
        The fitted learner; None where a kernel was given.
    kernel_ : kernel
        The kernel that was learned or given.
    method_ : str
        How it was computed.
    C_ : float
        C, given or chosen.
    edge_ : {"lower", "upper"} or None
        The end of the values that `C_` is at; there, further values of C may be better. For ``C="cv"``.
    Cs_ : array of shape (n_Cs,)
        The values of C, for ``C="cv"``.
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

    def __init__(
        self,
        learner: Any = None,
        *,
        C: float | str = "cv",
        loss: Any = "squared_error",
        quantile: float = 0.5,
        epsilon: float = 0.1,
        method: str = "auto",
        n_landmarks: int | None = None,
        max_bins: int | None = None,
        Cs: int | ArrayLike = 31,
        cv: Any = "loo",
        scoring: Any = None,
        tol: float = 1e-3,
        max_iter: int | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.learner = learner
        self.C = C
        self.loss = loss
        self.quantile = quantile
        self.epsilon = epsilon
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

    @property
    def _is_relative(self) -> bool:
        return True

    @with_callbacks
    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: ArrayLike | None = None,
        *,
        groups: Any = None,
        pairs: Any = None,
        unlabelled: Any = None,
    ) -> Self:
        """Learn the kernel, then the regressor.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The samples; within ``sklearn.config_context(array_api_dispatch=True)`` also a tensor.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Their targets: numbers, one of each sample or several.
        sample_weight : array-like of shape (n_samples,), default=None
            What multiplies `C` for each sample. Samples of weight zero are left out of the machine; the
            learner does not see weights.
        groups : array-like of shape (n_samples,), optional
            What a splitter keeps together, for ``C="cv"``.
        pairs : Pairs, optional
            Similar and dissimilar rows of `X`, for the learner.
        unlabelled : array-like of shape (n_unlabelled, n_features), optional
            More samples, without targets, for the learner.
        """
        given = {"pairs": pairs, "unlabelled": unlabelled}
        given = {name: value for name, value in given.items() if value is not None}
        context = self._init_callback_context(max_subtasks=None, sequential_subtasks=False)
        context.call_on_fit_task_begin(estimator=self)
        self._fit(X, y, sample_weight, groups, given, context)
        context.call_on_fit_task_end(estimator=self)
        return self
