"""Tables 3 and 4 of [HBW06]: digits and faces, small and synthetic ones in the place of the real ones."""

from types import SimpleNamespace

import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.image import imread
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_digits
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.metrics import roc_auc_score

from mercer.metrics import retrieval_auc
from reproduction import CATALOGUE
from reproduction.harness import Cell, Draws, Result
from reproduction.harness.run import run_cell
from reproduction.hbw06 import figure3, table3, table4

TABLE3, FIGURE3, TABLE4 = (CATALOGUE[f"hbw06-{name}"] for name in ("table3", "figure3", "table4"))


@pytest.fixture
def digits(monkeypatch):
    """Put the small digits that come with scikit-learn in the place of MNIST."""
    X, y = load_digits(return_X_y=True)
    halves = (X[:1000, 18:46], y[:1000]), (X[1000:, 18:46], y[1000:])
    monkeypatch.setattr(table3, "digits", lambda: halves)
    for name, count in (("N_LARGE", 20), ("N_UNLABELLED", 40), ("N_TEST", 30)):
        monkeypatch.setattr(table3, name, count)
    return halves


@pytest.fixture
def faces(monkeypatch):
    """Put six subjects with eight pictures of nine pixels each in the place of the faces."""
    rng = np.random.default_rng(0)
    subject = np.repeat(np.arange(6), 8)
    pixels = np.abs(3 * rng.normal(size=(6, 9))[subject] + rng.normal(size=(48, 9)))
    monkeypatch.setattr(table4, "load_faces", lambda: (pixels, subject))
    small = {"N_KNOWN": 4, "N_PRINCIPAL": 7, "N_FISHER": 3, "N_COMPONENTS": 5, "N_ROUNDS": 2}
    for name, count in small.items():
        monkeypatch.setattr(table4, name, count)
    return pixels, subject


def result(row, name, repeat, values):
    return Result(Cell(row, name, repeat), dict(zip(table3.columns(name), values, strict=True)))


def test_a_trial_has_two_digits_with_many_labels_and_two_with_k(digits):
    draw = table3.draw("k=4", 1)
    assert np.bincount(draw.y).tolist() == [20, 20, 4, 4]
    assert np.bincount(draw.y_test).tolist() == [30, 30, 30, 30]
    (X, y), (X_test, y_test) = digits
    for rows, source, labels in ((np.vstack([draw.X, draw.unlabelled]), X, y), (draw.X_test, X_test, y_test)):
        where = {tuple(row): i for i, row in enumerate(source)}
        found = [where[tuple(row)] for row in rows]
        assert len(set(found)) == len(rows)  # nothing is there twice
        classes = np.concatenate([draw.y, np.repeat(np.arange(4), 40)]) if source is X else draw.y_test
        of_class = [set(labels[np.array(found)[classes == k]]) for k in range(4)]
        assert all(len(digit) == 1 for digit in of_class)
        assert len(set.union(*of_class)) == 4


def test_trials_differ_in_digits_and_in_which_are_large(digits):
    rows = np.array([table3.draw("k=3", seed).X[0] for seed in range(6)])
    assert len(np.unique(rows, axis=0)) == 6


def test_the_coordinates_are_principal_components_of_the_training_images(monkeypatch, rng):
    images = rng.integers(256, size=(90, 40)).astype(float)
    stored = SimpleNamespace(X=images, y=np.arange(90) % 10, n_train=60)
    monkeypatch.setattr(table3.datasets, "load", {"mnist": stored}.get)
    (Z, y), (Z_test, _) = table3.digits.__wrapped__()
    centred = images / 255 - images[:60].mean(axis=0) / 255
    axes = np.linalg.svd(centred[:60], full_matrices=False)[2][:30]
    assert_allclose(np.abs(Z), np.abs(centred[:60] @ axes.T), atol=1e-4)
    assert_allclose(np.abs(Z_test), np.abs(centred[60:] @ axes.T), atol=1e-4)
    assert_array_equal(y, np.arange(60) % 10)


def test_pairs_are_judged_on_their_own_two_classes(rng):
    y, decisions = np.repeat(np.arange(4), 5), rng.normal(size=(20, 6))
    found = table3.pair_accuracies(decisions, y)
    kinds = {
        "small-small": [(2, 3)],
        "small-large": [(0, 2), (0, 3), (1, 2), (1, 3)],
        "large-large": [(0, 1)],
    }
    column = {(0, 1): 0, (0, 2): 1, (0, 3): 2, (1, 2): 3, (1, 3): 4, (2, 3): 5}
    for kind, pairs in kinds.items():
        expected = []
        for a, b in pairs:
            said = [b if value > 0 else a for value in decisions[:, column[a, b]]]
            expected.append(100 * np.mean([s == t for s, t in zip(said, y, strict=True) if t in (a, b)]))
        assert found[kind] == pytest.approx(expected)


def test_every_method_runs_on_digits(digits):
    for method in TABLE3.methods:
        found = run_cell(TABLE3, Cell("k=3", method.name, 0))
        assert isinstance(found, Result), found
        assert set(found.values) == {
            f"{method.name} {kind}" for kind in ("small-small", "small-large", "large-large", "ECOC")
        }
        assert found.values[f"{method.name} large-large"] > 80


def test_the_figure_has_the_trials_of_the_table_and_more():
    assert TABLE3.experiment == FIGURE3.experiment
    assert TABLE3.rows == ("k=3",)
    assert FIGURE3.rows == ("k=3", "k=4", "k=5", "k=6", "k=10", "k=20")
    for mine, theirs in zip(TABLE3.methods, FIGURE3.methods, strict=True):
        assert TABLE3.words(mine) == FIGURE3.words(theirs)
    assert table3.SETTINGS[:3] == (300.0, 10, 5)
    assert table3.MEDIANS["k=3", "KB ECOC"] == (79.30, 0.23)
    assert table3.MEDIANS["k=3", "RBF small-large"] == (77.60, 0.19)


def test_the_summary_has_medians_beside_the_published_ones():
    values = [[80.0, 90.0, 95.0, 70.0], [90.0, 90.0, 95.0, 76.0], [97.0, 90.0, 95.0, 79.0]]
    found = [result("k=3", "KB", i, row) for i, row in enumerate(values)]
    found.append(result("k=3", "Tuned", 0, values[0]))
    first, *_, last = table3.summarize(found)
    assert first == "Medians, k=3, small-small: KB 90.0 (published 84.8), Tuned 80.0."
    assert last == "Medians, k=3, ECOC: KB 76.0 (published 79.3), Tuned 70.0."


def test_a_line_of_figure_3_goes_through_the_medians(tmp_path):
    found = [
        result(row, "KB", i, [value] * 4)
        for row, values in (("k=3", (1.0, 2.0, 9.0)), ("k=10", (5.0, 7.0)))
        for i, value in enumerate(values)
    ]
    ax = Figure().subplots()
    figure3.draw_lines(ax, table3.medians_of(found), "ECOC")
    (line,) = ax.lines
    assert_array_equal(line.get_xydata(), [[3, 2.0], [10, 6.0]])
    figure3.draw_figure3(found, tmp_path / "f.png")
    assert np.ptp(imread(tmp_path / "f.png", format="png")) > 0.5


@pytest.mark.parametrize("setting", ["supervised", "semi-supervised", "unsupervised"])
def test_the_pictures_are_divided_as_the_setting_says(faces, setting):
    _, subject = faces
    drawn = table4.draw(setting, 3)
    known = set(subject[drawn.labelled])
    assert len(known) == 4
    assert np.bincount(subject[drawn.labelled]).max() == 4  # half of eight
    strangers = set(range(6)) - known
    assert not set(drawn.queries) & {*drawn.labelled, *drawn.unlabelled}
    assert set(subject[drawn.queries]) == (known if setting == "supervised" else strangers)
    expected = {"supervised": (16, 0), "semi-supervised": (8, 8), "unsupervised": (16, 0)}
    assert (len(drawn.queries), len(drawn.unlabelled)) == expected[setting]
    assert set(subject[drawn.unlabelled]) == (strangers if setting == "semi-supervised" else set())


@pytest.mark.parametrize("everything", [False, True])
@pytest.mark.parametrize("both", [False, True])
def test_components_and_discriminants_are_those_of_the_pictures_asked_for(faces, everything, both):
    pixels, subject = faces
    drawn = table4.represent(table4.draw("supervised", 0), everything=everything, both=both)
    some = pixels if everything else pixels[drawn.labelled]
    mean = some.mean(axis=0)
    axes = np.linalg.svd(some - mean, full_matrices=False)[2][:7]
    P = (pixels - mean) @ axes.T
    assert_allclose(np.abs(drawn.P), np.abs(P))
    seen = np.union1d(drawn.labelled, drawn.queries) if both else drawn.labelled  # these: the other halves
    oracle = LinearDiscriminantAnalysis(n_components=3).fit(P[seen], subject[seen])
    assert_allclose(np.abs(drawn.Z), np.abs(oracle.transform(P)))


@pytest.mark.parametrize("name", ["KB", "RCA", "Euclidean", "Tuned"])
def test_the_area_is_that_of_the_average_query_without_itself(faces, name):
    _, subject = faces
    drawn = table4.represent(table4.draw("supervised", 1))
    S = table4.MEASURES[name][0](drawn, 0)
    areas = []
    for query, similarity in zip(drawn.queries, S, strict=True):
        others = np.arange(len(subject)) != query
        areas.append(roc_auc_score(subject[others] == subject[query], similarity[others]))
    assert TABLE4.method(name).score(drawn, 0) == [pytest.approx(100 * np.mean(areas))]
    assert np.mean(areas) > 0.7


def test_rca_weighs_principal_components_by_what_varies_within_subjects(faces):
    _, subject = faces
    drawn = table4.represent(table4.draw("unsupervised", 1))
    P, label = drawn.P[drawn.labelled], subject[drawn.labelled]
    within = sum(np.cov(P[label == c].T, bias=True) for c in set(label)) / len(set(label))
    difference = drawn.P[drawn.queries][:, None] - drawn.P
    distance = np.einsum("qni,ij,qnj->qn", difference, np.linalg.inv(within), difference)
    assert_allclose(table4.by_rca(drawn, 0), -distance, atol=1e-9 * distance.max())


@pytest.mark.parametrize(
    ("name", "measure", "reading"),
    [
        ("KB both", table4.by_kernelboost, {"both": True}),
        ("KB all", table4.by_kernelboost, {"everything": True}),
        ("RCA Fisher", table4.by_rca_of_discriminants, {}),
        ("RCA all", table4.by_rca_of_discriminants, {"everything": True}),
    ],
)
def test_other_readings_stand_beside_the_same_numbers(faces, name, measure, reading):
    drawn = table4.draw("semi-supervised", 1)
    other = table4.represent(drawn, **reading)
    area = 100 * retrieval_auc(*table4.rank(other, measure(other, 0)))
    of_paper = name.split()[0]
    assert TABLE4.method(name).score(drawn, 0) == [pytest.approx(area)]
    assert TABLE4.method(of_paper).score(drawn, 0) != [pytest.approx(area)]
    assert TABLE4.published["unsupervised", name] == TABLE4.published["unsupervised", of_paper]
    assert name in TABLE4.beside


def test_euclidean_similarity_orders_pictures_as_the_distance_of_pixels_does(faces):
    drawn = table4.draw("unsupervised", 1)
    distance = np.linalg.norm(drawn.pixels[drawn.queries][:, None] - drawn.pixels, axis=2)
    assert_array_equal(np.argsort(-table4.by_pixels(drawn, 0)), np.argsort(distance))


def test_ranked_pictures_do_not_know_the_light(faces, monkeypatch):
    pixels, subject = faces
    before = table4.draw("supervised-ranks", 2)
    light = np.linspace(0.1, 1.5, len(pixels))[:, None]  # another one for each picture
    monkeypatch.setattr(table4, "load_faces", lambda: (np.exp(light * pixels) + 5, subject))
    assert_array_equal(table4.draw("supervised-ranks", 2).pixels, before.pixels)


def test_a_flat_picture_lacks_most_of_a_light_that_changes_slowly():
    slope = np.linspace(0.0, 1.0, 32)
    light = np.add.outer(slope, slope)
    flat = table4.flatten_light(light.reshape(1, -1)).reshape(32, 32)
    inside = slice(
        12, 20
    )  # three deviations of the blur from the border: there, the blur of a slope is itself
    assert_allclose(flat[inside, inside], 0.1 * light[inside, inside], rtol=0.05)


def test_even_pictures_differ_less_in_contrast(faces):
    pixels, _ = faces
    light = np.linspace(0.1, 1.5, len(pixels))[:, None]
    some, others = table4.even_contrast(pixels), table4.even_contrast(light * pixels + 5)
    assert_allclose(some.mean(axis=1), 0.0, atol=1e-12)
    assert_allclose(others, light**0.75 * some)


def test_the_rows_of_table_4_without_a_number_are_ours():
    assert TABLE4.published_rows == ("supervised", "semi-supervised", "unsupervised")
    assert TABLE4.published["supervised", "KB"] == (98.94, 0.01)
    assert {row.rpartition("-")[2] for row in TABLE4.rows[3:]} == {"flat", "even", "ranks"}
    assert TABLE4.rows[:3] == table4.SETTINGS


def test_figure_4_is_drawn(faces, tmp_path):
    CATALOGUE["hbw06-figure4"].draw(tmp_path / "f.png", Draws())
    assert np.ptp(imread(tmp_path / "f.png", format="png")) > 0.5
