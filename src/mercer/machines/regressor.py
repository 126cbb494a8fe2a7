"""The front of every regressor: targets are standardised, fitted one by one, and brought back."""

from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import MultiOutputMixin, RegressorMixin
from sklearn.callback import CallbackContext
from sklearn.metrics import check_scoring
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from mercer._typing import Array
from mercer.array_api import like, to_numpy
from mercer.machines.gram_samples import GramSamples, choose_some
from mercer.machines.intervals import UnseenErrors, check_coverage
from mercer.machines.losses import NumberLoss, number_loss
from mercer.machines.machine import Machine
from mercer.machines.places import check_few, follow, is_lazy
from mercer.machines.problems import How, Solved
from mercer.machines.rows_of import prepare
from mercer.machines.samples import PreparedSamples
from mercer.machines.selection import Trial, check_score, split_numbers, thin_folds
from mercer.machines.targets import NumberSamples, TargetScaling, check_numbers
from mercer.solvers.ridge import RidgePath
from mercer.validation import check_rows

SELECTION_ROWS = 3000  # of which C is chosen where kernels are dear: on more, it hardly changes
LEAVE_ONE_OUT = "loo"


@dataclass(kw_only=True, eq=False, repr=False)
class Regressor(MultiOutputMixin, RegressorMixin, Machine):
    """A machine of one target or several."""

    loss: Any = "squared_error"
    quantile: float = 0.5
    epsilon: float = 0.1
    Cs: int | ArrayLike = 12

    _grid = (-12, 10)

    def _check_parameters(self) -> NumberLoss:
        """Return the loss."""
        self._check_machine()
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

    @available_if(lambda self: self._selects or self._leaves_one_out(self._check_parameters()))
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
