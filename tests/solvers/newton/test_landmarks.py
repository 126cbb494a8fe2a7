"""Landmarks by the thousand: conjugate gradients against dense systems, and Newton steps against features."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.linalg import solve_triangular

from mercer.solvers.newton import HINGE, FeatureRows, LogLoss, solve_path
from mercer.solvers.newton.landmarks import (
    LandmarkColumns,
    LandmarkRows,
    Landmarks,
    solve_squares,
    solve_step,
)

N, M = 400, 60


@pytest.fixture
def columns(rng):
    X = rng.normal(size=(N, 3))
    Z = X[:M]
    K = np.exp(-0.5 * ((X[:, None] - Z) ** 2).sum(axis=2))
    mean = K[:M].mean(axis=0)
    K = K - K.mean(axis=1)[:, None] - mean + mean.mean()
    return LandmarkColumns(K.astype(np.float32), Landmarks(K[:M]))


def features_of(columns):
    return solve_triangular(columns.landmarks.triangle, columns.base.T.astype(float), trans="T").T


def test_products_are_those_of_features_in_double_precision(columns, rng):
    F, w, v = features_of(columns), rng.normal(size=M), rng.normal(size=N)
    assert_allclose(columns.multiply(w), F @ w, atol=1e-9 * np.abs(F @ w).max())
    assert_allclose(columns.add_up(v), F.T @ v, atol=1e-9 * np.abs(F.T @ v).max())
    some = columns[np.arange(0, N, 2)][np.array([3, 1, 50])]
    assert_allclose(some.multiply(w), (F @ w)[[6, 2, 100]], atol=1e-9 * np.abs(F @ w).max())
    assert_allclose(some.add_up(v[:3]), F[[6, 2, 100]].T @ v[:3], atol=1e-9 * np.abs(F).max())
    assert some.base is columns.base  # nothing is copied
    assert some.shape == (3, M)


def test_a_step_solves_the_dense_system_of_its_weights_and_intercept(columns, rng):
    F, weight = features_of(columns), rng.uniform(0.0, 2.0, N)
    right, mass = rng.normal(size=M), 3.0
    one = np.column_stack([F, np.ones(N)])
    system = one.T @ (weight[:, None] * one)
    system.flat[: -1 : M + 2] += 1.0
    exact = np.linalg.solve(system, np.append(right, mass))
    step = solve_step(columns, weight, right, mass, 1e-5)
    assert step.residual <= 1e-5
    assert_allclose(step.w, exact[:-1], atol=3e-4 * np.abs(exact).max())
    assert_allclose(step.bias, exact[-1], atol=3e-4 * np.abs(exact).max())
    again = solve_step(columns, weight, right, mass, 1e-3, start=step.w)
    assert again.n_iter == 0


def test_the_preconditioner_is_the_system_of_the_landmarks_and_is_kept(columns, rng):
    T, r = columns.landmarks.triangle, rng.normal(size=M)
    solve = columns.landmarks.preconditioner(50.0)
    assert_allclose(solve(r), np.linalg.solve(np.eye(M) + 50.0 / M * T @ T.T, r), rtol=1e-8)
    assert_allclose(columns.landmarks.preconditioner(55.0)(r), solve(r))
    assert np.abs(columns.landmarks.preconditioner(500.0)(r) - solve(r)).max() > 1e-3


def test_conjugate_gradients_are_quick_by_the_preconditioner(columns, rng, monkeypatch):
    y, C = rng.normal(size=N), np.full(N, 100.0)
    n_iter = solve_squares(columns, y, C, tol=1e-3).n_iter
    monkeypatch.setattr(Landmarks, "preconditioner", lambda self, total: lambda r: r)
    assert 0 < 1.2 * n_iter < solve_squares(columns, y, C, tol=1e-3).n_iter


def test_squares_are_those_of_ridge_regression_on_features(columns, rng):
    F, y, weight = features_of(columns), rng.normal(size=N) + 5.0, rng.uniform(0.0, 4.0, N)
    share = weight / weight.sum()
    centred = F - share @ F
    w = np.linalg.solve(np.eye(M) + (weight[:, None] * centred).T @ centred, centred.T @ (weight * y))
    step = solve_squares(columns, y, weight, tol=1e-5)
    assert_allclose(F @ step.w, F @ w, atol=3e-3 * np.abs(F @ w).max())
    assert_allclose(step.bias, share @ (y - F @ w), rtol=1e-3)


@pytest.mark.parametrize("loss", [HINGE, LogLoss()], ids=["hinge", "log loss"])
def test_newton_steps_end_where_those_of_features_do(columns, loss, rng):
    F = features_of(columns)
    y = np.where(F[:, :3].sum(axis=1) + 0.2 * rng.normal(size=N) > 0, 1.0, -1.0)
    weight = rng.uniform(0.5, 2.0, N)
    rivals = solve_path(FeatureRows.of(F, y, weight), [0.5, 5.0], loss, tol=1e-4)
    found = solve_path(LandmarkRows.of(columns, y, weight), [0.5, 5.0], loss, tol=1e-4)
    for one, rival in zip(found, rivals, strict=True):
        assert one.residual <= 1e-4
        assert_allclose(one.objective, rival.objective, rtol=1e-4)
        assert_allclose(one.bias + one.function.value, rival.bias + rival.function.value, atol=0.03)


def test_landmarks_that_coincide_do_no_harm():
    K = np.ones((5, 5)) - 0.2
    landmarks = Landmarks(K)
    assert np.isfinite(landmarks.triangle).all()
    assert_allclose(landmarks.triangle.T @ landmarks.triangle, K, atol=1e-5)
