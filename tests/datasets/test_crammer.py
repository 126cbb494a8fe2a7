import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import norm

from mercer.datasets import slanted

ALONG, ACROSS = np.array([1, 1]) / np.sqrt(2), np.array([1, -1]) / np.sqrt(2)


def covariance_of(*, inverse_first, entries_are_deviations):
    """One of the four readings of [CKS02]: the covariance of the first two features."""
    Delta = np.array([[1, -1], [1, 1]]) / np.sqrt(2)
    Sigma = np.diag([0.1, 0.01]) ** (2 if entries_are_deviations else 1)
    left, right = (np.linalg.inv(Delta), Delta) if inverse_first else (Delta, np.linalg.inv(Delta))
    return left @ Sigma @ right


def bayes_error(covariance):
    """Two normal classes of one covariance: Φ of minus half the Mahalanobis distance of their means."""
    mean = np.array([0.03, 0.03])
    return norm.cdf(-np.sqrt(mean @ np.linalg.solve(covariance, mean)))


def assert_has_moments(rows, mean, covariance):
    """Compare mean and covariance, each entry within 5 standard errors."""
    n, deviation = len(rows), np.sqrt(np.diag(covariance))
    assert (np.abs(rows.mean(axis=0) - mean) < 5 * deviation / np.sqrt(n)).all()
    standard_error = np.sqrt((np.outer(deviation, deviation) ** 2 + covariance**2) / n)
    assert (np.abs(np.cov(rows.T) - covariance) < 5 * standard_error).all()


@pytest.mark.parametrize("noise", [0.0, 0.03])
@pytest.mark.parametrize("label", [-1, 1])
def test_each_class_has_the_moments_of_the_last_reading(label, noise):
    X, y = slanted(30_000, noise=noise, random_state=0)
    mean, covariance = np.zeros(100), 0.05**2 * np.eye(100)
    mean[:2] = 0.03 * label
    covariance[:2, :2] = covariance_of(inverse_first=True, entries_are_deviations=True)
    covariance[:2, :2] += noise**2 * np.eye(2)
    assert_has_moments(X[y == label], mean, covariance)


def test_the_small_deviation_is_along_the_class_means_and_the_large_one_across():
    X, y = slanted(30_000, random_state=1)
    assert abs((y * (X[:, :2] @ ALONG)).mean() - 0.03 * np.sqrt(2)) < 5 * 0.01 / np.sqrt(len(X))
    centred = X[:, :2] - 0.03 * y[:, None]
    for direction, deviation in ((ALONG, 0.01), (ACROSS, 0.1)):
        assert abs((centred @ direction).std() - deviation) < 5 * deviation / np.sqrt(2 * len(X))
    assert abs(np.corrcoef(centred @ ALONG, centred @ ACROSS)[0, 1]) < 5 / np.sqrt(len(X))


def test_of_the_four_readings_only_the_last_is_separable():
    errors = [
        bayes_error(covariance_of(inverse_first=rotation, entries_are_deviations=deviations))
        for rotation in (False, True)
        for deviations in (False, True)
    ]
    assert_allclose(errors, [0.45, 0.34, 0.34, 1 / 90_000], rtol=0.02)  # the docstring's column, rounded


@pytest.mark.parametrize(("noise", "deviation"), [(0.0, 0.01), (0.03, np.hypot(0.01, 0.03))])
def test_the_sign_of_the_sum_has_the_bayes_error(noise, deviation):
    n = 200_000
    expected = norm.cdf(-0.03 * np.sqrt(2) / deviation)
    draws = (slanted(n // 10, noise=noise, random_state=seed) for seed in range(10))
    wrong = sum(np.sum(y * X[:, :2].sum(axis=1) <= 0) for X, y in draws)
    assert abs(wrong / n - expected) < 4 * np.sqrt(expected * (1 - expected) / n)


def test_one_feature_alone_leaves_an_error_of_a_third():
    X, y = slanted(40_000, random_state=2)
    expected = norm.cdf(-0.03 / np.sqrt((0.01**2 + 0.1**2) / 2))
    assert_allclose(expected, 1 / 3, rtol=0.02)
    standard_error = np.sqrt(expected * (1 - expected) / len(X))
    for feature in (0, 1):
        assert abs(np.mean(y * X[:, feature] < 0) - expected) < 4 * standard_error


def test_the_labels_are_balanced_in_random_order():
    y = slanted(20_000, random_state=3)[1]
    assert set(y) == {-1, 1}
    assert y.dtype.kind == "i"
    assert abs(y.mean()) < 4 / np.sqrt(len(y))
    assert abs(np.mean(y[1:] * y[:-1])) < 4 / np.sqrt(len(y))


def test_the_same_seed_gives_the_same_rows():
    first, again = (slanted(50, random_state=seed) for seed in (7, np.random.RandomState(7)))
    assert_array_equal(first[0], again[0])
    assert_array_equal(first[1], again[1])
    assert not np.array_equal(first[0], slanted(50, random_state=8)[0])


def test_noise_changes_the_first_two_features_and_nothing_else():
    X, y = slanted(20_000, random_state=4)
    X_noisy, y_noisy = slanted(20_000, noise=0.03, random_state=4)
    assert_array_equal(y, y_noisy)
    assert_array_equal(X[:, 2:], X_noisy[:, 2:])
    assert_has_moments((X_noisy - X)[:, :2], np.zeros(2), 0.03**2 * np.eye(2))


@pytest.mark.parametrize(("name", "value"), [("n_samples", 0), ("noise", -0.1), ("noise", np.nan)])
def test_impossible_arguments_are_refused(name, value):
    with pytest.raises(ValueError, match=name):
        slanted(**{name: value})
