"""The interior-point method: by its duality gap, and against LIBSVM."""

import warnings

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from sklearn.datasets import make_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC

from mercer.solvers import linear_svm
from mercer.solvers.linear_svm import solve_linear_svm


def objective(w, b, X, y, C):
    return w @ w / 2 + C @ np.maximum(0, 1 - y * (X @ w + b))


def test_two_points_have_the_hard_margin_in_the_middle():
    X, y = np.array([[0.0], [2.0]]), np.array([-1.0, 1.0])
    found = solve_linear_svm(X, y, np.full(2, 100.0))
    assert_allclose([found.w[0], found.b], [1.0, -1.0], atol=1e-6)


def test_an_intercept_that_is_free_in_a_range_is_its_middle():
    # both multipliers are C, w = 2 C, and every b with both points inside the margin is optimal
    X, y = np.array([[0.0], [2.0]]), np.array([-1.0, 1.0])
    found = solve_linear_svm(X, y, np.full(2, 0.1))
    assert_allclose([found.w[0], found.b], [0.2, -0.2], atol=1e-6)
    svc = SVC(kernel="linear", C=0.1).fit(X, y)
    assert_allclose([found.w[0], found.b], [svc.coef_[0, 0], svc.intercept_[0]], atol=1e-6)


@settings(max_examples=60)
@given(
    seed=st.integers(0, 10**6),
    n=st.integers(2, 60),
    p=st.integers(1, 30),
    log2_C=st.integers(-17, 10),
    ties=st.booleans(),
)
@example(seed=10, n=10, p=10, log2_C=8, ties=False)  # where an undamped corrector goes round in circles
def test_the_gap_bounds_the_distance_from_the_optimum(seed, n, p, log2_C, ties):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p)) * 10.0 ** rng.uniform(-1, 1, size=p)
    X = X.round() if ties else X
    y = np.append([-1.0, 1.0], rng.choice([-1.0, 1.0], size=n - 2))
    C = 2.0**log2_C * rng.uniform(0.5, 2, size=n)
    found = solve_linear_svm(X, y, C)
    assert found.gap <= 1e-9
    rival = SVC(kernel="linear", C=1.0, tol=1e-4, max_iter=20_000)
    with warnings.catch_warnings():  # a rival that was stopped is still no better than the optimum
        warnings.simplefilter("ignore", ConvergenceWarning)
        rival.fit(X, y, sample_weight=C)
    ours = objective(found.w, found.b, X, y, C)
    assert ours <= objective(rival.coef_[0], rival.intercept_[0], X, y, C) * (1 + 1e-8)
    # weak duality: any multipliers give a lower bound, here those of the rival
    w, multipliers = rival.coef_[0], np.abs(rival.dual_coef_[0])
    assert multipliers.sum() - w @ w / 2 <= ours * (1 + 1e-6)


@pytest.mark.parametrize("seed", range(5))
def test_duplicate_rows_of_opposite_classes_and_a_huge_C_are_no_obstacle(seed):
    # a margin that the other rows want hard: the equations lose all digits unless solved twice
    rng = np.random.default_rng(seed)
    X = 1e3 * rng.normal(size=(60, 46))[rng.integers(0, 60, size=60)]
    y = np.append([-1.0, 1.0], rng.choice([-1.0, 1.0], size=58))
    assert solve_linear_svm(X, y, np.full(60, 2.0**15)).gap <= 1e-9


@pytest.mark.parametrize("scale", [1e-2, 1.0, 10.0])
def test_the_multipliers_are_feasible_and_make_up_w(scale):
    X, y = make_classification(80, 5, flip_y=0.1, random_state=0)
    X, y = scale * X + 3.0, 2.0 * y - 1
    C = np.linspace(0.5, 2.0, 80)
    found = solve_linear_svm(X, y, C)
    assert np.all((found.dual > 0) & (found.dual < C))
    assert abs(found.dual @ y) <= 1e-6 * found.dual.sum()
    assert_allclose((found.dual * y) @ X, found.w, atol=1e-4 * np.linalg.norm(found.w))
    dual = found.dual.sum() - found.w @ found.w / 2
    assert_allclose(dual, objective(found.w, found.b, X, y, C), rtol=1e-6)


def test_no_point_has_a_negative_gap(rng):
    # weak duality holds for every w, b and λ, balanced or not, if an imbalance is charged at the price b
    for _ in range(100):
        y = rng.choice([-1.0, 1.0], size=6)
        A = y[:, None] * np.column_stack([rng.normal(size=6), np.ones(6)])
        w_and_b, (lam, eta) = rng.normal(size=2), rng.uniform(size=(2, 6))
        assert linear_svm._relative_gap(A, linear_svm.Point(w_and_b, lam, eta, lam, eta)) >= 0


def test_more_iterations_than_needed_do_no_harm():
    X, y = make_classification(200, 10, flip_y=0.1, random_state=0)
    y, C = 2.0 * y - 1, np.full(200, 5.0)
    usual, endless = (solve_linear_svm(X, y, C, tol=tol) for tol in (1e-9, 0.0))
    assert usual.n_iter < endless.n_iter < 200
    assert endless.gap <= usual.gap
    assert_allclose(endless.w, usual.w, atol=1e-5)
