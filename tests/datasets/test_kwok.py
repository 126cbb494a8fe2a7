import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy.stats import norm

from mercer.datasets import one_relevant


@pytest.mark.parametrize("label", [-1, 1])
def test_each_class_has_the_moments_of_the_paper(label):
    n = 20_000
    X, y = one_relevant(n, random_state=0)
    rows = X[y == label]
    mean, deviation = np.array([3.0 * label, *[0.0] * 10]), np.array([1.0, *[5.0] * 10])
    assert rows.shape == (n, 11)
    assert (np.abs(rows.mean(axis=0) - mean) < 5 * deviation / np.sqrt(n)).all()
    assert (np.abs(rows.std(axis=0) / deviation - 1) < 5 / np.sqrt(2 * n)).all()
    correlation = np.corrcoef(rows.T) - np.eye(11)
    assert np.abs(correlation).max() < 5 / np.sqrt(n)


def test_the_sign_of_the_first_feature_has_the_bayes_error():
    n = 50_000
    X, y = one_relevant(n, random_state=1)
    expected = norm.cdf(-3)
    assert abs(np.mean(y * X[:, 0] <= 0) - expected) < 4 * np.sqrt(expected / (2 * n))


def test_the_default_is_the_papers_and_class_plus_one_comes_first():
    X, y = one_relevant(random_state=2)
    assert X.shape == (100, 11)
    assert_array_equal(y, [1] * 50 + [-1] * 50)


def test_the_same_seed_gives_the_same_rows():
    first, again = (one_relevant(5, random_state=seed)[0] for seed in (7, np.random.RandomState(7)))
    assert_array_equal(first, again)
    assert not np.array_equal(first, one_relevant(5, random_state=8)[0])


@pytest.mark.parametrize("wrong", [{"n_per_class": 0}, {"n_irrelevant": -1}])
def test_impossible_sizes_are_refused(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        one_relevant(**wrong)
