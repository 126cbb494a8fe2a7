"""Two-class problems that are finished together, beside each of them alone."""

import subprocess
import sys
import warnings

import cvxpy as cp
import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.datasets import make_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC

from mercer import StumpSVC
from mercer.machines.few_rows import MOST_ROWS, are_few
from mercer.machines.multiclass import split_problems
from mercer.solvers import libsvm
from mercer.solvers.libsvm import (
    STEPS,
    FlatProblems,
    TwoClassProblem,
    multiply_by_problem,
    multiply_few,
    polish,
    polish_few,
    solve_by_libsvm,
)
from mercer.solvers.newton import measure_violation


def split(label, n_classes, scheme):
    """Return the rows and the signs of each two-class problem."""
    problems = split_problems(label, np.ones(len(label)), n_classes, scheme).each
    every = np.arange(len(label))
    return [TwoClassProblem(every if p.rows is None else p.rows, p.y) for p in problems]


@pytest.fixture
def drawn(rng):
    label = np.r_[0, 1, 2, 3, rng.integers(0, 4, 40)]
    problems = split(label, 4, "ovo")
    flat = FlatProblems.of(problems)
    upper = np.where(flat.y > 0, 1.0, 0.0)
    lower = upper - 1.0
    coef = np.clip(rng.normal(0.5 * flat.y, 0.5), lower, upper)
    return problems, flat, coef, lower, upper


@pytest.mark.parametrize("multiply", [multiply_by_problem, multiply_few])
def test_products_of_all_problems_are_those_of_each(drawn, rng, multiply):
    problems, flat, coef, _, _ = drawn
    K = rng.normal(size=(44, 44))
    K += K.T
    value = np.zeros(len(coef))
    multiply(K, flat.rows, flat.start, coef, value)
    for (rows, _), mine in zip(problems, flat.slices, strict=True):
        np.testing.assert_allclose(value[mine], K[np.ix_(rows, rows)] @ coef[mine], atol=1e-12)


@pytest.mark.parametrize("free", [True, False])
def test_violations_of_all_problems_are_those_of_each(drawn, rng, free):
    _, flat, coef, lower, upper = drawn
    coef = coef if free else np.where(rng.random(len(coef)) < 0.5, lower, upper)
    value = rng.normal(size=len(coef))
    value[flat.slices[2].start] = np.nan
    residual, intercept = flat.measure_violations(coef, value, lower, upper)
    for p, mine in enumerate(flat.slices):
        one = measure_violation(np, coef[mine], value[mine], flat.y[mine], lower[mine], upper[mine])
        assert residual[p] == pytest.approx(one[0], abs=1e-12)
        assert p == 2 or intercept[p] == pytest.approx(one[1], abs=1e-12)


@pytest.mark.parametrize("add_digits", [polish, polish_few])
def test_the_last_digits_of_all_problems_solve_the_system_of_each(drawn, rng, add_digits):
    problems, flat = drawn[:2]
    X = rng.normal(size=(44, 5))
    K = -cdist(X, X, "cityblock")
    coef, free = rng.normal(size=len(flat.rows)), rng.random(len(flat.rows)) < 0.4
    value = np.zeros(len(coef))
    multiply_by_problem(K, flat.rows, flat.start, coef, value)
    polished, its_value = coef.copy(), value.copy()
    add_digits(K, flat.rows, flat.start, free, flat.y - value, 1000, polished, its_value)
    for (rows, y), mine in zip(problems, flat.slices, strict=True):
        among, own = K[np.ix_(rows, rows)], free[mine]
        assert own.sum() >= 2
        system = np.block([[among[np.ix_(own, own)], np.ones((own.sum(), 1))], [np.ones(own.sum()), 0.0]])
        step = np.linalg.solve(system, np.append((y - value[mine])[own], -coef[mine].sum()))[:-1]
        np.testing.assert_allclose((polished - coef)[mine][own], step, rtol=1e-6, atol=1e-6)
        assert np.array_equal(polished[mine][~own], coef[mine][~own])
        np.testing.assert_allclose(its_value[mine], among @ polished[mine], rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("add_digits", [polish, polish_few])
def test_problems_of_too_many_free_rows_or_of_one_keep_their_digits(drawn, rng, add_digits):
    flat = drawn[1]
    K, (coef, value) = np.eye(44), rng.normal(size=(2, len(flat.rows)))
    one = np.zeros(len(coef), bool)
    one[flat.start[:-1]] = True
    for free, most in ((np.ones(len(coef), bool), 5), (one, 1000)):
        polished, its_value = coef.copy(), value.copy()
        add_digits(K, flat.rows, flat.start, free, flat.y - value, most, polished, its_value)
        assert np.array_equal(polished, coef)
        assert np.array_equal(its_value, value)


@pytest.mark.parametrize("C", [1e-4, 0.1, 8.0])
@pytest.mark.parametrize("scheme", ["ovo", "ovr"])
def test_all_classes_at_once_have_the_objectives_and_values_of_tight_two_class_svms(C, scheme):
    X, y = make_classification(240, 8, n_informative=6, n_redundant=0, n_classes=4, random_state=0)
    X[100:160] = X[:60]
    model = StumpSVC(C=C, multi_class=scheme).fit(X, y)
    K = -cdist(X, X, "cityblock")
    for p, (rows, sign) in enumerate(split(y, 4, scheme)):
        svc = SVC(C=C, kernel="precomputed", tol=1e-7).fit(K[np.ix_(rows, rows)], sign)
        coef = np.zeros(len(rows))
        coef[svc.support_] = svc.dual_coef_[0]
        objective = 0.5 * coef @ K[np.ix_(rows, rows)] @ coef - sign @ coef
        assert model.objective_[p] == pytest.approx(objective, rel=3e-5)
        values = model.machines_[0].each[p](X[rows])
        expected = svc.decision_function(K[np.ix_(rows, rows)])
        np.testing.assert_allclose(values, expected, atol=3e-3 * max(1.0, np.ptp(expected)))


def test_the_gram_matrix_of_many_classes_stays_small_and_paths_of_c_take_newton_steps():
    assert are_few(1200, 2, [1.0])
    assert not are_few(1201, 2, [1.0])
    assert not are_few(1200, 2, [0.01])
    assert not are_few(1200, 2, [1.0, 2.0])
    assert are_few(500, 2, [0.01, 2.0])
    assert are_few(MOST_ROWS, 8, [0.01])
    assert not are_few(MOST_ROWS + 1, 8, [1.0])
    assert are_few(5000, 20, [1.0])


@pytest.mark.parametrize("C", [1e-5, 1e-3])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("scheme", ["ovo", "ovr"])
def test_libsvm_alone_solves_problems_whose_last_digits_matter(rng, C, n_classes, scheme):
    X = rng.normal(size=(120, 5))
    y = (X[:, 0] + rng.normal(size=120) > 0).astype(int) + (n_classes - 2) * (X[:, 1] > 0)
    model = StumpSVC(C=C, multi_class=scheme, max_iter=100_000).fit(X, y)
    for p, (rows, sign) in enumerate(split(y, n_classes, scheme)):
        K = -cdist(X[rows], X[rows], "cityblock")
        svc = SVC(C=C, kernel="precomputed", tol=1e-9).fit(K, sign)
        np.testing.assert_allclose(model.machines_[0].each[p](X[rows]), svc.decision_function(K), atol=3e-3)
        assert model.residual_[p] <= 1e-3


def nearly_equal_samples_of_two_classes():
    """Samples on which LIBSVM takes one step forth and one back for ever (the 48th of random draws)."""
    rng = np.random.default_rng(47)
    n, d = int(rng.integers(8, 40)), int(rng.integers(1, 4))
    X, y = rng.normal(size=(n, d)), np.arange(n) % 2
    k = int(rng.integers(1, n // 2))
    X[:k] = X[k : 2 * k] + 10.0 ** rng.uniform(-6, -4) * rng.normal(size=(k, d))
    return X, y, float(10 ** rng.uniform(1.5, 3))


def test_a_fit_that_goes_round_in_circles_ends_near_the_optimum():
    X, y, C = nearly_equal_samples_of_two_classes()
    K, bound = X @ X.T, np.full(len(X), C)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # on another processor it may find its way
        found = solve_by_libsvm(K, y, bound, "ovo", tol=1e-3, max_iter=None)
    coef, sign = found.coef[:, 0], 2.0 * y - 1.0
    dual = sign @ coef - 0.5 * coef @ K @ coef
    w, b = cp.Variable(X.shape[1]), cp.Variable()
    loss = cp.sum(cp.pos(1 - cp.multiply(sign, X @ w + b)))
    primal = cp.Problem(cp.Minimize(cp.sum_squares(w) / 2 + C * loss)).solve(solver=cp.CLARABEL)
    assert dual == pytest.approx(primal, rel=1e-3)


def test_who_goes_round_in_circles_is_given_a_larger_tolerance(monkeypatch, rng):
    tried = []

    def circles(K, label, C, tol, max_iter):
        tried.append((tol, max_iter))
        found, _ = really_try(K, label, C, tol, 30 if tol < 5e-3 else max_iter)
        return found, tol < 5e-3

    really_try = libsvm._try_libsvm
    monkeypatch.setattr(libsvm, "_try_libsvm", circles)
    X, y = rng.normal(size=(60, 3)), np.arange(60) % 2
    with pytest.warns(ConvergenceWarning, match="LIBSVM has a tolerance of 1e-02"):
        solve_by_libsvm(X @ X.T, y, np.ones(60), "ovo", tol=1e-3, max_iter=None)
    assert tried == [(1e-3, STEPS), (1e-3, 3 * STEPS), (1e-2, 3 * STEPS)]


def test_a_limit_that_somebody_set_is_kept(rng):
    X, y = rng.normal(size=(60, 3)), np.arange(60) % 2
    with pytest.warns(ConvergenceWarning, match="stopped after 5 iterations"):
        found = solve_by_libsvm(X @ X.T, y, np.ones(60), "ovo", tol=1e-9, max_iter=5)
    assert found.n_iter[0] == 5


@pytest.mark.parametrize("n_classes", [2, 3])
def test_who_makes_progress_has_as_many_steps_as_needed(monkeypatch, rng, n_classes):
    X, y = rng.normal(size=(60, 3)), np.arange(60) % n_classes
    K, C = X @ X.T, np.ones(60)
    expected = solve_by_libsvm(K, y, C, "ovo", tol=1e-6, max_iter=None)
    monkeypatch.setattr(libsvm, "STEPS", 5)
    monkeypatch.setattr(libsvm, "STEPS_OF_A_ROW", 0)
    found = solve_by_libsvm(K, y, C, "ovo", tol=1e-6, max_iter=None)
    np.testing.assert_array_equal(found.coef, expected.coef)
    assert found.n_iter.max() > 5 * 3


def test_a_first_small_fit_compiles_nothing():
    program = (
        "import sys\n"
        "from mercer import StumpSVC\n"
        "from mercer.datasets import twonorm\n"
        "X, y = twonorm(500, random_state=0)\n"
        "StumpSVC(C=0.05).fit(X, y).predict(X)\n"
        "StumpSVC('cv', Cs=3, cv=2).fit(X[:, :5], y).score(X[:, :5], y)\n"
        "sys.exit('numba' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
