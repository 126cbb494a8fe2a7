r"""Mixtures of Gaussians: densities, and the parameters that shares of rows give them.

A covariance is kept as a factor P of its inverse, :math:`\Sigma^{-1} = P P^\top`, upper triangular: then

.. math:: \log \pi_j G(x | \mu_j, \Sigma_j) = \log \pi_j + \log |P_j| - \tfrac{d}{2} \log 2\pi
          - \tfrac12 \| (x - \mu_j)^\top P_j \|^2

is one product of matrices for each component. Covariances are "full", "tied" (one for all components) or
"diag"; their factors are of shape (M, d, d), (1, d, d) and (M, d).

Rows and their shares may be tensors, on a device; a mixture, which is small, is always of NumPy.

Of covariances is presumed what ν₀ more rows of covariance I say, the strength of the prior:

.. math:: \Sigma_j = (N_j S_j + \nu_0 I) / (N_j + \nu_0),

the largest posterior density for an inverse Wishart prior, whose logarithm is, up to a constant,
:math:`-\tfrac{\nu_0}{2} (\log |\Sigma| + \operatorname{tr} \Sigma^{-1})`.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg.lapack import dpotrf, dtrtri

from mercer._typing import Array, Index
from mercer.array_api import at_once, is_of_numpy, like, namespace, to_numpy, zeros_like_rows
from mercer.compiled import njit

KINDS = ("full", "tied", "diag")


class GaussianSettings(NamedTuple):
    """What steers densities and M-steps, and what goes wrong without it."""

    rows_per_block: int = 2048
    """Of which all components are computed in turn. More rows leave the processor's cache in between."""
    least_share: float = 1e-18
    """Of a component, below which a row is left out of its covariance: less than rounding."""
    least_size: float = 10 * float(np.finfo(np.float64).eps)
    """Added to the number of rows of each component, as in scikit-learn: an empty one would have no mean."""


SETTINGS = GaussianSettings()


class CollapseError(ValueError):
    """The rows of a component do not span the space, so that its density is unbounded."""


class Gaussians(NamedTuple):
    """A mixture of M Gaussians."""

    weights: Array  # (M,): π
    means: Array  # (M, d)
    factors: Array  # P of each component, by the kind of covariance

    @property
    def offsets(self) -> Array:
        """Return log π_j + log |P_j|."""
        diagonal = self.factors if self.factors.ndim == 2 else np.einsum("jkk->jk", self.factors)
        offsets: Array = np.log(self.weights) + np.log(diagonal).sum(axis=1)
        return offsets


def log_joint(X: Array, model: Gaussians) -> Array:
    """Return log π_j G(x | μ_j, Σ_j) for each row and component. O(n M d²), and O(n M d) for "diag"."""
    n, d = X.shape
    offsets = model.offsets - 0.5 * d * np.log(2 * np.pi)
    if not is_of_numpy(X):
        return _log_joint_of_tensors(X, model, offsets)
    values = np.empty((n, len(model.means)))
    if model.factors.ndim == 2:
        for j, (mean, root) in enumerate(zip(model.means, model.factors, strict=True)):
            _put_scaled_distances(X, mean, root, offsets[j], values[:, j])
        return values
    if len(model.factors) == 1:
        projected, centres = X @ model.factors[0], model.means @ model.factors[0]
        for j, centre in enumerate(centres):
            _put_distances(projected, centre, offsets[j], values[:, j])
        return values
    centres = np.einsum("jk,jkl->jl", model.means, model.factors)
    projected = np.empty((min(n, SETTINGS.rows_per_block), d))
    for rows in _blocks(n, SETTINGS.rows_per_block):
        part, block = projected[: rows.stop - rows.start], X[rows]
        for j, (centre, factor) in enumerate(zip(centres, model.factors, strict=True)):
            np.matmul(block, factor, out=part)
            _put_distances(part, centre, offsets[j], values[rows, j])
    return values


def fit_gaussians(X: Array, shares: Array, kind: str, nu: float) -> Gaussians:
    """Return the mixture for which the rows, shared out, are the most likely: the M-step. O(n M d²).

    Parameters
    ----------
    X : array of shape (n, d)
        The rows.
    shares : array of shape (n, M)
        How much of each row belongs to each component: posteriors, times the weight of the row.
    kind : {"full", "tied", "diag"}
        What covariances there are.
    nu : float
        ν₀, the strength of the prior of the covariances; 0 is none.
    """
    size = to_numpy(shares.sum(axis=0)) + SETTINGS.least_size
    means = to_numpy(shares.T @ X) / size[:, None]
    if kind == "diag":
        every = zip(shares.T, means, strict=True)
        scatter = np.stack([to_numpy(share @ (X - like(X, mean)) ** 2) for share, mean in every])
        variance = (scatter + nu) / (size[:, None] + nu)
        if not np.all(variance > 0.0):
            raise _collapsed()
        return Gaussians(size / size.sum(), means, variance**-0.5)
    scatter, counts = _scatter(X, shares, means), size
    if kind == "tied":
        scatter, counts = scatter.sum(axis=0, keepdims=True), size.sum(keepdims=True)
    covariances = scatter / (counts + nu)[:, None, None]
    diagonal = np.einsum("jkk->jk", covariances)  # a view
    diagonal += nu / (counts + nu)[:, None]
    return Gaussians(size / size.sum(), means, np.stack([_factor(C) for C in covariances]))


def log_prior(model: Gaussians, nu: float) -> float:
    """Return the logarithm of the prior's density, up to a constant."""
    P = model.factors
    squared = P**2 if P.ndim == 2 else np.einsum("jkl,jkl->jk", P, P)  # the diagonals of the inverses
    diagonal = P if P.ndim == 2 else np.einsum("jkk->jk", P)
    return float(-0.5 * nu * (np.sum(squared) - 2 * np.sum(np.log(diagonal))))


def softmax_rows(values: Array) -> Array:
    """Turn the rows into their softmax, in place, and return the log-sum-exp of each."""
    if not is_of_numpy(values):
        return _softmax_of_tensors(values)
    sums = np.empty(len(values))
    _softmax(values, sums)
    return sums


def _scatter(X: Array, shares: Array, means: Array) -> Array:
    """Return Σ_i r_ij (x_i − μ_j)(x_i − μ_j)ᵀ for each component."""
    if not is_of_numpy(X):
        return _scatter_of_tensors(X, shares, means)
    scatter = np.zeros((len(means), X.shape[1], X.shape[1]))
    centred = np.empty((min(len(X), SETTINGS.rows_per_block), X.shape[1]))
    roots = np.sqrt(shares)
    # a row belongs to one or two components as a rule: the others do not notice it
    counts = shares > SETTINGS.least_share * shares.sum(axis=0)
    for rows in _blocks(len(X), SETTINGS.rows_per_block):
        for j, mean in enumerate(means):
            some = rows.start + np.flatnonzero(counts[rows, j])
            part = centred[: len(some)]
            _centre(X, some, mean, roots[:, j], part)
            scatter[j] += part.T @ part
    return scatter


def _factor(covariance: Array) -> Array:
    """Return the upper triangular P with P Pᵀ = Σ⁻¹.

    By LAPACK itself: few rows and columns take less time than what SciPy does before it calls it.
    """
    L, failure = dpotrf(covariance, lower=True)
    if failure:
        raise _collapsed()
    inverse, failure = dtrtri(L, lower=True)
    if failure:
        raise _collapsed()
    factor: Array = inverse.T
    return factor


def _blocks(n: int, size: int) -> Iterator[slice]:
    """Divide n rows as `gen_batches` does, which checks its arguments for longer than an E-step takes."""
    return (slice(start, min(start + size, n)) for start in range(0, n, size))


def _log_joint_of_tensors(X: Any, model: Gaussians, offsets: Array) -> Any:
    xp = namespace(X)
    values = xp.empty((len(X), len(offsets)), dtype=xp.float64, device=X.device)
    means, factors = like(X, model.means), like(X, model.factors)
    for rows in _blocks(len(X), max(1, at_once(X, 0) // X.shape[1])):
        for j, offset in enumerate(offsets.tolist()):
            P = factors[min(j, len(factors) - 1)]
            centred = X[rows] - means[j]
            scaled = centred * P if P.ndim == 1 else centred @ P
            values[rows, j] = offset - 0.5 * xp.linalg.vecdot(scaled, scaled)
    return values


def _scatter_of_tensors(X: Any, shares: Any, means: Array) -> Array:
    centres = like(X, means)
    scatter = zeros_like_rows(X, len(means), X.shape[1], X.shape[1])
    for rows in _blocks(len(X), max(1, at_once(X, 0) // X.shape[1])):
        for j in range(len(means)):
            centred = X[rows] - centres[j]
            scatter[j] += (centred * shares[rows, j, None]).T @ centred
    summed: Array = to_numpy(scatter)
    return summed


def _softmax_of_tensors(values: Any) -> Any:
    xp = namespace(values)
    largest = xp.max(values, axis=1, keepdims=True)
    values[...] = xp.exp(values - largest)
    total = xp.sum(values, axis=1, keepdims=True)
    values /= total
    return (largest + xp.log(total))[:, 0]


def _collapsed() -> ValueError:
    return CollapseError("the rows of a component do not span the space, so that its density is unbounded")


@njit(cache=True, nogil=True, fastmath=True)
def _put_distances(projected: Array, centre: Array, offset: float, values: Array) -> None:
    for i in range(len(projected)):
        total = 0.0
        for k in range(len(centre)):
            total += (projected[i, k] - centre[k]) ** 2
        values[i] = offset - 0.5 * total


@njit(cache=True, nogil=True, fastmath=True)
def _put_scaled_distances(X: Array, mean: Array, root: Array, offset: float, values: Array) -> None:
    for i in range(len(X)):
        total = 0.0
        for k in range(len(mean)):
            total += ((X[i, k] - mean[k]) * root[k]) ** 2
        values[i] = offset - 0.5 * total


@njit(cache=True, nogil=True)
def _centre(X: Array, rows: Index, mean: Array, root: Array, centred: Array) -> None:
    for i in range(len(rows)):
        for k in range(X.shape[1]):
            centred[i, k] = (X[rows[i], k] - mean[k]) * root[rows[i]]


@njit(cache=True, nogil=True)
def _softmax(values: Array, sums: Array) -> None:
    for i in range(len(values)):
        largest = values[i].max()
        total = 0.0
        for j in range(values.shape[1]):
            values[i, j] = np.exp(values[i, j] - largest)
            total += values[i, j]
        for j in range(values.shape[1]):
            values[i, j] /= total
        sums[i] = largest + np.log(total)
