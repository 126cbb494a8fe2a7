"""Sums over pairs, projections and their derivatives against the same written out."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from mercer.solvers.idealized import differences
from mercer.solvers.idealized.differences import Differences, NewtonSettings, Projection, factor_hessian
from reference import idealization_matrix, squared_length


def some_pairs(rng, n_pairs, n_columns, n_rows=12):
    first = rng.integers(n_rows, size=n_pairs)
    second = (first + rng.integers(1, n_rows, size=n_pairs)) % n_rows
    return Differences(rng.normal(size=(n_rows, n_columns)), first, second)


def symmetric(rng, size):
    A = rng.normal(size=(size, size))
    return A + A.T


def hessian_of_half_the_squared_norm(pairs, matrix, psd):
    """The derivative of u_pᵀ Π(M(c)) u_p by c_q: the change of Π along u_q u_qᵀ, by the eigenvectors of M."""
    U = pairs.rows(slice(None))
    values, V = np.linalg.eigh(matrix)
    if not psd:
        return (U @ U.T) ** 2
    r = len(values)
    share = np.empty((r, r))
    for a in range(r):
        for b in range(r):  # divided differences of max(0, ·)
            top = max(values[a], 0) - max(values[b], 0)
            share[a, b] = values[a] > 0 if a == b else top / (values[a] - values[b])
    W = U @ V
    return np.einsum("pa,pb,ab,qa,qb->pq", W, W, share, W, W)


@pytest.mark.parametrize("n_columns", [1, 4])
def test_sums_over_pairs_are_the_literal_ones(rng, n_columns):
    pairs = some_pairs(rng, 30, n_columns)  # among twelve rows: some pairs come twice, and in either order
    rows, weights = np.column_stack([pairs.first, pairs.second]), rng.normal(size=30)
    expected = idealization_matrix(pairs.X, rows, weights > 0, np.abs(weights))
    found = pairs.combine(weights)
    assert_allclose(found, expected, atol=1e-12)
    assert_allclose(found, found.T, atol=1e-12)
    G = symmetric(rng, n_columns)
    lengths = [squared_length(pairs.X[i] - pairs.X[j], G) for i, j in rows]
    assert_allclose(pairs.measure(G), lengths, atol=1e-12)
    assert_allclose(pairs.measure_closely(G), lengths, atol=1e-12)
    assert_array_equal(pairs.rows(slice(3, 9)), (pairs.X[pairs.first] - pairs.X[pairs.second])[3:9])


def test_near_rows_far_from_zero_are_measured_closely(rng, monkeypatch):
    monkeypatch.setattr(differences, "ROWS_AT_A_TIME", 7)
    pairs, G = some_pairs(rng, 20, 3), np.diag([1.0, 2.0, 4.0])
    X = 1.0 + np.rint(1024 * pairs.X) * 2.0**-40  # so that differences are exact
    U = X[pairs.first] - X[pairs.second]
    assert_allclose(pairs._replace(X=X).measure_closely(G), U**2 @ np.diag(G), rtol=1e-14)


def test_what_a_newton_step_does_to_the_pairs_is_right_where_the_weights_are_tiny(rng):
    # small weights make x large, and M(x) a sum that cancels; dM must still meet the equations of the pairs
    pairs, b = some_pairs(rng, 60, 3), rng.normal(size=60)
    weight = 10.0 ** rng.uniform(-18, -9, 60)
    x, dM = factor_hessian(pairs, Projection.of(np.eye(3), True), weight)(b, np.zeros((3, 3)))
    root = np.sqrt(weight)
    U = pairs.rows(slice(None))
    Z = np.einsum("pa,pb->pab", U, U).reshape(60, 9)
    # to have no weight at all leaves the least squares of b by the pairs' lengths, weighted
    expected = np.linalg.lstsq(Z / root[:, None], b / root)[0]
    assert_allclose(dM.ravel(), expected, rtol=1e-5, atol=1e-6)
    assert_allclose(weight * x, b - Z @ dM.ravel(), atol=1e-9)


def test_features_and_weights_of_all_scales_leave_the_newton_system_its_digits(monkeypatch):
    # near a solution: fewer pairs than columns have hardly any weight, the others much
    def residuals(**settings):
        monkeypatch.setattr(differences, "SETTINGS", NewtonSettings(**settings))
        of_matrix, of_pairs = [], []
        for seed in range(12):
            rng = np.random.default_rng(seed)
            pairs = some_pairs(rng, 60, 4)
            pairs = pairs._replace(X=pairs.X * [1e-3, 1e-2, 1e-1, 1.0])
            weight = np.where(np.arange(60) < 7, 1e-20, 1e-4) * 10.0 ** rng.uniform(-1, 1, 60)
            b, R, U = rng.normal(size=60), symmetric(rng, 4), np.abs(pairs.rows(slice(None)))
            x, dM = factor_hessian(pairs, Projection.of(np.eye(4), True), weight)(b, R)
            of_matrix.append(np.linalg.norm(pairs.combine(x) + R - dM) / np.sum(np.abs(x)))
            size = np.einsum("pa,ab,pb->p", U, np.abs(dM), U)
            of_pairs.append(np.max(np.abs(weight * x + pairs.measure_closely(dM) - b) / size))
        return max(of_matrix), max(of_pairs)

    assert max(residuals()) < 1e-12
    # ... which takes both an orthogonal decomposition and refinements
    assert residuals(singular=0.0)[0] > 1e-6
    assert residuals(refinements=0)[0] > 1e-6


def test_a_combination_and_a_measure_are_adjoint(rng):
    pairs, G = some_pairs(rng, 25, 5), symmetric(rng, 5)
    c = rng.normal(size=25)
    assert_allclose(np.sum(pairs.combine(c) * G), c @ pairs.measure(G))


def test_no_psd_matrix_is_nearer_than_the_projection(rng):
    M = symmetric(rng, 5)
    G = Projection.of(M, psd=True).G
    values = np.linalg.eigvalsh(M)
    assert values[0] < 0 < values[-1]
    assert np.linalg.eigvalsh(G).min() > -1e-13
    # the conditions that single out the projection onto a cone: M − G is in its polar, and orthogonal to G
    assert np.linalg.eigvalsh(M - G).max() < 1e-13
    assert_allclose(np.sum(G * (M - G)), 0, atol=1e-12)
    for _ in range(20):
        A = rng.normal(size=(5, 5))
        assert np.linalg.norm(M - A @ A.T) > np.linalg.norm(M - G)
    assert_array_equal(Projection.of(M, psd=False).G, M)


@pytest.mark.parametrize("psd", [False, True])
@pytest.mark.parametrize("shift", [-20.0, 0.0, 20.0], ids=["negative", "indefinite", "positive"])
def test_the_derivative_of_the_projection_is_that_of_finite_differences(rng, psd, shift):
    M, H = symmetric(rng, 6) + shift * np.eye(6), symmetric(rng, 6)
    h = 1e-5
    change = (Projection.of(M + h * H, psd).G - Projection.of(M - h * H, psd).G) / (2 * h)
    assert_allclose(Projection.of(M, psd).derive(H), change, atol=1e-7)


def test_the_projection_of_nothing_has_a_derivative_that_is_finite():
    assert_array_equal(Projection.of(np.zeros((3, 3)), psd=True).derive(np.ones((3, 3))), np.zeros((3, 3)))


@pytest.mark.parametrize("psd", [False, True])
@pytest.mark.parametrize("n_pairs", [4, 60], ids=["by pairs", "by columns"])
@pytest.mark.parametrize("shift", [-60.0, 0.0, 60.0], ids=["negative", "indefinite", "positive"])
@pytest.mark.parametrize("cells", [2**22, 16])
def test_the_newton_system_is_that_of_the_dense_hessian(rng, psd, n_pairs, shift, cells, monkeypatch):
    monkeypatch.setattr(differences, "CELLS_AT_A_TIME", cells)
    pairs = some_pairs(rng, n_pairs, 5)  # fifteen free entries
    M, weight = symmetric(rng, 5) + shift * np.eye(5), 10.0 ** rng.uniform(-3, 3, n_pairs)
    H = hessian_of_half_the_squared_norm(pairs, M, psd)
    if psd and shift < 0:
        assert_array_equal(H, np.zeros((n_pairs, n_pairs)))
    solve = factor_hessian(pairs, Projection.of(M, psd), weight)
    projection = Projection.of(M, psd)
    for rhs, R in zip(rng.normal(size=(2, n_pairs)), (np.zeros((5, 5)), symmetric(rng, 5)), strict=True):
        x, dM = solve(rhs, R)
        expected = np.linalg.solve(np.diag(weight) + H, rhs - pairs.measure(projection.derive(R)))
        assert_allclose(x, expected, rtol=1e-6, atol=1e-6)
        assert_allclose(dM, pairs.combine(x) + R, atol=1e-6 * max(1.0, np.abs(x).max()))


def test_the_dense_hessian_is_that_of_finite_differences(rng):
    pairs, c, h = some_pairs(rng, 8, 3), rng.normal(size=8), 1e-5

    def gradient(weights):
        return pairs.measure(Projection.of(pairs.combine(weights), psd=True).G)

    H = hessian_of_half_the_squared_norm(pairs, pairs.combine(c), psd=True)
    slopes = [(gradient(c + h * e) - gradient(c - h * e)) / (2 * h) for e in np.eye(8)]
    assert_allclose(H, np.transpose(slopes), atol=1e-5 * np.abs(H).max())


@pytest.mark.parametrize("n_pairs", [6, 40], ids=["by pairs", "by columns"])
def test_pairs_of_one_point_do_not_stop_the_newton_system(rng, n_pairs):
    pairs = some_pairs(rng, n_pairs, 4)
    same = pairs._replace(second=pairs.first)
    weight, rhs = rng.uniform(1, 2, n_pairs), rng.normal(size=n_pairs)
    assert_allclose(
        factor_hessian(same, Projection.of(np.eye(4), True), weight)(rhs, np.zeros((4, 4)))[0], rhs / weight
    )


@pytest.mark.parametrize("n_pairs", [6, 40], ids=["by pairs", "by columns"])
def test_features_of_all_scales_do_not_spoil_the_newton_system(rng, n_pairs):
    pairs = some_pairs(rng, n_pairs, 4)
    pairs = pairs._replace(X=pairs.X * [1e-6, 1e-3, 1e-1, 1.0])
    M, weight = np.eye(4), 10.0 ** rng.uniform(-6, 6, n_pairs)
    H = (pairs.rows(slice(None)) @ pairs.rows(slice(None)).T) ** 2
    x = factor_hessian(pairs, Projection.of(M, True), weight)(np.ones(n_pairs), np.zeros((4, 4)))[0]
    assert_allclose(weight * x + H @ x, np.ones(n_pairs), atol=1e-5)
