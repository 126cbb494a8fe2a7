"""The online kernel Perceptron [Rosenblatt 1958], the classifier of the experiments in [CKS02]."""

from collections.abc import Iterator
from typing import Any, Self, final

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.gaussian_process import kernels as sk_kernels
from sklearn.utils import Tags, assert_all_finite, gen_batches
from sklearn.utils.validation import check_is_fitted

from mercer._typing import Array, Index
from mercer.compiled import njit
from mercer.limits import check_gram_fits
from mercer.machines.labels import check_samples
from mercer.parameters import check_count
from mercer.validation import check_rows

_BLOCK = 2**24  # entries of the largest matrix that a prediction computes at a time: 128 MiB


@final
class KernelPerceptron(ClassifierMixin, BaseEstimator):
    r"""The Perceptron of the experiments in [CKS02]: online, in the span of a kernel, without a bias.

    The training rows are visited in the given order, `n_epochs` times. A row on which the current function

    .. math:: f(x) = \sum_i c_i y_i k(x_i, x), \qquad c = 0 \text{ at the start},

    is wrong, :math:`y_i f(x_i) \le 0`, is added once more: :math:`c_i \leftarrow c_i + 1`. A score of exactly
    zero counts as a mistake, so that the very first row is always one.

    More than two classes have a function each (the multiclass Perceptron of Crammer and Singer): a row that
    is classified wrongly is added to the function of its own class and taken from that of its strongest
    rival. A row is right only if the score of its own class is larger than all others: a tie is a mistake,
    and among rivals of equal score the first in `classes_` counts as the strongest. On two classes this is
    the rule above, with the functions f and −f.

    Besides the Gram matrix, O(n²) in memory, an update costs O(n) and a visit to a row that is right O(1).

    Parameters
    ----------
    kernel : kernel, "precomputed" or None, default=None
        A kernel of mercer or of scikit-learn; None is the plain inner product. With "precomputed" `fit` takes
        the symmetric Gram matrix of the training rows, and the other methods the matrix of k(x, x_i) with a
        row for each x and a column for each training row.
    n_epochs : int, default=1
        How many times the training rows are visited.
    average : bool, default=False
        Whether the result is the mean of the functions after each of the ``n_epochs * n`` steps, mistake or
        not (the averaged Perceptron of Freund and Schapire), instead of the last one. What is learned on the
        way, the attributes but `dual_coef_`, is the same.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    mistakes_ : boolean array of shape (n_epochs, n)
        Whether a row was classified wrongly when it was visited: the online errors.
    n_updates_ : int
        The number of mistakes, and of updates.
    n_updates_to_separate_ : int or None
        The number of updates after which all training rows were first right, with the function that is being
        updated; None if that never happened. From then on there are no mistakes, so it is `n_updates_`.
    support_ : array of shape (n_support,)
        The rows that were added at least once; no other is kept.
    dual_coef_ : array of shape (1, n_support), or (n_classes, n_support) for more than two classes
        The coefficients c_i y_i of the function, or those of the function of each class.
    kernel_ : kernel or None
        The kernel; None if it was precomputed.

    Examples
    --------
    >>> from reproduction.baselines import KernelPerceptron
    >>> from mercer.datasets import slanted
    >>> X, y = slanted(300, random_state=0)
    >>> model = KernelPerceptron(n_epochs=10).fit(X, y)
    >>> model.score(X, y), model.n_updates_to_separate_ == model.n_updates_
    (1.0, True)
    """

    def __init__(self, kernel: Any = None, *, n_epochs: int = 1, average: bool = False):
        self.kernel = kernel
        self.n_epochs = n_epochs
        self.average = average

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Visit the rows in their order, `n_epochs` times.

        Parameters
        ----------
        X : array of shape (n, n_features), or the Gram matrix of shape (n, n)
        y : array of shape (n,)
            Labels of two or more classes, of any type.
        """
        check_count(self.n_epochs, "n_epochs")
        samples = check_samples(self, X, y, None)
        rows, self._labels = samples.X, samples.label
        self.kernel_ = _checked_kernel(self.kernel)
        self._rivals, separated = visit(
            self._training_gram(rows), self._labels, len(self.classes_), self.n_epochs
        )
        self.mistakes_ = self._rivals >= 0
        self.n_updates_ = int(self.mistakes_.sum())
        self.n_updates_to_separate_ = self.n_updates_ if separated else None
        self.support_ = np.flatnonzero(self.mistakes_.any(axis=0))
        self._anchors = None if self.kernel_ is None else rows[self.support_]
        self.dual_coef_ = self._coef_after(self.n_epochs).T
        return self

    def decision_function(self, X: ArrayLike) -> Array:
        """Return f(x) for each row, positive for ``classes_[1]``; for more classes a column for each."""
        check_is_fitted(self)
        return _flat_if_single(self._products(X, self.dual_coef_.T))

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Return the class of each row, the first one in a tie."""
        return self._classes_of(self.decision_function(X))

    def staged_decision_function(self, X: ArrayLike) -> Iterator[Array]:
        """Yield the decision function after 1, 2, … `n_epochs` epochs.

        The t-th value is that of a fit with ``n_epochs=t``. The kernel to the rows of X is computed once.
        """
        check_is_fitted(self)
        stages = [self._coef_after(epoch) for epoch in range(1, len(self.mistakes_) + 1)]
        products = self._products(X, np.hstack(stages))
        for scores in np.split(products, len(stages), axis=1):
            yield _flat_if_single(scores)

    def staged_predict(self, X: ArrayLike) -> Iterator[NDArray[Any]]:
        """Yield the predictions after 1, 2, … `n_epochs` epochs."""
        for scores in self.staged_decision_function(X):
            yield self._classes_of(scores)

    def _training_gram(self, rows: Array) -> Array:
        if self.kernel_ is None:
            _check_symmetric(rows)
            return np.ascontiguousarray(rows)
        check_gram_fits(len(rows), "Use fewer samples.")
        K = np.ascontiguousarray(self.kernel_(rows), dtype=np.float64)
        assert_all_finite(K, input_name="kernel(X)")
        return K

    def _coef_after(self, n_epochs: int) -> Array:
        """Return the coefficients of the support, with a column for each function.

        Update t (from 0) is in the functions after the steps t, …, T − 1: in T − t of all T.
        """
        epoch, row = np.nonzero(self.mistakes_[:n_epochs])
        n = self.mistakes_.shape[1]
        share = 1 - (epoch * n + row) / (n_epochs * n) if self.average else np.ones(len(row))
        coef = np.zeros((n, len(self.classes_)))
        np.add.at(coef, (row, self._labels[row]), share)
        np.subtract.at(coef, (row, self._rivals[epoch, row]), share)
        return coef[self.support_, 1:] if len(self.classes_) == 2 else coef[self.support_]

    def _products(self, X: ArrayLike, coef: Array) -> Array:
        """Return Σ_i coef[i, :] k(x, x_i) for each row x, a block of rows at a time."""
        rows: Array = check_rows(self, X, reset=False)
        blocks = gen_batches(len(rows), max(1, _BLOCK // len(coef)))
        return np.vstack([self._kernel_to_support(rows[block]) @ coef for block in blocks])

    def _kernel_to_support(self, rows: Array) -> Any:
        return rows[:, self.support_] if self.kernel_ is None else self.kernel_(rows, self._anchors)

    def _classes_of(self, scores: Array) -> NDArray[Any]:
        chosen = (scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)
        return np.take(self.classes_, chosen)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = isinstance(self.kernel, str) and self.kernel == "precomputed"
        return tags


@njit(cache=True)
def visit(K: Array, labels: Index, n_classes: int, n_epochs: int) -> tuple[NDArray[np.int32], bool]:
    """Run the multiclass Perceptron on a symmetric Gram matrix.

    The scores of all rows are kept up to date, so that an update reads one row of K, and a visit none.
    Once all rows are right nothing changes any more: an epoch without a mistake ends the loop.

    Returns
    -------
    rivals : array of shape (n_epochs, n)
        The class from whose function the row was taken in that epoch; −1 where it was right.
    separated : bool
        Whether all rows are right at the end.
    """
    n = len(labels)
    scores = np.zeros((n_classes, n))
    rivals = np.full((n_epochs, n), -1, dtype=np.int32)
    for epoch in range(n_epochs):
        right = 0
        for i in range(n):
            rival = strongest_rival(scores[:, i], labels[i])
            if scores[labels[i], i] > scores[rival, i]:
                right += 1
            else:
                rivals[epoch, i] = rival
                _move(scores[labels[i]], scores[rival], K[i])
        if right == n:
            break
    return rivals, _all_right(scores, labels)


@njit(cache=True)
def strongest_rival(scores: Array, label: int) -> int:
    """Return the first class of the largest score but for that of the label."""
    rival = 1 if label == 0 else 0
    for other in range(rival + 1, len(scores)):
        if other != label and scores[other] > scores[rival]:
            rival = other
    return rival


@njit(cache=True)
def _move(gaining: Array, losing: Array, k: Array) -> None:
    for j in range(len(k)):
        gaining[j] += k[j]
        losing[j] -= k[j]


@njit(cache=True)
def _all_right(scores: Array, labels: Index) -> bool:
    for i in range(len(labels)):
        if not scores[labels[i], i] > scores[strongest_rival(scores[:, i], labels[i]), i]:
            return False
    return True


def _checked_kernel(kernel: Any) -> Any:
    """Return the kernel to call, None for a Gram matrix."""
    if kernel is None:
        return sk_kernels.DotProduct(sigma_0=0.0, sigma_0_bounds="fixed")
    if isinstance(kernel, sk_kernels.Kernel):
        return clone(kernel)
    if isinstance(kernel, str) and kernel == "precomputed":
        return None
    raise ValueError(f"kernel must be a scikit-learn kernel, 'precomputed' or None, got {kernel!r}.")


def _check_symmetric(K: Array) -> None:
    if K.shape[0] != K.shape[1]:
        raise ValueError(f"A precomputed Gram matrix must be square, this one has the shape {K.shape}.")
    tolerance = 1e-8 * max(K.max(), -K.min())
    blocks = gen_batches(len(K), max(1, _BLOCK // len(K)))
    if not all(np.allclose(K[block], K[:, block].T, atol=tolerance) for block in blocks):
        raise ValueError("A precomputed Gram matrix must be symmetric, this one is not.")


def _flat_if_single(scores: Array) -> Array:
    return scores[:, 0] if scores.shape[1] == 1 else scores
