"""The regularised risk as a function of the kernel: its planes touch, its minimum is that of the QCQP."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.gaussian_process.kernels import RBF
from sklearn.svm import SVC

from mercer.solvers.superkernel import risk, svm
from mercer.solvers.superkernel.cutting_planes import minimize_by_planes
from mercer.solvers.superkernel.grams import HeldGrams
from mercer.solvers.superkernel.risk import (
    KernelForCoefficients,
    KernelRisk,
    alternate,
    balanced_shares,
    first_guess,
    minimize_risk,
    split_classes,
    thin,
)
from mercer.solvers.superkernel.svm import best_bias
from mercer.solvers.superkernel.weights import Penalty, Stopping
from qcqp import least_risk


def some_data(seed=0, m=40, n_classes=2):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(m, 3))
    score = X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=m)
    label = np.searchsorted(np.quantile(score, np.arange(1, n_classes) / n_classes), score)
    return X, label.astype(np.intp)


def some_grams(X):
    columns = [RBF(1.0)(X[:, [j]]) for j in range(3)]
    return HeldGrams(np.stack([RBF(0.3)(X), RBF(1.0)(X), RBF(3.0)(X), *columns]))


def literal_risk(K, y):
    """(6) with C = 1 by LIBSVM."""
    svc = SVC(kernel="precomputed", tol=1e-9).fit(K, y)
    coef = np.zeros(len(y))
    coef[svc.support_] = svc.dual_coef_[0]
    f = K @ coef + svc.intercept_[0]
    return (coef @ K @ coef / 2 + np.maximum(0, 1 - y * f).sum()) / len(y)


def minimize(grams, label, penalty, search=minimize_risk, tol=1e-6, **kwargs):
    return search(grams, label, penalty, Stopping(**{"tol": tol, "max_iter": 300, **kwargs}))


# φ


def test_the_value_is_the_risk_of_an_svm_and_the_slope_its_derivative(rng):
    X, label = some_data()
    grams = some_grams(X)
    y = 2.0 * label - 1.0
    beta = rng.uniform(0.5, 2.0, grams.n_terms)
    plane = KernelRisk(grams, split_classes(label)).ask(beta, 1e-10)
    assert plane.value == pytest.approx(
        literal_risk(grams.combine(beta), y), rel=5e-6
    )  # as far as LIBSVM goes
    assert plane.value == pytest.approx(plane.offset + plane.slope @ beta, rel=1e-8)  # it touches
    for i in range(grams.n_terms):
        step = 1e-4 * np.eye(grams.n_terms)[i]
        values = [KernelRisk(grams, split_classes(label)).ask(beta + s * step, 1e-11).value for s in (1, -1)]
        assert plane.slope[i] == pytest.approx((values[0] - values[1]) / 2e-4, rel=1e-4, abs=1e-7)


@pytest.mark.parametrize("tol", [0.1, 1e-3])
def test_planes_are_below_and_values_above_however_rough_the_svm_was(rng, tol):
    X, label = some_data()
    grams = some_grams(X)
    risk, exact = KernelRisk(grams, split_classes(label)), KernelRisk(grams, split_classes(label))
    for _ in range(10):
        here, there = rng.exponential(size=(2, grams.n_terms)) * 10.0 ** rng.integers(-2, 3)
        plane = risk.ask(here, tol)
        assert plane.value >= exact.ask(here, 1e-9).value * (1 - 1e-8)
        assert plane.offset + plane.slope @ there <= exact.ask(there, 1e-9).value * (1 + 1e-8)
        assert np.all(plane.slope <= 0)


def test_no_plane_rises_whatever_rounding_does_to_kernels_that_are_constant(monkeypatch):
    X, label = some_data()
    grams = HeldGrams(np.stack([RBF(1.0)(X), np.ones((40, 40))]))
    exact = HeldGrams.quadratics
    monkeypatch.setattr(HeldGrams, "quadratics", lambda self, v: exact(self, v) - [0.0, 1e-15])
    assert np.all(KernelRisk(grams, split_classes(label)).ask(np.ones(2), 1e-3).slope <= 0)


def test_what_was_hard_once_begins_with_interior_points_the_next_time(monkeypatch):
    X, label = some_data(m=200)
    grams = HeldGrams(RBF(15.0)(X)[None])
    risk = KernelRisk(grams, split_classes(label))
    first = risk.ask(np.array([1e7]), 1e-5)
    monkeypatch.setattr(svm, "turn_round", None)  # not called again
    assert risk.ask(np.array([1e7]), 1e-5).value == pytest.approx(first.value, rel=2e-5)


def test_of_many_classes_it_is_the_mean_over_the_rows_of_all_pairs_of_classes(rng):
    X, label = some_data(n_classes=3)
    label[:10] = 0  # classes of different sizes
    grams = some_grams(X)
    beta = rng.uniform(0.5, 2.0, grams.n_terms)
    K, total, n_rows = grams.combine(beta), 0.0, 0
    for a, b in [(0, 1), (0, 2), (1, 2)]:
        rows = np.flatnonzero((label == a) | (label == b))
        y = np.where(label[rows] == b, 1.0, -1.0)
        total += len(rows) * literal_risk(K[np.ix_(rows, rows)], y)
        n_rows += len(rows)
    plane = KernelRisk(grams, split_classes(label)).ask(beta, 1e-9)
    assert plane.value == pytest.approx(total / n_rows, rel=5e-6)
    assert plane.value == pytest.approx(plane.offset + plane.slope @ beta, rel=1e-7)


# its minimum


@pytest.mark.parametrize("strength", [1e-7, 1e-3, 1.0])
@pytest.mark.parametrize("solver", [minimize_risk, alternate])
def test_the_gap_is_true_and_cutting_planes_reach_the_qcqps_minimum(strength, solver):
    X, label = some_data()
    grams = some_grams(X)
    M = strength * np.linspace(0.5, 2.0, grams.n_terms)
    least = least_risk(grams.stack, 2.0 * label - 1.0, M)
    found = minimize(grams, label, Penalty(M), solver)
    assert found.bound <= least * (1 + 1e-5)
    assert found.objective >= least * (1 - 1e-5)
    value = KernelRisk(grams, split_classes(label)).ask(found.beta, 1e-9).value + Penalty(M).value(found.beta)
    assert found.objective == pytest.approx(value, rel=1e-5)  # what is returned belongs together
    if solver is minimize_risk:
        assert found.gap <= 1e-6


def test_at_the_minimum_the_penalty_is_half_the_squared_length_of_f():
    # stationary along β itself: λ_s βᵀMβ = (λ/2) ‖f‖² for C = 1, λ = 1/m
    X, label = some_data()
    grams = some_grams(X)
    penalty = Penalty(np.full(grams.n_terms, 1e-3))
    found = minimize(grams, label, penalty, tol=1e-8)
    risk = KernelRisk(grams, split_classes(label))
    risk.ask(found.beta, 1e-9)
    length = risk.coef[0] @ grams.combine(found.beta) @ risk.coef[0]
    assert 2 * penalty.value(found.beta) == pytest.approx(length / (2 * len(label)), rel=1e-3)


def test_many_rows_are_thinned_first_and_end_at_the_same_minimum(monkeypatch):
    X, label = some_data(m=120, n_classes=3)
    grams = some_grams(X)
    penalty = Penalty(np.full(grams.n_terms, 1e-2))
    cold = minimize(grams, label, penalty)
    monkeypatch.setattr(risk, "SETTINGS", risk.SETTINGS._replace(many_rows=100))
    steps = []
    warm = minimize(grams, label, penalty, progress=lambda step: steps.append(step))
    assert warm.objective == pytest.approx(cold.objective, rel=2e-6)
    assert warm.n_iter < cold.n_iter
    assert steps == list(range(1, warm.n_iter + 1))  # the first look is not told of


def test_every_fourth_row_of_each_class_is_taken():
    label = np.array([0, 1, 0, 0, 0, 0, 1, 2])
    assert_array_equal(thin(label), [0, 1, 5, 7])


def test_the_first_guess_has_rows_of_length_one_or_costs_half():
    X, _ = some_data()
    grams = some_grams(X)
    cheap, dear = Penalty(np.full(6, 1e-3)), Penalty(np.full(6, 1e3))
    K = grams.combine(first_guess(grams, cheap))
    assert np.trace(K) / len(X) - K.mean() == pytest.approx(1)
    assert dear.value(first_guess(grams, dear)) == pytest.approx(0.5)
    assert np.all(np.isfinite(first_guess(HeldGrams(np.ones((2, 5, 5))), Penalty(np.ones(2)))))


# the paper's alternation


@pytest.mark.parametrize("seed", range(4))
def test_the_alternation_never_rises_and_stalls_above_the_minimum(seed):
    X, label = some_data(seed)
    grams = some_grams(X)
    penalty = Penalty(np.full(6, 1e-3))
    stalled, found = minimize(grams, label, penalty, alternate, tol=1e-4), minimize(grams, label, penalty)
    assert np.all(np.diff(stalled.history) <= 1e-6 * stalled.history[:-1])
    assert stalled.objective > 1.02 * found.objective
    assert stalled.gap >= (stalled.objective - found.objective) / stalled.objective


@pytest.mark.parametrize("max_iter", [1, 2, 3])
def test_an_alternation_that_is_cut_off_returns_the_weights_of_its_objective(max_iter):
    X, label = some_data()
    grams = some_grams(X)
    penalty = Penalty(np.full(6, 1e-3))
    found = minimize(grams, label, penalty, alternate, max_iter=max_iter)
    told = minimize(grams, label, penalty, alternate, progress=lambda step: step == max_iter)
    assert found.n_iter == told.n_iter == max_iter
    assert_allclose(told.beta, found.beta)
    value = KernelRisk(grams, split_classes(label)).ask(found.beta, 1e-10).value + penalty.value(found.beta)
    assert found.objective == pytest.approx(value, rel=1e-6)


def test_the_kernel_s_step_has_the_formula_of_19_for_fixed_coefficients(rng):
    X, label = some_data(m=15, n_classes=3)
    grams = some_grams(X)
    risk = KernelRisk(grams, split_classes(label))
    risk.ask(np.ones(6), 1e-6)
    step = KernelForCoefficients(risk)

    def literal(beta):
        K, total = grams.combine(beta), 0.0
        for (rows, y), c in zip(risk.problems, risk.coef, strict=True):
            f = K[np.ix_(rows, rows)] @ c
            total += np.maximum(0, 1 - y * (f + best_bias(y, f))).sum() + c @ K[np.ix_(rows, rows)] @ c / 2
        return total / risk.n_rows

    for _ in range(10):
        here, there = rng.exponential(size=(2, 6))
        plane = step.ask(here, 1e-6)
        assert plane.value == pytest.approx(literal(here))
        assert plane.offset + plane.slope @ here == pytest.approx(plane.value)
        assert plane.offset + plane.slope @ there <= literal(there) + 1e-12


def test_shares_of_the_loss_at_the_margin_balance_the_classes():
    y = np.array([1.0, 1.0, -1.0, -1.0, -1.0])
    assert_allclose(balanced_shares(y, np.array([2.0, 0.0, 0.0, 1.0, -1.0])), [1, 0, 0, 1, 0])
    assert_allclose(balanced_shares(y, np.array([2.0, 1.0, 0.0, 0.0, 0.0])), [1, 1, 1, 1, 0])


@pytest.mark.parametrize("seed", range(4))
def test_the_kernel_s_step_is_not_caught_in_a_circle(seed):
    # small weights once faded to zero, in vain, again and again
    X, label = some_data(seed)
    grams = some_grams(X)
    penalty = Penalty(np.full(6, 1e-3))
    risk = KernelRisk(grams, split_classes(label))
    beta = first_guess(grams, penalty)
    for _ in range(3):
        risk.ask(beta, 1e-6)
        found = minimize_by_planes(KernelForCoefficients(risk).ask, penalty, beta, Stopping(1e-5, 100))
        assert found.gap <= 1e-5
        beta = found.beta
