"""The bars count the distances of pairs."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.gaussian_process.kernels import DotProduct

from mercer import Pairs
from mercer.report import plot_pair_distances


def test_the_bars_of_pair_distances_are_shares_of_the_pairs(rng):
    X = rng.normal(size=(30, 2))
    pairs = Pairs([(0, 1), (2, 3), (4, 5)], [(6, 7), (8, 9)])
    ax = plot_pair_distances(DotProduct(0.0), X, pairs)
    for patch, kind in zip(ax.patches, pairs, strict=True):
        d = [np.linalg.norm(X[i] - X[j]) for i, j in kind]
        values, edges, _ = patch.get_data()
        assert_allclose(values, np.histogram(d, edges)[0] / len(d))
        assert values.sum() == pytest.approx(1.0)
    plot_pair_distances(DotProduct(0.0), X, Pairs([(0, 1)]))


def test_the_legend_of_pair_distances_does_not_lie_on_the_bars(rng):
    ax = plot_pair_distances(DotProduct(0.0), rng.normal(size=(9, 2)), Pairs([(0, 1)], [(2, 3)]))
    ax.figure.canvas.draw()
    assert ax.get_legend().get_window_extent().y0 >= ax.get_window_extent().y1
    assert ax.get_legend().get_window_extent().y1 <= ax.figure.bbox.y1  # and on the picture
