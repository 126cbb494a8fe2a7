"""The toy problem of [KT03, Section 4]: one relevant feature among eleven."""

import numpy as np
from sklearn.utils import check_random_state

from mercer._typing import Array, Labels

RandomState = int | np.random.RandomState | None

MEAN = 3.0  # of the relevant feature in class +1; its negative in class −1
DEVIATION, DEVIATION_REST = 1.0, 5.0  # of the relevant feature, and of the others


def one_relevant(
    n_per_class: int = 50, n_irrelevant: int = 10, *, random_state: RandomState = None
) -> tuple[Array, Labels]:
    """Draw the toy data of [KT03]: one feature separates the classes, the others are louder noise.

    The first feature is N(3, 1) in class +1 and N(−3, 1) in class −1, the others are N(0, 25) in both. Its
    sign is the Bayes classifier, of error Φ(−3), 0.13 %. But between the classes it makes up only 38 of the
    mean squared distance of 538, so that nearest neighbours err on more than a quarter of the rows.

    Parameters
    ----------
    n_per_class : int
        The number of rows of each class; class +1 comes first.
    n_irrelevant : int
        The number of features that carry no information about the class.
    random_state : int, RandomState or None

    Returns
    -------
    X : array of shape (2 * n_per_class, 1 + n_irrelevant)
    y : array of −1 and +1

    Examples
    --------
    >>> from mercer.datasets import one_relevant
    >>> X, y = one_relevant(random_state=0)
    >>> X.shape, bool((y * X[:, 0] > 0).mean() > 0.95)
    ((100, 11), True)
    """
    if n_per_class < 1 or n_irrelevant < 0:
        raise ValueError(
            "n_per_class must be positive and n_irrelevant not negative, "
            f"got {n_per_class} and {n_irrelevant}."
        )
    rng = check_random_state(random_state)
    y = np.repeat(np.array([1, -1]), n_per_class)
    relevant = MEAN * y + DEVIATION * rng.standard_normal(len(y))
    return np.column_stack([relevant, DEVIATION_REST * rng.standard_normal((len(y), n_irrelevant))]), y
