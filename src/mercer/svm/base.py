"""The front of every SVM: from samples, labels and weights to two-class problems, and back to classes."""

from abc import abstractmethod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import Tags, compute_sample_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

from mercer._typing import Array, Index
from mercer.array_api import namespace, take, to_numpy
from mercer.svm.chunks import Answer, is_lazy, map_rows
from mercer.svm.multiclass import choose_classes, score_classes
from mercer.validation import check_rows


class Samples(NamedTuple):
    """Checked training samples: C_i = C × weight_i."""

    X: Array
    y: NDArray[Any]
    label: Index  # positions in `classes_`; −1 for a class of no weight
    weight: Array
    sample_weight: Array | None  # as given

    def select(self, rows: Index) -> "Samples":
        """Return some of the rows, without a copy if these are all of them."""
        xp, n = namespace(rows), len(self.X)
        if len(rows) == n and bool(xp.all(rows == xp.arange(n, device=rows.device))):
            return self
        given = None if self.sample_weight is None else self.sample_weight[rows]
        return Samples(self.X[rows], self.y[rows], self.label[rows], self.weight[rows], given)


def check_samples(estimator: Any, X: Any, y: Any, sample_weight: Any, class_weight: Any = None) -> Samples:
    """Check what `fit` was given, and set the `classes_` of the estimator: those of positive weight."""
    X, y = check_rows(estimator, X, y)
    y = to_numpy(y)
    _check_labels(y)
    given = None
    if sample_weight is not None:
        given = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
    weight = np.ones(len(X)) if given is None else given
    if class_weight is not None:
        weight = weight * compute_sample_weight(class_weight, y)
    estimator.classes_ = classes = np.unique(y[weight > 0])
    check_two_classes(estimator, classes)
    label = np.searchsorted(classes, y)
    label[classes.take(label, mode="clip") != y] = -1
    return Samples(X, y, label, weight, given)


def check_two_classes(estimator: Any, classes: NDArray[Any]) -> None:
    """Refuse fewer than two classes."""
    if len(classes) < 2:
        there = f"only one class: {classes.tolist()[0]!r}" if len(classes) == 1 else "no class"
        raise ValueError(
            f"{type(estimator).__name__} needs at least two classes among the samples of positive weight, "
            f"but there is {there}."
        )


def _check_labels(y: NDArray[Any]) -> None:
    """Let scikit-learn check the labels, where it may object: its check takes as long as a small fit."""
    if y.dtype.kind in "biu" and len(np.unique(y)) <= len(y) // 2:  # many look like numbers
        return
    check_classification_targets(y)


class SVMClassifier(ClassifierMixin, BaseEstimator):
    """A classifier of one or more two-class SVMs. A subclass fits them, and says what they decide."""

    _scheme = "ovo"  # one against one, unless a fit decided otherwise

    @abstractmethod
    def _decisions(self, X: Array) -> Array:
        """Return the decision values of checked rows, one column per two-class problem."""

    def _check_place(self, X: Any, method: str) -> None:
        """Raise unless X is where the fitted arrays are, of an SVM that takes tensors."""

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def decision_function(self, X: Any) -> Array:
        """Return the decision values.

        Two classes: f(x), positive for ``classes_[1]``. More: one score per class. One against one it is the
        number of votes plus the sum of the decision values squashed into (−1/3, 1/3), as in scikit-learn.

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
        where several have, another one may have the largest value of `decision_function`.

        Parameters
        ----------
        X : array-like, dask.array or dask.dataframe of shape (n_samples, n_features)
            The samples.

        Returns
        -------
        array of shape (n_samples,)
            The classes; of a collection of Dask, not computed yet.
        """
        return self._answer(X, _choose, "predict")

    def _predict_with_values(self, X: Any) -> tuple[NDArray[Any], Array]:
        """Return what `predict` and `decision_function` do, in the time of one of them."""
        both: tuple[NDArray[Any], Array] = self._answer(
            X, lambda *given: (_choose(*given), _score(*given)), "predict"
        )
        return both

    def _answer(self, X: Any, answer: Answer, method: str) -> Any:
        """Return what decision values say: an array, or, of a collection of Dask, one not computed yet."""
        check_is_fitted(self)
        if is_lazy(X):
            return map_rows(self, X, answer)
        self._check_place(X, method)
        return answer(self, self._decisions(check_rows(self, X, reset=False)))


def _score(model: SVMClassifier, decisions: Array) -> Array:
    return score_classes(decisions, len(model.classes_), model._scheme)


def _choose(model: SVMClassifier, decisions: Array) -> NDArray[Any]:
    chosen: NDArray[Any] = take(model.classes_, choose_classes(decisions, len(model.classes_), model._scheme))
    return chosen
