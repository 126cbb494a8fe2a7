import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.spatial.transform import Rotation
from scipy.stats import multivariate_normal

from reproduction.hbw06.design import DEGREES, DEVIATIONS, MEANS, draw_rows, log_ratio


def gaussian(*which):
    turn = Rotation.from_euler("z", DEGREES[which], degrees=True).as_matrix()[:2, :2]
    return multivariate_normal(MEANS[which], turn @ np.diag(np.square(DEVIATIONS[which])) @ turn.T)


OF = {label: [gaussian(label, part) for part in (0, 1)] for label in (0, 1)}


def density(X, label):
    return sum(part.pdf(X) for part in OF[label]) / 2


@pytest.mark.parametrize("label", [0, 1])
def test_each_class_has_its_two_gaussians(label):
    X, y = draw_rows(40_000, np.random.RandomState(0))
    rows = X[y == label]
    first = OF[label][0].pdf(rows) > OF[label][1].pdf(rows)  # they hardly overlap
    assert abs(first.mean() - 0.5) < 0.02
    for part, drawn in zip((rows[first], rows[~first]), OF[label], strict=True):
        deviation = np.sqrt(np.diag(drawn.cov))
        assert (np.abs(part.mean(axis=0) - drawn.mean) < 0.1 * deviation).all()
        assert_allclose(np.cov(part.T), drawn.cov, atol=0.15 * deviation.max() ** 2)


def test_the_log_ratio_is_that_of_the_densities(rng):
    X = rng.uniform(-2, 2, size=(200, 2))
    near = (density(X, 0) > 1e-200) & (density(X, 1) > 1e-200)  # of others there is no quotient
    assert near.sum() > 100
    assert_allclose(log_ratio(X)[near], np.log(density(X[near], 1) / density(X[near], 0)))


def test_the_bayes_error_is_below_the_least_error_of_the_table():
    axis = np.linspace(-5, 5, 2001)
    X = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
    integral = np.minimum(density(X, 1), density(X, 0)).sum() * (axis[1] - axis[0]) ** 2 / 2
    assert round(100 * integral, 1) == 0.8
    X, y = draw_rows(100_000, np.random.RandomState(1))
    assert abs(np.mean((log_ratio(X) > 0) != y) - integral) < 4 * np.sqrt(integral / len(X))
