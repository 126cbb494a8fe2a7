"""What fitted arrays must be, declared for each class and checked once, when a file is saved or loaded.

Compiled code takes the shapes of its arrays on trust: of those that do not fit together, it reads beyond the
end.
"""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.preprocessing import OneHotEncoder

from mercer.array_api import is_of_torch, to_numpy
from mercer.lazy import is_instance
from mercer.persistence.allowed_types import stable_name
from mercer.persistence.errors import ModelFileError
from mercer.persistence.libsvm import check_machine
from mercer.persistence.one_hot import check_encoder
from mercer.scikit import with_converted_arrays

INDEX, REAL = "integers", "numbers"
KINDS = {INDEX: "iu", REAL: "iuf"}


class Field(NamedTuple):
    """An array, or a number, of an object."""

    path: str  # the attribute; "units.offset" is one of an attribute
    shape: str = (
        ""  # a letter for each dimension: the same letter is the same length; | is or; "" is a number
    )
    kind: str = REAL  # all are finite
    least: float = -np.inf
    may_be_none: bool = False
    may_be_empty: bool = True


SVM = (  # the functions that decide are classes of their own
    Field("support_", "n", INDEX, least=0),
    Field("dual_coef_", "p n"),
    Field("intercept_", "p"),
)
KINDS_OF_MACHINES = ("Perceptron", "Stump", "Tree")
TINY, HUGE = float(np.finfo(np.float64).tiny), float(np.finfo(np.float64).max)

# Of estimators these attributes are there once they are fitted; the others have theirs always
FIELDS: dict[str, tuple[Field, ...]] = {
    "mercer.parts.Units": (Field("offset", "D"), Field("scale", least=TINY)),
    "mercer.parts.AdditiveFunction": (
        Field("knots", "D k", may_be_empty=False),
        Field("values", "D k"),
        Field("units.offset", "D"),
        Field("intercept"),
    ),
    "mercer.parts.AdditiveFunctions": (Field("directions", "d D", may_be_none=True),),
    "mercer.parts.KernelFunction": (
        Field("anchors", "n D", may_be_none=True),
        Field("coef", "n p"),
        Field("intercept", "p"),
    ),
    "mercer.parts.Sum": (Field("value", "m v"), Field("column", "t", INDEX, least=0), Field("start", "c")),
    "mercer.parts.SpanFeatures": (Field("rows", "n D"),),
    "mercer.parts.NumberColumn": (Field("median"),),
    "mercer.parts.DateColumn": (Field("first"), Field("medians", "p")),
    "mercer.parts.TextColumn": (Field("idf", "t"), Field("components", "c t", may_be_empty=False)),
    "mercer.parts.Terms": (
        Field("places", "t", INDEX, least=0),
        Field("weights", "t", least=0),
        Field("of_new", least=0),
    ),
    "mercer.parts.OrderedColumn": (Field("scales", "s", least=TINY, may_be_empty=False),),
    "mercer.parts.MatchDecision": (
        Field("weights", "k", least=0),
        Field("levels", "k"),
        Field("column_of", "k", INDEX, least=0),
        *(Field(name, "c", least=0) for name in ("edits", "edit_levels")),
        Field("gaps", "c"),
        Field("intercept"),
    ),
    "mercer.parts.Similarities": (Field("values", "n k"), Field("edits", "n c")),
    "mercer.parts.Sigmoid": (Field("slope", least=TINY), Field("offset")),
    "mercer.ClippedScaler": tuple(Field(name, "D") for name in ("low_", "high_", "mean_", "scale_")),
    "mercer.kernels.Stump": (Field("delta"),),
    "mercer.kernels.Perceptron": (Field("delta"),),
    "mercer.kernels.Tree": (Field("gamma", least=TINY, may_be_none=True),),
    "mercer.kernels.StumpEnsemble": (
        Field("features", "t", INDEX, least=0),
        Field("thresholds", "t"),
        Field("scale"),
    ),
    "mercer.kernels.PerceptronEnsemble": (
        Field("directions", "t D"),
        Field("thresholds", "t"),
        Field("scale"),
    ),
    "mercer.kernels.Projected": (Field("coef", "p T"), Field("landmarks", "p D", may_be_none=True)),
    "mercer.kernels.Mixture": (
        Field("alpha", "T", least=0),
        Field("offsets", "T M"),
        Field("means", "T M d"),
        Field("factors", "T M d d|T 1 d d|T M d"),
    ),
    "mercer.kernels.Series": (
        Field("constants", "r|r D", least=0),
        Field("weights", "r", least=0),
        Field("factor", least=0),
    ),
    "mercer.kernels.Combination": (Field("weights", "r", least=0),),
    "mercer.kernels.Ranked": (Field("quantiles", "q D", may_be_empty=False),),
    "mercer.kernels.Forest": (
        *(Field(name, "m", INDEX, least=0) for name in ("feature", "low", "high")),
        Field("threshold", "m"),
        Field("roots", "t", INDEX, least=0, may_be_empty=False),
    ),
    "mercer.kernels.Mapped": (Field("coef", "D p"),),
    "mercer.kernels.Rescaled": (
        Field("center", "D"),
        Field("scale", "D"),
        Field("low", "D", may_be_none=True),
        Field("high", "D", may_be_none=True),
    ),
    **{f"mercer.{kind}SVC": SVM for kind in KINDS_OF_MACHINES},
    "mercer.KernelSVC": (Field("intercept_", "p"),),
    "mercer.parts.TargetScaling": (Field("offset", "p"), Field("scale", "p", least=TINY)),
    "mercer.machines.UnseenErrors": (
        Field("error", "n p", may_be_empty=False),
        Field("weight", "n", least=0),
    ),
    **{
        f"mercer.{kind}Regressor": (Field("_scaling.offset", "p"),) for kind in ("Kernel", *KINDS_OF_MACHINES)
    },
    "mercer.search.Blend": (
        Field("weights", "m", least=0),
        Field("calibration.offsets", "c"),
        Field("decision.weights", "c", least=0),
    ),
    "mercer.search.NumberBlend": (
        Field("weights", "m", least=0),
        Field("spread.knots", "k", may_be_empty=False),
        Field("spread.heights", "k", least=0),
        Field("unseen.error", "n 1", may_be_empty=False),
        Field("unseen.weight", "n", least=0),
    ),
    "mercer.search.Calibration": (Field("slope", least=0), Field("offsets", "c")),
    "mercer.RelevanceKernel": (Field("relevance_", "D", least=0), Field("kernel_.scale", "D")),
    "mercer.KernelBoost": (Field("alphas_", "T", least=0), Field("kernel_.alpha", "T")),
}


def without_tensors(estimator: Any) -> Any:
    """Return an estimator whose arrays are all of NumPy, itself if they are."""
    if any(is_of_torch(part) for part in _parts(estimator)):
        estimator = with_converted_arrays(estimator, to_numpy)
    return estimator


def check_state(estimator: Any) -> None:
    """Refuse an estimator if the fitted arrays of anything in it do not fit together."""
    for part in _parts(estimator):
        name = stable_name(type(part))
        _check_methods(part, name)
        if is_instance(part, "sklearn.svm._base", "BaseLibSVM"):
            check_machine(part)
        elif isinstance(part, OneHotEncoder):
            check_encoder(part)
        elif name in FIELDS:
            _check_fields(part, name)


def _check_methods(part: Any, name: str) -> None:
    """Refuse attributes that stand in the place of a method."""
    for attribute in vars(part) if hasattr(part, "__dict__") else ():
        if callable(getattr(type(part), attribute, None)):
            raise ModelFileError(f"a {name} in it has something else than its method {attribute}")


def _check_fields(part: Any, name: str) -> None:
    if hasattr(part, "fit") and not any(attribute.endswith("_") for attribute in vars(part)):
        return  # not fitted: without such an attribute, scikit-learn does not predict
    lengths: dict[str, int] = {}
    for field in FIELDS[name]:
        value = _get(part, field.path)
        if value is None and field.may_be_none:
            continue
        problem = _problem(value, field, lengths)
        if problem:
            raise ModelFileError(f"{field.path} of a {name} in it {problem}")


def _get(part: Any, path: str) -> Any:
    for attribute in path.split("."):
        part = getattr(part, attribute, None)
    return part


def _problem(value: Any, field: Field, lengths: dict[str, int]) -> str | None:
    """Return what is wrong with an array, if anything is; note the lengths that its letters stand for."""
    array = (
        np.asarray(value) if isinstance(value, np.ndarray | np.number | float | int | list | tuple) else None
    )
    if array is None or array.dtype.kind not in KINDS[field.kind] or not array.dtype.isnative:
        return f"does not hold {field.kind}"
    found = next(
        (more for more in (_match(shape, array, lengths) for shape in field.shape.split("|")) if more), None
    )
    if found is None or not (array.size or field.may_be_empty):
        return f"has the shape {array.shape}, which does not fit the other arrays"
    lengths.update(found)
    if array.size and not (np.all(np.isfinite(array)) and array.min() >= field.least):
        return "has values that are out of range"
    return None


def _match(shape: str, array: NDArray[Any], lengths: Mapping[str, int]) -> dict[str, int] | None:
    """Return the lengths that the letters of a shape stand for, if it is that of the array."""
    letters = shape.split()
    if array.ndim != len(letters):
        return None
    found = {**lengths, "1": 1}
    for letter, length in zip(letters, array.shape, strict=True):
        if found.setdefault(letter, length) != length:
            return None
    return found


def _parts(whole: Any) -> Iterator[Any]:
    """Go over all objects in an object, each once."""
    seen: dict[int, Any] = {}  # which keeps them alive: an id is that of one object
    waiting = [whole]
    while waiting:
        part = waiting.pop()
        if id(part) in seen or isinstance(part, str | int | float | type | None):
            continue
        seen[id(part)] = part
        yield part
        waiting += _held_by(part)


def _held_by(part: Any) -> list[Any]:
    held = list(vars(part).values()) if hasattr(part, "__dict__") else []
    if isinstance(part, Mapping):
        held += part.values()
    elif isinstance(part, list | tuple | set | frozenset):
        held += part
    elif isinstance(part, np.ndarray) and part.dtype == object:
        held += part.ravel().tolist()
    return held
