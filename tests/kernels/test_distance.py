"""The stump and the perceptron kernel against the integrals that define them, and the theorems of [LL05]."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from sklearn.svm import SVC

import reference
from mercer.kernels import Perceptron, Stump

BOTH = pytest.mark.parametrize("kind", [Stump, Perceptron])


def corners(X):
    """Two rows whose box, and whose ball, holds the rows of X strictly inside."""
    middle, span = X.mean(axis=0), np.ptp(X, axis=0).max()
    return np.vstack([middle - 2 * span, middle + 2 * span])


def test_stump_is_the_integral_over_all_stumps(rng):
    X = rng.uniform(-1, 2, size=(5, 3))
    lower, upper = X.min(axis=0), X.max(axis=0)
    expected = [[reference.stump_kernel(x, z, lower, upper) for z in X] for x in X]
    assert_allclose(Stump.spanning(X)(X), expected, atol=1e-12)


@pytest.mark.parametrize("dimension", [2, 3])
def test_perceptron_is_the_integral_over_all_perceptrons(rng, dimension):
    X = rng.uniform(-1, 2, size=(4, dimension))
    center = (X.min(axis=0) + X.max(axis=0)) / 2
    radius = max(np.linalg.norm(x - center) for x in X)
    expected = [[reference.perceptron_kernel(x, z, center, radius) for z in X] for x in X]
    assert_allclose(Perceptron.spanning(X)(X), expected, atol=1e-4 * radius)


def test_the_integral_over_perceptrons_is_the_same_around_any_center(rng):
    # the departure from [LL05], whose ball is around the origin
    x, z = rng.normal(size=(2, 2))
    around_origin = reference.perceptron_kernel(x, z, np.zeros(2), 9.0)
    around_another = reference.perceptron_kernel(x, z, np.array([0.5, -1.0]), 9.0)
    assert_allclose(around_origin, around_another, atol=1e-6)


@pytest.mark.parametrize("dimension", [2, 3, 4, 17, 300])
def test_perceptron_constant_is_the_ratio_of_the_papers_integrals(dimension):
    opposite = np.zeros((2, dimension))
    opposite[:, 0] = -1.5, 2.5  # a ball of radius 2
    assert_allclose(Perceptron.spanning(opposite).delta, 2 * reference.theta_over_xi(dimension), rtol=1e-7)


def test_perceptron_constant_does_not_overflow_in_many_dimensions():
    D = 100_000
    opposite = np.zeros((2, D))
    opposite[0, 0] = 2.0
    # the mean of |θ_1| tends to that of a normal number of variance 1/D
    assert_allclose(Perceptron.spanning(opposite).delta, np.sqrt(np.pi * D / 2), rtol=1e-4)


def test_in_one_dimension_a_perceptron_is_a_stump(rng):
    X = rng.normal(size=(6, 1))
    assert_allclose(Perceptron.spanning(X)(X), Stump.spanning(X)(X), atol=1e-14)


@BOTH
def test_a_kernel_is_a_constant_less_the_distance_of_each_pair(rng, kind):
    X, Z = rng.normal(size=(4, 3)), rng.normal(size=(2, 3))
    order = 1 if kind is Stump else 2
    expected = [[0.7 - np.linalg.norm(x - z, ord=order) for z in Z] for x in X]
    assert_allclose(kind(delta=0.7)(X, Z), expected, rtol=1e-14)
    assert_array_equal(kind(delta=0.7).diag(X), np.diag(kind(delta=0.7)(X)))


@BOTH
def test_distances_of_rows_that_nearly_coincide_keep_their_digits(kind):
    # euclidean_distances, which expands the square, finds 0 here
    X = np.array([[1e6, 1.0], [1e6, 1.0 + 1e-9]])
    assert_allclose(kind()(X)[0, 1], X[0, 1] - X[1, 1], rtol=1e-12)


@BOTH
def test_induced_distance_is_twice_the_distance_whatever_delta(rng, kind):
    X, Z = rng.normal(size=(4, 3)), rng.normal(size=(2, 3))
    assert_allclose(kind(delta=3.0).squared_distance(X, Z), -2 * kind()(X, Z), atol=1e-13)


@BOTH
@pytest.mark.parametrize("dimension", [1, 2, 10])
def test_theorem_1_the_exact_kernel_is_positive_semidefinite(rng, kind, dimension):
    X = rng.normal(size=(40, dimension)) + 5
    K = kind.spanning(X)(X)
    assert np.linalg.eigvalsh(K).min() > -1e-12 * np.trace(K)


@BOTH
def test_the_simplified_kernel_is_only_conditionally_so(rng, kind):
    X = rng.normal(size=(20, 3))
    K = kind()(X)
    assert np.linalg.eigvalsh(K).min() < 0
    centering = np.eye(20) - 1 / 20
    assert np.linalg.eigvalsh(centering @ K @ centering).min() > -1e-12 * np.abs(K).sum()


@BOTH
def test_theorems_2_and_5_the_simplified_kernel_gives_the_same_svm(rng, kind):
    X, Z = rng.normal(size=(60, 2)), rng.normal(size=(30, 2))
    y = (X[:, 0] * X[:, 1] > 0) ^ (rng.uniform(size=60) < 0.1)
    exact, simple = kind.spanning(np.vstack([X, Z])), kind()
    # LIBSVM stores float32: 1e-3 is what a constant of this size leaves of the tolerance
    first = SVC(kernel=exact, C=0.5, tol=1e-6).fit(X, y)
    second = SVC(kernel=simple, C=0.5, tol=1e-6).fit(X, y)
    assert_allclose(first.decision_function(Z), second.decision_function(Z), atol=1e-3)
    assert_array_equal(first.predict(Z), second.predict(Z))


@BOTH
@pytest.mark.parametrize("dimension", [1, 3])
def test_theorems_3_and_6_distinct_rows_inside_give_a_positive_definite_matrix(rng, kind, dimension):
    X = rng.normal(size=(15, dimension))
    K = kind.spanning(corners(X))(X)
    smallest = np.linalg.eigvalsh(K).min()
    assert smallest > 1e-9 * np.trace(K)


@BOTH
def test_one_feature_of_distinct_values_is_enough_for_theorem_3(rng, kind):
    X = np.column_stack([rng.normal(size=12), np.ones(12), np.repeat([0, 1, 2], 4)])
    assert np.linalg.eigvalsh(kind.spanning(corners(X))(X)).min() > 1e-6


@BOTH
def test_duplicate_rows_leave_the_matrix_semidefinite(rng, kind):
    X = rng.normal(size=(10, 3))
    K = kind.spanning(corners(X))(np.vstack([X, X[:1]]))
    assert_allclose(np.linalg.eigvalsh(K).min(), 0, atol=1e-12 * np.trace(K))


def test_the_ends_of_the_range_vote_as_opposite_constants():
    # why theorem 3 asks for values strictly inside, and the erratum of theorem 6 for D = 1
    ends = np.array([[-1.0], [3.0]])
    for kind in (Stump, Perceptron):
        assert_allclose(kind.spanning(ends)(ends), [[2.0, -2.0], [-2.0, 2.0]])


def test_erratum_of_theorem_6_rows_on_the_sphere_are_enough_in_two_dimensions():
    angles = 2 * np.pi * np.arange(8) / 8
    X = np.column_stack([np.cos(angles), np.sin(angles)])
    K = Perceptron.spanning(X)(X)
    assert_allclose(Perceptron.spanning(X).delta, np.pi / 2)  # the ball is the unit one: every row is on it
    assert np.linalg.eigvalsh(K).min() > 0.01


@BOTH
def test_rows_that_all_coincide_span_nothing(kind):
    X = np.ones((3, 2))
    assert kind.spanning(X) == kind(delta=0.0)
    assert_array_equal(kind.spanning(X)(X), np.zeros((3, 3)))


@BOTH
def test_lists_integers_and_single_precision_are_taken(kind):
    X = [[0, 3], [4, 0]]
    expected = kind()(np.array(X, dtype=np.float64))
    assert_array_equal(kind()(X), expected)
    assert_array_equal(kind()(np.array(X, dtype=np.float32)), expected)
    assert kind.spanning(X) == kind.spanning(np.array(X, dtype=np.float64))


@BOTH
def test_sparse_rows_are_refused_with_the_way_out(kind):
    with pytest.raises(TypeError, match=r"toarray\(\)"):
        kind()(csr_array(np.eye(3)))


@BOTH
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_rows_that_are_not_finite_are_refused(kind, value):
    X = np.array([[1.0, value]])
    for use in (kind(), kind().diag, kind.spanning, lambda X: kind().squared_distance(X, X)):
        with pytest.raises(ValueError, match=r"NaN|infinity"):
            use(X)
    with pytest.raises(ValueError, match="Input Y contains"):
        kind()(np.ones((1, 2)), X)


@BOTH
def test_rows_of_different_length_and_single_points_are_refused(kind):
    with pytest.raises(ValueError, match="X has 2 columns, Y has 3"):
        kind()(np.ones((1, 2)), np.ones((1, 3)))
    with pytest.raises(ValueError, match="Expected 2D array"):
        kind()(np.ones(3))
