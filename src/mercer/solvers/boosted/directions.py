r"""Directions in a kernel's feature space, and the best of them for weighted pairs of rows [CKS02, Fig. 2].

A direction w has the values :math:`g_i = \langle w, \phi(x_i) \rangle` on the rows. Of all w of length one,
those with the largest :math:`g^\top B g` are eigenvectors. A *space* says which directions there are, and
computes with them:

- `Coordinates`: w is a vector u in an orthonormal basis, g = F u.
- `Expansions`: :math:`w = \sum_r u_r \phi(x_r)` over the rows themselves, g = K u. The generalised problem
  :math:`K B K u = \lambda K u` is then solved by :math:`B K u = \lambda u`: a singular K does no harm.
"""

from collections.abc import Callable
from typing import NamedTuple, Protocol

import numpy as np
from scipy.linalg.blas import dsymv

from mercer._typing import Array
from mercer.solvers.cholesky import NotPositiveSemiDefiniteError


class LanczosSettings(NamedTuple):
    """What steers the search for directions, and what goes wrong without it."""

    tol: float = 1e-12
    """Of the largest eigenvalue: the residual at which a direction counts as an eigenvector. Directions that
    are less exact depend on where the search started, and rounds go other ways on another machine."""
    new_share: float = 1e-9
    """A direction of which less is left after it was made orthogonal to the others is all rounding: made
    longer, it would be one of them again."""
    negative_share: float = 1e-8
    """A squared length below minus this share of the kernel's scale is no rounding error: the matrix is not
    positive semi-definite. Less strict, rounding errors of a singular kernel would be refused."""
    look_every: int = 4
    """Steps. To see whether the search is done takes an eigendecomposition, longer than a step."""
    max_steps: int = 60
    """And ten more for each further direction: the basis is kept in memory, and made orthogonal at each step.
    """


SETTINGS = LanczosSettings()


class Space(Protocol):
    """The directions that there are."""

    @property
    def size(self) -> int:
        """Return the number of numbers that name a direction."""

    def evaluate(self, u: Array) -> Array:
        """Return the values g on the rows."""

    def pull_back(self, h: Array) -> Array:
        """Return the direction whose inner product with any other is Σ_i h_i g_i of that other."""

    def dual(self, u: Array, g: Array) -> Array:
        """Return the vector whose dot product with any u' is the inner product of u and u'."""

    @property
    def scale(self) -> float:
        """Return the size of the numbers whose rounding errors are in u · dual(u), for u of length one."""


class Coordinates(NamedTuple):
    """All directions of a space in which the rows have the coordinates F, (m, r)."""

    F: Array

    @property
    def size(self) -> int:
        """Return r."""
        return self.F.shape[1]

    def evaluate(self, u: Array) -> Array:
        """Return F u."""
        return self.F @ u

    def pull_back(self, h: Array) -> Array:
        """Return Fᵀ h."""
        return self.F.T @ h

    def dual(self, u: Array, g: Array) -> Array:
        """Return u itself."""
        return u

    @property
    def scale(self) -> float:
        """Return zero: a sum of squares has no rounding errors that could hide it."""
        return 0.0


class Expansions(NamedTuple):
    """The combinations of the rows, whose Gram matrix is K, (m, m)."""

    K: Array

    @property
    def size(self) -> int:
        """Return m."""
        return len(self.K)

    def evaluate(self, u: Array) -> Array:
        """Return K u."""
        values: Array = dsymv(1.0, self.K.T, u)
        return values

    def pull_back(self, h: Array) -> Array:
        """Return h: Σ_r h_r φ(x_r) is the direction."""
        return h

    def dual(self, u: Array, g: Array) -> Array:
        """Return K u."""
        return g

    @property
    def scale(self) -> float:
        """Return the largest entry of K, which is on the diagonal."""
        return float(np.max(np.abs(np.diag(self.K)), initial=0.0))


class Directions(NamedTuple):
    """Directions of length one, orthogonal to each other, the best first."""

    scores: Array  # gᵀBg
    u: Array  # a column each
    values: Array  # g, a column each


def best_directions(
    space: Space, multiply: Callable[[Array], Array], n_directions: int, start: Array
) -> Directions:
    """Return the directions with the *algebraically* largest scores, which may be negative.

    The Lanczos method: a basis of the directions that are reached from `start` by products with B
    (`multiply`), one more each step, until the best ones in its span are eigenvectors. A step costs one
    product with B and one or two with the space. From one vector only one of several directions with exactly
    the same score is reached; where nothing new is reached, it goes on from another vector.

    Raises `NotPositiveSemiDefiniteError` if a direction has a negative squared length, as none has in the
    feature space of a kernel.
    """
    most = min(space.size, SETTINGS.max_steps + 10 * n_directions)
    basis, dual = np.empty((most, space.size)), np.empty((most, space.size))
    values = np.empty((most, len(space.evaluate(start))))
    coupling = np.zeros((most, most))
    u, k, scale, fresh_starts = start, 0, space.scale, n_directions - 1
    best = slice(None, -n_directions - 1, -1)
    while True:
        g = space.evaluate(u)
        length = _length(u, space.dual(u, g), scale)
        exhausted = length <= SETTINGS.new_share * np.linalg.norm(coupling[:k, k - 1 : k])
        if exhausted or k == most or k % SETTINGS.look_every == 0:
            scores, mix = np.linalg.eigh(coupling[:k, :k])  # [CKS02] Fig. 2: of the largest λ
            left = np.max(length * np.abs(mix[-1:, best]), initial=0.0)
            found = k >= n_directions and left <= SETTINGS.tol * np.max(np.abs(scores), initial=0.0)
            if k == most or (found and not exhausted) or (exhausted and fresh_starts == 0):
                break
        if exhausted:
            fresh_starts -= 1
            u = np.random.default_rng(k).standard_normal(space.size)
            u, g, length = _orthogonal(space, u, basis[:k], dual[:k], scale)
            if length == 0.0:  # there are no more directions
                break
        basis[k], values[k] = u / length, g / length
        dual[k] = space.dual(basis[k], values[k])
        k += 1
        u = space.pull_back(multiply(values[k - 1]))  # [CKS02] Fig. 2: K⁻¹ AᵀB A v
        coupling[:k, k - 1] = coupling[k - 1, :k] = dual[:k] @ u
        for _ in range(2):  # the first pass leaves rounding errors of the size of what it removes
            u = u - (dual[:k] @ u) @ basis[:k]
    mix = mix[:, best]
    # [CKS02] Fig. 2: w / ‖w‖, the basis being orthonormal
    return Directions(scores[best], basis[:k].T @ mix, values[:k].T @ mix)


def _orthogonal(
    space: Space, u: Array, basis: Array, dual: Array, scale: float
) -> tuple[Array, Array, float]:
    """Return what of a direction is new, its values and its length; zero if nothing is."""
    before = _length(u, space.dual(u, space.evaluate(u)), scale)
    for _ in range(3):
        u = u - (dual @ u) @ basis
    g = space.evaluate(u)
    length = _length(u, space.dual(u, g), scale)
    return u, g, length if length > SETTINGS.new_share * before else 0.0


def _length(u: Array, dual: Array, scale: float) -> float:
    """Return the length of a direction, and zero if that is all rounding errors, as where K u = 0."""
    squared, size = float(u @ dual), scale * float(u @ u)
    if squared < -SETTINGS.negative_share * size:
        raise NotPositiveSemiDefiniteError(-squared / size if size > 0.0 else 1.0)
    rounding = len(u) * np.finfo(np.float64).eps * size
    return float(np.sqrt(squared)) if squared > rounding else 0.0
