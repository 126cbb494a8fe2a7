import numpy as np
import pytest
from matplotlib.contour import ContourSet
from matplotlib.figure import Figure
from matplotlib.image import imread

from reproduction.harness import Draws
from reproduction.ll05 import figure2
from reproduction.ll05.figure2 import bayes, draw_figure2, draw_panel, ensembles


class AboveTheDiagonal:
    """A classifier whose boundary is known."""

    def fit(self, X, y):
        return self

    def predict(self, X):
        return np.where(X[:, 1] > X[:, 0], 1, -1)


@pytest.fixture
def quick(monkeypatch):
    monkeypatch.setattr(figure2, "ensembles", lambda seed: {name: AboveTheDiagonal() for name in "abcd"})
    monkeypatch.setattr(figure2, "N_FRESH", 500)


def test_the_bayes_boundary_has_the_closed_form(rng):
    # ½ (e^(a(u+v)) + e^(−a(u+v))) > e^(a(u−v)) with a = √2; the shared factors of the densities cancel.
    X = rng.normal(scale=2, size=(500, 2))
    a, (u, v) = np.sqrt(2), X.T
    optimal = np.where(np.cosh(a * (u + v)) > np.exp(a * (u - v)), 1, -1)
    assert (bayes(X) == optimal).all()


def test_the_thick_curve_is_the_learned_boundary_and_the_thin_one_bayes(rng):
    ax = Figure().subplots()
    X = rng.normal(size=(20, 2))
    draw_panel(ax, AboveTheDiagonal(), X, np.where(X[:, 0] > 0, 1, -1))
    contours = [drawn for drawn in ax.collections if isinstance(drawn, ContourSet) and not drawn.filled]
    curves = {contour.get_linewidth()[0]: contour.get_paths()[0].vertices for contour in contours}
    learned, optimal = curves[figure2.THICK], curves[figure2.THIN]
    step = 2 * figure2.REACH / (figure2.GRID_STEPS - 1)
    assert abs(learned[:, 0] - learned[:, 1]).max() <= step
    u, v = optimal.T
    a = np.sqrt(2)
    # e^(2av) + e^(−2au) = 2 on the boundary.
    assert abs(np.log((np.exp(2 * a * v) + np.exp(-2 * a * u)) / 2)).max() < 2 * a * step


def test_four_panels_are_drawn_into_a_png(quick, tmp_path):
    draw_figure2(tmp_path / "figure", Draws())
    pixels = imread(tmp_path / "figure", format="png")
    assert pixels.shape[0] > 1000
    assert pixels.shape[1] > 1000
    assert np.ptp(pixels) > 0.5  # not a blank page


def test_the_four_ensembles_are_those_of_the_paper():
    names = [name.split(",")[0] for name in ensembles(0)]
    assert names == ["SVM-Stump", "AdaBoost-Stump", "SVM-Perc", "AdaBoost-Perc"]
