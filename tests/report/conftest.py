"""What tests of the page share: coarse pictures, some of the iris data, and a page of a linear SVM."""

import pytest
from sklearn.datasets import load_iris

from mercer import KernelSVC
from mercer.report import picture
from report.html_page import report, search_for


@pytest.fixture(scope="module")
def coarse_pictures():
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr(picture, "DPI", 30)  # what they show is tested in plots
        yield


@pytest.fixture(scope="module")
def iris():
    X, y = load_iris(return_X_y=True)
    return X[::2], y[::2]


@pytest.fixture(scope="module")
def linear(iris):
    """A search that a linear SVM has won, for there was nobody else. Nothing changes it."""
    return search_for({"linear": KernelSVC()}, *iris)


@pytest.fixture(scope="module")
def linear_page(linear, iris, tmp_path_factory, coarse_pictures):
    return report(tmp_path_factory.mktemp("linear"), linear, *iris)
