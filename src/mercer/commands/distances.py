"""The kernel inside a model, and how near rows are by it."""

from typing import Any

import numpy as np
from sklearn.gaussian_process import kernels as sk_kernels
from sklearn.pipeline import Pipeline

from mercer._typing import Array
from mercer.commands.errors import WrongRequestError
from mercer.preprocessing.scaling import ClippedScaler
from mercer.search.candidates import kernel_of


def kernel_of_model(model: Pipeline) -> sk_kernels.Kernel | None:
    """Return the kernel of the last step, for rows as the steps before it leave them.

    Where scaling is the last step, that is the plain inner product.
    """
    last = model[-1]
    return sk_kernels.DotProduct(0.0, "fixed") if isinstance(last, ClippedScaler) else kernel_of(last)


def distances(model: Pipeline, rows: Any, query: int) -> Array:
    """Return ‖φ(x) − φ(q)‖ of all rows x to the query row q, in the feature space of the kernel."""
    kernel = kernel_of_model(model)
    if kernel is None:
        raise WrongRequestError("The model has no kernel that mercer knows: train one with `mercer learn`.")
    before = model if isinstance(model[-1], ClippedScaler) else model[:-1]
    Z: Array = before.transform(rows) if len(before) else rows  # the kernel of a blend takes them as they are
    q = Z[query : query + 1]
    squared = kernel.diag(Z) - 2.0 * np.asarray(kernel(q, Z))[0] + kernel.diag(q)
    return np.sqrt(np.maximum(squared, 0.0))
