"""How good a kernel or a metric is: alignment, AUC of pairs, ROC of retrieval, agreement of clusterings."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata
from sklearn.metrics import rand_score, roc_curve
from sklearn.utils import column_or_1d

from mercer._typing import Array


def alignment(K1: Any, K2: Any, *, centred: bool = False) -> float:
    r"""Return the alignment of two Gram matrices of the same samples [KT03, Section 2; also OSW02, HBW06].

    .. math:: A(K_1, K_2) = \frac{\langle K_1, K_2 \rangle}{\|K_1\| \, \|K_2\|},

    the cosine of the angle between them as vectors: 1 if one is a positive multiple of the other, and at
    least 0 if both are positive semi-definite. O(n²).

    Parameters
    ----------
    K1, K2 : array of shape (n, n)
        Gram matrices, neither of them zero; `ideal_kernel` gives that of the labels.
    centred : bool, default=False
        Whether both are centred first, as by Cortes, Mohri and Rostamizadeh (JMLR 2012). Then nothing that
        is added to a kernel counts, as nothing does to an SVM with an intercept.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.metrics import alignment, ideal_kernel
    >>> ideal = ideal_kernel(["a", "a", "b"])
    >>> round(alignment(np.eye(3), ideal), 3), round(alignment(2 * ideal, ideal), 3)
    (0.775, 1.0)
    """
    first, second = np.asarray(K1, dtype=np.float64), np.asarray(K2, dtype=np.float64)
    if first.shape != second.shape:
        raise ValueError(f"the matrices must have the same shape, not {first.shape} and {second.shape}")
    if centred:
        first, second = (K - K.mean(axis=0) - K.mean(axis=1)[:, None] + K.mean() for K in (first, second))
    lengths = [np.abs(K).max(initial=0.0) for K in (first, second)]
    if not all(0.0 < length < np.inf for length in lengths):
        raise ValueError("a matrix that is zero, or not finite, has no alignment")
    # scaled first, so that the squares of very small or large entries neither underflow nor overflow
    first, second = first / lengths[0], second / lengths[1]
    return float(np.vdot(first, second) / (np.linalg.norm(first) * np.linalg.norm(second)))


def ideal_kernel(y: Any) -> Array:
    """Return the Gram matrix of the ideal kernel [KT03, (1)]: 1 for samples of one class, 0 for others.

    Parameters
    ----------
    y : array-like of shape (n,)
        The class labels, of any type.
    """
    label = column_or_1d(y)
    ideal: Array = (label[:, None] == label[None, :]).astype(np.float64)
    return ideal


def pair_auc(similarity: Any, similar: Any) -> float:
    """Return the area under the ROC curve (AUC) of a similarity, as a classifier of similar pairs.

    It is the probability that a similar pair has a larger similarity than a dissimilar one, ties counting
    half: 1 if all similar pairs have larger ones than all dissimilar pairs, 1/2 by chance.

    Parameters
    ----------
    similarity : array-like of shape (n_pairs,)
        The larger, the more similar: kernel values, or distances with a minus sign.
    similar : array-like of shape (n_pairs,)
        Whether the pair is similar, true or false; both must occur.

    Examples
    --------
    >>> from mercer.metrics import pair_auc
    >>> pair_auc([0.9, 0.8, 0.7, 0.1], [True, False, True, False])
    0.75
    """
    is_similar = column_or_1d(similar).astype(bool)
    if is_similar.all() or not is_similar.any():
        raise ValueError("there must be similar and dissimilar pairs, but all are of one kind")
    values = column_or_1d(similarity)
    if len(values) != len(is_similar):
        raise ValueError(f"there are {len(values)} similarities for {len(is_similar)} pairs")
    if not np.all(np.isfinite(values)):
        raise ValueError("similarities must be finite numbers")
    # as sklearn.metrics.roc_auc_score, which takes three to nine times as long: searches ask for thousands
    n_similar, n_dissimilar = int(is_similar.sum()), int((~is_similar).sum())
    rank_sum = float(rankdata(values)[is_similar].sum())
    return (rank_sum - n_similar * (n_similar + 1) / 2) / (n_similar * n_dissimilar)


def retrieval_roc(similarity: Any, relevant: Any, n_points: int = 201) -> tuple[Array, Array]:
    """Return the average ROC curve of queries to a database [HBW06, Section 4.2].

    A query ranks the database by similarity. Its ROC curve is the true positive rate, the fraction of the
    relevant items that are retrieved, as a function of the false positive rate, that of the others; ties are
    straight lines. The curves of all queries are averaged at each false positive rate.

    Parameters
    ----------
    similarity : array-like of shape (n_queries, n_items)
        Items of larger similarity rank first: kernel values, or distances with a minus sign. NaN excludes an
        item from the database of a query, such as the query itself.
    relevant : array-like of shape (n_queries, n_items)
        Whether the item is relevant to the query; each query needs relevant and irrelevant items.
    n_points : int, default=201
        Number of points of the curve, evenly spaced from 0 to 1.

    Returns
    -------
    tuple of two arrays of shape (n_points,)
        The false positive rates and the true positive rates.

    Examples
    --------
    >>> from mercer.metrics import retrieval_roc
    >>> false, true = retrieval_roc([[0.9, 0.8, 0.7, 0.1]], [[True, False, True, False]], n_points=3)
    >>> true
    array([0.5, 1. , 1. ])
    """
    grid = np.linspace(0.0, 1.0, n_points)
    curves = np.zeros(n_points)
    queries = list(_queries(similarity, relevant))
    for values, wanted in queries:
        false, true, _ = roc_curve(wanted, values, drop_intermediate=False)
        curves += np.interp(grid, false, true)  # where it jumps, at the upper end
    return grid, curves / len(queries)


def retrieval_auc(similarity: Any, relevant: Any) -> float:
    """Return the area under the ROC curve of retrieval, averaged over the queries [HBW06, Section 4.2].

    Parameters
    ----------
    similarity, relevant : array-like of shape (n_queries, n_items)
        As in `retrieval_roc`.

    Examples
    --------
    >>> from mercer.metrics import retrieval_auc
    >>> retrieval_auc([[0.9, 0.8, 0.7, 0.1]], [[True, False, True, False]])
    0.75
    """
    return float(np.mean([pair_auc(values, wanted) for values, wanted in _queries(similarity, relevant)]))


def _queries(similarity: Any, relevant: Any) -> Iterator[tuple[Array, NDArray[np.bool_]]]:
    """Return the similarities of each query to the items of its database, and which are relevant."""
    S, wanted = np.asarray(similarity, dtype=np.float64), np.asarray(relevant).astype(bool)
    if S.ndim != 2 or S.shape != wanted.shape or len(S) == 0:
        raise ValueError(f"both must be of one shape (n_queries, n_items), not {S.shape} and {wanted.shape}")
    there = ~np.isnan(S)
    lacking = ~np.any(there & wanted, axis=1) | ~np.any(there & ~wanted, axis=1)
    if np.any(lacking):
        raise ValueError(f"query {np.argmax(lacking)} has no relevant, or no irrelevant items: drop it")
    return ((row[kept], hit[kept]) for row, hit, kept in zip(S, wanted, there, strict=True))


def clustering_accuracy(y_true: Any, y_pred: Any) -> float:
    """Return the fraction of pairs of samples on which two clusterings agree [KT03, footnote 9].

    They agree on a pair if it is together in both, or apart in both. This is the Rand index,
    `sklearn.metrics.rand_score`. With k clusters of one size, unrelated ones agree on 1 − 2/k + 2/k² of the
    pairs: half of them for two clusters.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n,)
        The cluster labels of the samples; their names do not matter.
    """
    return float(rand_score(y_true, y_pred))
