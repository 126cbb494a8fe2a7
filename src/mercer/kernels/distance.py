r"""The stump and the perceptron kernel: infinite ensembles in closed form [LL05].

Both are the kernel that embodies a set of hypotheses h_α [LL05, Definition 1],

.. math:: K(x, x') = r^2 \int h_\alpha(x)\, h_\alpha(x')\, d\alpha = \Delta - \|x - x'\|,

so an SVM with such a kernel is a weighted vote of *all* decision stumps, or of all perceptrons. The integral
is this short because two votes differ exactly where the threshold lies between the two points:
:math:`\int_L^R \mathrm{sign}(a - \alpha)\,\mathrm{sign}(b - \alpha)\, d\alpha = (R - L) - 2|a - b|`.

The constant Δ does not change an SVM, whose dual has Σ y_i λ_i = 0 [LL05, Theorems 2 and 5]: ``delta=0``, the
simplified form, is the default, and is all that `SVC` needs. It is only *conditionally* positive definite.
What needs a positive semi-definite kernel (Gaussian processes, KernelRidge, KernelPCA without centring)
needs the exact Δ, which `spanning` finds.

Distances are SciPy's ``cdist``, which sums differences. scikit-learn's ``euclidean_distances`` is faster but
expands the square, and for rows that nearly coincide loses all digits of their distance. Those of tensors
(`mercer.kernels.metrics`) are expanded in double precision, but for such rows.
"""

from abc import abstractmethod
from numbers import Integral
from typing import Any, ClassVar, Literal, Self, final

import numpy as np
from numpy.random import RandomState
from scipy.spatial.distance import cdist
from scipy.special import gammaln
from sklearn.utils import check_random_state, check_scalar

from mercer._typing import Array
from mercer.array_api import is_of_numpy, like, namespace, to_numpy
from mercer.kernels.base import FeatureKernel, Kernel, as_rows, check_both, multiply_gram
from mercer.kernels.ensemble import PerceptronEnsemble, StumpEnsemble, draw_perceptrons, draw_stumps
from mercer.kernels.metrics import city_block, euclidean

METRICS = {"cityblock": city_block, "euclidean": euclidean}


class DistanceKernel(Kernel):
    """A constant less a distance, k(x, x') = Δ − ‖x − x'‖: what the kernels of [LL05] share."""

    metric: ClassVar[Literal["cityblock", "euclidean"]]  # the distance, as SciPy calls it

    def __init__(self, delta: float = 0.0) -> None:
        self.delta = delta

    @classmethod
    @abstractmethod
    def _constant(cls, X: Array) -> float:
        """Return Δ of the hypotheses that the rows span."""

    @classmethod
    @abstractmethod
    def _draw(cls, X: Array, n_hypotheses: int, rng: RandomState, scale: float) -> FeatureKernel:
        """Return some of these hypotheses as features, each vote of the length `scale`."""

    @final
    @classmethod
    def spanning(cls, X: Any) -> Self:
        """Return the exact kernel of the box (`Stump`) or the ball (`Perceptron`) that holds the rows of X.

        It is positive semi-definite for rows inside of that: span all rows that it will see, or two opposite
        corners of a box, or points of a ball, that holds them.
        """
        return cls(delta=cls._constant(to_numpy(as_rows(X))))

    @final
    @classmethod
    def sample(cls, X: Any, n_hypotheses: int, *, random_state: Any = None) -> FeatureKernel:
        """Return random hypotheses of those that the rows of X span, as a kernel with a feature map.

        The Gram matrix of the ensemble is an unbiased estimate of that of ``spanning(X)``. The error of
        stumps falls like 1/n_hypotheses, since they are stratified over features and thresholds; the entries
        of perceptrons have the standard deviation ((Δ² − k²) / n_hypotheses)^½.

        Parameters
        ----------
        X : array-like of shape (n, D)
            The rows, or two opposite corners of a box, or points of a ball.
        n_hypotheses : int
            The number of hypotheses, and so of features of the map.
        random_state : int, RandomState instance or None, default=None
            Random seed.

        Returns
        -------
        StumpEnsemble or PerceptronEnsemble
            With `transform`, for linear models of the votes.

        Examples
        --------
        >>> from mercer.kernels import Stump
        >>> X = [[0.0, 0.0], [1.0, 3.0]]
        >>> Stump.sample(X, n_hypotheses=1000, random_state=0).transform(X).shape
        (2, 1000)
        """
        check_scalar(n_hypotheses, "n_hypotheses", Integral, min_val=1)
        rows = to_numpy(as_rows(X))
        scale = np.sqrt(cls._constant(rows) / n_hypotheses)
        return cls._draw(rows, n_hypotheses, check_random_state(random_state), float(scale))

    @final
    def gram(self, X: Array, Y: Array) -> Array:
        """Return K with K[i, j] = Δ − ‖X[i] − Y[j]‖."""
        K = cdist(X, Y, self.metric) if is_of_numpy(X) else METRICS[self.metric](X, Y)
        K *= -1.0
        if self.delta != 0.0:
            K += self.delta
        return K

    @final
    def product(self, X: Any, Y: Any, v: Any) -> Array:
        """Return k(X, Y) v for a vector or a matrix v, in double precision, without the Gram matrix."""
        X, Y = check_both(X, Y)
        v = like(X, v)
        return self.delta * v.sum(0) - multiply_gram(METRICS[self.metric], X, Y, v)

    @final
    def diag(self, X: Array) -> Array:
        """Return Δ for each row."""
        rows = as_rows(X)
        values: Array = namespace(rows).full(len(rows), self.delta, dtype=rows.dtype, device=rows.device)
        return values

    @final
    def is_stationary(self) -> bool:
        """Whether k(x, x') depends on x − x' alone: it does."""
        return True


@final
class Stump(DistanceKernel):
    r"""The stump kernel [LL05, Definition 2]: all decision stumps, infinitely many, in one kernel.

    .. math:: K_S(x, x') = \Delta_S - \|x - x'\|_1, \qquad \Delta_S = \tfrac12 \sum_d (R_d - L_d),

    where [L_d, R_d] is the range of the thresholds on feature d, which must hold the rows. With this Δ the
    kernel is positive semi-definite [LL05, Theorem 1], and positive definite if one feature has distinct
    values for all rows, all strictly inside its range [LL05, Theorem 3]. With ``delta=0`` it is the
    simplified kernel, which gives the same SVM [LL05, Theorem 2]. The Gram matrix of n and m rows costs
    O(n m D).

    Parameters
    ----------
    delta : float, default=0.0
        The constant Δ. `spanning` gives the exact one; any greater one is positive semi-definite too.

    Notes
    -----
    Departures from the paper: none. The constant of Definition 2 was derived again and is right.
    There is no scale parameter: it would be the same as another C of the SVM.

    Examples
    --------
    >>> from mercer.kernels import Stump
    >>> X = [[0.0, 0.0], [1.0, 3.0]]
    >>> Stump()(X)
    array([[ 0., -4.],
           [-4.,  0.]])
    >>> Stump.spanning(X)
    Stump(delta=2.0)
    """

    metric = "cityblock"

    @classmethod
    def _constant(cls, X: Array) -> float:
        return float(np.sum(X.max(axis=0) - X.min(axis=0))) / 2  # [LL05] Definition 2

    @classmethod
    def _draw(cls, X: Array, n_hypotheses: int, rng: RandomState, scale: float) -> StumpEnsemble:
        return StumpEnsemble(*draw_stumps(X.min(axis=0), X.max(axis=0), n_hypotheses, rng), scale)


@final
class Perceptron(DistanceKernel):
    r"""The perceptron kernel [LL05, Definition 3]: all linear threshold neurons in one kernel.

    .. math:: K_P(x, x') = \Delta_P - \|x - x'\|_2, \qquad
              \Delta_P = \frac{\Theta_D}{\Xi_D} R = \sqrt\pi\, \frac{\Gamma((D+1)/2)}{\Gamma(D/2)}\, R,

    where R is the radius of a ball that holds the rows, Θ_D the surface of the unit sphere and Ξ_D the
    integral of |θ_1| over it, so that Ξ_D / Θ_D is the mean of |θ_1|. With this Δ the kernel is positive
    semi-definite [LL05, Theorem 1], and positive definite for distinct rows [LL05, Theorem 6]. With
    ``delta=0`` it is the simplified kernel, which gives the same SVM [LL05, Theorem 5]. The Gram matrix
    of n and m rows costs O(n m D).

    Parameters
    ----------
    delta : float, default=0.0
        The constant Δ. `spanning` gives the exact one; any greater one is positive semi-definite too.

    Notes
    -----
    Departures from the paper: the ball of [LL05] is centred at the origin, that of `spanning` and `sample`
    at the midpoint of the rows' ranges. The kernel sees differences of rows only, so any ball that holds the
    rows will do, and a smaller one gives a smaller constant. In one dimension the midpoint makes the
    perceptron kernel the stump kernel, as it should be.

    Erratum: Theorem 6 asks for X ⊂ B(R), X ≠ B(R). That is too much for D ≥ 2, where distinct rows
    anywhere in the closed ball are enough, and too little for D = 1, where the rows −R and R vote as opposite
    constants and make the Gram matrix singular. The constants of Definition 3 were derived again and are
    right.

    Examples
    --------
    >>> from mercer.kernels import Perceptron
    >>> X = [[0.0, 0.0, 0.0], [0.0, 3.0, 4.0]]
    >>> Perceptron()(X)
    array([[ 0., -5.],
           [-5.,  0.]])
    >>> print(f"{Perceptron.spanning(X).delta:.3f}")
    5.000
    """

    metric = "euclidean"

    @classmethod
    def _constant(cls, X: Array) -> float:
        return inverse_mean_cosine(X.shape[1]) * _ball(X)[1]  # [LL05] Definition 3

    @classmethod
    def _draw(cls, X: Array, n_hypotheses: int, rng: RandomState, scale: float) -> PerceptronEnsemble:
        return PerceptronEnsemble(*draw_perceptrons(*_ball(X), n_hypotheses, rng), scale)


def _ball(X: Array) -> tuple[Array, float]:
    """Return the midpoint of the rows' ranges, and the radius of the ball around it that holds the rows."""
    lower, upper = X.min(axis=0), X.max(axis=0)
    center = lower + (upper - lower) / 2
    return center, float(cdist(X, center[None, :]).max())


def inverse_mean_cosine(n_features: int) -> float:
    """Return Θ_D / Ξ_D = √π Γ((D+1)/2) / Γ(D/2), one over the mean of the absolute cosine [LL05, V]."""
    # logarithms, because Γ overflows from D = 343 on
    return float(np.sqrt(np.pi) * np.exp(gammaln((n_features + 1) / 2) - gammaln(n_features / 2)))
