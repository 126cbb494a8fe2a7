"""What the two-class baselines share: checks of the input, and labels coded as −1 and +1."""

from abc import abstractmethod
from typing import Any, Self, final

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import Tags, check_array
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import check_is_fitted, validate_data

from mercer._typing import Array


class BinaryClassifier(ClassifierMixin, BaseEstimator):
    """A scikit-learn classifier for two classes; a subclass gives `_learn` and `_scores`."""

    @abstractmethod
    def _learn(self, X: Array, y: Array, weights: Array) -> None:
        """Fit to labels −1 and +1 of rows with positive weights that sum to 1."""

    @abstractmethod
    def _scores(self, X: Array) -> Array:
        """Return for each row a score whose sign is the class."""

    @final
    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit to rows X of two classes y.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
        y : array of shape (n_samples,)
            Labels of two classes, of any type.
        sample_weight : array of shape (n_samples,), default=None
            Weights of the rows, all equal by default. A row of weight zero is left out.
        """
        rows, labels = validate_data(self, X, y, dtype=np.float64)
        check_classification_targets(labels)
        weights = _checked_weights(sample_weight, len(rows))
        counted = weights > 0
        self.classes_ = _two_classes(labels[counted])
        signs = np.where(labels[counted] == self.classes_[1], 1.0, -1.0)
        self._learn(rows[counted], signs, weights[counted] / weights.sum())
        return self

    @final
    def decision_function(self, X: ArrayLike) -> Array:
        """Return a score of each row, positive for ``classes_[1]``."""
        return self._scores(self._checked_rows(X))

    @final
    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Return the class of each row."""
        return self._classes_of(self.decision_function(X))

    @final
    def _checked_rows(self, X: ArrayLike) -> Array:
        check_is_fitted(self)
        rows: Array = validate_data(self, X, dtype=np.float64, reset=False)
        return rows

    @final
    def _classes_of(self, scores: Array) -> NDArray[Any]:
        return np.take(self.classes_, (scores > 0).astype(int))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags


def _two_classes(y: NDArray[Any]) -> NDArray[Any]:
    classes = np.unique(y)
    if len(classes) == 1:
        raise ValueError("There is only one class in y (among the rows of positive weight); two are needed.")
    if len(classes) > 2:
        raise ValueError(
            f"Only binary classification is supported. The type of the target is {type_of_target(y)}."
        )
    return classes


def _checked_weights(sample_weight: ArrayLike | None, n: int) -> Array:
    if sample_weight is None:
        return np.ones(n)
    weights: Array = check_array(
        sample_weight, ensure_2d=False, dtype=np.float64, ensure_non_negative=True, input_name="sample_weight"
    )
    if weights.shape != (n,):
        raise ValueError(f"sample_weight has the shape {weights.shape}; ({n},) is needed, a weight a row.")
    if not weights.any():
        raise ValueError("All weights in sample_weight are zero, so that no class is left to learn from.")
    return weights
