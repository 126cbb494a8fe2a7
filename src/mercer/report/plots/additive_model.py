"""What a picture of an additive model needs: shapes in the units of the data, names and classes."""

from collections.abc import Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import is_regressor
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler
from sklearn.utils.validation import check_array, check_is_fitted

from mercer._typing import Array
from mercer.machines import ShapeFunction, StumpRegressor, StumpSVC
from mercer.preprocessing.scaling import ClippedScaler

LINEAR_SCALERS = (ClippedScaler, MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler)


class AdditiveModel(NamedTuple):
    """f(x) = Σ_d g_d(x_d) + b as it is to be shown."""

    shapes: list[ShapeFunction]
    names: list[str]
    classes: tuple[str, str] | None  # that negative and positive values speak for; none of a regressor

    def sides(self) -> tuple[str, str]:
        """Return what negative and positive values mean."""
        if self.classes is None:
            return "lowers the prediction", "raises the prediction"
        first, second = (f"evidence for {name}" for name in self.classes)
        return first, second

    def importance(self, rows: Array | None) -> Array:
        """Return how far each g_d moves f: its standard deviation over the samples, or else its height."""
        if rows is None:
            return np.array([np.ptp(shape.values) for shape in self.shapes])
        return np.array([np.interp(x, *shape).std() for x, shape in zip(rows.T, self.shapes, strict=True)])

    def number_of(self, feature: Any) -> int:
        """Return the number of a feature that is given by its number or its name."""
        if isinstance(feature, str):
            if feature not in self.names:
                raise ValueError(f"There is no feature {feature!r}; there are {', '.join(self.names)}.")
            return self.names.index(feature)
        if not 0 <= feature < len(self.shapes):
            raise ValueError(f"There is no feature {feature}: count from 0 to {len(self.shapes) - 1}.")
        return int(feature)

    def check_rows(self, X: ArrayLike) -> Array:
        """Return X as an array of finite numbers, one column per feature."""
        rows: Array = check_array(X, dtype=np.float64)
        if rows.shape[1] != len(self.shapes):
            raise ValueError(f"X has {rows.shape[1]} columns, but the model has {len(self.shapes)} features.")
        return rows


def read_model(model: Any, problem: int | None, names: Sequence[str] | None) -> AdditiveModel:
    """Take a fitted additive model, or a pipeline that ends in one, apart."""
    steps: list[Any] = [step for _, step in model.steps] if isinstance(model, Pipeline) else [model]
    *scalers, svm = steps
    if not isinstance(svm, StumpSVC | StumpRegressor):
        raise TypeError(
            f"{type(svm).__name__} has no shape functions: give a fitted StumpSVC or StumpRegressor."
        )
    check_is_fitted(svm)
    shapes, classes = _read_regressor(svm, problem) if is_regressor(svm) else _read_classifier(svm, problem)
    names = check_feature_names(model, len(shapes), names)
    return AdditiveModel(_unscale(shapes, scalers), names, classes)


def _read_regressor(model: Any, target: int | None) -> tuple[list[ShapeFunction], None]:
    several = isinstance(model.shape_functions_[0], list)
    n_targets = len(model.shape_functions_) if several else 1
    target = 0 if target is None and n_targets == 1 else target
    if target is None or not 0 <= target < n_targets:
        raise ValueError(f"Choose one of the model's {n_targets} targets: problem=0 to {n_targets - 1}.")
    return (model.shape_functions_[target] if several else model.shape_functions_), None


def _read_classifier(svm: Any, problem: int | None) -> tuple[list[ShapeFunction], tuple[str, str]]:
    names = [str(label) for label in svm.classes_]
    is_ovr = len(names) > 2 and svm.multi_class == "ovr"
    problems = [("the rest", name) for name in names] if is_ovr else list(combinations(names, 2))
    k = 0 if problem is None and len(problems) == 1 else problem
    if k is None or not 0 <= k < len(problems):
        known = ", ".join(f"problem={k} ({b} against {a})" for k, (a, b) in enumerate(problems))
        raise ValueError(f"Choose one of the model's {len(problems)} two-class problems: {known}.")
    return (svm.shape_functions_ if len(names) == 2 else svm.shape_functions_[k]), problems[k]


def check_feature_names(model: Any, n_features: int, names: Sequence[str] | None) -> list[str]:
    """Return the names that are given, or those that the model saw, or x0, x1, …, as texts."""
    if names is None:
        names = getattr(model, "feature_names_in_", [f"x{d}" for d in range(n_features)])
    if len(names) != n_features:
        raise ValueError(f"There are {len(names)} feature names for {n_features} features.")
    return [str(name) for name in names]


def _unscale(shapes: Sequence[ShapeFunction], steps: Sequence[Any]) -> list[ShapeFunction]:
    """Return the shapes as functions of the values before the scalers, which must be linear."""
    scalers = [step for step in steps if step not in (None, "passthrough")]
    if strange := [type(step).__name__ for step in scalers if not isinstance(step, LINEAR_SCALERS)]:
        raise TypeError(
            f"{strange[0]} is not a linear scaler: the shapes cannot be drawn over the values before it. "
            "Give the last step of the pipeline, with X and feature_names as they are there."
        )
    longest = max(len(shape.knots) for shape in shapes)
    table = np.column_stack([np.pad(knots, (0, longest - len(knots)), mode="edge") for knots, _ in shapes])
    for scaler in reversed(scalers):
        table = scaler.inverse_transform(table)
    columns = zip(table.T, shapes, strict=True)
    return [ShapeFunction(knots[: len(shape.knots)], shape.values) for knots, shape in columns]
