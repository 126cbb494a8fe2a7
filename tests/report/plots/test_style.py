"""What all pictures share: colours, plain names, and where they are drawn."""

import sys

import matplotlib
import numpy as np
import pytest
from matplotlib import pyplot as plt
from sklearn.gaussian_process.kernels import RBF

from mercer import Pairs
from mercer.kernels import Stump
from mercer.report import (
    plot_embedding,
    plot_gram,
    plot_leaderboard,
    plot_pair_distances,
)
from mercer.report.plots.style import COLOURS, colour_of, marker_of, plain_text
from report.drawn import board, result_of

NASTY = np.array(
    ["<script>alert(1)</script>", "$x_1^2$ a_b^{", "$", r"back\slash \$ {", "two\nlines\x00", "字"]
)


def test_no_two_of_forty_classes_look_alike():
    assert len({(colour_of(k), marker_of(k)) for k in range(40)}) == 40


def test_the_colours_contrast_with_light_and_dark_ground():
    """WCAG asks for a contrast of 3 for graphics; yellow and sky blue reach 2 on white, and have a marker."""

    def luminance(colour):
        c = np.array(matplotlib.colors.to_rgb(colour))
        return np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4) @ [0.2126, 0.7152, 0.0722]

    for colour in COLOURS:
        assert 1.05 / (luminance(colour) + 0.05) > 2.0
        assert (luminance(colour) + 0.05) / (luminance("#171b20") + 0.05) > 3.0


@pytest.mark.filterwarnings("ignore:.*Glyph")
@pytest.mark.parametrize("dark", [False, True])
def test_names_are_shown_letter_by_letter_and_never_as_mathematics(rng, dark):
    X, y = rng.normal(size=(24, 2)), np.tile(NASTY, 4)
    with plt.style.context("dark_background" if dark else "default"):
        drawn = [plot_gram(RBF(), X, y), plot_embedding(RBF(), X, y)]
        drawn.append(plot_leaderboard(result_of(dict.fromkeys(NASTY, (0.1, 0.01)), reference=NASTY[1])))
        for ax in drawn:
            ax.figure.canvas.draw()  # mathematics that is wrong raises here
            texts = ax.figure.findobj(plt.Text)
            assert not any(text._preprocess_math(text.get_text())[1] for text in texts)


@pytest.mark.parametrize("name", [*NASTY, r"\$", r"$\frac$", "$a$ $b"])
def test_matplotlib_does_not_take_a_name_for_mathematics(name):
    text = plt.figure().text(0, 0, plain_text(name, 100))
    shown, is_mathematics = text._preprocess_math(text.get_text())
    assert not is_mathematics
    assert shown == "".join(letter if letter.isprintable() else " " for letter in name)


def test_a_long_name_is_shortened():
    assert plain_text("a" * 100, 10) == "a" * 9 + "…"
    assert plain_text("a" * 10, 10) == "a" * 10


@pytest.mark.parametrize("scheme", ["default", "dark_background"])
def test_the_lines_have_the_colour_of_text(scheme):
    with plt.style.context(scheme):
        ink = matplotlib.rcParams["text.color"]
        (reference,) = [line for line in plot_leaderboard(board()).lines if line.get_linestyle() == "--"]
        assert reference.get_color() == ink


def test_each_draws_into_given_axes_and_returns_them(iris):
    X, y = iris
    figure, grid = plt.subplots(3, 3)
    axes = grid.ravel()
    assert plot_gram(Stump(), X, y, axes[0]) is axes[0]
    assert plot_embedding(Stump(), X, y, axes[1]) is axes[1]
    assert plot_leaderboard(board(), axes[2]) is axes[2]
    assert plot_pair_distances(Stump(), X, Pairs([(0, 1)], [(0, 2)]), axes[6]) is axes[6]
    assert plt.get_fignums() == [figure.number]


def test_without_matplotlib_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r"pip install 'mercer\[app\]'"):
        plot_gram(np.eye(2), None)
