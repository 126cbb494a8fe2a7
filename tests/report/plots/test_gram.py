"""The picture of a Gram matrix shows its numbers, samples sorted by class."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.gaussian_process.kernels import RBF, DotProduct

from mercer.kernels import Stump
from mercer.report import plot_gram
from mercer.report.plots import gram


def test_the_gram_picture_holds_the_matrix_with_rows_sorted_by_class(iris, rng):
    X, y = iris
    mixed = rng.permutation(len(X))
    ax = plot_gram(RBF(), X[mixed], y[mixed])
    shown = np.asarray(ax.images[0].get_array())
    order = sorted(range(len(X)), key=lambda i: (y[mixed][i], i))
    assert_array_equal(shown, RBF()(X[mixed])[np.ix_(order, order)])
    assert [tick.get_text() for tick in ax.get_yticklabels()] == ["setosa", "versicolor", "virginica"]
    assert_allclose(ax.get_yticks(), [24.5, 74.5, 124.5])
    assert sorted({line.get_ydata()[0] for line in ax.lines if len(set(line.get_ydata())) == 1}) == [
        49.5,
        99.5,
    ]


def test_a_gram_matrix_is_drawn_as_a_kernel_is(iris):
    X, y = iris
    first, second = plot_gram(Stump(), X, y), plot_gram(Stump()(X), None, y)
    assert_array_equal(first.images[0].get_array(), second.images[0].get_array())


def test_without_classes_the_rows_stay_in_their_order(iris):
    X = iris[0][::-1]
    assert_array_equal(plot_gram(Stump(), X).images[0].get_array(), Stump()(X))


def test_the_colours_of_a_gram_matrix_span_all_but_the_extreme_values_off_the_diagonal(rng):
    K = rng.uniform(size=(40, 40)) + 1000.0 * np.eye(40)
    K[0, 1] = 1e6
    low, high = plot_gram(K, None).images[0].get_clim()
    values = K[~np.eye(40, dtype=bool)]
    for clipped in (values < low, values > high):
        assert clipped.mean() == pytest.approx(gram.CLIPPED / 100, abs=1 / len(values))


def test_a_few_odd_rows_do_not_take_all_colours_for_themselves(rng):
    """Four of 300 rows are far from all: the others keep at least half of the colours."""
    K = rng.uniform(1.0, 2.0, size=(300, 300))
    K[:4] = K[:, :4] = -50.0
    low, high = plot_gram(K, None).images[0].get_clim()
    assert high - low < 2.0


def test_a_gram_matrix_with_given_limits_has_no_bar(iris):
    with_bar, without = plot_gram(RBF(), *iris), plot_gram(RBF(), *iris, limits=(0.0, 1.0))
    assert len(with_bar.child_axes) == 1
    assert not without.child_axes
    assert_array_equal(with_bar.images[0].get_array(), without.images[0].get_array())


def test_a_constant_gram_matrix_can_be_drawn():
    low, high = plot_gram(np.ones((3, 3)), None, ["a", "b", "b"]).images[0].get_clim()
    assert low < 1.0 < high
    plot_gram([[2.0]], None, ["a"])


def test_many_classes_have_no_names_beside_the_matrix(rng):
    ax = plot_gram(DotProduct(), rng.normal(size=(40, 2)), np.arange(40) % 20)
    assert len(ax.get_yticks()) == 0
    assert ax.get_ylabel() == "samples of 20 classes"


@pytest.mark.parametrize(
    ("K", "message"), [(np.ones((2, 3)), "square"), (np.ones(3), "square"), ([[np.nan]], "not finite")]
)
def test_what_is_no_gram_matrix_is_refused(K, message):
    with pytest.raises(ValueError, match=message):
        plot_gram(K, None)


def test_labels_must_be_as_many_as_rows():
    with pytest.raises(ValueError, match="3 samples, but 2 labels"):
        plot_gram(np.eye(3), None, ["a", "b"])
