"""The pictures of a kernel show its numbers: what is drawn is compared with what is computed another way."""

import sys

import matplotlib
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_iris
from sklearn.decomposition import KernelPCA
from sklearn.gaussian_process.kernels import RBF, DotProduct
from sklearn.metrics import confusion_matrix
from sklearn.svm import SVC

from mercer import BoostedKernel, KernelBoost, KernelSVC, Pairs
from mercer.kernels import Mixture, Rescaled, Stump
from mercer.report import (
    plot_confusion,
    plot_embedding,
    plot_gaussians,
    plot_gram,
    plot_leaderboard,
    plot_pair_distances,
    plot_rounds,
    staged_errors,
)
from mercer.report.plots import gram
from mercer.report.plots.embedding import map_rows
from mercer.report.plots.style import COLOURS, colour_of, marker_of, plain_text

matplotlib.use("Agg")
plt = pytest.importorskip("matplotlib.pyplot")

NASTY = np.array(
    ["<script>alert(1)</script>", "$x_1^2$ a_b^{", "$", r"back\slash \$ {", "two\nlines\x00", "字"]
)


@pytest.fixture(autouse=True)
def _closed_figures():
    yield
    plt.close("all")


@pytest.fixture
def iris():
    bunch = load_iris()
    return bunch.data, bunch.target_names[bunch.target]


def board(**columns):
    names = ["boosted", "RBF-SVM", "stump", "late"]
    return pd.DataFrame(columns, index=pd.Index(names, name="candidate"))


@pytest.fixture
def leaderboard():
    return board(error=[0.05, 0.08, 0.1, np.nan], std_error=[0.01, 0.02, 0.015, np.nan])


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


def test_the_bar_beside_a_gram_matrix_can_be_left_out(iris):
    with_bar, without = plot_gram(RBF(), *iris), plot_gram(RBF(), *iris, bar=False)
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
    assert ax.get_ylabel() == "rows of 20 classes"


@pytest.mark.parametrize(
    ("K", "message"), [(np.ones((2, 3)), "square"), (np.ones(3), "square"), ([[np.nan]], "not finite")]
)
def test_what_is_no_gram_matrix_is_refused(K, message):
    with pytest.raises(ValueError, match=message):
        plot_gram(K, None)


def test_labels_must_be_as_many_as_rows():
    with pytest.raises(ValueError, match="3 rows and 2 labels"):
        plot_gram(np.eye(3), None, ["a", "b"])


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
    assert ax.get_xlabel() == f"first axis: {100 * share:.0f} % of the spread"


def test_a_map_without_classes_has_no_legend_and_one_of_many_names_them_in_place(rng):
    X = rng.normal(size=(60, 3))
    assert plot_embedding(RBF(), X).get_legend() is None
    ax = plot_embedding(RBF(), X, np.arange(60) % 12)
    assert ax.get_legend() is None
    assert [text.get_text() for text in ax.texts] == [str(k) for k in range(12)]


def test_no_two_of_forty_classes_look_alike():
    assert len({(colour_of(k), marker_of(k)) for k in range(40)}) == 40


def test_the_colours_can_be_told_apart_by_lightness_from_light_and_dark_ground():
    """WCAG asks for a contrast of 3 for graphics; yellow and sky blue reach 2 on white, and have a marker."""

    def luminance(colour):
        c = np.array(matplotlib.colors.to_rgb(colour))
        return np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4) @ [0.2126, 0.7152, 0.0722]

    for colour in COLOURS:
        assert 1.05 / (luminance(colour) + 0.05) > 2.0
        assert (luminance(colour) + 0.05) / (luminance("#171b20") + 0.05) > 3.0


def test_the_leaderboard_shows_errors_their_bars_and_the_rbf_svm(leaderboard):
    ax = plot_leaderboard(leaderboard)
    assert [tick.get_text() for tick in ax.get_yticklabels()] == ["boosted", "RBF-SVM", "stump"]
    (container,) = ax.containers
    assert_array_equal(container.lines[0].get_xdata(), [0.05, 0.08, 0.1])
    ends = np.array([segment[:, 0] for segment in container.lines[2][0].get_segments()])
    assert_allclose(ends, [[0.04, 0.06], [0.06, 0.1], [0.085, 0.115]])
    (reference,) = [line for line in ax.lines if line.get_linestyle() == "--"]
    assert list(reference.get_xdata()) == [0.08, 0.08]
    low, high = ax.get_ylim()
    assert low > high  # the first line is on top


@pytest.mark.parametrize("winner", ["boosted", "RBF-SVM", "stump"])
def test_the_winner_has_a_star_and_a_bold_name_wherever_it_stands(leaderboard, winner):
    ax = plot_leaderboard(leaderboard, winner=winner)
    (star,) = [line for line in ax.lines if line.get_marker() == "*"]
    place = list(leaderboard.index).index(winner)
    assert (*star.get_xdata(), *star.get_ydata()) == (leaderboard.loc[winner, "error"], place)
    bold = [tick.get_text() for tick in ax.get_yticklabels() if tick.get_fontweight() == "bold"]
    assert bold == [winner]
    assert "the winner" in ax.get_xlabel()
    assert star.get_color() != plot_leaderboard(leaderboard).containers[0].lines[0].get_color()


def test_without_a_winner_none_is_marked(leaderboard):
    for ax in (plot_leaderboard(leaderboard), plot_leaderboard(leaderboard, winner="late")):  # not measured
        assert not [line for line in ax.lines if line.get_marker() == "*"]
        assert "winner" not in ax.get_xlabel()


def test_a_winner_that_is_no_candidate_is_refused(leaderboard):
    with pytest.raises(ValueError, match="no candidate 'quantum'"):
        plot_leaderboard(leaderboard, winner="quantum")


def test_a_leaderboard_of_pairs_shows_the_auc():
    table = board(auc=[0.9, 0.8, 0.7, 0.6], std_error=[0.01, np.nan, 0.01, 0.01])
    ax = plot_leaderboard(table)
    assert "AUC" in ax.get_xlabel()
    assert_array_equal(ax.containers[0].lines[0].get_xdata(), [0.9, 0.8, 0.7, 0.6])


def test_a_leaderboard_without_a_reference_has_no_line(leaderboard):
    ax = plot_leaderboard(leaderboard.drop(index="RBF-SVM"))
    assert not [line for line in ax.lines if line.get_linestyle() == "--"]


def test_an_empty_leaderboard_or_another_table_is_refused(leaderboard):
    with pytest.raises(ValueError, match="nothing to draw"):
        plot_leaderboard(leaderboard.tail(1))
    with pytest.raises(ValueError, match="`error` or `auc`"):
        plot_leaderboard(leaderboard.drop(columns="error"))


def test_the_confusion_matrix_counts_and_colours_by_share_of_the_true_class(rng):
    truth, guess = rng.choice(["a", "b", "c"], 50), rng.choice(["a", "b", "c"], 50)
    ax = plot_confusion(truth, guess)
    counts = confusion_matrix(truth, guess)
    assert [int(text.get_text()) for text in ax.texts] == list(counts.ravel())
    assert_allclose(ax.images[0].get_array(), confusion_matrix(truth, guess, normalize="true"))
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("predicted class", "true class")


def test_a_class_that_is_only_predicted_has_a_column(rng):
    ax = plot_confusion(["a", "a"], ["a", "b"])
    assert [int(text.get_text()) for text in ax.texts] == [1, 1, 0, 0]


@pytest.mark.parametrize(
    "learner", [BoostedKernel(n_rounds=5, random_state=0), KernelBoost(n_rounds=4, random_state=0)]
)
def test_the_errors_by_rounds_are_those_of_svms_on_the_kernels_so_far(iris, learner):
    X, y = iris
    model = KernelSVC(learner, C=2.0).fit(X[::2], y[::2])
    errors = staged_errors(model, X[::2], y[::2], X[1::2], y[1::2])
    kernels = list(model.learner_.staged_kernels())
    assert_array_equal(errors.rounds, np.arange(1, len(kernels) + 1))
    for kernel, learned, held_out in zip(kernels, errors.learned, errors.held_out, strict=True):
        svm = SVC(kernel=kernel, C=2.0).fit(X[::2], y[::2])
        # LIBSVM stops elsewhere: a row or two on the border may differ
        assert abs(1.0 - svm.score(X[::2], y[::2]) - learned) < 2.5 / 75
        assert abs(1.0 - svm.score(X[1::2], y[1::2]) - held_out) < 2.5 / 75
    assert errors.held_out[-1] == pytest.approx(1.0 - model.score(X[1::2], y[1::2]))
    first, second = plot_rounds(errors).lines
    assert_array_equal(first.get_ydata(), errors.learned)
    assert_array_equal(second.get_xydata(), np.column_stack([errors.rounds, errors.held_out]))


def test_of_many_rounds_some_are_shown_with_the_first_and_the_last(rng):
    X, y = rng.normal(size=(80, 3)), np.arange(80) % 2  # nothing to learn: it takes all rounds
    learner = BoostedKernel(RBF(), n_rounds=40, random_state=0)
    model = KernelSVC(learner, relative_C=True).fit(X, y)
    rounds = staged_errors(model, X, y, X, y).rounds
    assert (rounds[0], rounds[-1]) == (1, model.learner_.n_rounds_)
    assert len(rounds) <= 12 < model.learner_.n_rounds_


def test_what_has_no_rounds_is_refused(iris):
    X, y = iris
    with pytest.raises(TypeError, match="staged_kernels"):
        staged_errors(KernelSVC().fit(X, y), X, y, X, y)
    one = KernelSVC(BoostedKernel(n_rounds=1), relative_C=True).fit(X, y)
    with pytest.raises(ValueError, match="1 round"):
        staged_errors(one, X, y, X, y)


def one_mixture(mean, factor):
    d = len(mean)
    return Mixture(
        np.array([1.0]), np.zeros((1, 1)), np.reshape(mean, (1, 1, d)), np.reshape(factor, (1, 1, d))
    )


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


def test_the_gaussians_of_one_feature_are_densities(rng):
    ax = plot_gaussians(one_mixture([0.5], [2.0]), np.linspace(-3, 4, 30)[:, None])
    x, density = ax.lines[0].get_data()
    assert np.trapezoid(density, x) == pytest.approx(1.0, abs=1e-3)
    assert x[density.argmax()] == pytest.approx(0.5, abs=0.05)


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


@pytest.mark.filterwarnings("ignore:.*Glyph")
@pytest.mark.parametrize("dark", [False, True])
def test_names_are_shown_letter_by_letter_and_never_as_mathematics(rng, dark):
    X, y = rng.normal(size=(24, 2)), np.tile(NASTY, 4)
    with plt.style.context("dark_background" if dark else "default"):
        mixture = one_mixture([0.0, 0.0], [1.0, 1.0])
        drawn = [plot_gram(RBF(), X, y), plot_embedding(RBF(), X, y), plot_gaussians(mixture, X, y)]
        drawn.append(plot_confusion(y, y[::-1]))
        drawn.append(plot_leaderboard(pd.DataFrame({"error": 0.1, "std_error": 0.01}, index=NASTY)))
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
def test_the_lines_have_the_colour_of_text(leaderboard, rng, scheme):
    with plt.style.context(scheme):
        ink = matplotlib.rcParams["text.color"]
        (reference,) = [line for line in plot_leaderboard(leaderboard).lines if line.get_linestyle() == "--"]
        (ellipse,) = plot_gaussians(one_mixture([0.0, 0.0], [1.0, 1.0]), rng.normal(size=(5, 2))).lines
        assert reference.get_color() == ellipse.get_color() == ink


def test_each_draws_into_given_axes_and_returns_them(iris, leaderboard):
    X, y = iris
    model = KernelSVC(BoostedKernel(n_rounds=3), relative_C=True).fit(X, y)
    mixture = KernelBoost(n_rounds=1, random_state=0).fit(X, y)
    figure, grid = plt.subplots(3, 3)
    axes = grid.ravel()
    assert plot_gram(Stump(), X, y, axes[0]) is axes[0]
    assert plot_embedding(Stump(), X, y, axes[1]) is axes[1]
    assert plot_leaderboard(leaderboard, axes[2]) is axes[2]
    assert plot_confusion(y, y, axes[3]) is axes[3]
    assert plot_rounds(staged_errors(model, X, y, X, y), axes[4]) is axes[4]
    assert plot_gaussians(mixture, X, y, axes[5]) is axes[5]
    assert plot_pair_distances(Stump(), X, Pairs([(0, 1)], [(0, 2)]), axes[6]) is axes[6]
    assert plt.get_fignums() == [figure.number]


def test_without_matplotlib_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r"pip install 'mercer\[app\]'"):
        plot_gram(np.eye(2), None)
