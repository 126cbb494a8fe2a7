"""A learned kernel with a share of one that knows which samples are near."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import cdist
from sklearn.base import clone
from sklearn.cluster import KMeans

from mercer import BlendedKernel, IdealizedKernel, KernelBoost, Pairs


def some_data(rng, n=60):
    y = np.arange(n) % 3
    return 3.0 * np.eye(3, 5)[y] + rng.normal(size=(n, 5)), y


def variance(K):
    return np.trace(K) / len(K) - K.mean()


@pytest.mark.parametrize("share", [0.3, 2.0])
def test_the_kernel_of_near_samples_is_added_with_its_share_of_the_variance(rng, share):
    X, y = some_data(rng)
    learner = KernelBoost(n_rounds=3, random_state=0)
    blended = BlendedKernel(learner, share=share).fit(X, y)
    F = clone(learner).fit(X, y).transform(X)
    D = cdist(X, X, "sqeuclidean")
    fifth = np.sqrt(np.sort(D, axis=1)[:, 5])  # without the sample itself
    near = np.exp(-D / np.median(fifth) ** 2)
    expected = F @ F.T + share * variance(F @ F.T) / variance(near) * near
    assert_allclose(blended.kernel_(X), expected, rtol=1e-9)
    assert_allclose(blended.transform(X) @ blended.transform(X).T, expected, rtol=1e-9)
    assert blended.transform(X).shape[1] == len(blended.get_feature_names_out())


def test_its_learners_know_the_classes_by_their_names(rng):
    X, y = some_data(rng)
    names = np.array(["c", "a", "b"])
    learners = {
        "learner": KernelBoost(n_rounds=2, random_state=0),
        "others": [IdealizedKernel(random_state=0)],
    }
    named, numbered = (
        BlendedKernel(**learners).fit(X, names[y]),
        BlendedKernel(**learners).fit(X, (y + 2) % 3),
    )
    for one in (named, named.learner_, named.others_[0]):
        assert_array_equal(one.classes_, ["a", "b", "c"])
    assert_array_equal(named.kernel_(X), numbered.kernel_(X))
    assert not hasattr(named.fit(X, pairs=Pairs.from_labels(y)).learner_, "classes_")


def test_a_second_learner_counts_as_much_as_the_first(rng):
    X, y = some_data(rng)
    first, second = KernelBoost(n_rounds=3, random_state=0), IdealizedKernel(random_state=0)
    blended = BlendedKernel(first, others=[second], share=0.5).fit(X, y)
    one, two = (clone(learner).fit(X, y).kernel_(X) for learner in (first, second))
    near = np.exp(-cdist(X, X, "sqeuclidean") / blended.radius_**2)
    V = variance(one)
    expected = 0.5 * one + 0.5 * V / variance(two) * two + 0.5 * V / variance(near) * near
    assert_allclose(blended.kernel_(X), expected, rtol=1e-9)
    assert_allclose(blended.transform(X) @ blended.transform(X).T, expected, rtol=1e-7, atol=1e-9)
    assert blended.transform(X).shape[1] == len(blended.get_feature_names_out())


def literal_within(X, groups):
    """The covariance of samples around the mean of their set, shrunk as in Ledoit and Wolf (2004)."""
    rows = np.vstack([X[group] - X[group].mean(axis=0) for group in groups if len(group) > 1])
    rows = rows * np.sqrt(len(rows) / (len(rows) - sum(len(group) > 1 for group in groups)))
    n, d = rows.shape
    S = rows.T @ rows / n
    m = np.trace(S) / d
    spread = np.sum((S - m * np.eye(d)) ** 2)
    noise = sum(np.sum((np.outer(row, row) - S) ** 2) for row in rows) / n**2
    share = min(noise, spread) / spread
    return share * m * np.eye(d) + (1 - share) * S


@pytest.mark.parametrize("by", ["labels", "pairs"])
def test_the_metric_of_similar_samples_is_that_of_their_shrunk_covariance(rng, by):
    X, y = some_data(rng)
    X = X @ rng.normal(size=(5, 5))
    similar = np.array([(0, 3), (3, 9), (1, 4), (2, 5), (8, 11)])
    sets = [[0, 3, 9], [1, 4], [2, 5], [8, 11]]
    known = {"y": y} if by == "labels" else {"pairs": Pairs(similar, [(0, 1), (2, 1)])}
    C = literal_within(X, [np.flatnonzero(y == k) for k in range(3)] if by == "labels" else sets)
    learner = KernelBoost(n_rounds=2, random_state=0)
    blended = BlendedKernel(learner, metric="within", share=0.5).fit(X, **known)
    d2 = cdist(X, X, "mahalanobis", VI=np.linalg.inv(C)) ** 2
    near = np.exp(-d2 / np.median(np.sqrt(np.sort(d2, axis=1)[:, 5])) ** 2)
    wide = np.exp(-d2 / np.median(np.sqrt(d2[np.triu_indices(60, 1)])) ** 2)
    values, V = np.linalg.eigh(C)
    Z = X @ V / np.sqrt(values)  # in which similar samples have the covariance I
    learned = [clone(learner).fit(rows, **known).kernel_(rows) for rows in (X, Z)]
    scaled = [variance(learned[0]) / variance(K) * K for K in (*learned, wide, near)]
    expected = sum(scaled[:3]) / 3 + 0.5 * scaled[3]
    assert_allclose(blended.kernel_(X), expected, rtol=1e-6)
    F = blended.transform(X)
    assert_allclose(F @ F.T, expected, rtol=1e-6, atol=1e-8)
    assert F.shape[1] == len(blended.get_feature_names_out())


def test_where_no_samples_are_similar_the_metric_is_the_plain_one(rng):
    X, _ = some_data(rng)
    plain, within = (
        BlendedKernel(KernelBoost(n_rounds=2, random_state=0), metric=metric)
        for metric in ("plain", "within")
    )
    apart = Pairs(dissimilar=[(0, 1), (2, 3)])
    assert_allclose(within.fit(X, pairs=apart).kernel_(X), plain.fit(X, pairs=apart).kernel_(X))


def test_features_of_new_samples_have_the_kernel_with_those_of_fit(rng):
    X, y = some_data(rng)
    new, _ = some_data(rng)
    blended = BlendedKernel(KernelBoost(n_rounds=2, random_state=0)).fit(X, y)
    assert_allclose(blended.transform(new) @ blended.transform(X).T, blended.kernel_(new, X), rtol=1e-7)


def test_samples_that_the_learner_cannot_tell_apart_are_as_near_as_in_the_plain_metric(rng):
    X, y = some_data(rng)
    X[y > 0, 0] += 1e3  # so far away that all mixtures are certain
    pairs = Pairs.from_labels(y > 0)
    learned = BlendedKernel(KernelBoost(n_rounds=2, random_state=0)).fit(X, pairs=pairs)
    same = X[y == 0]
    assert_allclose(np.ptp(learned.learner_.transform(same), axis=0), 0.0, atol=1e-5)
    near = np.argsort(np.linalg.norm(learned.transform(same) - learned.transform(same[:1]), axis=1))
    assert_allclose(near, np.argsort(np.linalg.norm(same - same[0], axis=1)))


def test_clusters_do_not_notice_the_kernel_of_near_samples(rng):
    # the first feature says which of two clusters; forty others, which vary more, say nothing
    y = np.arange(100) % 2
    X = np.column_stack([6.0 * y, 4.0 * rng.normal(size=(100, 40))])
    learned = BlendedKernel(KernelBoost(n_rounds=2, random_state=0)).fit(X, pairs=Pairs.from_labels(y))
    found = KMeans(2, n_init=10, random_state=0).fit_predict(learned.transform(X))
    assert_array_equal(found == found[0], y == y[0])


def test_samples_that_are_all_equal_but_for_a_few_have_a_radius(rng):
    X = np.zeros((40, 2))
    X[:3] = rng.normal(size=(3, 2))
    learned = BlendedKernel(KernelBoost(n_rounds=2, random_state=0)).fit(X, np.arange(40) < 3)
    assert np.isfinite(learned.kernel_(X)).all()
    assert learned.radius_ > 0.0


def test_a_share_must_be_positive_and_none_is_kernelboost(rng):
    X, y = some_data(rng)
    with pytest.raises(ValueError, match="share"):
        BlendedKernel(IdealizedKernel(), share=-1.0).fit(X, y)
    with pytest.raises(ValueError, match="metric"):
        BlendedKernel(IdealizedKernel(), metric="euclidean").fit(X, y)
    assert isinstance(BlendedKernel().fit(X, y).learner_, KernelBoost)
