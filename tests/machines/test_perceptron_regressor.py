"""PerceptronRegressor: exact against a linear system, LIBSVM and a generic solver; slices against exact."""

import cvxpy as cp
import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.spatial.distance import cdist
from sklearn.datasets import make_friedman1
from sklearn.svm import SVR

from mercer import PerceptronRegressor, StumpRegressor

X, y = make_friedman1(70, n_features=5, noise=1.0, random_state=0)
Z = (y - y.mean()) / y.std()
K = -cdist(X, X)
NEW = make_friedman1(30, n_features=5, random_state=1)[0]


def test_the_squared_error_is_a_linear_system():
    n, C = len(y), 3.0
    system = np.block([[K + np.eye(n) / C, np.ones((n, 1))], [np.ones((1, n)), np.zeros((1, 1))]])
    *a, b = np.linalg.solve(system, np.append(Z, 0.0))
    wanted = y.mean() + y.std() * (-cdist(NEW, X) @ a + b)
    assert_allclose(PerceptronRegressor(C).fit(X, y).predict(NEW), wanted, rtol=1e-7)


@pytest.mark.parametrize(("loss", "epsilon"), [("absolute_error", 0.0), ("epsilon_insensitive", 0.2)])
def test_absolute_and_insensitive_errors_are_those_of_libsvm(loss, epsilon):
    model = PerceptronRegressor(2.0, loss=loss, epsilon=0.2).fit(X, y)
    rival = SVR(kernel="precomputed", C=2.0, epsilon=epsilon, tol=1e-9).fit(K, Z)
    wanted = y.mean() + y.std() * rival.predict(-cdist(NEW, X))
    assert_allclose(model.predict(NEW), wanted, atol=1e-4 * y.std())
    c = np.zeros(len(y))
    c[rival.support_] = rival.dual_coef_[0]
    assert_allclose(model.objective_, c @ K @ c / 2 - c @ Z + epsilon * np.abs(c).sum(), rtol=1e-6)


def test_a_quantile_and_counts_have_the_minimum_of_a_generic_solver():
    centre = np.eye(len(y)) - 1.0 / len(y)
    size, U = np.linalg.eigh(centre @ K @ centre)
    F = U * np.sqrt(np.maximum(size, 0.0))
    counts = np.round(y)
    w, b = cp.Variable(len(y)), cp.Variable()
    e, f = Z - F @ w - b, F @ w + b
    pinball = cp.sum(0.7 * cp.pos(e) + 0.3 * cp.pos(-e))
    poisson = cp.sum(cp.exp(f) - cp.multiply(counts, f))
    for loss, target, written in (("quantile", y, pinball), ("poisson", counts, poisson)):
        problem = cp.Problem(cp.Minimize(cp.sum_squares(w) / 2 + 0.5 * written))
        wanted = problem.solve(solver=cp.CLARABEL)
        model = PerceptronRegressor(0.5, loss=loss, quantile=0.7).fit(X, target)
        predicted = model.predict(X)
        f = np.log(predicted) if loss == "poisson" else (predicted - y.mean()) / y.std()
        centred = f - f.mean()
        penalty = centred @ np.linalg.pinv(F @ F.T, rcond=1e-12) @ centred / 2
        if loss == "poisson":
            lost = (predicted - counts * f).sum()
        else:
            lost = np.maximum(0.7 * (Z - f), -0.3 * (Z - f)).sum()
        assert_allclose(penalty + 0.5 * lost, wanted, rtol=1e-6)


def test_many_slices_come_near_to_the_exact_machine():
    exact = PerceptronRegressor(4.0, method="gram").fit(X, y)
    options = {"method": "sliced", "max_bins": None, "random_state": 0}
    near = [PerceptronRegressor(4.0, n_directions=k, **options).fit(X, y) for k in (40, 1280)]
    off = [np.abs(model.predict(NEW) - exact.predict(NEW)).max() / y.std() for model in near]
    assert off[1] < 0.1
    assert off[1] < off[0]


def test_it_beats_an_additive_model_where_features_act_together():
    X, y = make_friedman1(800, n_features=5, noise=1.0, random_state=0)
    X_new, y_new = make_friedman1(500, n_features=5, random_state=1)
    additive = StumpRegressor("cv", Cs=6, random_state=0).fit(X, y).score(X_new, y_new)
    for method in ("gram", "sliced"):
        model = PerceptronRegressor("cv", Cs=6, method=method, n_directions=64, random_state=0).fit(X, y)
        assert 1.0 - model.score(X_new, y_new) < 0.8 * (1.0 - additive)
        low, high = model.predict_interval(X_new, 0.8)
        assert np.all(low < high)


def test_wrong_options_are_named():
    for options, name in (({"method": "fast"}, "method"), ({"n_directions": 0}, "n_directions")):
        with pytest.raises(ValueError, match=name):
            PerceptronRegressor(**options).fit(X, y)
