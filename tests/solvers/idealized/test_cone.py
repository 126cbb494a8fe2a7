"""Steps in the cone of PSD matrices against the equations that define them."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer.solvers.idealized.cone import AnySymmetric, Definite
from mercer.solvers.idealized.differences import Projection


def symmetric(rng, size):
    A = rng.normal(size=(size, size))
    return A + A.T


def definite(rng, size):
    A = rng.normal(size=(size, size))
    return A @ A.T + 0.1 * np.eye(size)


def test_the_start_splits_a_matrix_and_nears_its_projection(rng):
    M = symmetric(rng, 5)
    for product in (1.0, 1e-3, 1e-8):
        start = Definite.start(M, product)
        assert_allclose(start.G - start.S, M, atol=1e-10)
        assert_allclose(start.G @ start.S, product * np.eye(5), atol=1e-10)
    assert_allclose(start.G, Projection.of(M, psd=True).G, atol=1e-4)
    assert np.all(np.isfinite(Definite.start(np.diag([1e30, 0.0, -1e30]), 1.0).values))


def test_the_scaling_makes_both_matrices_the_same_diagonal(rng):
    cone = Definite.of(definite(rng, 4), definite(rng, 4))
    assert_allclose(cone.T @ cone.inverse, np.eye(4), atol=1e-9)
    assert_allclose(cone.T.T @ cone.S @ cone.T, np.diag(cone.values), atol=1e-9)
    assert_allclose(cone.inverse @ cone.G @ cone.inverse.T, np.diag(cone.values), atol=1e-9)


def test_the_steps_solve_the_scaled_newton_equations(rng):
    cone = Definite.of(definite(rng, 4), definite(rng, 4))
    dM, aim = symmetric(rng, 4), symmetric(rng, 4)
    dG, dS = cone.split(dM + aim, aim)
    assert_allclose(dG - dS, dM, atol=1e-9)
    inverse = np.linalg.inv(cone.T @ cone.T.T)
    assert_allclose(dS + inverse @ dG @ inverse, aim, atol=1e-8 * np.abs(inverse).max() ** 2)


@pytest.mark.parametrize("product", [0.0, 0.3])
def test_a_step_to_a_product_gets_there_up_to_its_second_order(rng, product):
    # where G and S commute, the equation is that of numbers: g s + dg s + g ds = product
    g, s = rng.uniform(1, 2, 4), rng.uniform(1, 2, 4)
    V = np.linalg.qr(rng.normal(size=(4, 4)))[0]
    cone = Definite.of((V * g) @ V.T, (V * s) @ V.T)
    aim = cone.aim(product)
    dG, dS = (np.diag(V.T @ step @ V) for step in cone.split(aim, aim))
    assert_allclose(dG, dS, atol=1e-12)  # G − S stays
    assert_allclose(g * s + dG * s + g * dS, product, atol=1e-12)
    corrected = cone.aim(product, cone.split(aim, aim))
    more_G, more_S = (np.diag(V.T @ step @ V) for step in cone.split(corrected, corrected))
    assert_allclose(g * s + more_G * s + g * more_S, product - dG * dS, atol=1e-12)


def test_the_longest_step_ends_where_an_eigenvalue_vanishes(rng):
    cone = Definite.of(definite(rng, 4), definite(rng, 4))
    for sign in (1, -1):
        steps = 50 * sign * symmetric(rng, 4), symmetric(rng, 4)
        t = cone.longest(steps)
        assert 0 < t < 1
        lowest = [np.linalg.eigvalsh(A + t * dA)[0] for A, dA in zip((cone.G, cone.S), steps, strict=True)]
        assert_allclose(min(lowest), 0, atol=1e-8)
    assert cone.longest((np.eye(4), np.eye(4))) == 1.0


def test_a_matrix_outside_the_cone_is_refused(rng):
    with pytest.raises(np.linalg.LinAlgError):
        Definite.of(np.diag([1.0, -1.0]), np.eye(2))


def test_without_a_cone_a_step_is_what_it_is(rng):
    M, dM = symmetric(rng, 3), symmetric(rng, 3)
    free = AnySymmetric.start(M, 1.0)
    aim = free.aim(0.5)
    dG, dS = free.split(dM + aim, aim)
    assert_allclose(dG, dM)
    assert not np.any(dS)
    assert not np.any(free.S)
    assert free.n_products == 0
    assert free.longest((dG, dS)) == 1.0
    assert_allclose(free.G, M)
