r"""Losses of a margin, and the weights that boosting derives from them [CKS02, Section 2].

A loss is a value. What it is made of is one function of one margin, which compiled loops call: the loops over
pairs (`mercer.solvers.boosted.pair_table`) are compiled once for each loss, and know none by name.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from mercer._typing import Array
from mercer.compiled import let_compiled_code_call, njit

Terms = Callable[[float], tuple[float, float, float]]


@dataclass(frozen=True)
class Loss:
    r"""A convex, decreasing loss of the margin m = y f, an upper bound on [m < 0] up to a constant.

    .. math:: \ell(m) = a(m) + \log(1 + b(m))

    with 0 ≤ b ≤ 1. In this form the sum over many pairs needs few logarithms, of products of many 1 + b. A
    loss without a logarithm has b = 0.

    Parameters
    ----------
    name : str
        What it is called.
    terms : callable
        From a number m to a(m), b(m) and the weight of a pair, −ℓ′(m): all three at once, since they mostly
        share an exponential. A Python function that numba can compile, without a decorator.

    Examples
    --------
    >>> from mercer.losses import Loss
    >>> def squared_hinge(m):
    ...     short = max(1.0 - m, 0.0)
    ...     return short**2, 0.0, 2.0 * short
    >>> loss = Loss("squared hinge", squared_hinge)
    >>> loss.value([-1.0, 0.0, 2.0]), loss.weight([-1.0, 0.0, 2.0])
    (array([4., 1., 0.]), array([4., 2., 0.]))
    """

    name: str
    terms: Terms

    def value(self, margin: Any) -> Array:
        """Return ℓ(m) of each margin."""
        return self.evaluate(margin)[0]

    def weight(self, margin: Any) -> Array:
        """Return −ℓ′(m) of each margin."""
        return self.evaluate(margin)[1]

    def evaluate(self, margin: Any) -> tuple[Array, Array]:
        """Return ℓ(m) and −ℓ′(m) of each margin."""
        m = np.asarray(margin, dtype=np.float64)
        value, weight = _compile(self.terms)(m.ravel())
        return value.reshape(m.shape), weight.reshape(m.shape)


@cache
def _compile(terms: Terms) -> Callable[[Array], tuple[Array, Array]]:
    # The closure holds a plain function, which numba's cache on disk knows again by its module and name; a
    # compiled one has another identity in each process.
    let_compiled_code_call(terms)

    @njit(cache=True, nogil=True)
    def evaluate(margin: Array) -> tuple[Array, Array]:
        value, weight = np.empty_like(margin), np.empty_like(margin)
        for i in range(len(margin)):
            a, b, weight[i] = terms(margin[i])
            value[i] = a + np.log1p(b)
        return value, weight

    compiled: Callable[[Array], tuple[Array, Array]] = evaluate
    return compiled


def _exp_terms(m: float) -> tuple[float, float, float]:
    q = np.exp(-m)
    return q, 0.0, q  # ExpLoss = exp(−m), which is its own weight


def _log_terms(m: float) -> tuple[float, float, float]:
    """Return the terms of LogLoss = log(1 + exp(−m)), without overflow.

    The weight is 1 / (1 + exp(m)). [CKS02, Fig. 1] prints exp(−m) there, which would give the pairs that are
    right the larger weight; minus the derivative of the loss has the other sign.
    """
    e = np.exp(-abs(m))
    return max(-m, 0.0), e, (e if m > 0 else 1.0) / (1.0 + e)


EXP = Loss("exp", _exp_terms)
LOG = Loss("log", _log_terms)
LOSSES = {loss.name: loss for loss in (LOG, EXP)}
