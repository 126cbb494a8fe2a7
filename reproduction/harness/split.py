"""The rows that a method learns from and those that it is judged on: drawn at random, or as is customary."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import MinMaxScaler

from mercer._typing import Array
from mercer.datasets import Dataset


class Split(NamedTuple):
    """The rows that a method learns from, and those that it is judged on."""

    X_train: Array
    y_train: NDArray[Any]
    X_test: Array
    y_test: NDArray[Any]

    def scaled(self, low: float, high: float) -> "Split":
        """Scale each feature to [low, high] on the training part."""
        scaler = MinMaxScaler(feature_range=(low, high)).fit(self.X_train)
        return self._replace(X_train=scaler.transform(self.X_train), X_test=scaler.transform(self.X_test))

    def only(self, classes: Sequence[int]) -> "Split":
        """Return the rows of these classes alone, in the order in which they are."""
        train, test = np.isin(self.y_train, classes), np.isin(self.y_test, classes)
        return Split(self.X_train[train], self.y_train[train], self.X_test[test], self.y_test[test])

    def percent_wrong(self, predicted: NDArray[Any]) -> float:
        """Return the share of wrong predictions of the test rows in %."""
        return 100 * float(np.mean(predicted != self.y_test))


def random_split(dataset: Dataset, share: float, seed: int) -> Split:
    """Return a plain random share of the rows for training, and the others for testing."""
    X_train, X_test, y_train, y_test = train_test_split(
        dataset.X, dataset.y, train_size=share, random_state=seed
    )
    return Split(X_train, y_train, X_test, y_test)


def customary_split(dataset: Dataset) -> Split:
    """Return the two parts in which the data set is published, in the order of its file."""
    X, y, n = dataset.X, dataset.y, dataset.n_train
    return Split(X[:n], y[:n], X[n:], y[n:])
