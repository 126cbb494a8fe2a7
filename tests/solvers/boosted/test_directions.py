"""The best directions against dense eigendecompositions, in both kinds of space."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.linalg import eigh

from mercer.solvers.boosted.directions import Coordinates, Expansions, best_directions
from mercer.solvers.cholesky import NotPositiveSemiDefiniteError
from reference import score


def symmetric(rng, m):
    B = rng.normal(size=(m, m))
    return B + B.T


def gram(rng, m, rank):
    F = rng.normal(size=(m, rank))
    return F @ F.T


def find(space, B, n_directions, rng):
    return best_directions(space, B.__matmul__, n_directions, rng.normal(size=space.size))


def assert_up_to_sign(found, expected, rtol=1e-9):
    signs = np.sign(np.einsum("ij,ij->j", found, expected))
    assert_allclose(found, expected * signs, atol=rtol * np.abs(expected).max())


@pytest.mark.parametrize("n_directions", [1, 3])
@pytest.mark.parametrize(("m", "r"), [(30, 12), (12, 30), (150, 100)])
def test_in_coordinates_they_are_the_leading_eigenvectors(rng, m, r, n_directions):
    F, B = rng.normal(size=(m, r)), symmetric(rng, m)
    found = find(Coordinates(F), B, n_directions, rng)
    values, vectors = np.linalg.eigh(F.T @ B @ F)
    leading = vectors[:, ::-1][:, :n_directions]
    assert_allclose(found.scores, values[::-1][:n_directions], rtol=1e-10)
    assert_up_to_sign(found.u, leading)
    assert_up_to_sign(found.values, F @ leading)


@pytest.mark.parametrize("n_directions", [1, 3])
def test_as_expansions_they_solve_the_generalised_problem(rng, n_directions):
    K, B = gram(rng, 25, 40), symmetric(rng, 25)
    found = find(Expansions(K), B, n_directions, rng)
    values, vectors = eigh(K @ B @ K, K)
    leading = vectors[:, ::-1][:, :n_directions]
    assert_allclose(found.scores, values[::-1][:n_directions], rtol=1e-9)
    assert_up_to_sign(found.u, leading, rtol=1e-7)
    assert_up_to_sign(found.values, K @ leading, rtol=1e-8)


def test_only_the_lower_half_of_the_gram_matrix_counts(rng):
    K, B = gram(rng, 10, 20), symmetric(rng, 10)
    start = rng.normal(size=10)
    whole = best_directions(Expansions(K), B.__matmul__, 1, start)
    half = best_directions(Expansions(np.tril(K)), B.__matmul__, 1, start)
    assert_allclose(half.u, whole.u, rtol=1e-12)


def test_the_score_is_that_of_the_paper_and_the_directions_are_orthonormal(rng):
    K, B = gram(rng, 9, 12), symmetric(rng, 9)
    found = find(Expansions(K), B, 3, rng)
    for v, value, g in zip(found.u.T, found.scores, found.values.T, strict=True):
        assert_allclose(score(np.abs(B), np.sign(B), K, v), value, rtol=1e-8)
        assert_allclose(g @ B @ g, value, rtol=1e-9)
    assert_allclose(found.u.T @ K @ found.u, np.eye(3), atol=1e-9)


def test_the_largest_is_the_algebraically_largest(rng):
    Q = np.linalg.qr(rng.normal(size=(20, 20)))[0]
    values = -np.arange(1.0, 21.0)  # all negative; that of largest magnitude is the worst
    B = Q @ np.diag(values) @ Q.T
    found = find(Coordinates(np.eye(20)), B, 2, rng)
    assert_allclose(found.scores, [-1, -2], rtol=1e-10)


@pytest.mark.parametrize("rank", [1, 2, 5])
@pytest.mark.parametrize("n_directions", [1, 2, 4])
@pytest.mark.parametrize("scale", [1e-60, 1.0, 1e60])
def test_a_singular_gram_matrix_does_no_harm(rng, rank, n_directions, scale):
    # K u = 0 for most u: their length is all rounding errors, of either sign
    for _ in range(10):
        F, B = rng.normal(size=(30, rank)), symmetric(rng, 30)
        found = find(Expansions(scale * F @ F.T), B, n_directions, rng)
        expected = np.linalg.eigvalsh(scale * F.T @ B @ F)[::-1][:n_directions]
        assert_allclose(found.scores, expected, rtol=1e-7, atol=1e-9 * np.abs(expected).max())
        assert_allclose(found.values.T @ B @ found.values, np.diag(expected), atol=1e-7 * abs(expected).max())


def test_both_spaces_find_the_same_values(rng):
    F, B = rng.normal(size=(40, 6)), symmetric(rng, 40)
    one, other = find(Coordinates(F), B, 2, rng), find(Expansions(F @ F.T), B, 2, rng)
    assert_allclose(one.scores, other.scores, rtol=1e-9)
    assert_up_to_sign(other.values, one.values, rtol=1e-8)
    assert_up_to_sign(F.T @ other.u, one.u, rtol=1e-8)


def test_a_start_at_one_of_the_directions_does_not_hide_the_others(rng):
    B = symmetric(rng, 20)
    values, vectors = np.linalg.eigh(B)
    found = best_directions(Coordinates(np.eye(20)), B.__matmul__, 3, vectors[:, -1])
    assert_allclose(found.scores, values[:-4:-1], rtol=1e-9)


def test_more_directions_than_there_are_gives_all(rng):
    F, B = rng.normal(size=(10, 3)), symmetric(rng, 10)
    assert_allclose(find(Coordinates(F), B, 7, rng).scores, np.linalg.eigvalsh(F.T @ B @ F)[::-1], rtol=1e-10)


def test_where_there_is_nothing_nothing_is_found(rng):
    B = symmetric(rng, 5)
    assert find(Coordinates(np.zeros((5, 0))), B, 1, rng).scores.shape == (0,)
    assert find(Expansions(np.zeros((5, 5))), B, 1, rng).scores.shape == (0,)
    assert_allclose(find(Coordinates(np.zeros((5, 3))), B, 1, rng).scores, [0.0])
    assert_allclose(find(Coordinates(np.ones((5, 3))), np.zeros((5, 5)), 1, rng).scores, [0.0])


@pytest.mark.parametrize(
    "K",
    [-np.eye(6), np.ones((6, 6)) - np.eye(6), np.diag([1.0, 1, 1, 1, 1, -0.01])],
    ids=["negative", "no diagonal", "one negative eigenvalue"],
)
@pytest.mark.parametrize("scale", [1e-40, 1.0, 1e40])
def test_a_matrix_that_is_not_psd_is_refused(rng, K, scale):
    with pytest.raises(NotPositiveSemiDefiniteError, match="not positive semi-definite"):
        find(Expansions(scale * K), symmetric(rng, 6), 6, rng)


@pytest.mark.parametrize("kind", [Coordinates, Expansions])
def test_directions_are_orthonormal_where_fewer_are_reached_than_asked_for(rng, kind):
    F = rng.normal(size=(8, 5))
    space = Coordinates(F) if kind is Coordinates else Expansions(F @ F.T)
    y = rng.normal(size=8)
    found = find(space, np.outer(y, y), 4, rng)  # of rank one: all other directions have the score zero
    inner = found.u.T @ found.u if kind is Coordinates else found.u.T @ F @ F.T @ found.u
    assert_allclose(inner, np.eye(4), atol=1e-8)
    assert_allclose(found.scores[1:], 0, atol=1e-8 * found.scores[0])


@pytest.mark.parametrize("kind", [Coordinates, Expansions])
def test_all_directions_of_the_same_score_are_found(rng, kind):
    label = np.repeat(np.arange(5), 6)
    F = np.eye(5)[label]
    space = Coordinates(F) if kind is Coordinates else Expansions(F @ F.T)
    B = np.where(label[:, None] == label, 1.0, -0.25)
    found = find(space, B, 4, rng)
    assert_allclose(found.scores, np.linalg.eigvalsh(F.T @ B @ F)[::-1][:4], rtol=1e-9)
