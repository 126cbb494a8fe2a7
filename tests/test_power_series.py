"""The power series of [OSW02, Table 1] against their Taylor coefficients."""

from math import factorial

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer.power_series import FUNCTIONS, RADIUS, PowerSum, add_terms, evaluate_series, quadratic_forms

# Table 1, as printed, and 1/(1 − ξ) of (13)
COEFFICIENTS = {
    "geometric": lambda i: 1.0,
    "exp": lambda i: 1.0 / factorial(i),
    "sinh": lambda i: 1.0 / factorial(i) if i % 2 else 0.0,
    "cosh": lambda i: 0.0 if i % 2 else 1.0 / factorial(i),
    "arctanh": lambda i: 1.0 / i if i % 2 else 0.0,
    "log": lambda i: 1.0 / i if i else 0.0,
}
EACH = pytest.mark.parametrize("function", FUNCTIONS)


def taylor(function, xi, n_terms=80):
    return sum(COEFFICIENTS[function](i) * xi**i for i in range(n_terms))


@EACH
def test_each_function_is_its_taylor_series(function):
    xi = np.linspace(0.0, 0.6, 12).reshape(3, 4)
    found = evaluate_series(function, xi)
    assert found.shape == (3, 4)
    assert_allclose(found, taylor(function, xi), rtol=1e-12)


@EACH
def test_each_series_is_infinite_at_its_radius_and_finite_before(function):
    # the ratio of neighbouring coefficients, two apart for odd and even functions, goes to 1/R²
    c = np.array([COEFFICIENTS[function](i) for i in range(60)])
    even, odd = c[20::2], c[21::2]
    kept = even if np.all(even > 0) else odd
    ratio = kept[1:] / kept[:-1]
    if RADIUS[function] == np.inf:
        assert np.all(ratio < 1e-2)
        assert np.isfinite(evaluate_series(function, np.array([50.0]))).all()
    else:
        assert_allclose(ratio[-1], 1 / RADIUS[function] ** 2, rtol=0.1)
        assert evaluate_series(function, np.array([1 - 1e-12]))[0] > 10
        assert evaluate_series(function, np.array([0.999]))[0] < 1001


@EACH
def test_no_coefficient_is_negative(function):
    assert all(COEFFICIENTS[function](i) >= 0 for i in range(60))


def random_terms(rng, function, r=4, n=7):
    kappa = rng.uniform(0.0, 0.9, size=(n, n))
    kappa = 0.5 * (kappa + kappa.T)
    return PowerSum(FUNCTIONS.index(function), rng.uniform(0, 1, r), rng.uniform(0, 2, r)), kappa


@EACH
def test_terms_are_added_to_what_is_there(function, rng):
    terms, kappa = random_terms(rng, function)
    terms.weights[1] = 0.0
    before = rng.normal(size=kappa.shape)
    total = before.copy()
    add_terms(terms, kappa, total)
    expected = sum(
        w * evaluate_series(function, c * kappa) for c, w in zip(terms.constants, terms.weights, strict=True)
    )
    assert_allclose(total, before + expected, rtol=1e-11)


@EACH
def test_quadratic_forms_are_those_of_each_term_without_its_weight(function, rng):
    terms, kappa = random_terms(rng, function)
    v = rng.normal(size=len(kappa))
    expected = [v @ evaluate_series(function, c * kappa) @ v for c in terms.constants]
    assert_allclose(quadratic_forms(terms, kappa, v), expected, rtol=1e-10, atol=1e-12)
