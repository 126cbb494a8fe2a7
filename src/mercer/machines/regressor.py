"""The front of every regressor: targets are standardised, fitted one by one, and brought back."""

from dataclasses import dataclass
from typing import Any

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
from mercer.machines.losses import MachineLoss, number_loss
from mercer.machines.machine import Fit, Machine
from mercer.machines.places import is_lazy
from mercer.machines.problems import Options, Problems, Solved
from mercer.machines.rows_of import prepare
from mercer.machines.selection import check_score, split_numbers, thin_folds
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

    def _check_parameters(self) -> MachineLoss:
        """Return the loss."""
        self._check_machine()
        return self._number_loss()

    def _number_loss(self, spread: Any = 1.0) -> MachineLoss:
        return number_loss(self.loss, self.quantile, self.epsilon, spread)

    def _check_samples(self, X: Any, y: Any, sample_weight: Any, loss: MachineLoss) -> NumberSamples:
        return check_numbers(self, X, y, sample_weight, loss.is_log)

    def _pose(self, samples: NumberSamples, loss: MachineLoss) -> Problems:
        self._scaling = TargetScaling.of(samples, loss.is_log)
        return self._scaling.pose(samples)

    def _solve(self, fit: Fit, options: Options) -> list[Solved]:
        """Solve the problems of all targets; where C is judged by leaving out, keep those errors."""
        samples, loss = fit.samples, fit.loss
        prepared, problems = prepare(self.kernel_, samples.X, fit.how), self._pose(samples, loss)
        C = self.C_ / self._unit(prepared, samples)
        prepared = grow_landmarks(prepared, problems, C)
        solved = next(prepared.solve_path(problems, [C], loss.solver, options))
        if self._leaves_one_out(loss):
            Y = np.column_stack([problem.y for problem in problems.each])
            error, some = prepared.left_out(Y, samples.weight, C)
            self.unseen_ = UnseenErrors(self._scaling.scale * error, samples.weight[some], False)
        return [solved]

    def _leaves_one_out(self, loss: MachineLoss) -> bool:
        """Return whether C is judged by leaving each sample out, in closed form."""
        return bool(isinstance(self.cv, str) and self.cv == LEAVE_ONE_OUT and loss.name == "squared_error")

    def _keep(self, each: list[Solved], rows: Any) -> None:
        (solved,) = each
        self.machines_ = [solved.function]
        intercept = to_numpy(solved.function.intercept)
        self.intercept_ = self._shape_numbers(self._scaling.offset + self._scaling.scale * intercept)
        self.objective_ = self._shape_numbers(solved.objective)
        self.residual_ = self._shape_numbers(solved.residual)
        self.n_iter_ = int(solved.n_iter.max())

    def _shape_numbers(self, numbers: Array) -> Any:
        return float(numbers[0]) if self._one_target else numbers

    def _shape(self, columns: Array) -> Array:
        return columns[:, 0] if self._one_target else columns

    def _choose_by_leaving_out(self, samples: NumberSamples, loss: MachineLoss) -> float:
        """Return the C of the least leave-one-out error, of some of the samples, on their Gram matrix."""
        few = samples.select(choose_some(len(samples.X)))
        few = few._replace(X=to_numpy(few.X))
        problems = TargetScaling.of(few, loss.is_log).pose(few)
        gram = GramSamples.of(self.kernel_, few.X)
        Y = np.column_stack([problem.y for problem in problems.each])
        path, unit = RidgePath.of(gram.K, Y, few.weight), self._unit(gram, few)
        left_out = (path.solve(C / unit)[1] for C in self.Cs_)
        errors = [np.average(error**2, axis=0, weights=few.weight).mean() for error in left_out]
        self.scores_ = -np.array(errors)
        return float(self.Cs_[int(np.argmin(errors))])

    def _select(self, fit: Fit, kernels: list[Any]) -> tuple[Any, float, float]:
        """Return the kernel and the C of the best mean score, of equals the smallest C."""
        samples, how = fit.samples, fit.how
        if self._leaves_one_out(fit.loss):
            return kernels[0], self._choose_by_leaving_out(samples.counted()[0], fit.loss), 1.0
        counts = some = samples.weight > 0
        cv = 5 if isinstance(self.cv, str) and self.cv == LEAVE_ONE_OUT else self.cv
        folds = all_folds = split_numbers(cv, samples.X, samples.Y, counts, fit.groups, how.seed)
        loss = self._number_loss(samples.spread())
        fit = its_fit = fit._replace(loss=loss)
        if how.method in ("gram", "landmarks"):
            its_fit = fit._replace(how=how._replace(method="gram"))
            if counts.sum() > SELECTION_ROWS:
                some = np.zeros_like(counts)
                # another generator than that of the folds, whose first numbers would be one of them
                rng = np.random.default_rng(how.seed)
                some[rng.choice(np.flatnonzero(counts), SELECTION_ROWS, replace=False)] = True
                folds = thin_folds(all_folds, some)
        tried = self._compare(its_fit, folds, kernels)
        trials = tried.trials
        if folds is not all_folds:  # what it is like with all samples, of the first fold
            folds, kernel = all_folds[:1], None if self._learns_in_folds(fit) else tried.kernel
            trials = [next(walk) for walk in self._walks(fit, folds, kernel, np.array([tried.C]))]
        test = np.concatenate([test for _, test in folds])
        predicted = np.concatenate([trial.predicted for trial in trials])
        self.unseen_ = UnseenErrors.of(samples.Y[test], predicted, samples.weight[test], loss.is_log)
        return tried.kernel, tried.C, 1.0

    def _targets(self, samples: NumberSamples) -> Any:
        return self._shape(samples.Y)

    def _judge(self, values: Array, test: NumberSamples, loss: MachineLoss) -> tuple[list[float], Array]:
        """Return the score of decision values on the test rows, and the predictions."""
        predicted = to_numpy(self._scaling.predict(values))
        if self.scoring is None:
            return [-float(loss.error(test.Y, predicted, sample_weight=test.weight))], predicted
        options = {} if callable(self.scoring) else {"sample_weight": test.weight}
        scorer = check_scoring(self, scoring=self.scoring)
        score = scorer(self, test.X, like(test.X, self._shape(test.Y)), **options)
        return [check_score(score, self.scoring, len(test.X))], predicted

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
