r"""Power series with positive coefficients, of which superkernels are made [OSW02, Table 1].

Each is :math:`g(\xi) = p\, f(s \xi)` for one of the functions f below, a scale s and a factor p. As their
coefficients are positive, g(c κ) is a kernel for a kernel κ ≥ 0 and a constant c ≥ 0, as long as s c κ is
inside the radius of convergence.
"""

from typing import Any, NamedTuple

import numpy as np

from mercer._typing import Array
from mercer.array_api import namespace
from mercer.compiled import njit

RADIUS = {  # [OSW02, Table 1], its column R; the first is the series of (13)
    "geometric": 1.0,  # 1 / (1 − ξ)
    "exp": np.inf,
    "sinh": np.inf,
    "cosh": np.inf,
    "arctanh": 1.0,
    "log": 1.0,  # −log(1 − ξ)
}
FUNCTIONS = tuple(RADIUS)
GEOMETRIC, EXP, SINH, COSH, ARCTANH, LOG = range(len(FUNCTIONS))


class PowerSum(NamedTuple):
    r"""Terms :math:`w_i\, f(c_i \kappa)` of one series, as functions of the number κ."""

    function: int  # a place in FUNCTIONS
    constants: Array  # (r,), the c_i; the scale s is in them
    weights: Array  # (r,), the w_i; the factor p is in them


@njit(cache=True, nogil=True, fastmath=True)
def add_terms(terms: PowerSum, kappa: Array, total: Array) -> None:
    """Add up the terms for each κ of a matrix. O(r) each."""
    for row in range(len(kappa)):
        for i in range(len(terms.weights)):
            if terms.weights[i] != 0.0:
                _add_term(terms.function, terms.constants[i], terms.weights[i], kappa[row], total[row])


def add_terms_of_tensor(terms: PowerSum, kappa: Any, total: Any) -> None:
    """Add up the terms for each κ of a tensor, where that is."""
    xp = namespace(kappa)
    formula = (lambda z: 1.0 / (1.0 - z), xp.exp, xp.sinh, xp.cosh, xp.atanh, lambda z: -xp.log1p(-z))
    for constant, weight in zip(terms.constants.tolist(), terms.weights.tolist(), strict=True):
        if weight != 0.0:
            total += weight * formula[terms.function](constant * kappa)


@njit(cache=True, nogil=True, fastmath=True)
def _add_term(function: int, constant: float, weight: float, kappa: Array, total: Array) -> None:
    # one loop for each function, so that each is a plain loop over numbers
    if function == GEOMETRIC:
        for k in range(len(kappa)):
            total[k] += weight / (1.0 - constant * kappa[k])
    elif function == EXP:
        for k in range(len(kappa)):
            total[k] += weight * np.exp(constant * kappa[k])
    elif function == SINH:
        for k in range(len(kappa)):
            total[k] += weight * np.sinh(constant * kappa[k])
    elif function == COSH:
        for k in range(len(kappa)):
            total[k] += weight * np.cosh(constant * kappa[k])
    elif function == ARCTANH:
        for k in range(len(kappa)):
            total[k] += weight * np.arctanh(constant * kappa[k])
    else:
        for k in range(len(kappa)):
            total[k] -= weight * np.log1p(-constant * kappa[k])


@njit(cache=True, nogil=True, fastmath=True)
def quadratic_forms(terms: PowerSum, kappa: Array, v: Array) -> Array:
    """Return vᵀ f(c_i κ) v for each term, for a symmetric matrix κ; the weights do not count. O(n² r)."""
    forms = np.zeros(len(terms.constants))
    row = np.empty(len(v))
    for a in range(len(v)):
        for i in range(len(forms)):
            below = 0.0
            if terms.function == GEOMETRIC:  # the one that is used most
                for b in range(a + 1):
                    below += v[b] / (1.0 - terms.constants[i] * kappa[a, b])
                last = 1.0 / (1.0 - terms.constants[i] * kappa[a, a])
            else:
                row[: a + 1] = 0.0
                _add_term(terms.function, terms.constants[i], 1.0, kappa[a, : a + 1], row[: a + 1])
                for b in range(a + 1):
                    below += v[b] * row[b]
                last = row[a]
            forms[i] += v[a] * (2.0 * below - v[a] * last)
    return forms


def evaluate_series(function: str, argument: Array) -> Array:
    """Return f of numbers, one at a time."""
    shape = np.shape(argument)
    total = np.zeros((1, int(np.prod(shape))))
    one = np.ones(1)
    add_terms(PowerSum(FUNCTIONS.index(function), one, one), np.reshape(argument, (1, -1)), total)
    return total.reshape(shape)
