"""Distances of rows by products of matrices."""

import tracemalloc

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.spatial.distance import cdist

from mercer.kernels.metrics import NUMBERS, squared_distances


@pytest.mark.parametrize("n_others", [1, 40, NUMBERS // 64])
@pytest.mark.parametrize("shape", [(), (1.0, 0.5, 3.0)])
def test_squared_distances_are_those_of_scipy(rng, n_others, shape):
    X, Y = rng.normal(5.0, 2.0, size=(150, 3)), rng.normal(5.0, 2.0, size=(n_others, 3))
    scale = np.array(shape or (1.0, 1.0, 1.0))
    assert_allclose(squared_distances(X, Y, shape), cdist(X / scale, Y / scale) ** 2, atol=1e-11)
    assert squared_distances(X, X).min() >= 0.0


def test_the_matrix_of_distances_is_the_only_one_of_its_size(rng):
    X = rng.normal(size=(3000, 4))
    tracemalloc.start()
    D = squared_distances(X, X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1.5 * D.nbytes
