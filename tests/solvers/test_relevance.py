"""Ridge regression and slopes against their slow, literal forms."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import approx_fprime
from scipy.spatial.distance import cdist
from scipy.stats import chi2
from sklearn.gaussian_process.kernels import RBF
from sklearn.kernel_ridge import KernelRidge

from mercer.kernels import Perceptron, Tree
from mercer.solvers import relevance
from mercer.solvers.relevance import average_slopes, compare_products, fit_ridge, take_slopes

KERNELS = {
    "tree": (Tree(1.0), 1, lambda X, Y: np.exp(-cdist(X, Y, "cityblock"))),
    "perceptron": (Perceptron(), 2, lambda X, Y: 1.0 / cdist(X, Y)),
    "rbf": (RBF(1.0), 2, lambda X, Y: np.exp(-(cdist(X, Y) ** 2) / 2)),
}


def test_the_loss_is_that_of_leaving_out_each_row(rng):
    X, T = rng.normal(size=(25, 3)), rng.normal(size=(25, 2))
    K = Tree(0.3)(X)
    fit = fit_ridge(K, T, [0.2])
    errors = []
    for i in range(25):
        rest = np.delete(np.arange(25), i)
        machine = KernelRidge(alpha=0.2, kernel="precomputed").fit(K[np.ix_(rest, rest)], T[rest])
        errors.append(T[i] - machine.predict(K[None, i, rest])[0])
    assert_allclose(fit.loss, np.mean(np.square(errors)))
    assert_allclose(fit.coef, np.linalg.solve(K + 0.2 * np.eye(25), T))


def test_the_penalty_of_the_least_loss_is_taken(rng):
    X, T = rng.normal(size=(25, 3)), rng.normal(size=(25, 1))  # noise: the largest is best
    K = Tree(0.3)(X)
    losses = [fit_ridge(K, T, [penalty]).loss for penalty in (0.01, 0.1, 1.0)]
    best = fit_ridge(K, T, [0.01, 0.1, 1.0])
    assert best.loss == min(losses)
    assert best.penalty == 1.0


def test_a_penalty_that_is_too_small_for_the_kernel_is_not_taken(rng):
    K = np.ones((5, 5))
    K[0, 1] = K[1, 0] = 1.0 + 1e-9  # not quite positive semi-definite
    assert fit_ridge(K, rng.normal(size=(5, 1)), [1e-12]).loss == np.inf


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("block", [1, 2**22])
def test_slopes_are_minus_the_gradient_of_the_machine(monkeypatch, rng, name, block):
    monkeypatch.setattr(relevance, "BLOCK", block)
    kernel, power, slope = KERNELS[name]
    X, points = rng.normal(size=(20, 4)), rng.normal(size=(3, 4))
    coef = rng.normal(size=(20, 2))
    slopes = take_slopes(points, X, slope(points, X), coef, power)
    for i, point in enumerate(points):
        for p in range(2):
            gradient = approx_fprime(point, lambda x, p=p: float((kernel(x[None], X) @ coef[:, p])[0]), 1e-7)
            assert_allclose(slopes[i, p], -gradient, atol=1e-5)


def test_the_average_is_that_of_products_of_two_machines(rng):
    X, T = rng.normal(size=(30, 3)), rng.normal(size=(30, 2))
    points = X[:7]
    K = Tree(1.0)(X)
    found = average_slopes(X, points, K, K[:7], T, 0.1, power=1, n_splits=2, rng=np.random.RandomState(5))
    order, total = np.random.RandomState(5), np.zeros(3)
    for _ in range(2):
        rows = order.permutation(30)
        slopes = []
        for half in (rows[:15], rows[15:]):
            c = np.linalg.solve(K[np.ix_(half, half)] + 0.1 * np.eye(15), T[half])
            s = np.zeros((7, 2, 3))
            for i in range(7):
                for d in range(3):
                    for j, row in enumerate(half):
                        s[i, :, d] += c[j] * K[i, row] * np.sign(points[i, d] - X[row, d])
            slopes.append(s)
        total += np.sum(slopes[0] * slopes[1], axis=(0, 1))
    assert_allclose(found, total / 14, atol=1e-5 * np.abs(total).max())


def test_pairs_of_features_are_compared_by_the_sums_of_their_products(rng):
    X, coef = 5.0 + 2.0 * rng.normal(size=(30, 4)), rng.normal(size=(30, 2))
    X[0, 0], X[:, 3] = 1000.0, 7.0  # one far out counts as three deviations, a constant for nothing
    score = compare_products(X, coef)
    for a in range(3):
        for b in range(3):
            z, other = (np.clip((x - x.mean()) / x.std(), -3, 3) for x in (X[:, a], X[:, b]))
            terms = [c * z * other for c in coef.T]
            expected = sum(np.sum(term) ** 2 / np.sum(term**2) for term in terms)
            assert_allclose(score[a, b], 0.0 if a == b else expected)
    assert_allclose(score[3], 0.0)


def test_of_useless_pairs_the_comparison_is_chi_squared(rng):
    score = compare_products(rng.normal(size=(500, 60)), rng.normal(size=(500, 2)))
    score = score[np.triu_indices(60, 1)]
    for share in (0.1, 0.01):
        assert_allclose(np.mean(score > chi2.isf(share, 2)), share, rtol=0.5)


def test_of_useless_features_the_average_is_mostly_noise_around_zero():
    rng = np.random.RandomState(0)
    X = rng.normal(size=(300, 20))
    T = np.sign(X[:, :1])
    K = Tree(1.0 / 20)(X)
    found = average_slopes(X, X[:100], K, K[:100], T, 0.1, power=1, n_splits=2, rng=rng)
    assert np.argmax(found) == 0
    assert np.mean(found[1:] < 0.1 * found[0]) > 0.8
    assert 0.2 < np.mean(found[1:] < 0.0) < 0.8
