"""The minimum of (P2): against LIBSVM, by its optimality conditions, and where the answer is known."""

from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.spatial.distance import cdist
from sklearn.svm import SVC

from mercer.datasets import threenorm
from mercer.solvers.newton import (
    HINGE,
    CorneredLoss,
    LogLoss,
    Point,
    SortedRows,
    TableRows,
    code_columns,
    driver,
    measure_violation,
    solve_path,
)


class SVM(NamedTuple):
    """The solution of (P2)."""

    coef: np.ndarray
    value: np.ndarray
    intercept: float
    n_iter: int
    residual: float


def as_svm(solution):
    return SVM(*solution.function, solution.n_iter, solution.residual)


def solve_svm(columns, y, C, **options):
    rows = SortedRows.of(columns, y, C).with_penalty(HINGE, 1.0)
    return as_svm(driver.solve(rows, **options))


def objective(K, y, coef):
    return 0.5 * coef @ K @ coef - y @ coef


def libsvm(K, y, C, tol=1e-3):
    coef = np.zeros(len(y))
    svm = SVC(C=1.0, kernel="precomputed", tol=tol).fit(K, y, sample_weight=C)
    coef[svm.support_] = svm.dual_coef_[0]
    return coef


def assert_feasible(coef, y, C):
    assert np.all((coef * y >= 0) & (coef * y <= C))
    assert abs(coef.sum()) <= 1e-9 * C.sum()


@st.composite
def problems(draw):
    """Draw data of all kinds: ties, duplicates with opposite labels, constant columns, unequal weights."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, D = draw(st.integers(2, 60)), draw(st.integers(1, 5))
    X = rng.normal(size=(n, D))
    kind = draw(st.sampled_from(["continuous", "ties", "constant", "duplicates"]))
    if kind == "ties":
        X = np.round(X)
    elif kind == "constant":
        X[:, 0] = 3.0
    elif kind == "duplicates":
        X = X[rng.integers(0, max(1, n // 3), size=n)]
    y = np.where(rng.random(n) < draw(st.sampled_from([0.1, 0.5])), 1.0, -1.0)
    y[:2] = [1.0, -1.0]
    C = 2.0 ** draw(st.integers(-17, 5)) * (rng.exponential(size=n) if draw(st.booleans()) else np.ones(n))
    return X, y, C


@given(problems())
@settings(max_examples=200)
def test_the_objective_is_never_above_libsvms_by_more_than_the_tolerance(problem):
    X, y, C = problem
    K = -cdist(X, X, "cityblock")
    solution = solve_svm(code_columns(X), y, C, tol=1e-3)
    assert solution.residual <= 1e-3
    assert_feasible(solution.coef, y, C)
    # a point of violation tol is at most tol Σ|Δc| above the minimum, and Σ|Δc| ≤ 2 ΣC
    reference = objective(K, y, libsvm(K, y, C))
    assert objective(K, y, solution.coef) <= reference + 1e-3 * 2 * C.sum() + 1e-9 * abs(reference)
    assert objective(K, y, solution.coef) <= reference + 1e-4 * abs(reference) + 1e-12


def test_a_row_that_balances_all_others_does_not_stop_them_short_of_their_bounds(rng):
    columns, y = code_columns(np.array([[1.0], [-1.0]])), np.array([1.0, -1.0])
    for C in rng.uniform(0.01, 2.0, size=(1500, 2)):  # rounding did it, one time in 600
        assert solve_svm(columns, y, C, tol=1e-3).residual <= 1e-3


@given(problems())
@settings(max_examples=100)
def test_the_residual_is_the_violation_of_the_optimality_conditions(problem):
    X, y, C = problem
    solution = solve_svm(code_columns(X), y, C, tol=1e-5)
    gradient = y + cdist(X, X, "cityblock") @ solution.coef
    lower, upper = np.minimum(y, 0) * C, np.maximum(y, 0) * C
    rise, fall = gradient[solution.coef < upper], gradient[solution.coef > lower]
    expected = rise.max() - fall.min()
    assert_allclose(solution.residual, expected, atol=1e-9 * (1 + np.abs(gradient).max()))
    assert expected <= 1e-5


@pytest.mark.parametrize("log_C", range(-17, 6, 2))
def test_decision_values_are_those_of_libsvm(log_C):
    X, y = threenorm(400, random_state=3)
    K = -cdist(X, X, "cityblock")
    C = np.full(400, 2.0**log_C)
    solution = solve_svm(code_columns(X), y.astype(float), C, tol=1e-4)
    svm = SVC(C=2.0**log_C, kernel="precomputed", tol=1e-4).fit(K, y)
    assert_allclose(
        K @ solution.coef - (K @ solution.coef).mean(), solution.value - solution.value.mean(), atol=1e-8
    )
    f, expected = solution.value + solution.intercept, svm.decision_function(K)
    free = (solution.coef * y > 0) & (solution.coef * y < C)
    if free.any():  # else any intercept of an interval will do
        assert_allclose(f, expected, atol=2e-3)
    assert np.corrcoef(f, expected)[0, 1] > 0.9999


@pytest.mark.parametrize("log_C", [-17, -13])
def test_small_c_has_as_many_digits_of_what_little_f_varies(log_C, rng):
    X = rng.integers(0, 3, size=(200, 4)).astype(float)  # at C = 2⁻¹⁷ all of f lies within less than tol
    y = np.where(X[:, 0] + rng.normal(size=200) > 1.5, 1.0, -1.0)
    K = -cdist(X, X, "cityblock")
    solution = solve_svm(code_columns(X), y, np.full(200, 2.0**log_C), tol=1e-3)
    expected = K @ libsvm(K, y, np.full(200, 2.0**log_C), tol=1e-8)
    assert np.ptp(expected) < 0.05
    assert np.corrcoef(solution.value, expected)[0, 1] > 0.9999


def test_two_rows_have_the_answer_of_the_textbook():
    # f = −c|x| + c|x − 2| + b, with c = 1/2: f(0) = 1, f(2) = −1
    solution = solve_svm(code_columns(np.array([[0.0], [2.0]])), np.array([1.0, -1.0]), np.full(2, 10.0))
    assert_allclose(solution.coef, [0.5, -0.5], rtol=1e-3)
    assert_allclose(solution.value + solution.intercept, [1.0, -1.0], atol=1e-3)


def test_a_kernel_of_zero_gives_a_constant_decision():
    y = np.array([1.0, 1.0, 1.0, -1.0, -1.0])
    solution = solve_svm(code_columns(np.ones((5, 2))), y, np.full(5, 2.0))
    assert solution.residual <= 1e-3
    assert_allclose(
        np.abs(solution.coef).sum(), 8.0
    )  # the smaller class at its bound, and as much of the other
    assert_allclose(solution.value, 0.0, atol=1e-12)


def test_a_path_ends_where_each_c_alone_does():
    X, y = threenorm(200, random_state=1)
    K = -cdist(X, X, "cityblock")
    y = y.astype(float)
    weight = np.linspace(0.5, 2.0, 200)
    Cs = 2.0 ** np.arange(-17, 6, 2)
    rows = SortedRows.of(code_columns(X), y, weight)
    for C, solution in zip(Cs, map(as_svm, solve_path(rows, Cs, tol=1e-5)), strict=True):
        alone = solve_svm(code_columns(X), y, C * weight, tol=1e-5)
        assert_feasible(solution.coef, y, C * weight)
        assert_allclose(objective(K, y, solution.coef), objective(K, y, alone.coef), rtol=1e-6)


def test_too_few_steps_give_a_feasible_point_and_its_residual():
    X, y = threenorm(300, random_state=0)
    y, C = y.astype(float), np.full(300, 1.0)
    solution = solve_svm(code_columns(X), y, C, max_iter=2)
    assert solution.n_iter == 2
    assert solution.residual > 1e-3
    assert_feasible(solution.coef, y, C)
    K = -cdist(X, X, "cityblock")
    expected, _ = measure_violation(
        np, solution.coef, K @ solution.coef, y, np.minimum(y, 0), np.maximum(y, 0)
    )
    assert_allclose(solution.residual, expected, rtol=1e-8)


def test_progress_is_told_and_can_stop():
    X, y = threenorm(300, random_state=0)
    steps = []
    solution = solve_svm(
        code_columns(X),
        y.astype(float),
        np.ones(300),
        progress=lambda step: steps.append(step) or step == 3,
    )
    assert steps == [1, 2, 3]
    assert solution.n_iter == 3


def test_few_rows_near_a_corner_do_not_throw_the_intercept_about():
    for seed in range(30):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(900, 5))[rng.integers(0, 225, size=900)]
        y = np.where(X[:, 0] + rng.normal(size=900) > 0.0, 1.0, -1.0)
        svm = solve_svm(code_columns(X / 5.0), y, 1e-5 * rng.exponential(size=900))
        assert svm.residual <= 1e-3
        assert svm.n_iter <= 60


@pytest.mark.parametrize(("seed", "level"), [(58, 0.95), (59, 0.05)])
def test_a_far_quantile_of_few_values_does_not_cycle(seed, level):
    rng = np.random.default_rng(seed)  # of 240 such problems these two took all 1000 steps
    X = rng.integers(-2, 3, size=(1500, 2)).astype(float)
    y = X[:, 0] + (X[:, 1] > 0) + rng.normal(size=1500)
    weight = rng.integers(1, 3, 1500).astype(float)
    mean = np.average(y, weights=weight)
    y = (y - mean) / np.sqrt(np.average((y - mean) ** 2, weights=weight))
    rows = TableRows.of(code_columns(X), y, weight)
    solution = driver.solve(rows.with_penalty(CorneredLoss(up=level, down=1.0 - level), 1e-3), tol=1e-3)
    assert solution.residual <= 1e-3
    assert solution.n_iter < 200


@pytest.mark.parametrize("no_number", [np.nan, np.inf])
@pytest.mark.parametrize("loss", [HINGE, LogLoss()], ids=["hinge", "log-loss"])
@pytest.mark.parametrize("engine", [SortedRows, TableRows])
def test_what_is_no_number_does_not_count_as_converged(engine, loss, no_number):
    X, y = threenorm(300, random_state=0)
    rows = engine.of(code_columns(X), y.astype(float), np.ones(300)).with_penalty(loss, 1.0)
    there = Point(*(array + no_number for array in rows.zero()[:2]))
    with np.errstate(all="ignore"):
        solution = driver.solve(rows, start=there)
    assert solution.residual == np.inf
    assert solution.n_iter <= 2


@pytest.mark.parametrize("no_number", [np.nan, np.inf, -np.inf])
def test_the_residual_of_what_is_no_number_is_infinite(no_number):
    y, value = np.array([1.0, -1.0, 1.0]), np.array([0.5, no_number, 0.0])
    residual, _ = measure_violation(np, np.zeros(3), value, y, np.minimum(y, 0), np.maximum(y, 0))
    assert residual == np.inf
