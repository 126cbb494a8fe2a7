"""The types and functions that a file may name. Everything else is refused.

What is here must be harmless whatever a stranger puts into it, and however it is called: no type whose
restoring runs anything but NumPy, no function that touches more than its arguments. In particular there are
neither trees of scikit-learn (wrong indices in them crash Python) nor distributions of SciPy (they execute
text), `joblib.Memory` (it unpickles), partial functions, methods or operators.
"""

import importlib
from functools import cache
from typing import Any

import numpy as np

Name = tuple[str, str]  # module and name

# Rooms of mercer whose classes hold no more than numbers and each other
ROOMS = {
    "kernels",
    "learners",
    "svm",
    "search",
    "baselines",
    "pairs",
    "solvers",
    "power_series",
    "superkernels",
}

NUMPY_SCALARS = {("numpy", kind.__name__) for kind in np.sctypeDict.values()} - {
    ("numpy", "void"),  # np.void(n) allocates n bytes
    ("numpy", "object_"),
}
KEY_TYPES = {("builtins", name) for name in ("str", "int", "float", "bool")} | NUMPY_SCALARS
TRUTH_VALUES = {("builtins", "bool"), ("numpy", "bool")}
DICTIONARIES = {("builtins", "dict"), ("collections", "OrderedDict"), ("sklearn.utils._bunch", "Bunch")}
ARRAYS = {("numpy", "ndarray"), ("numpy", "memmap")}  # joblib's workers leave memory maps behind
RANDOM_STATES = {("numpy.random", "RandomState"), ("numpy.random.mtrand", "RandomState")}
MASKED_ARRAYS = {("numpy.ma", "MaskedArray"), ("numpy.ma.core", "MaskedArray")}
VALUE_TYPES = KEY_TYPES | {  # types that may themselves be values; repeated splitters hold what they repeat
    ("builtins", "object"),
    ("numpy", "object_"),
    ("sklearn.model_selection._split", "KFold"),
    ("sklearn.model_selection._split", "StratifiedKFold"),
}
LOSSES = {  # of scikit-learn's linear models: a number or two, compiled
    ("sklearn.linear_model._sgd_fast", name)
    for name in ("Hinge", "SquaredHinge", "ModifiedHuber", "EpsilonInsensitive", "SquaredEpsilonInsensitive")
} | {("sklearn._loss._loss", f"Cy{name}") for name in ("HalfBinomialLoss", "HalfSquaredError", "HuberLoss")}
FEATURE_TESTS = ("chi2", "f_classif", "f_regression", "mutual_info_classif", "mutual_info_regression")

# Private classes of scikit-learn that fitted estimators hold; all are plain bags of attributes
SKLEARN_PARTS = {
    ("sklearn.calibration", "_CalibratedClassifier"),
    ("sklearn.calibration", "_SigmoidCalibration"),
    ("sklearn.calibration", "_TemperatureScaling"),
    ("sklearn.gaussian_process._gpc", "_BinaryGaussianProcessClassifierLaplace"),
    ("sklearn.metrics._scorer", "_MultimetricScorer"),
    ("sklearn.metrics._scorer", "_PassthroughScorer"),
    ("sklearn.metrics._scorer", "_Scorer"),
    ("sklearn.multiclass", "_ConstantPredictor"),
    ("sklearn.neural_network._stochastic_optimizers", "AdamOptimizer"),
    ("sklearn.neural_network._stochastic_optimizers", "SGDOptimizer"),
    ("sklearn.utils._metadata_requests", "MetadataRequest"),
    ("sklearn.utils._metadata_requests", "MethodMetadataRequest"),
}


def is_object(name: Name) -> bool:
    """Return whether an instance may be restored from its attributes."""
    return name in sklearn_classes() or (_is_of_mercer(name) and not issubclass(_find(name), tuple))


def is_tuple(name: Name) -> bool:
    """Return whether it is a tuple, or a `NamedTuple` of mercer."""
    return name == ("builtins", "tuple") or (_is_of_mercer(name) and issubclass(_find(name), tuple))


def find_function(name: Name) -> Name | None:
    """Return under which name a harmless function is found: a ufunc, or a score or kernel of scikit-learn."""
    for library in ("numpy", "scipy.special"):
        if name[0].split(".")[0] == library.split(".")[0]:
            found = getattr(importlib.import_module(library), name[1], None)
            if isinstance(found, np.ufunc):
                return library, name[1]
    return name if name in sklearn_functions() else None


def _is_of_mercer(name: Name) -> bool:
    package, _, rest = name[0].partition(".")
    if package != "mercer" or rest.split(".")[0] not in ROOMS:
        return False
    found = _find(name)
    return isinstance(found, type) and (found.__module__, found.__name__) == name


def _find(name: Name) -> Any:
    try:
        return getattr(importlib.import_module(name[0]), name[1], None)
    except ImportError:
        return None


@cache
def sklearn_classes() -> frozenset[Name]:
    """Return scikit-learn's public estimators, kernels and splitters, and what these hold."""
    from sklearn.gaussian_process import kernels
    from sklearn.model_selection import _split
    from sklearn.utils import all_estimators

    estimators = {kind for _, kind in all_estimators() if kind.__module__.startswith("sklearn.")}
    here = {kind for kind in vars(kernels).values() if _is_a(kind, kernels.Kernel)}
    splitters = {kind for kind in vars(_split).values() if hasattr(kind, "get_n_splits")}
    return frozenset(map(_name, estimators | here | splitters)) | SKLEARN_PARTS


@cache
def sklearn_functions() -> frozenset[Name]:
    """Return scikit-learn's scores, kernels, distances and tests of features."""
    from sklearn import feature_selection
    from sklearn.metrics import get_scorer, get_scorer_names, pairwise

    scores = {get_scorer(name)._score_func for name in get_scorer_names()}
    kernels = set(pairwise.PAIRWISE_KERNEL_FUNCTIONS.values())
    distances = set(pairwise.PAIRWISE_DISTANCE_FUNCTIONS.values()) - {None}
    tests = {getattr(feature_selection, name) for name in FEATURE_TESTS}
    return frozenset(map(_name, scores | kernels | distances | tests))


def _is_a(kind: object, base: type) -> bool:
    return isinstance(kind, type) and issubclass(kind, base)


def _name(thing: Any) -> Name:
    return thing.__module__, thing.__name__
