"""SVMs on landmarks: the minimum of the rounded hinge, by its optimality condition and by another solver."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import check_grad, minimize

from mercer.datasets import threenorm
from mercer.kernels import Tree
from mercer.solvers.landmark_svm import SETTINGS, rounded_hinge, solve_on_landmarks


def test_the_loss_is_the_hinge_but_for_its_corner():
    h = SETTINGS.rounding
    margin = np.array([-3.0, 1.0 - h / 2, 1.0 + h / 2, 2.0])
    loss, slope = rounded_hinge(margin)
    assert_allclose(loss, np.maximum(0.0, 1.0 - margin))
    assert_allclose(slope, [-1.0, -1.0, 0.0, 0.0])
    every = np.linspace(-3.0, 3.0, 601)
    assert np.all(rounded_hinge(every)[0] >= np.maximum(0.0, 1.0 - every) - 1e-12)


def test_its_slope_is_its_derivative():
    for margin in np.linspace(-1.0, 2.0, 31) + 0.003:
        error = check_grad(lambda m: rounded_hinge(m)[0][0], lambda m: rounded_hinge(m)[1], [margin])
        assert error < 1e-6


def problem(n=150, m=40, n_problems=2):
    X, y = threenorm(n, random_state=0)
    rng = np.random.default_rng(1)
    kernel, Z = Tree().fitted_to(X), X[:m]
    Y = np.column_stack([y, np.where(rng.uniform(size=n) < 0.3, 0, -y * np.sign(X[:, 0]))])[:, :n_problems]
    return kernel(X, Z), kernel(Z), Y.astype(float), rng.uniform(0.5, 2.0, n)


def objective(K, K_zz, y, C, c, b):
    loss = rounded_hinge(y * (K @ c + b))[0]
    return 0.5 * c @ K_zz @ c + np.sum(C * np.abs(y) * loss)


@pytest.mark.parametrize("n_rows", [7, 64, 150])
def test_it_finds_the_minimum_whatever_the_blocks(n_rows):
    K, K_zz, Y, C = problem()

    def blocks():
        for start in range(0, 150, n_rows):
            yield slice(start, start + n_rows), K[start : start + n_rows]

    found = solve_on_landmarks(blocks, K_zz, Y, C, tol=1e-5)
    assert found.gradient <= 1e-5
    for p in range(2):

        def value(v, y=Y[:, p]):
            return objective(K, K_zz, y, C, v[:-1], v[-1])

        rival = minimize(value, np.zeros(41), method="BFGS", options={"gtol": 1e-4})
        ours = value(np.append(found.coef[:, p], found.intercept[p]))
        assert ours <= rival.fun * (1 + 1e-4)
        assert ours >= rival.fun * (1 - 1e-3)


def test_landmarks_that_coincide_do_no_harm():
    K, K_zz, Y, C = problem(n_problems=1)
    twice = np.r_[np.arange(40), np.arange(40)]

    def blocks(columns):
        return lambda: iter([(slice(0, 150), K[:, columns])])

    one = solve_on_landmarks(blocks(np.arange(40)), K_zz, Y, C, tol=1e-5)
    two = solve_on_landmarks(blocks(twice), K_zz[np.ix_(twice, twice)], Y, C, tol=1e-5)
    f = K @ one.coef + one.intercept
    g = K[:, twice] @ two.coef + two.intercept
    assert_allclose(f, g, atol=1e-2)


def test_it_says_how_far_it_came():
    K, K_zz, Y, C = problem()
    found = solve_on_landmarks(
        lambda: iter([(slice(0, 150), K.astype(np.float32))]), K_zz, Y, C, tol=1e-6, max_iter=2
    )
    assert found.n_iter == 2
    assert found.gradient > 1e-6
