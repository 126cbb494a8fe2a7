import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import multivariate_normal
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures

from mercer.datasets import hooked, hooked_log_ratio

BAR = multivariate_normal([-1.4, 1.5], np.diag([0.9**2, 0.1**2]))
HOOK = multivariate_normal([1.1, -0.2], np.diag([0.2**2, 0.4**2]))


def density(X, label):
    """The docstring's density of a class: class −1 is class +1 after half a turn."""
    return (BAR.pdf(label * X) + HOOK.pdf(label * X)) / 2


@pytest.mark.parametrize("label", [-1, 1])
def test_each_class_is_a_bar_and_a_hook_of_the_docstring(label):
    X, y = hooked(40_000, random_state=0)
    rows = label * X[y == label]
    bar = BAR.pdf(rows) > HOOK.pdf(rows)  # they hardly overlap
    assert abs(bar.mean() - 0.5) < 5 * 0.5 / np.sqrt(len(rows))
    for part, drawn in ((rows[bar], BAR), (rows[~bar], HOOK)):
        deviation = np.sqrt(np.diag(drawn.cov))
        assert (np.abs(part.mean(axis=0) - drawn.mean) < 5 * deviation / np.sqrt(len(part))).all()
        assert (np.abs(part.std(axis=0) / deviation - 1) < 5 / np.sqrt(2 * len(part)) + 0.01).all()


def test_the_log_ratio_is_that_of_the_densities(rng):
    X = rng.uniform(-2, 2, size=(200, 2))
    assert_allclose(hooked_log_ratio(X), np.log(density(X, 1)) - np.log(density(X, -1)))


def test_the_bayes_error_is_that_of_the_docstring():
    axis = np.linspace(-6, 6, 1201)
    X = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
    integral = np.minimum(density(X, 1), density(X, -1)).sum() * (axis[1] - axis[0]) ** 2 / 2
    assert round(100 * integral, 1) == 0.3
    X, y = hooked(100_000, random_state=1)
    wrong = np.mean((hooked_log_ratio(X) > 0) != (y > 0))
    assert abs(wrong - integral) < 4 * np.sqrt(integral / len(X))


def test_a_line_errs_on_12_percent_and_a_parabola_on_as_many():
    (X, y), (X_new, y_new) = (hooked(20_000, random_state=seed) for seed in (2, 3))
    models = [make_pipeline(PolynomialFeatures(degree), LogisticRegression(C=100)) for degree in (1, 2)]
    line, parabola = (1 - model.fit(X, y).score(X_new, y_new) for model in models)
    assert abs(line - 0.12) < 0.01
    assert abs(line - parabola) < 0.02


def test_the_default_is_the_papers_size_and_classes_are_as_likely():
    X, y = hooked(random_state=0)
    assert X.shape == (500, 2)
    assert set(y) == {-1, 1}
    assert abs(hooked(10_000, random_state=4)[1].mean()) < 0.05


def test_the_same_seed_gives_the_same_rows():
    first, again = (hooked(5, random_state=seed)[0] for seed in (7, np.random.RandomState(7)))
    assert_array_equal(first, again)
    assert not np.array_equal(first, hooked(5, random_state=8)[0])


def test_no_rows_are_refused():
    with pytest.raises(ValueError, match="n_samples"):
        hooked(0)
