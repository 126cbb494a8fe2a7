"""Fitted functions, as values: of a kernel and its anchors, or additive."""

from typing import Any, NamedTuple

import numpy as np
from sklearn.gaussian_process import kernels as sk_kernels
from sklearn.utils import gen_batches

from mercer._typing import Array
from mercer.array_api import at_once, is_of_numpy, namespace, zeros_like_rows
from mercer.kernels import FeatureKernel
from mercer.kernels.tensors import gram_of

BLOCK = 2**24  # entries of the largest matrix that a prediction computes at a time: 128 MiB


def has_features(kernel: Any) -> bool:
    """Return whether a kernel has a finite feature map."""
    return isinstance(kernel, FeatureKernel) or (
        isinstance(kernel, sk_kernels.DotProduct) and kernel.sigma_0 == 0
    )


def features_of(kernel: Any, X: Array) -> Array:
    """Return features of X whose inner products are the kernel."""
    return kernel.transform(X) if isinstance(kernel, FeatureKernel) else X


class KernelFunction(NamedTuple):
    """f(x) = Σ_j coef_j k(x, anchor_j) + intercept, or ⟨coef, φ(x)⟩ + intercept, a column per problem."""

    kernel: Any
    anchors: Array | None  # support vectors or landmarks; None: linear in the features
    coef: Array  # (n_anchors or n_features, n_problems)
    intercept: Array

    def __call__(self, X: Array) -> Array:
        """Return the values of rows, one column per problem, computed in blocks of rows."""
        xp = namespace(X)
        blocks = gen_batches(len(X), max(1, at_once(X, BLOCK) // max(1, len(self.coef))))
        inputs = (xp.astype(self._inputs(X[block]), xp.float64, copy=False) for block in blocks)
        values: Array = xp.concat([values @ self.coef for values in inputs])
        return values + self.intercept

    def _inputs(self, X: Array) -> Any:
        if self.anchors is None:
            return features_of(self.kernel, X)
        if is_of_numpy(X):
            return self.kernel(X, self.anchors)
        return gram_of(self.kernel, X, namespace(X).astype(self.anchors, X.dtype, copy=False))

    @property
    def array(self) -> Any:
        """Return one of the fitted arrays."""
        return self.coef

    def scaled(self, factor: float) -> "KernelFunction":
        """Return a multiple of the function."""
        return self._replace(coef=factor * self.coef, intercept=factor * self.intercept)

    def __sklearn_array_api_convert__(self, convert: Any) -> "KernelFunction":
        """Return the function with its arrays converted; a kernel is the same everywhere."""
        anchors = None if self.anchors is None else convert(self.anchors)
        return KernelFunction(self.kernel, anchors, convert(self.coef), convert(self.intercept))


class ShapeFunction(NamedTuple):
    """A piecewise linear function of one feature: linear between the knots, constant beyond them."""

    knots: Array
    values: Array


class Units(NamedTuple):
    """The units of the solver: features less their minimum, divided by their mean range.

    They bring the kernel to order one whatever the units of the data, and keep all digits of features that
    are far from zero.
    """

    offset: Array
    scale: float

    @classmethod
    def of(cls, X: Array) -> "Units":
        """Return the units of some rows."""
        xp = namespace(X)
        lowest = xp.min(X, axis=0)
        with np.errstate(over="ignore"):
            scale = float((xp.max(X, axis=0) - lowest).mean())
        if not np.isfinite(scale) or 0.0 < scale < 1e-290:
            raise ValueError(
                f"The features have a mean range of {scale:g}, too large or too small to compute with: scale "
                "them, e.g. with mercer.ClippedScaler."
            )
        return cls(lowest, scale or 1.0)

    def convert(self, X: Array) -> Array:
        """Return the rows in these units."""
        X = X - self.offset
        X /= self.scale
        return X


class AdditiveFunction(NamedTuple):
    """f(x) = Σ_d g_d(x_d) + intercept. Row d of `knots` (in `units`) and `values` is g_d."""

    knots: Array
    values: Array
    intercept: float
    units: Units

    def __call__(self, X: Array) -> Array:
        """Return f for each row of X. O(D log k) per row, whatever the number of support vectors."""
        evaluate = _evaluate if is_of_numpy(X) else _evaluate_tensor
        return evaluate(self.knots, self.values, self.units.convert(X)) + self.intercept

    def __sklearn_array_api_convert__(self, convert: Any) -> "AdditiveFunction":
        """Return the function with its arrays converted."""
        units = self.units._replace(offset=convert(self.units.offset))
        return AdditiveFunction(convert(self.knots), convert(self.values), self.intercept, units)

    def shapes(self) -> list[ShapeFunction]:
        """Return one shape function per feature, without repeated knots and knots where nothing bends."""
        knots = self.knots * self.units.scale + self.units.offset[:, None]
        return [_simplify(knots[d, :], self.values[d, :]) for d in range(len(knots))]


class AdditiveFunctions(NamedTuple):
    """Additive functions, one for each problem: of features, or of projections θᵀx (slices)."""

    each: list[AdditiveFunction]
    directions: Array | None = None

    def __call__(self, X: Array) -> Array:
        """Return the values of rows, one column per problem. O(D + log k) for each direction."""
        if self.directions is None or is_of_numpy(X):
            return self._evaluate(X if self.directions is None else X @ self.directions)
        xp, size = namespace(X), max(1, at_once(X, 1) // self.directions.shape[1])
        blocks = (xp.astype(X[block], xp.float64) @ self.directions for block in gen_batches(len(X), size))
        values: Array = xp.concat([self._evaluate(block) for block in blocks])
        return values

    @property
    def intercept(self) -> Array:
        """Return the intercept of each."""
        return np.array([function.intercept for function in self.each])

    @property
    def array(self) -> Any:
        """Return one of the fitted arrays."""
        return self.each[0].knots

    def scaled(self, factor: float) -> "AdditiveFunctions":
        """Return a multiple of the functions."""
        each = (
            one._replace(values=factor * one.values, intercept=factor * one.intercept) for one in self.each
        )
        return self._replace(each=list(each))

    def _evaluate(self, X: Array) -> Array:
        values: Array = namespace(X).stack([function(X) for function in self.each], axis=1)
        return values

    def __sklearn_array_api_convert__(self, convert: Any) -> "AdditiveFunctions":
        """Return the functions with their arrays converted."""
        directions = None if self.directions is None else convert(self.directions)
        each = [function.__sklearn_array_api_convert__(convert) for function in self.each]
        return AdditiveFunctions(each, directions)


def _simplify(knots: Array, values: Array) -> ShapeFunction:
    xp = namespace(knots)
    first = knots[:1] == knots[:1]
    keep = xp.concat([first, knots[1:] > knots[:-1]])
    k, v = knots[keep], values[keep]
    if len(k) > 2:
        slope = (v[1:] - v[:-1]) / (k[1:] - k[:-1])
        bends = xp.concat([first, slope[1:] != slope[:-1], first])
        k, v = k[bends], v[bends]
    return ShapeFunction(k, v)


def _evaluate_tensor(knots: Any, values: Any, X: Any) -> Any:
    """Return Σ_d g_d(x_d) for each row, where X is."""
    xp, out, last = namespace(X), zeros_like_rows(X, len(X)), knots.shape[1] - 1
    for d in range(len(knots)):
        x, g = knots[d, :], values[d, :]
        t = xp.clip(xp.astype(X[:, d], xp.float64), x[0], x[-1])
        right = xp.clip(xp.searchsorted(x, t, side="right"), min(1, last), last)
        left = xp.clip(right - 1, 0, last)
        gap = xp.take(x, right) - xp.take(x, left)
        share = (t - xp.take(x, left)) / xp.where(gap > 0.0, gap, 1.0)
        out += xp.take(g, left) + share * (xp.take(g, right) - xp.take(g, left))
    return out


def _evaluate(knots: Array, values: Array, X: Array) -> Array:
    out = np.zeros(len(X))
    for t, x, g in zip(X.T, knots, values, strict=True):
        out += np.interp(t, x, g)
    return out
