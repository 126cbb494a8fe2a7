"""The front of every classifier: from classes to two-class problems, and back to classes or probabilities."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils import check_random_state, compute_sample_weight
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from mercer._typing import Array
from mercer.array_api import like, namespace, take, to_numpy
from mercer.machines.functions import has_features
from mercer.machines.labels import LabelledSamples, check_samples
from mercer.machines.losses import MachineLoss, class_loss
from mercer.machines.machine import Fit, Machine
from mercer.machines.multiclass import choose_classes, score_classes, soften, split_problems
from mercer.machines.places import is_lazy
from mercer.machines.problems import MULTINOMIAL, Options, Problem, Problems, Solved
from mercer.machines.rows_of import SOFTMAX_ROWS, prepare
from mercer.machines.selection import check_score, draw_some, split_classes
from mercer.parameters import check_option
from mercer.scikit import average
from mercer.solvers.newton import LogLoss
from mercer.validation import check_rows

Answer = Callable[[Any, Array], Any]  # of a model, to the decision values of rows
JOINT = ("gram", "features", "landmarks")  # methods that can have all classes in one problem
FACTORS = tuple(2.0 ** np.arange(-2.0, 2.25, 0.25).round(2))  # of f, for probabilities, …
LAPSES = (0.0, 0.01, 0.02, 0.035, 0.05, 0.07, 0.1)  # … and the share of labels that are drawn by lot
SELECTION_ROWS = 5000  # of which C is chosen where kernels are dear: on more, it hardly changes


@dataclass(kw_only=True, eq=False, repr=False)
class Classifier(ClassifierMixin, Machine):
    """A machine of two-class problems."""

    class_weight: Any = None
    multi_class: str = "auto"

    _grid = (-17, 3)
    _scheme = "ovo"  # one against one, unless a fit decided otherwise
    _lapse = 0.0  # the share of labels that are drawn by lot

    def _check_parameters(self) -> MachineLoss:
        """Return the loss."""
        self._check_machine()
        self._lapse = 0.0
        check_option(self.multi_class, "multi_class", ("auto", "ovo", "ovr", MULTINOMIAL))
        if self._has_pairs and not hasattr(self.learner, "kernel_for"):
            raise TypeError(
                "kernel_per_class_pair=True needs a learner with kernel_for, such as KernelBoost; "
                f"{self.learner!r} has none"
            )
        return class_loss(self.loss)

    def _check_samples(self, X: Any, y: Any, sample_weight: Any, loss: MachineLoss) -> LabelledSamples:
        return check_samples(self, X, y, sample_weight, self.class_weight)

    def _choose_scheme(self, can_be_joint: bool) -> None:
        """Decide how several classes become problems; the multinomial one needs features or a Gram matrix."""
        can_be_joint = can_be_joint and self._is_log and not self._has_pairs
        if self.multi_class == MULTINOMIAL and not can_be_joint:
            raise ValueError(
                "multi_class='multinomial' is for loss='log_loss' in memory, on a Gram matrix, features or "
                "landmarks: use multi_class='auto'."
            )
        self._scheme = str(self.multi_class)
        if self.multi_class == "auto":
            self._scheme = MULTINOMIAL if can_be_joint else "ovo"

    def _pose(self, samples: LabelledSamples, loss: MachineLoss) -> Problems:
        return split_problems(samples.label, samples.weight, len(self.classes_), self._scheme)

    def _solve(self, fit: Fit, options: Options) -> list[Solved]:
        """Solve all problems with one kernel, or each with its own."""
        self._choose_scheme(fit.how.method in JOINT)
        problems = self._pose(fit.samples, fit.loss)
        if self._has_pairs:
            return [self._solve_pair(fit, problem, options) for problem in problems.each]
        prepared = prepare(self.kernel_, fit.samples.X, fit.how)
        C = self.C_ / self._unit(prepared, fit.samples)
        return [next(prepared.solve_path(problems, [C], fit.loss.solver, options))]

    @property
    def _has_pairs(self) -> bool:
        """Whether each pair of classes has its own kernel."""
        return False

    def _solve_pair(self, fit: Fit, problem: Problem, options: Options) -> Solved:
        """Solve the problem of two classes with the kernel, and with the weights, that suit them."""
        pair = fit.samples if problem.rows is None else fit.samples.select(problem.rows)
        weight, xp = pair.weight, namespace(pair.label)
        if self.class_weight == "balanced":
            weight = like(pair.weight, compute_sample_weight("balanced", to_numpy(pair.y)))
            weight = weight if pair.sample_weight is None else weight * pair.sample_weight
        prepared = prepare(self.learner_.kernel_for(pair.X, pair.label), pair.X, fit.how)
        positive = xp.astype(problem.y > 0, xp.int64)
        problems = Problems([Problem(None, problem.y, weight)], positive, weight)
        C = self.C_ / self._unit(prepared, pair)
        return next(prepared.solve_path(problems, [C], fit.loss.solver, options))

    def _keep(self, each: list[Solved], rows: Any) -> None:
        self.machines_ = [solved.function for solved in each]
        if len(each) == 1:
            self.support_, self.dual_coef_ = rows[each[0].support], each[0].coef
        self.intercept_ = np.concatenate([to_numpy(solved.function.intercept) for solved in each])
        for name in ("objective", "residual", "n_iter"):
            setattr(self, f"{name}_", np.concatenate([getattr(solved, name) for solved in each]))

    def _select(self, fit: Fit, kernels: list[Any]) -> tuple[Any, float, float]:
        """Return the kernel, the C and the factor of f of the best mean score, of equals the smallest C."""
        samples, how = fit.samples, fit.how
        self._choose_scheme(how.method in JOINT)
        counts, label = to_numpy(samples.weight > 0), to_numpy(samples.label)
        if how.method in ("gram", "landmarks"):
            most = SOFTMAX_ROWS if self._scheme == MULTINOMIAL else SELECTION_ROWS
            counts = draw_some(label, counts, most, check_random_state(self.random_state))
            how = how._replace(method="gram")
        folds = split_classes(self.cv, samples.X, label, counts, self.classes_, fit.groups)
        tried = self._compare(fit._replace(how=how), folds, kernels)
        if not self._is_log or self.scoring is not None:
            return tried.kernel, tried.C, 1.0
        factor, lapse = divmod(tried.factor, len(self._lapses))
        self._lapse = self._lapses[lapse]
        return tried.kernel, tried.C, FACTORS[factor]

    @property
    def _lapses(self) -> tuple[float, ...]:
        """Return shares of lots, of which held-out samples say what gives the best probabilities.

        Machines that are read, additive or of features, have none: their f is the logarithm of the odds.
        """
        is_read = self.method_ not in JOINT or has_features(self.kernel_)
        return LAPSES[:1] if is_read else LAPSES

    def _targets(self, samples: LabelledSamples) -> Any:
        return samples.y

    def _judge(self, values: Array, test: LabelledSamples, loss: MachineLoss) -> tuple[list[float], None]:
        """Return the score of decision values on the test rows, for each factor."""
        weight, xp = test.sample_weight, namespace(values)
        if self.scoring is None and self._is_log:
            return self._log_likelihoods(values, test), None
        if self.scoring is None:  # accuracy_score, without checking again what has been checked
            good = xp.astype(_choose(self, values) == test.label, xp.float64)
            return [float(average(good, weights=weight, xp=xp))], None
        from sklearn.metrics import check_scoring

        weighted = weight is not None and not callable(self.scoring)
        options = {"sample_weight": weight} if weighted else {}
        scorer = check_scoring(self, scoring=self.scoring)
        score = scorer(self, test.X, take(self.classes_, test.label), **options)
        return [check_score(score, self.scoring, len(test.X))], None

    def _log_likelihoods(self, values: Array, test: LabelledSamples) -> list[float]:
        """Return the mean of the logarithms of the true classes' probabilities, of each factor and lapse."""
        xp, lot = namespace(values), 1.0 / len(self.classes_)
        rows = xp.arange(len(values), device=values.device)
        weight = like(values, np.ones(len(values))) if test.sample_weight is None else test.sample_weight
        sure = xp.stack([_estimate(self, factor * values)[rows, test.label] for factor in FACTORS])
        each = (xp.clip((1.0 - lapse) * sure + lapse * lot, 1e-15, 1.0) for lapse in self._lapses)
        means = xp.stack([xp.log(probability) @ weight for probability in each], axis=1) / weight.sum()
        return [float(mean) for mean in to_numpy(means).ravel()]

    @property
    def _is_log(self) -> bool:
        return isinstance(class_loss(self.loss).solver, LogLoss)

    def decision_function(self, X: Any) -> Array:
        """Return the decision values.

        Two classes: f(x), positive for ``classes_[1]``. More: one score per class. One against one it is the
        number of votes plus the sum of the decision values squashed into (−1/3, 1/3), as in scikit-learn;
        with ``loss="log_loss"`` it is the logarithm of the probability, but for a constant (and lots).

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

        With ``C="cv"``, decision values are multiplied by what gives held-out samples the best probabilities;
        and some labels, at most one in ten, count as drawn by lot if that does (not of tables, slices and
        features, whose f is the logarithm of the odds).

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
    certain = soften(values, len(model.classes_), model._scheme)
    return (1.0 - model._lapse) * certain + model._lapse / len(model.classes_)
