"""Sums of power series of a kernel against the formula, pair by pair."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.gaussian_process.kernels import RBF, DotProduct
from sklearn.svm import SVC

from mercer.kernels import Series

FORMULAS = {
    "geometric": lambda t: 1 / (1 - t),
    "exp": np.exp,
    "sinh": np.sinh,
    "cosh": np.cosh,
    "arctanh": np.arctanh,
    "log": lambda t: -np.log1p(-t),
}
EACH = pytest.mark.parametrize("function", list(FORMULAS))
CONSTANTS, WEIGHTS = np.array([0.9, 0.3, 0.6]), np.array([2.0, 0.0, 0.5])


def literal(kernel, x, z):
    """The formula for one pair of rows."""
    g, total = FORMULAS[kernel.function], 0.0
    for c, w in zip(kernel.constants, kernel.weights, strict=True):
        if kernel.by_feature:
            total += w * np.prod([g(c[j] * kernel.base([[x[j]]], [[z[j]]])[0, 0]) for j in range(len(x))])
        else:
            total += w * g(c * kernel.base([x], [z])[0, 0])
    return total


def make(function, rng, by_feature):
    constants = rng.uniform(0, 0.9, size=(3, 2)) if by_feature else CONSTANTS
    return Series(RBF(0.7), function, constants, WEIGHTS, by_feature)


@EACH
@pytest.mark.parametrize("by_feature", [False, True])
def test_values_are_those_of_the_formula(function, by_feature, rng):
    kernel = make(function, rng, by_feature)
    X, Z = rng.normal(size=(6, 2)), rng.normal(size=(4, 2))
    assert_allclose(kernel(X, Z), [[literal(kernel, x, z) for z in Z] for x in X], rtol=1e-10)
    assert_allclose(kernel.diag(X), [literal(kernel, x, x) for x in X], rtol=1e-10)


@EACH
@pytest.mark.parametrize("by_feature", [False, True])
def test_it_is_positive_semi_definite(function, by_feature, rng):
    K = make(function, rng, by_feature)(rng.normal(size=(30, 2)))
    assert np.linalg.eigvalsh(K)[0] > -1e-12 * np.trace(K)


def test_a_kernel_without_terms_is_zero(rng):
    kernel = Series(RBF(), "exp", np.zeros(0), np.zeros(0))
    assert not np.any(kernel(rng.normal(size=(3, 2))))


@pytest.mark.parametrize("function", ["geometric", "arctanh", "log"])
@pytest.mark.parametrize("by_feature", [False, True])
def test_arguments_outside_the_radius_are_refused(function, by_feature):
    constants = np.array([[0.5, 1.0]]) if by_feature else np.array([0.2, 1.0])
    kernel = Series(RBF(), function, constants, np.ones(len(constants)), by_feature)
    for call in (kernel, kernel.diag):
        with pytest.raises(ValueError, match=r"less than 1: take a base kernel .* or a smaller scale"):
            call(np.zeros((2, 2)))


def test_negative_values_of_the_base_are_refused():
    with pytest.raises(ValueError, match="from -1 to 1"):
        Series(DotProduct(0.0), "exp", np.ones(1), np.ones(1))([[1.0], [-1.0]])


def test_a_term_for_other_columns_is_refused():
    kernel = Series(RBF(), "exp", np.ones((1, 2)), np.ones(1), by_feature=True)
    for call in (kernel, kernel.diag):
        with pytest.raises(ValueError, match="X has 3 columns, but the kernel was made for 2"):
            call(np.zeros((2, 3)))


def test_an_svm_takes_it_as_it_takes_its_matrix(rng):
    X, y = rng.normal(size=(30, 2)), np.arange(30) % 2
    kernel = clone(make("geometric", rng, False))
    rival = SVC(kernel="precomputed").fit(kernel(X), y)
    assert_allclose(SVC(kernel=kernel).fit(X, y).decision_function(X), rival.decision_function(kernel(X)))
