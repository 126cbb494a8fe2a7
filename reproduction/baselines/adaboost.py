"""Discrete AdaBoost with exact decision stumps and with perceptrons, the rivals in Table I of [LL05]."""

import math
from abc import abstractmethod
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, Self, final

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import Tags, check_random_state
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import check_is_fitted

from mercer._typing import Array
from mercer.machines.labels import check_samples
from mercer.parameters import check_count
from mercer.validation import check_rows
from reproduction.baselines.perceptron import Hyperplane, PerceptronLearner
from reproduction.baselines.stump import TIE, DecisionStump, StumpLearner

Hypothesis = DecisionStump | Hyperplane
BaseLearner = Callable[[Array], Hypothesis]

VOTE_WITHOUT_ERROR = 0.5 * math.log(1000)
"""The vote of a hypothesis without error, in place of α = ∞."""


class Ensemble(NamedTuple):
    """The hypotheses of a weighted vote, their weights in it, and their weighted errors when learned."""

    hypotheses: list[Hypothesis]
    votes: list[float]
    errors: list[float]


def boost(learn: BaseLearner, X: Array, y: Array, weights: Array, n_rounds: int) -> Ensemble:
    r"""Run discrete AdaBoost [Freund and Schapire 1996].

    In round t a hypothesis :math:`h_t` is learned for the current weights of the rows, and with its error
    :math:`\epsilon_t = \sum_i w_i [h_t(x_i) \ne y_i]`

    .. math:: \alpha_t = \tfrac12 \ln \frac{1 - \epsilon_t}{\epsilon_t}, \qquad
              w_i \leftarrow w_i \, e^{-\alpha_t y_i h_t(x_i)} / Z_t .

    The training error of the vote is at most the product of all
    :math:`Z_t = 2 \sqrt{\epsilon_t (1 - \epsilon_t)}`.

    A hypothesis without error has :math:`\alpha_t = \infty`. It gets the vote of an error of 1/1001, the
    weights stay as they are, and boosting goes on, as in LEMGA, the library of the authors of [LL05]:
    where perceptrons separate the classes, several of them vote, and not the first one alone. A hypothesis
    that is no better than chance (:math:`\epsilon_t \ge 1/2`) ends the loop, and gets no vote.

    Parameters
    ----------
    learn : function of the weights that returns a hypothesis
    X : array of shape (n, D)
    y : array of −1 and +1
    weights : array of positive weights that sum to 1
    n_rounds : int
    """
    ensemble = Ensemble([], [], [])
    for _ in range(n_rounds):
        hypothesis = learn(weights)
        agreement = y * hypothesis(X)
        error = float(weights[agreement < 0].sum())
        if error >= 0.5 - TIE:
            break
        vote = 0.5 * math.log((1 - error) / error) if error > 0 else VOTE_WITHOUT_ERROR
        ensemble.hypotheses.append(hypothesis)
        ensemble.votes.append(vote)
        ensemble.errors.append(error)
        weights = weights * np.exp(-vote * agreement)
        weights /= weights.sum()
    return ensemble


class DiscreteAdaBoost(ClassifierMixin, BaseEstimator):
    """AdaBoost on two classes; a subclass gives the base learner."""

    @abstractmethod
    def _base_learner(self, X: Array, y: Array) -> BaseLearner:
        """Return the function that learns a hypothesis from the weights of the samples."""

    @final
    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit to samples of two classes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The samples.
        y : array-like of shape (n_samples,)
            Their classes, two of any type.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples, all equal by default. A sample of weight zero is left out.
        """
        samples = check_samples(self, X, y, sample_weight)
        if len(self.classes_) > 2:
            kind = type_of_target(samples.y)
            raise ValueError(f"Only binary classification is supported. The type of the target is {kind}.")
        check_count(self.n_estimators, "n_estimators")
        rows, _, label, weight, _ = samples.select(np.flatnonzero(samples.weight > 0))
        signs = np.where(label == 1, 1.0, -1.0)
        learner = self._base_learner(rows, signs)
        ensemble = boost(learner, rows, signs, weight / weight.sum(), self.n_estimators)
        self.estimators_ = ensemble.hypotheses
        self.estimator_weights_ = np.array(ensemble.votes)
        self.estimator_errors_ = np.array(ensemble.errors)
        return self

    @final
    def decision_function(self, X: ArrayLike) -> Array:
        """Return the weighted vote of all hypotheses, positive for ``classes_[1]``."""
        rows = self._checked_rows(X)
        scores = np.zeros(len(rows))
        for hypothesis, vote in zip(self.estimators_, self.estimator_weights_, strict=True):
            scores += vote * hypothesis(rows)
        return scores

    @final
    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Return the class of each sample."""
        return self._classes_of(self.decision_function(X))

    @final
    def staged_decision_function(self, X: ArrayLike) -> Iterator[Array]:
        """Yield the decision function of the first 1, 2, 3, … hypotheses.

        The t-th value is what a fit with ``n_estimators=t`` and the same ``random_state`` would give. There
        are as many values as hypotheses, fewer than ``n_estimators`` if one was no better than chance.
        """
        rows = self._checked_rows(X)
        scores = np.zeros(len(rows))
        for hypothesis, vote in zip(self.estimators_, self.estimator_weights_, strict=True):
            scores = scores + vote * hypothesis(rows)
            yield scores

    @final
    def staged_predict(self, X: ArrayLike) -> Iterator[NDArray[Any]]:
        """Yield the predictions of the first 1, 2, 3, … hypotheses."""
        for scores in self.staged_decision_function(X):
            yield self._classes_of(scores)

    def _checked_rows(self, X: ArrayLike) -> Array:
        check_is_fitted(self)
        rows: Array = check_rows(self, X, reset=False)
        return rows

    def _classes_of(self, scores: Array) -> NDArray[Any]:
        return np.take(self.classes_, (scores > 0).astype(int))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.classifier_tags.multi_class = False
        return tags


@final
class AdaBoostStump(DiscreteAdaBoost):
    """AdaBoost with decision stumps of the lowest weighted error, "AdaBoost-Stump" in [LL05].

    Every round takes the stump q · sign(x_d − α) of the lowest weighted error over all features,
    thresholds and signs, in O(n_samples · n_features) after one sort; see `boost` for the rest.
    `sklearn.ensemble.AdaBoostClassifier` with trees of depth one is another method: a tree is split by
    its impurity, not by its error.

    Parameters
    ----------
    n_estimators : int, default=100
        The number of rounds T.

    Attributes
    ----------
    estimators_ : list of stumps (feature, threshold, sign), each a function of the rows
    estimator_weights_ : array of their votes α_t
    estimator_errors_ : array of their weighted errors ε_t
    classes_ : array of shape (2,)

    Examples
    --------
    >>> from reproduction.baselines import AdaBoostStump
    >>> from mercer.datasets import ringnorm
    >>> X, y = ringnorm(random_state=0)
    >>> bool(AdaBoostStump(100).fit(X, y).score(X, y) > 0.95)
    True
    """

    def __init__(self, n_estimators: int = 100):
        self.n_estimators = n_estimators

    def _base_learner(self, X: Array, y: Array) -> BaseLearner:
        return StumpLearner(X, y)


@final
class AdaBoostPerceptron(DiscreteAdaBoost):
    """AdaBoost with perceptrons from random coordinate descent, "AdaBoost-Perc" in [LL05].

    Every round learns a perceptron by random coordinate descent on its weighted error, not on a smooth bound
    of it (`reproduction.baselines.perceptron`); see `boost` for the rest. Features should be scaled to about
    [−1, 1]: the random directions are drawn as if they and the constant feature of b were alike.

    Parameters
    ----------
    n_estimators : int, default=100
        The number of rounds T.
    n_updates : int, default=200
        The number of line searches for each perceptron. The first of each n_features + 1 changes b alone.
    random_state : int, RandomState or None, default=None
        Random seed of the directions.

    Attributes
    ----------
    estimators_ : list of perceptrons (w, b), each a function of the rows
    estimator_weights_ : array of their votes α_t
    estimator_errors_ : array of their weighted errors ε_t
    classes_ : array of shape (2,)

    Examples
    --------
    >>> from reproduction.baselines import AdaBoostPerceptron
    >>> from mercer.datasets import threenorm
    >>> X, y = threenorm(random_state=0)
    >>> bool(AdaBoostPerceptron(50, random_state=0).fit(X, y).score(X, y) > 0.95)
    True
    """

    def __init__(
        self,
        n_estimators: int = 100,
        n_updates: int = 200,
        *,
        random_state: int | np.random.RandomState | None = None,
    ):
        self.n_estimators = n_estimators
        self.n_updates = n_updates
        self.random_state = random_state

    def _base_learner(self, X: Array, y: Array) -> BaseLearner:
        check_count(self.n_updates, "n_updates")
        return PerceptronLearner(X, y, self.n_updates, check_random_state(self.random_state))
