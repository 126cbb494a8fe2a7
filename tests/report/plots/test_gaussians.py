"""The ellipses are those of the Gaussians."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer.kernels import Mixture, Rescaled, Stump
from mercer.report import plot_gaussians
from report.drawn import one_mixture


def test_an_ellipse_is_two_standard_deviations_wide(rng):
    ax = plot_gaussians(one_mixture([1.0, -2.0], [1.0 / 3.0, 2.0]), rng.normal(size=(20, 2)))
    (line,) = ax.lines
    x, y = line.get_data()
    assert_allclose([x.min(), x.max()], [1.0 - 6.0, 1.0 + 6.0], rtol=1e-3)
    assert_allclose([y.min(), y.max()], [-2.0 - 1.0, -2.0 + 1.0], rtol=1e-3)
    assert ax.get_xlabel() == "first feature"


def test_gaussians_of_more_features_are_projected_onto_the_principal_axes(rng):
    X = rng.normal(size=(50, 3)) * [5.0, 0.1, 1.0]
    X -= X.mean(axis=0)
    kernel = one_mixture([1.0, 2.0, 3.0], [1.0, 1.0, 1.0])
    ax = plot_gaussians(kernel, X, np.arange(50) % 2)
    axes = np.linalg.svd(X)[2][:2]
    x, y = ax.lines[0].get_data()
    middle = axes @ [1.0, 2.0, 3.0]
    assert_allclose(np.abs([(x.min() + x.max()) / 2, (y.min() + y.max()) / 2]), np.abs(middle), rtol=1e-3)
    assert_allclose([np.ptp(x), np.ptp(y)], 4.0, rtol=1e-3)
    assert_allclose(np.abs(ax.collections[0].get_offsets()), np.abs((X @ axes.T)[::2]))


def test_the_gaussians_of_a_rescaled_kernel_are_drawn_over_the_rescaled_rows(rng):
    kernel, X = one_mixture([0.0, 0.0], [1.0, 1.0]), rng.normal(size=(10, 2))
    ax = plot_gaussians(Rescaled(kernel, np.array([1.0, 2.0]), np.array([2.0, 4.0])), X)
    assert_allclose(ax.collections[0].get_offsets(), (X - [1.0, 2.0]) / [2.0, 4.0])


def test_the_heaviest_mixtures_are_drawn_and_the_heavier_the_bolder(rng):
    alpha = np.array([0.1, 0.9, 0.2, 0.5, 0.3, 0.4, 0.8, 0.05])
    means = np.arange(16.0).reshape(8, 1, 2)
    kernel = Mixture(alpha, np.zeros((8, 1)), means, np.ones((8, 1, 2)))
    lines = plot_gaussians(kernel, rng.normal(size=(5, 2))).lines
    drawn = [round(np.mean([line.get_xdata().min(), line.get_xdata().max()]) / 2) for line in lines]
    assert drawn == [1, 6, 3, 5, 4, 2]
    widths = [line.get_linewidth() for line in lines]
    assert widths == sorted(widths, reverse=True)


def test_a_kernel_without_gaussians_is_refused(iris):
    with pytest.raises(TypeError, match="Stump has no Gaussians"):
        plot_gaussians(Stump(), iris[0])
    with pytest.raises(ValueError, match="two features or more"):
        plot_gaussians(one_mixture([0.5], [2.0]), iris[0][:, :1])
