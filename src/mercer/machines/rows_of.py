"""Which rows for which kernel: samples prepared for any number of fits, of any problem, loss and C.

A kernel says what structure it has. The stump kernel is additive: a *table*; so are slices of the perceptron
kernel. A finite feature map is a vector: *features*. Others have their *Gram* matrix while it fits in memory
and in time, and *landmarks* beyond. `prepare` returns samples of one of these four kinds, where they are: in
memory or on a device (of Dask's collections see `machines.distributed`).
"""

from typing import Any

import numpy as np
from sklearn.gaussian_process import kernels as sk_kernels

from mercer._typing import Array
from mercer.array_api import is_of_numpy, like
from mercer.kernels import Perceptron, Stump
from mercer.machines.additive_samples import AdditiveSamples, draw_directions, n_slices
from mercer.machines.feature_samples import FeatureSamples
from mercer.machines.functions import features_of, has_features
from mercer.machines.gram_samples import GaussianSamples, GramSamples, is_gaussian
from mercer.machines.landmark_samples import prepare_landmarks
from mercer.machines.problems import How
from mercer.machines.samples import PreparedSamples
from mercer.solvers.newton import HINGE, LogLoss, Loss, SquaredError

METHODS = ("auto", "table", "sliced", "features", "gram", "landmarks")
# samples up to which "auto" computes a Gram matrix: LIBSVM looks at what it needs of it, a closed form
# factors it once, Newton steps some ten times
GRAM_ROWS, RIDGE_ROWS, NEWTON_ROWS = 20_000, 10_000, 5000
SOFTMAX_ROWS = 2000  # of several classes at once, which need its eigenvectors
# The perceptron kernel has slices from so many samples on; but where these are at most so many times the
# columns of slices of all problems, slices take longer than LIBSVM
SLICED_ROWS, MOST_UNSLICED, ROWS_OF_A_SLICE = 3000, 15_000, 4
FEATURE_ROWS = 5  # samples of a problem for each feature, from which on features are the better way
# small problems, if there are many, are faster by LIBSVM: samples of one, in all, C × variance
MANY_PROBLEMS, EASY_ROWS, EASY_TOTAL, EASY_EFFORT = 10, 150, 4000, 30.0
GAUSSIAN_ROWS = 3000  # from which on LIBSVM computes the Gaussian kernel itself, a value when it needs it


def prepare(kernel: Any, X: Array, how: How) -> PreparedSamples:
    """Prepare samples for a kernel."""
    if how.method == "table":
        return AdditiveSamples(kernel, X, how.max_bins, how.seed)
    if how.method == "sliced":
        directions = draw_directions(X.shape[1], n_slices(how, X.shape[1]), how.seed)
        return AdditiveSamples(kernel, X, how.max_bins, how.seed, like(X, directions))
    if how.method == "gram":
        by_libsvm = how.loss is HINGE and how.n_classes > 0 and is_of_numpy(X)
        itself = by_libsvm and len(X) > GAUSSIAN_ROWS and is_gaussian(kernel)
        return GaussianSamples(kernel, X) if itself else GramSamples.of(kernel, X)
    if how.method == "landmarks":
        return prepare_landmarks(kernel, X, how)
    return FeatureSamples.of(kernel, X)


def choose_method(
    kernel: Any, how: How, loss: Loss, shape: tuple[int, int], n_classes: int = 2, effort: float = np.inf
) -> str:
    """Return the method for samples of this shape; raise ValueError if what was asked for cannot be.

    `effort` is C times the variance of the samples, in which LIBSVM's time grows.
    """
    method, (n, n_features) = how.method, shape
    if method in ("table", "sliced", "features"):
        _check_structure(method, kernel)
    if method != "auto":
        return method
    if isinstance(kernel, Stump):
        return "table"
    if isinstance(kernel, Perceptron):
        few = n <= SLICED_ROWS
        if loss is HINGE and SLICED_ROWS < n <= MOST_UNSLICED:
            few = n <= ROWS_OF_A_SLICE * n_slices(how, n_features) * (n_classes - 1)
        return "gram" if few else "sliced"
    limit = GRAM_ROWS if loss is HINGE else RIDGE_ROWS if isinstance(loss, SquaredError) else NEWTON_ROWS
    if isinstance(loss, LogLoss) and n_classes > 2:
        limit = SOFTMAX_ROWS
    if has_features(kernel):
        p, per_problem = n_features, 2 * n / max(n_classes, 2)
        if not isinstance(kernel, sk_kernels.DotProduct):
            p = features_of(kernel, np.zeros((1, n_features))).shape[1]
        n_problems = n_classes * (n_classes - 1) // 2
        small = n_problems >= MANY_PROBLEMS and per_problem <= EASY_ROWS and n <= EASY_TOTAL
        easy = loss is HINGE and small and effort <= EASY_EFFORT
        if (FEATURE_ROWS * p <= per_problem and not easy) or (n > limit and p <= n):
            return "features"
    return "gram" if n <= limit else "landmarks"


def _check_structure(method: str, kernel: Any) -> None:
    fits = {
        "table": isinstance(kernel, Stump),
        "sliced": isinstance(kernel, Perceptron),
        "features": has_features(kernel),
    }
    if not fits[method]:
        what = {
            "table": "is not additive: method='table' is for the stump kernel",
            "sliced": "has no slices: method='sliced' is for the perceptron kernel",
            "features": "has no finite feature map: method='features' is for a FeatureKernel",
        }
        raise ValueError(f"{kernel} {what[method]}; use method='auto', 'gram' or 'landmarks'.")
