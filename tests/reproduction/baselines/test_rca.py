import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from mercer import Pairs
from reproduction.baselines import RCA


def metric(learner):
    A = learner.kernel_.coef
    return A @ A.T


def within(X, chunklets):
    """The mean within-chunklet covariance, row by row."""
    total, n = 0, 0
    for rows in chunklets:
        mean = sum(X[i] for i in rows) / len(rows)
        total = total + sum(np.outer(X[i] - mean, X[i] - mean) for i in rows)
        n += len(rows)
    return total / n


def test_without_a_ridge_the_metric_is_the_inverse_of_the_within_chunklet_covariance(rng):
    X, y = rng.normal(size=(30, 4)) @ rng.normal(size=(4, 4)), np.arange(30) % 3
    learner = RCA(ridge=0).fit(X, y)
    C = within(X, [np.flatnonzero(y == k) for k in range(3)])
    assert_allclose(metric(learner), np.linalg.inv(C), rtol=1e-9)
    assert learner.within_rank_ == 4


def test_the_ridge_is_a_share_of_the_covariance_of_all_rows(rng):
    X, y = rng.normal(size=(30, 4)) + 5, np.arange(30) % 3
    C = within(X, [np.flatnonzero(y == k) for k in range(3)])
    T = np.cov(X.T, bias=True)
    assert_allclose(metric(RCA(ridge=0.2).fit(X, y)), np.linalg.inv(C + 0.2 * T), rtol=1e-9)


def test_chunklets_are_what_similar_pairs_connect_and_lonely_rows_do_not_count(rng):
    X = rng.normal(size=(12, 2))
    pairs = Pairs([(0, 3), (3, 7), (2, 5), (8, 9), (4, 4)], [(0, 2)])
    learner = RCA(ridge=0).fit(X, pairs=pairs)
    assert_array_equal(learner.chunklets_, [0, -1, 1, 0, -1, 1, -1, 0, 2, 2, -1, -1])
    assert_allclose(metric(learner), np.linalg.inv(within(X, [(0, 3, 7), (2, 5), (8, 9)])), rtol=1e-8)


def test_labels_and_the_pairs_that_they_make_are_the_same(rng):
    X, y = rng.normal(size=(20, 3)), rng.integers(3, size=20)
    by_labels, by_pairs = RCA().fit(X, y), RCA().fit(X, pairs=Pairs.from_labels(y))
    assert_allclose(metric(by_labels), metric(by_pairs), rtol=1e-9)


def test_directions_in_which_chunklets_do_not_vary_weigh_much_but_not_infinitely(rng):
    X = rng.normal(size=(40, 3))
    X[:, 2] = np.arange(40) % 4  # the class itself, and so constant within it
    y = np.arange(40) % 4
    learner = RCA(ridge=1e-3).fit(X, y)
    assert learner.within_rank_ == 2
    F = learner.transform(X)
    variance = within(F, [np.flatnonzero(y == k) for k in range(4)])
    assert np.linalg.eigvalsh(variance).max() <= 1
    direction = np.array([0, 0, 1.0])
    gain = direction @ metric(learner) @ direction * X[:, 2].var()
    assert gain == pytest.approx(1 / 1e-3, rel=0.05)  # the others are uncorrelated but for chance
    with pytest.raises(ValueError, match="differ in 2 directions, all rows in 3"):
        RCA(ridge=0).fit(X, y)


def test_features_of_any_scale_give_the_same_distances(rng):
    X, y = rng.normal(size=(30, 4)), np.arange(30) % 2
    scaled = X * [1e-3, 1, 1e3, 1e6]
    D, D_scaled = (RCA().fit(Z, y).kernel_.squared_distance(Z, Z) for Z in (X, scaled))
    assert_allclose(D_scaled, D, rtol=1e-6, atol=1e-6)


def test_more_features_than_rows_and_constant_features_work(rng):
    X, y = rng.normal(size=(10, 30)), np.arange(10) % 2
    X[:, 3] = 7.0
    learner = RCA().fit(X, y)
    assert learner.kernel_.coef.shape == (30, 9)  # ten rows differ in nine directions
    assert learner.within_rank_ == 8  # ten rows less two means
    assert_allclose(learner.kernel_.coef[3], 0, atol=1e-10)


def test_bad_input_says_what_to_do(rng):
    X = rng.normal(size=(6, 2))
    with pytest.raises(ValueError, match="list some similar pairs"):
        RCA().fit(X, pairs=Pairs([], [(0, 1)]))
    with pytest.raises(ValueError, match="list some similar pairs"):
        RCA().fit(X, pairs=Pairs([(1, 1)]))
    with pytest.raises(ValueError, match="all rows are equal"):
        RCA().fit(np.ones((4, 2)), [0, 0, 1, 1])
    for ridge in (-1.0, np.inf, np.nan, "much"):
        with pytest.raises(ValueError, match="ridge"):
            RCA(ridge=ridge).fit(X, [0, 0, 0, 1, 1, 1])
