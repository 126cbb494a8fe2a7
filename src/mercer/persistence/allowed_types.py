"""The types and functions that a file may name, and what it calls them. Everything else is refused.

A class has a *stable name*: the one under which it is public, or, if it is not, one that is declared here.
Files hold stable names alone, so that modules can be renamed. **A name in these tables is never taken out or
given to another class**: files of users hold it. A public class that moves keeps its old name, in `PARTS`.

What is here must be harmless whatever an untrusted file puts into it: no type whose restoring runs anything
but NumPy, no function that touches more than its arguments, and no compiled code that trusts indices or
shapes, unless `fitted_state`, `libsvm` or `one_hot` checks them. In particular there are none of
scikit-learn's trees and neighbours. For what is not here there is skops itself, where one trusts the file.
"""

import importlib
from typing import Any, NamedTuple

import numpy as np

Name = tuple[str, str]  # module and name

# Classes by the module that exports them
PUBLIC = {
    "mercer": "BlendedKernel BoostedKernel ClippedScaler IdealizedKernel KernelBoost KernelRegressor "
    "KernelSVC KernelSearchCV KernelSearchRegressor PairMatcher Pairs PerceptronRegressor "
    "PerceptronSVC RelevanceKernel StumpRegressor StumpSVC "
    "Superkernel TableEncoder TreeRegressor TreeSVC",
    "mercer.kernels": "Combination Forest Mapped Mixture Perceptron PerceptronEnsemble Projected Ranked "
    "Rescaled Series Stump StumpEnsemble Tree",
    "mercer.superkernels": "ARD Alignment Explicit GaussianHarmonic Harmonic Posterior PowerSeries Risk "
    "SquaredRisk Widths",
    "mercer.machines": "UnseenErrors",
    "mercer.matching": "MatchError RecordKernel",
    "mercer.search": "Blend Calibration Candidate CandidateResult Difference Measure Metric NumberBlend "
    "SearchResult",
    "sklearn.pipeline": "FeatureUnion Pipeline",
    "sklearn.compose": "ColumnTransformer",
    "sklearn.impute": "MissingIndicator SimpleImputer",
    "sklearn.preprocessing": "FunctionTransformer KernelCenterer MaxAbsScaler MinMaxScaler Normalizer "
    "OneHotEncoder OrdinalEncoder PowerTransformer QuantileTransformer RobustScaler StandardScaler",
    "sklearn.feature_selection": "VarianceThreshold",
    "sklearn.decomposition": "KernelPCA PCA",
    "sklearn.kernel_approximation": "Nystroem",
    "sklearn.svm": "LinearSVC NuSVC NuSVR OneClassSVM SVC SVR",
    "sklearn.dummy": "DummyClassifier DummyRegressor",
    "sklearn.linear_model": "LogisticRegression Ridge RidgeCV",
    "sklearn.kernel_ridge": "KernelRidge",
    "sklearn.gaussian_process": "GaussianProcessClassifier GaussianProcessRegressor",
    "sklearn.gaussian_process.kernels": "CompoundKernel ConstantKernel DotProduct ExpSineSquared "
    "Exponentiation Matern PairwiseKernel Product RBF RationalQuadratic Sum WhiteKernel",
    "sklearn.model_selection": "GroupKFold KFold LeaveOneOut ShuffleSplit StratifiedGroupKFold "
    "StratifiedKFold StratifiedShuffleSplit",
}

# Classes that are not public, by stable names; where they are may change, the names may not
PARTS = {
    "mercer.parts.AdditiveFunction": "mercer.machines.functions.AdditiveFunction",
    "mercer.parts.CategoryColumn": "mercer.preprocessing.kinds.CategoryColumn",
    "mercer.parts.Decision": "mercer.search.decisions.Decision",
    "mercer.parts.BoostingClassifier": "mercer.search.trees.BoostingClassifier",
    "mercer.parts.ForestClassifier": "mercer.search.trees.ForestClassifier",
    "mercer.parts.BoostingRegressor": "mercer.search.trees.BoostingRegressor",
    "mercer.parts.ForestRegressor": "mercer.search.trees.ForestRegressor",
    "mercer.parts.Sum": "mercer.search.trees.Sum",
    "mercer.parts.HeldOut": "mercer.search.body.HeldOut",
    "mercer.parts.Spread": "mercer.search.spread.Spread",
    "mercer.parts.DateColumn": "mercer.preprocessing.kinds.DateColumn",
    "mercer.parts.AdditiveFunctions": "mercer.machines.functions.AdditiveFunctions",
    "mercer.parts.Comparison": "mercer.matching.comparison.Comparison",
    "mercer.parts.MatchDecision": "mercer.matching.decision.Decision",
    "mercer.parts.Judged": "mercer.matching.judged.Judged",
    "mercer.parts.KernelFunction": "mercer.machines.functions.KernelFunction",
    "mercer.parts.NumberColumn": "mercer.preprocessing.kinds.NumberColumn",
    "mercer.parts.NumberFormat": "mercer.preprocessing.numbers.NumberFormat",
    "mercer.parts.OrderedColumn": "mercer.matching.columns.Ordered",
    "mercer.parts.Share": "mercer.matching.probability.Share",
    "mercer.parts.Sigmoid": "mercer.matching.probability.Sigmoid",
    "mercer.parts.Similarities": "mercer.matching.comparison.Similarities",
    "mercer.parts.SpanFeatures": "mercer.learners.superkernel.SpanFeatures",
    "mercer.parts.SpelledColumn": "mercer.matching.columns.Spelled",
    "mercer.parts.TargetScaling": "mercer.machines.targets.TargetScaling",
    "mercer.parts.Terms": "mercer.matching.terms.Terms",
    "mercer.parts.TextColumn": "mercer.preprocessing.kinds.TextColumn",
    "mercer.parts.Units": "mercer.machines.functions.Units",
    "sklearn.parts.BinaryLaplace": "sklearn.gaussian_process._gpc._BinaryGaussianProcessClassifierLaplace",
}

NUMPY_SCALARS = {("numpy", kind.__name__) for kind in np.sctypeDict.values()} - {
    ("numpy", "void"),  # np.void(n) allocates n bytes
    ("numpy", "object_"),
}
KEY_TYPES = {("builtins", name) for name in ("str", "int", "float", "bool")} | NUMPY_SCALARS
TRUTH_VALUES = {("builtins", "bool"), ("numpy", "bool")}
ARRAYS = {("numpy", "ndarray"), ("numpy", "memmap")}  # joblib's workers leave memory maps behind
RANDOM_STATES = {("numpy.random", "RandomState"), ("numpy.random.mtrand", "RandomState")}
VALUE_TYPES = KEY_TYPES | {
    ("builtins", "object"),
    ("numpy", "object_"),
}  # types that may themselves be values


def _split(name: str) -> Name:
    module, _, kind = name.rpartition(".")
    return module, kind


# Where each class is, by its stable name
CLASSES: dict[Name, Name] = {
    (module, kind): (module, kind) for module, kinds in PUBLIC.items() for kind in kinds.split()
} | {_split(stable): _split(place) for stable, place in PARTS.items()}


class KnownClass(NamedTuple):
    """What a class is called on the other side, in the file or in Python, and whether it is a tuple."""

    name: Name
    is_tuple: bool


def from_file(name: Name) -> KnownClass | None:
    """Return where the class of a stable name is; None if there is no such name."""
    place = CLASSES.get(name)
    return None if place is None else KnownClass(place, issubclass(_find(place), tuple))


def to_file(name: Name) -> KnownClass | None:
    """Return the stable name of a class, by the module that defines it; None if it has none."""
    for stable, place in CLASSES.items():
        if place[1] == name[1]:  # others need not be imported
            kind = _find(place)
            if (kind.__module__, kind.__name__) == name:
                return KnownClass(stable, issubclass(kind, tuple))
    return None


def stable_name(kind: type) -> str:
    """Return the stable name of a class, or where it is if it has none."""
    known = to_file((kind.__module__, kind.__name__))
    return f"{kind.__module__}.{kind.__qualname__}" if known is None else ".".join(known.name)


def find_function(name: Name) -> Name | None:
    """Return under which name a harmless function, a ufunc of NumPy or SciPy, is found."""
    for library in ("numpy", "scipy.special"):
        if name[0].split(".")[0] == library.split(".")[0]:
            found = getattr(importlib.import_module(library), name[1], None)
            if isinstance(found, np.ufunc):
                return library, name[1]
    return None


def _find(place: Name) -> Any:
    return getattr(importlib.import_module(place[0]), place[1])
