"""How near rows are by the kernel of a model."""

from typing import Any

import numpy as np

from mercer._typing import Array
from mercer.commands.errors import WrongRequestError


def distances(kernel: Any, X: Array, query: int) -> Array:
    """Return ‖φ(x) − φ(q)‖ of all rows x to the query row q, in the feature space of the kernel."""
    if kernel is None:
        raise WrongRequestError("The model has no kernel that mercer knows: train one with `mercer learn`.")
    q = X[query : query + 1]
    squared = kernel.diag(X) - 2.0 * np.asarray(kernel(q, X))[0] + kernel.diag(q)
    return np.sqrt(np.maximum(squared, 0.0))
