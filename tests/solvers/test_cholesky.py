"""Cholesky factors, pivoted and incomplete: whose inner products they have, what they look at and leave."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.gaussian_process.kernels import RBF

from mercer.solvers.cholesky import NotPositiveSemiDefiniteError, factor_gram, factor_low_rank
from mercer.superkernels import ARD, GaussianHarmonic, Harmonic, PowerSeries
from mercer.superkernels.power_series import Terms

# pivoted: coordinates whose inner products are the Gram matrix


def assert_explains(factor, K, tol=1e-8):
    F = factor.coordinates(K[:, factor.landmarks])
    assert F.shape == (len(K), len(factor.landmarks))
    assert_allclose(F @ F.T, K, atol=tol * np.abs(K).max())


@pytest.mark.parametrize("scale", [1e-60, 1.0, 1e60])
@pytest.mark.parametrize("rank", [1, 4, 15])
def test_coordinates_have_the_gram_matrix_as_inner_products(rng, rank, scale):
    F = rng.normal(size=(15, rank))
    K = scale * F @ F.T
    factor = factor_gram(K)
    assert len(factor.landmarks) == rank
    assert_explains(factor, K)


def test_the_triangle_is_that_of_the_landmarks(rng):
    K = RBF()(rng.normal(size=(12, 3)))
    landmarks, L = factor_gram(K)
    assert_array_equal(L, np.tril(L))
    assert_allclose(L @ L.T, K[np.ix_(landmarks, landmarks)], atol=1e-12)
    assert len(set(landmarks)) == len(landmarks)


def test_rows_that_others_span_up_to_rounding_are_left_out(rng):
    X = rng.normal(size=(60, 2))
    K = RBF(5.0)(X)  # numerically singular: a bare Cholesky factor does not exist
    with pytest.raises(np.linalg.LinAlgError):
        np.linalg.cholesky(K)
    factor = factor_gram(K)
    assert len(factor.landmarks) < 40
    assert_explains(factor, K)


def test_new_rows_keep_their_inner_products_with_what_is_spanned(rng):
    X, new = rng.normal(size=(8, 3)), rng.normal(size=(5, 3))
    factor = factor_gram(X @ X.T)
    F, F_new = (factor.coordinates(Z @ X[factor.landmarks].T) for Z in (X, new))
    assert_allclose(F_new @ F.T, new @ X.T, atol=1e-10)
    assert_allclose(F_new @ F_new.T, new @ new.T, atol=1e-10)  # three rows span all of R³


def test_expanded_directions_have_their_values_and_lengths(rng):
    X = rng.normal(size=(10, 3))
    K = RBF(0.8)(X)
    factor = factor_gram(K)
    U = rng.normal(size=(len(factor.landmarks), 4))
    coef = factor.expand(U)
    at = K[:, factor.landmarks]
    assert_allclose(at @ coef, factor.coordinates(at) @ U, atol=1e-9)
    assert_allclose(coef.T @ K[np.ix_(factor.landmarks, factor.landmarks)] @ coef, U.T @ U, atol=1e-9)


def test_the_matrix_is_left_as_it_was(rng):
    for order in ("C", "F"):  # LAPACK works on the latter in place, if it may
        K = np.array(RBF()(rng.normal(size=(9, 2))), order=order)
        before = K.copy()
        factor_gram(K)
        assert np.array_equal(K, before)


def test_a_matrix_of_zeros_has_rank_zero():
    factor = factor_gram(np.zeros((4, 4)))
    assert len(factor.landmarks) == 0
    assert factor.coordinates(np.zeros((3, 0))).shape == (3, 0)
    assert factor.expand(np.zeros((0, 2))).shape == (0, 2)


@pytest.mark.parametrize(
    "K",
    [
        -np.eye(5),
        np.ones((5, 5)) - np.eye(5),
        np.diag([1.0, 1, 1, 1, -1e-6]),
        2 * np.ones((5, 5)) - np.eye(5),
        np.diag([1.0, 2, 3, 0, 0]) + np.eye(5)[::-1] - np.diag([0, 0, 1.0, 0, 0]),
    ],
    ids=["negative", "no diagonal", "barely", "off the diagonal", "rest"],
)
@pytest.mark.parametrize("scale", [1e-60, 1.0, 1e60])
def test_a_matrix_that_is_not_psd_is_refused(K, scale):
    assert np.linalg.eigvalsh(K).min() < -1e-7
    with pytest.raises(NotPositiveSemiDefiniteError, match="not positive semi-definite") as caught:
        factor_gram(scale * K)
    assert caught.value.left > 1e-8


# incomplete


class Watched:
    """A matrix whose columns are counted."""

    def __init__(self, K):
        self.K, self.asked = K, []

    def column(self, i):
        self.asked.append(i)
        return self.K[:, i]


def some_matrix(rng, n=60, decay=0.5):
    V = np.linalg.qr(rng.normal(size=(n, n)))[0]
    return (V * decay ** np.arange(n)) @ V.T


@pytest.mark.parametrize("tol", [1e-2, 1e-5, 1e-9])
def test_no_entry_is_further_off_than_the_tolerance(rng, tol):
    K = some_matrix(rng)
    found = factor_low_rank(np.diag(K), Watched(K).column, tol, 60)
    rest = K - found.L.T @ found.L
    largest = np.diag(K).max()
    assert np.abs(rest).max() <= tol * largest * (1 + 1e-6)
    assert found.left == pytest.approx(np.diag(rest).max() / largest, abs=1e-15)
    assert len(found.pivots) < 40


def test_only_the_diagonal_and_the_pivots_columns_are_looked_at_once(rng):
    watched = Watched(some_matrix(rng))
    found = factor_low_rank(np.diag(watched.K), watched.column, 1e-6, 60)
    assert watched.asked == found.pivots.tolist()
    assert len(set(watched.asked)) == len(watched.asked)


def test_it_is_exact_on_the_pivots_and_its_factor_is_triangular_there(rng):
    K = some_matrix(rng)
    found = factor_low_rank(np.diag(K), Watched(K).column, 1e-6, 60)
    assert_allclose((found.L.T @ found.L)[:, found.pivots], K[:, found.pivots], atol=1e-13)
    assert_allclose(np.tril(found.L[:, found.pivots], -1), 0.0, atol=1e-7)


def test_the_pivots_are_the_largest_of_what_is_left(rng):
    K = some_matrix(rng, n=12)
    found = factor_low_rank(np.diag(K), Watched(K).column, 1e-6, 12)
    left = K.copy()
    for pivot in found.pivots:
        assert np.diag(left)[pivot] == pytest.approx(np.diag(left).max(), rel=1e-6)
        left -= np.outer(left[:, pivot], left[pivot]) / left[pivot, pivot]


def test_more_pivots_than_at_first_are_made_room_for_and_no_more_than_allowed(rng):
    K = some_matrix(rng, decay=0.9)
    assert len(factor_low_rank(np.diag(K), Watched(K).column, 1e-12, 40).pivots) == 40
    cut = factor_low_rank(np.diag(K), Watched(K).column, 1e-12, 5)
    assert cut.L.shape == (5, 60)
    assert cut.left > 1e-12


def test_nothing_is_left_of_a_zero_matrix():
    found = factor_low_rank(np.zeros(3), lambda i: np.zeros(3), 1e-5, 3)
    assert found.left == 0.0
    assert found.L.shape == (0, 3)


def test_duplicates_are_not_chosen_twice():
    K = np.ones((4, 4))
    assert_array_equal(factor_low_rank(np.ones(4), lambda i: K[i], 1e-12, 4).pivots, [0])


def test_no_rounding_error_makes_a_pivot_one_again(rng):
    for _ in range(20):
        f = rng.uniform(1.0, 2.0, size=3)
        pivots = factor_low_rank(f**2, lambda i, f=f: f[i] * f, 1e-300, 3).pivots
        assert len(set(pivots.tolist())) == len(pivots)


# the superkernel matrix of all m² pairs

SERIES = [PowerSeries(RBF(), function) for function in ("exp", "sinh", "cosh", "arctanh", "log")]
SERIES += [Harmonic(RBF(), 0.6), Harmonic(RBF(0.3), 0.9), GaussianHarmonic(2.0), ARD(GaussianHarmonic(0.8))]


@pytest.mark.parametrize("superkernel", SERIES, ids=str)
def test_the_chosen_pairs_span_the_whole_superkernel_matrix_up_to_the_tolerance(rng, superkernel):
    X = rng.normal(size=(9, 2))
    terms = superkernel.expand(X, X[:0], tol=1e-5, max_rank=81, rng=np.random.RandomState(0))
    pairs = np.array([[x, z] for x in X for z in X])
    K = superkernel(pairs)  # 81 × 81: small enough to be formed
    # the columns of the chosen pairs
    C = np.stack([terms.grams.term(i).ravel() for i in range(terms.grams.n_terms)])
    assert np.abs(K - C.T @ np.linalg.solve(terms.penalty, C)).max() <= 4e-5 * np.diag(K).max()
    assert terms.grams.n_terms < 45  # of 45 different pairs


def test_the_matrix_of_all_pairs_is_never_formed(rng, monkeypatch):
    m, largest = 70, [0]
    at = Terms.at

    def watched(terms, argument):
        largest[0] = max(largest[0], np.size(argument))
        return at(terms, argument)

    monkeypatch.setattr(Terms, "at", watched)
    X = rng.normal(size=(m, 3))
    terms = GaussianHarmonic(1.0).expand(X, X[:0], tol=1e-5, max_rank=100, rng=np.random.RandomState(0))
    assert terms.grams.n_terms < 15
    assert 0 < largest[0] <= m**2
