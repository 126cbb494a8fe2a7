"""What tests of pictures share: no window, no figure left open, and the iris data with names of classes."""

import matplotlib
import pytest
from matplotlib import pyplot as plt
from sklearn.datasets import load_iris

matplotlib.use("Agg")


@pytest.fixture(autouse=True)
def _closed_figures():
    yield
    plt.close("all")


@pytest.fixture
def iris():
    bunch = load_iris()
    return bunch.data, bunch.target_names[bunch.target]
