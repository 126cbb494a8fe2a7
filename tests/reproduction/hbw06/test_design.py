import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.spatial.transform import Rotation
from scipy.stats import multivariate_normal

from reproduction.hbw06 import search, table1
from reproduction.hbw06.design import DESIGN


def gaussian(*which):
    turn = Rotation.from_euler("z", DESIGN.degrees[which], degrees=True).as_matrix()[:2, :2]
    return multivariate_normal(
        DESIGN.means[which], turn @ np.diag(np.square(DESIGN.deviations[which])) @ turn.T
    )


OF = {label: [gaussian(label, part) for part in (0, 1)] for label in (0, 1)}


def density(X, label):
    return sum(part.pdf(X) for part in OF[label]) / 2


@pytest.mark.parametrize("label", [0, 1])
def test_each_class_has_its_two_gaussians(label):
    X, y = DESIGN.draw_rows(40_000, np.random.RandomState(0))
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
    assert_allclose(DESIGN.log_ratio(X)[near], np.log(density(X[near], 1) / density(X[near], 0)))


def test_the_bayes_error_is_below_the_least_error_of_the_table():
    axis = np.linspace(-5, 5, 2001)
    X = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
    integral = np.minimum(density(X, 1), density(X, 0)).sum() * (axis[1] - axis[0]) ** 2 / 2
    assert round(100 * integral, 1) == 0.8
    X, y = DESIGN.draw_rows(100_000, np.random.RandomState(1))
    assert abs(np.mean((DESIGN.log_ratio(X) > 0) != y) - integral) < 4 * np.sqrt(integral / len(X))


def test_the_search_returns_designs_whose_bayes_error_the_table_allows(monkeypatch):
    monkeypatch.setattr(search, "STAGES", ((("Lin.",), 1, 0.5),))
    monkeypatch.setattr(search, "N_FINAL", 1)
    monkeypatch.setattr(search, "USUAL", ("Lin.",))
    found = list(search.search(60, 0))
    assert found
    assert [gap for gap, _ in found] == sorted(gap for gap, _ in found)
    for gap, design in found:
        assert search.bayes_error(design) <= search.LEAST
        assert gap == search.distance(design, ("Lin.",), 1)


def test_the_errors_of_a_design_are_those_of_the_table_on_its_draws():
    (few, many) = search.errors(DESIGN, ["Lin."], 1)
    seed = search.seed_of(search.KEY, "n=100", 0)
    assert many == table1.TABLE.method("Lin.").score(table1.draw("n=100", seed), seed)
    assert few != many
