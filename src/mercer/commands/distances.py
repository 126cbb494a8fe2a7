"""How near rows are by the kernel of a model."""

from typing import Any

import numpy as np
from sklearn.utils import gen_batches

from mercer._typing import Array
from mercer.commands.errors import WrongRequestError

BLOCK = 2**14  # rows whose features are computed at a time


def distances(kernel: Any, X: Array, query: int) -> Array:
    """Return ‖φ(x) − φ(q)‖ of all rows x to the query row q, in the feature space of the kernel."""
    if kernel is None:
        raise WrongRequestError("The model has no kernel that mercer knows: train one with `mercer learn`.")
    q, squared = X[query : query + 1], np.empty(len(X))
    for rows in gen_batches(len(X), BLOCK):
        squared[rows] = kernel.diag(X[rows]) - 2.0 * np.asarray(kernel(q, X[rows]))[0]
    return np.sqrt(np.maximum(squared + kernel.diag(q), 0.0))
