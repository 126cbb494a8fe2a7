"""A regressor that compares kernels on the user's data and predicts by the best, with intervals."""

import time
import warnings
from typing import Any, Self

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.callback import with_callbacks
from sklearn.metrics import check_scoring
from sklearn.utils import column_or_1d
from sklearn.utils.metaestimators import available_if

from mercer._typing import Array
from mercer.search.base import KernelSearch
from mercer.search.blend import (
    Ballot,
    NumberBlend,
    held_out_values,
    make_number_blend,
    measure_blend,
)
from mercer.search.number_scoring import R2, find_number_scoring
from mercer.search.number_task import NumberRace, NumberTask
from mercer.search.result import Measure, SearchWarning
from mercer.search.schedule import Clock
from mercer.search.task import Fitted
from mercer.validation import check_target, encode_rows

FEWEST = 100  # targets, to say something about one percent of them
MOST = 0.5  # of the variance
SCALES = 1e-70, 1e70  # between which the fourth power of a target's range is a number
TWO_VALUES = "The target has two values"


class KernelSearchRegressor(RegressorMixin, KernelSearch):
    """Compare kernels on your data, blend the best, and predict numbers with intervals.

    The search is that of `KernelSearchCV`, for a target that is a number: all candidates are evaluated on the
    same folds, those that fall far behind are dropped, and predictions are those of a blend of the best. The
    score that is reported is corrected for the choice among candidates and settings: on targets in random
    order R² is not above zero.

    Parameters
    ----------
    candidates : dict, list of str or None, default=None
        A dict of regressors, or of (regressor, grid), by name, in order of preference. None: tree and
        perceptron kernels, RBF ridge regression, stump kernel, a kernel of weighted features and linear
        regression, with small grids. A list of names: some of these.
    scoring : str, callable or None, default=None
        What candidates are judged by, as scikit-learn calls it: "r2" (None), "neg_root_mean_squared_error",
        "neg_mean_squared_error", "neg_mean_absolute_error", "neg_mean_absolute_percentage_error"; or another
        scorer, which is known for whole folds only and has wider intervals.
    cv : int, splitter or iterable, default=5
        Number of folds; or what gives training and test samples, as in scikit-learn. A number with `groups`
        keeps each group together.
    budget : float or None, default=None
        Time budget in seconds, as in `KernelSearchCV`.
    max_rows : int, default=4000
        Maximum number of samples for the comparison, drawn at random; fewer (but at least 1000) to learn from
        if the budget requires it. Then the best are compared on more, as in `KernelSearchCV`. The winner is
        fitted to all samples, or to as many as the budget allows.
    blend : "auto" or bool, default="auto"
        Whether predictions are those of a weighted mean of candidates, each with its best setting, and not
        the winner's alone. "auto" blends unless the score is one of whole folds.
    refit : bool, default=True
        Whether the winner is fitted to all samples.
    n_jobs : int or None, default=None
        Number of candidates evaluated in parallel, by joblib.
    random_state : int, RandomState instance or None, default=None
        Random seed of the folds, the bootstrap and the learners.

    Attributes
    ----------
    result_ : SearchResult
        The outcome as one value: all candidates with their measures, the selection, and how it ended.
    encoder_ : TableEncoder or None
        What made numbers of the samples, as in `KernelSearchCV`.
    best_estimator_ : Pipeline
        A scaler and the winner, fitted to all samples.
    best_kernel_ : kernel or None
        Its kernel, for samples that are not scaled.
    best_name_, best_settings_ : str, dict
        The selected candidate, and its settings.
    best_score_, std_error_ : float
        The expected score on new samples, greater is better, with its standard error; its 95 % interval is in
        ``result_.measure``.
    cv_results_ : dict
        The scores of all settings, fold by fold and not corrected for any choice, as in
        `sklearn.model_selection.GridSearchCV`; `best_index_` is the selected one.
    predictor_ : NumberBlend
        What predicts: the blend, or the winner alone with a weight of one. `mercer.save` takes it.
    blend_ : NumberBlend or None
        The blend, unless the winner alone predicts.
    unseen_ : UnseenErrors
        The errors of predictions for held-out samples, for `predict_interval`.
    leaderboard_ : pandas.DataFrame
        One row per candidate, as in `KernelSearchCV`; differences are those to RBF ridge regression.
    stopped_ : str or None
        "budget", "interrupt" or "callback", if the search ended early.

    Notes
    -----
    All default candidates minimise squared errors of the target as it is given. It is not transformed: if its
    logarithm is what matters, as of prices or incomes, put the search into
    `sklearn.compose.TransformedTargetRegressor`; for counts give candidates with ``loss="poisson"``.

    Ctrl-C ends the search as a budget does: what is done is ranked, and the best so far is fitted.

    Examples
    --------
    >>> from sklearn.datasets import make_friedman1
    >>> from mercer import KernelSearchRegressor, PerceptronRegressor, StumpRegressor
    >>> X, y = make_friedman1(200, n_features=5, random_state=0)
    >>> some = {"stump": StumpRegressor(), "perceptron": (PerceptronRegressor(), {"C": [1.0, 64.0]})}
    >>> search = KernelSearchRegressor(some, random_state=0).fit(X, y)
    >>> bool(search.best_score_ > 0.8)
    True
    >>> low, high = search.predict_interval(X[:3])
    >>> bool((low < high).all())
    True
    """

    def __init__(
        self,
        candidates: Any = None,
        *,
        scoring: Any = None,
        cv: Any = 5,
        budget: float | None = None,
        max_rows: int = 4000,
        blend: bool | str = "auto",
        refit: bool = True,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.candidates = candidates
        self.scoring = scoring
        self.cv = cv
        self.budget = budget
        self.max_rows = max_rows
        self.blend = blend
        self.refit = refit
        self.n_jobs = n_jobs
        self.random_state = random_state

    @with_callbacks
    def fit(
        self, X: Any, y: Any, *, unlabelled: Any = None, groups: Any = None, sample_weight: Any = None
    ) -> Self:
        """Search, and fit the winner.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), or DataFrame
            The samples. A DataFrame with texts, dates, categories or missing values is encoded by
            `TableEncoder`, which sees all samples and no targets.
        y : array-like of shape (n_samples,)
            Their targets: numbers.
        unlabelled : array-like of shape (n_unlabelled, n_features), optional
            More samples, without targets, for the learners and the scaler.
        groups : array-like of shape (n_samples,), optional
            Samples of a group are never in the training and the test part of the same fold.
        sample_weight : array-like of shape (n_samples,), optional
            How much each sample counts, for the regressors and in their scores: 2 is as the sample twice.
            Weights that are not whole numbers are divided by their mean. Samples of weight zero are left out.
        """
        clock = Clock(time.monotonic(), self.budget)
        self._check_parameters()
        if y is None:
            raise ValueError("a search requires y to be passed, but the target y is None.")
        X, y = encode_rows(self, X, _check_one_target(y))
        X, y, groups, sample_weight, cv = self._count(X, y, groups, sample_weight)
        if not len(y) or np.ptp(y) == 0.0:
            there = f"is always {y[0]:g} (n_samples={len(y)})" if len(y) else "is empty"
            raise ValueError(f"a search needs targets that differ, but y {there}: there is nothing to learn")
        more = self._encode_more(unlabelled, X.shape[1])
        scoring = find_number_scoring(self.scoring, y)
        self._check_blend(scoring)
        for sentence in describe_target(y):
            warnings.warn(sentence, SearchWarning, stacklevel=3)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", TWO_VALUES)  # once is enough
            self._search(NumberTask(X, y, more, groups, sample_weight, scoring), cv, clock)
        return self

    @available_if(lambda self: self._check_refit())
    def predict(self, X: Any) -> Array:
        """Return the predictions of the winner, or of the blend."""
        return self._predictor().predict(encode_rows(self, X, reset=False))

    @available_if(lambda self: self._check_refit())
    def predict_interval(self, X: Any, coverage: float = 0.9) -> tuple[Array, Array]:
        """Return intervals that hold the targets of about this share of new samples.

        Their ends are the prediction plus quantiles of the errors for samples that a fit had not seen, as in
        conformal prediction: those of the folds.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The samples.
        coverage : float, default=0.9
            The share of new targets that shall be inside; as many shall be below as above.

        Returns
        -------
        low, high : arrays of shape (n_samples,)
            The ends.
        """
        return self._predictor().predict_interval(encode_rows(self, X, reset=False), coverage)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the score on new samples: that of `scoring`, as scikit-learn has it, or R²."""
        options = {} if sample_weight is None else {"sample_weight": sample_weight}
        self._winner()  # or say why there is none
        return float(check_scoring(self, self.scoring or R2)(self, X, y, **options))

    def _predictor(self) -> NumberBlend:
        self._winner()
        return self.predictor_

    def _blends(self, race: NumberRace) -> bool:
        return race.scoring.slope is not None

    def _keep_scores(self, race: NumberRace, winner: int, fitted: Fitted | None) -> None:
        said = race.said[:, winner, 0]
        places = np.flatnonzero(np.isfinite(said))
        self.unseen_ = race.unseen_errors(said[places], places)
        if fitted is not None:
            name = race.candidates[race.entries[winner].candidate].name
            self.predictor_ = NumberBlend(
                [(name, fitted.pipeline)],
                weights=np.ones(1),
                unseen=self.unseen_,
                kernel=fitted.unscaled_kernel,
            ).use([fitted.pipeline])

    def _keep_blend(self, ballot: Ballot, weights: Array, fitted: dict[int, Any], kernel: Any) -> Measure:
        values = held_out_values(ballot)
        self.unseen_ = ballot.race.unseen_errors(ballot.race.predictions(values), ballot.places)
        self.blend_ = self.predictor_ = make_number_blend(ballot, weights, fitted, self.unseen_, kernel)
        return measure_blend(ballot, values)


def _check_one_target(y: Any) -> Array:
    Y = check_target(y)
    if Y.ndim == 2 and Y.shape[1] > 1:
        raise ValueError(f"a search has one target, and y has {Y.shape[1]}: search for each column of y.")
    y = column_or_1d(Y, warn=True)
    if len(y) and np.ptp(y) > 0.0 and not SCALES[0] < np.ptp(y) < SCALES[1]:
        raise ValueError(
            f"a search cannot compute with targets that differ by up to {np.ptp(y):.1g}: divide them by "
            "their standard deviation"
        )
    return y


def describe_target(y: Array) -> list[str]:
    """Say what is remarkable about a target: two values alone, or a few that have most of the variance."""
    low, high = y.min(), y.max()
    if np.all((y == low) | (y == high)):
        return [f"{TWO_VALUES}, {low:g} and {high:g}: if these are classes, use KernelSearchCV."]
    away = np.sort((y - y.mean()) ** 2)[::-1]
    share = away[: max(1, len(y) // 100)].sum() / away.sum()
    if len(y) < FEWEST or share < MOST:
        return []
    how = "its logarithm" if low > 0 else "a transform of it"
    return [
        f"One percent of the targets has {100 * share:.0f} % of their variance: consider {how} "
        "(sklearn.compose.TransformedTargetRegressor), or scoring='neg_mean_absolute_error'."
    ]
