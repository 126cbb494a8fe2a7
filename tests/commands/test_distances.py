"""How near rows are by a kernel, block by block."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.gaussian_process.kernels import RBF

from mercer.commands import similar as module
from mercer.commands.similar import distances
from mercer.kernels import Perceptron, Projected


@pytest.mark.parametrize("kernel", [RBF(1.5), Perceptron(), Projected(np.eye(3)[:, :2])], ids=str)
def test_they_are_those_of_the_feature_space_in_every_block(kernel, rng, monkeypatch):
    monkeypatch.setattr(module, "BLOCK", 4)
    X = rng.normal(size=(10, 3))
    K = kernel(X)
    squared = np.diag(K) - 2.0 * K[7] + K[7, 7]
    assert_allclose(distances(kernel, X, X[7:8]) ** 2, squared, atol=1e-12)
