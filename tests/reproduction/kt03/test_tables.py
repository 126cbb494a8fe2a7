"""Tables and figure of [KT03]."""

from dataclasses import replace

import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.image import imread
from numpy.testing import assert_allclose
from sklearn.cluster import KMeans
from sklearn.metrics.pairwise import pairwise_distances

from kt03_draw import small_draw
from mercer import Pairs
from reproduction import CATALOGUE
from reproduction.baselines import XingMetric
from reproduction.harness import Cell, Draws, Result
from reproduction.harness.run import run_cell
from reproduction.kt03 import figure1, learning, table3, tables2_4
from reproduction.kt03.data import ROWS, draw_split, draw_whole
from reproduction.kt03.learning import Learning, learn_for_clusters, learn_for_neighbours

TABLE2, TABLE3, TABLE4 = (CATALOGUE[f"kt03-table{number}"] for number in (2, 3, 4))


@pytest.fixture
def cheap(monkeypatch):
    """Let two penalties be tried, not four."""
    monkeypatch.setattr(learning, "PENALTIES", (1e3, 1e1))


def how_of(name):
    return Learning(name.split()[0].lower(), "median" if name.endswith(" R") else "auto", 3)


def nearest_error(D, y, y_test):
    """The error in % of the nearest neighbour, given distances of test rows (down) to training rows."""
    wrong = [y[np.argmin(distances)] != label for distances, label in zip(D, y_test, strict=True)]
    return 100 * np.mean(wrong)


def test_the_euclidean_column_is_the_nearest_neighbour_and_no_matter_which_kernel():
    draw = draw_split("toy-rbf", 6)
    D = pairwise_distances(draw.test.X, draw.train.X)
    expected = nearest_error(D, draw.train.y, draw.test.y)  # the RBF kernel keeps the order of distances
    assert TABLE2.method("Euclidean").score(draw, 0) == [pytest.approx(expected)]


@pytest.mark.filterwarnings("ignore:γ is zero")  # with half of the guesses wrong, nothing may pay
@pytest.mark.parametrize("name", ["Exact", "Exact R", "Clip R", "Exact rest", "Xing", "Xing rest"])
def test_table_2_learns_from_similar_pairs(cheap, name):
    draw = small_draw()
    train, test = draw.train, draw.test
    dissimilar = [] if name.endswith("rest") else Pairs.from_labels(train.y).dissimilar
    pairs = Pairs(draw.similar, dissimilar)
    if name.startswith("Xing"):
        metric = XingMetric(tol=1e-4, random_state=3).fit(train.Z, pairs=pairs)
    else:
        metric = learn_for_neighbours(train.Z, train.y, pairs, how_of(name))
    D = metric.kernel_.squared_distance(test.Z, train.Z)
    expected = nearest_error(D, train.y, test.y)
    assert TABLE2.method(name).score(draw, 3) == [pytest.approx(expected)]


def test_table_4_learns_from_labels_and_gives_alignments(cheap):
    draw = small_draw()
    train, test = draw.train, draw.test
    metric = learn_for_neighbours(train.Z, train.y, Pairs.from_labels(train.y), Learning("clip", "median", 3))
    error, on_train, on_test = TABLE4.method("Clip R").score(draw, 3)
    D = metric.kernel_.squared_distance(test.Z, train.Z)
    assert error == pytest.approx(nearest_error(D, train.y, test.y))

    def aligned(K, y):
        ideal = y[:, None] == y
        return (K * ideal).sum() / np.sqrt((K**2).sum() * ideal.sum())

    assert on_train == pytest.approx(aligned(metric.kernel_(train.Z), train.y))
    assert on_test == pytest.approx(aligned(metric.kernel_(test.Z), test.y))
    before = TABLE4.method("Alignment").score(draw, 3)
    assert before == pytest.approx([aligned(rows.X @ rows.X.T, rows.y) for rows in (train, test)])


def test_the_svm_separates_what_can_be_separated():
    assert TABLE4.method("SVM").score(small_draw(), 0) == [0.0]


def test_clustering_errors_are_those_of_footnote_9_from_both_starts():
    draw = draw_whole("toy-linear", 4)
    F, y = draw.train.Z, draw.train.y
    means = np.array([F[y == label].mean(axis=0) for label in (-1, 1)])
    starts = (KMeans(2, init=means, n_init=1), KMeans(2, n_init=20, random_state=9))
    expected = []
    for start in starts:
        found = start.fit_predict(F)
        wrong = [(y[i] == y[j]) != (found[i] == found[j]) for i in range(100) for j in range(i)]
        expected.append(100 * np.mean(wrong))
    assert TABLE3.method("Euclidean").score(draw, 9) == pytest.approx(expected)


@pytest.mark.filterwarnings("ignore:γ is zero")
@pytest.mark.parametrize("name", ["Exact", "Exact R", "Clip R", "Exact rest", "Xing", "Xing rest"])
def test_clusters_are_looked_for_in_the_metric_of_the_pairs(cheap, name):
    draw = small_draw()
    Z, y = draw.train.Z, draw.train.y
    pairs = Pairs(draw.similar, () if name.endswith("rest") else Pairs.from_labels(y).dissimilar)
    if name.startswith("Xing"):
        metric = XingMetric(tol=1e-4, random_state=3).fit(Z, pairs=pairs)
    else:
        metric = learn_for_clusters(Z, pairs, how_of(name))
    assert_allclose(table3.features_of(name, draw, 3), metric.transform(Z))


def test_clusters_are_found_in_learned_metrics_from_any_start(cheap):
    draw = draw_whole("toy-linear", 0)
    for name in ("Exact", "Xing"):
        true_means, free = TABLE3.method(name).score(draw, 0)
        assert true_means < 5
        assert free < 5
    assert min(TABLE3.method("Euclidean").score(draw, 0)) > 20


def test_the_paper_has_ten_rows_in_each_table_and_three_with_xing():
    for table in (TABLE2, TABLE3, TABLE4):
        assert table.published_rows == table.rows == ROWS
        assert table.repeats == 50
        for column, count in (("Euclidean", 10), ("Exact", 10), ("Clip R", 10), ("Xing", 3)):
            assert sum(name == column for _, name in table.published) == count
    assert TABLE2.published["wine-linear", "Exact rest"] == (12.00, None)
    assert TABLE3.published["toy-linear", "Exact, free"] == (0.00, None)
    assert TABLE4.published["wine-linear", "Xing"] == (22.58, None)
    assert len(tables2_4.ALIGNMENTS) == 40


def test_every_method_of_every_table_runs(cheap):
    for whole in (TABLE2, TABLE3, TABLE4):
        table = replace(whole, draw=lambda row, seed: small_draw(seed))
        for method in table.methods:
            result = run_cell(table, Cell("toy-linear", method.name, 0))
            assert isinstance(result, Result), result
            assert set(result.values) == set(method.columns)


def test_the_papers_own_method_is_the_qp_with_the_radius(cheap, monkeypatch):
    learned = []
    original = learning.Learning.learner
    monkeypatch.setattr(learning.Learning, "learner", lambda how, C: learned.append(how) or original(how, C))
    for whole in (TABLE2, TABLE3, TABLE4):
        own = [method for method in whole.methods if set(method.columns) & set(whole.ours)]
        assert [method.name for method in own] == ["Clip R"]
        run_cell(replace(whole, draw=lambda row, seed: small_draw(seed)), Cell("toy-linear", "Clip R", 0))
    assert {(how.psd, how.radius) for how in learned} == {("clip", "median")}


def test_the_alignments_of_table_4_are_counted_and_higher_is_better():
    columns = {column for row, column in TABLE4.published if "," in column}
    assert len([place for place in TABLE4.published if place[1] in tables2_4.BEFORE]) == 20
    assert len([place for place in TABLE4.published if place[1] in TABLE4.ours]) == 30
    assert columns == set(TABLE4.higher)
    assert TABLE4.published["wine-rbf", "Clip R after, test"] == (0.50, None)
    assert TABLE4.published["toy-linear", "before, train"] == (0.17, None)


def test_a_kernel_matrix_is_drawn_in_the_order_of_the_classes(rng):
    K, y = rng.normal(size=(5, 5)), np.array([-1, 1, -1, 1, 1])
    ax = Figure().subplots()
    figure1.draw_matrix(ax, K, y)
    order = [1, 3, 4, 0, 2]
    drawn = ax.images[0].get_array()
    assert_allclose(drawn / drawn[0, 0], K[order][:, order] / K[1, 1])
    assert [line.get_xdata()[0] for line in ax.lines[::2]] == [2.5]


def test_figure_1_is_drawn(cheap, tmp_path):
    CATALOGUE["kt03-figure1"].draw(tmp_path / "f.png", Draws())
    assert np.ptp(imread(tmp_path / "f.png", format="png")) > 0.5
