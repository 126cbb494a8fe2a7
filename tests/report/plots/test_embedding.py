"""The map is that of kernel PCA."""

import matplotlib
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.decomposition import KernelPCA
from sklearn.gaussian_process.kernels import RBF, DotProduct

from mercer.kernels import Stump
from mercer.report import plot_embedding
from mercer.report.plots.embedding import map_rows
from mercer.report.plots.style import COLOURS


@pytest.mark.parametrize("kernel", [RBF(2.0), Stump(), DotProduct(0.0)])
def test_the_map_is_that_of_kernel_pca(iris, kernel):
    K = kernel(iris[0][::3])
    expected = KernelPCA(2, kernel="precomputed", eigen_solver="dense").fit(K)
    places, shares = map_rows(K)
    theirs = expected.transform(K)
    signs = np.sign((places * theirs).sum(axis=0))
    assert_allclose(places, theirs * signs, atol=1e-8 * np.abs(theirs).max())
    n = len(K)
    H = np.eye(n) - 1.0 / n
    assert_allclose(shares, expected.eigenvalues_ / np.trace(H @ K @ H))


def test_the_map_of_the_inner_product_in_the_plane_keeps_distances(rng):
    X = rng.normal(size=(30, 2))
    places, shares = map_rows(X @ X.T)
    assert_allclose(
        np.linalg.norm(places[:, None] - places, axis=2), np.linalg.norm(X[:, None] - X, axis=2), atol=1e-7
    )
    assert shares.sum() == pytest.approx(1.0)


@pytest.mark.parametrize("K", [[[3.0]], np.ones((5, 5)), np.zeros((2, 2))])
def test_rows_that_do_not_differ_are_on_one_spot(K):
    places, shares = map_rows(np.asarray(K))
    assert_allclose(places, 0.0, atol=1e-7)
    assert np.isfinite(shares).all()


def test_each_class_has_its_points_colour_and_name_on_the_map(iris):
    X, y = iris
    ax = plot_embedding(Stump(), X, y)
    places = map_rows(Stump()(X)).places
    for k, (points, name) in enumerate(zip(ax.collections, np.unique(y), strict=True)):
        assert_array_equal(points.get_offsets(), places[y == name])
        assert matplotlib.colors.to_hex(points.get_facecolor()[0]) == COLOURS[k]
    assert [text.get_text() for text in ax.get_legend().get_texts()] == list(np.unique(y))
    share = map_rows(Stump()(X)).shares[0]
    assert ax.get_xlabel() == f"first axis: {100 * share:.0f} % of the variance"


def test_a_map_without_classes_has_no_legend_and_one_of_many_names_them_in_place(rng):
    X = rng.normal(size=(60, 3))
    assert plot_embedding(RBF(), X).get_legend() is None
    ax = plot_embedding(RBF(), X, np.arange(60) % 12)
    assert ax.get_legend() is None
    assert [text.get_text() for text in ax.texts] == [str(k) for k in range(12)]
