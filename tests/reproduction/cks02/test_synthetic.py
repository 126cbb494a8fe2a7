import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.image import imread
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats

from mercer import BoostedKernel
from mercer.kernels import Projected
from reproduction import CATALOGUE
from reproduction.cks02 import figures3_4, synthetic
from reproduction.cks02.synthetic import columns, draw, follow, interval, kernel_of, score, summarize
from reproduction.harness import Cell, Result
from reproduction.harness.run import Selection, run

TABLE = CATALOGUE["cks02-synthetic"]
NAMES = ("Standard", "Learned", "Literal")


@pytest.fixture
def small(monkeypatch):
    """Make the draws smaller and the epochs fewer; the columns of the table stay as they are."""
    monkeypatch.setattr(synthetic, "N_TRAIN", 80)
    monkeypatch.setattr(synthetic, "N_TEST", 50)


def perceptron(F, y, F_test, n_epochs):
    """Return the mistakes of each epoch and the predictions after it, by the rule with a weight vector."""
    w, mistakes, predictions = np.zeros(F.shape[1]), [], []
    for _ in range(n_epochs):
        wrong = []
        for x, label in zip(F, y, strict=True):
            wrong.append(label * (w @ x) <= 0)
            w = w + label * x if wrong[-1] else w
        mistakes.append(wrong)
        predictions.append(np.where(F_test @ w > 0, 1, -1))
    return np.array(mistakes), np.array(predictions)


def result(name, repeat, **values):
    numbers = dict.fromkeys(columns(name), 0.0) | {f"{name} {key}": value for key, value in values.items()}
    return Result(Cell("slanted", name, repeat), numbers)


def test_a_draw_has_300_rows_to_learn_from_and_200_to_be_judged_on():
    rows = draw("slanted", 0)
    assert rows.X_train.shape == (300, 100)
    assert rows.X_test.shape == rows.X_noisy.shape == (200, 100)
    assert not (rows.X_train[:, None, 5] == rows.X_test[:, 5]).any()


def test_noise_is_on_the_first_two_features_alone():
    rows = draw("slanted", 1)
    noise = rows.X_noisy - rows.X_test
    assert_array_equal(noise[:, 2:], 0)
    assert abs(np.corrcoef(noise[:, 0], noise[:, 1])[0, 1]) < 4 / np.sqrt(200)
    # 400 normal numbers: their deviation is known to 1/√800 of it.
    assert abs(noise[:, :2].std() / 0.03 - 1) < 4 / np.sqrt(800)


@pytest.mark.parametrize("name", NAMES)
def test_the_course_is_that_of_the_plain_perceptron_on_the_kernels_features(small, name):
    rows = draw("slanted", 2)
    kernel = kernel_of(name, rows)
    features = (lambda X: X) if kernel is None else kernel.transform
    F, F_test, F_noisy = (features(X) for X in (rows.X_train, rows.X_test, rows.X_noisy))
    course = follow(kernel, rows)
    mistakes, predictions = perceptron(F, rows.y_train, F_test, 10)
    noisy_predictions = perceptron(F, rows.y_train, F_noisy, 10)[1]
    assert_array_equal(course.online, mistakes[0])
    assert course.n_updates == mistakes.sum()
    assert course.separated == (not mistakes[-1].any())
    assert_allclose(course.test, 100 * (predictions != rows.y_test).mean(axis=1))
    assert_allclose(course.noisy, 100 * (noisy_predictions != rows.y_test).mean(axis=1))


def test_the_kernels_are_learned_with_30_rounds_of_the_log_loss(small):
    rows = draw("slanted", 3)
    assert kernel_of("Standard", rows) is None
    for name, step in (("Learned", "normalized"), ("Literal", "literal")):
        learner = BoostedKernel(loss="log", n_rounds=30, step=step).fit(rows.X_train, rows.y_train)
        assert_array_equal(kernel_of(name, rows).coef, learner.kernel_.coef)


@pytest.mark.parametrize("name", NAMES)
def test_scores_stand_in_the_order_of_the_columns(small, name):
    rows = draw("slanted", 4)
    course = follow(kernel_of(name, rows), rows)
    values = dict(zip(TABLE.method(name).columns, TABLE.method(name).score(rows, 0), strict=True))
    assert values[f"{name} updates"] == course.n_updates
    assert values[f"{name} unseparated"] == (0 if course.separated else 100)
    assert values[f"{name} > 1 update"] == (0 if course.separated and course.n_updates == 1 else 100)
    assert values[f"{name} online"] == pytest.approx(100 * course.online.sum() / 80)
    assert [values[f"{name} test ep={t}"] for t in range(1, 11)] == list(course.test)
    assert [values[f"{name} noisy ep={t}"] for t in range(1, 11)] == list(course.noisy)


@pytest.mark.parametrize(("n_updates", "expected"), [(1, [1, 0, 0]), (2, [2, 100, 0])])
def test_two_updates_are_more_than_one(monkeypatch, small, n_updates, expected):
    course = synthetic.Course(np.zeros(80, bool), np.zeros(10), np.zeros(10), n_updates, True)
    monkeypatch.setattr(synthetic, "follow", lambda kernel, rows: course)
    assert score(draw("slanted", 6), 0, name="Standard")[:3] == expected


def test_the_learned_kernel_separates_by_one_update_as_the_paper_says():
    for seed in range(3):
        rows = draw("slanted", seed)
        assert score(rows, 0, name="Learned")[:3] == [1, 0, 0]
        assert score(rows, 0, name="Standard")[0] > 50


def test_the_two_sentences_of_the_paper_are_the_published_numbers():
    assert TABLE.published == {
        ("slanted", "Standard updates"): (94.0, None),
        ("slanted", "Learned updates"): (1.0, None),
        ("slanted", "Learned > 1 update"): (0.0, None),
    }
    assert TABLE.repeats == 100


def test_an_interval_is_students(rng):
    values = rng.normal(size=(7, 3))
    mean, half = interval(values)
    assert_allclose(mean, values.mean(axis=0))
    lower, upper = stats.ttest_1samp(values, 0).confidence_interval(0.95)
    assert_allclose([mean - half, mean + half], [lower, upper])
    assert_array_equal(interval(values[:1])[1], 0)


def test_the_summary_has_means_and_counts_of_draws():
    results = [
        result("Standard", 0, updates=90.0, unseparated=100.0),
        result("Standard", 1, updates=94.0),
        result("Learned", 0, updates=1.0),
    ]
    standard, learned = summarize(results)
    assert standard.startswith(
        "Standard, 2 draws, means with 95 % intervals: 92.00 ± 25.41 updates; "
    )  # t = 12.706
    assert "separated on 1 draws, by one update on 2;" in standard
    assert learned.startswith("Learned, 1 draws")


def test_the_leading_directions_are_eigenvectors_that_give_back_the_kernel(rng):
    A = rng.normal(size=(6, 3))
    U = figures3_4.leading_directions(A, 3)
    assert_allclose(U @ U.T, A @ A.T, atol=1e-12)
    values = np.linalg.eigvalsh(A @ A.T)[::-1][:3]
    assert_allclose(A @ A.T @ U, U * values, atol=1e-10)
    assert (np.diff(values) < 0).all()


def test_matrices_are_ordered_by_class_with_the_positive_rows_first(tmp_path, monkeypatch, small):
    drawn = []
    monkeypatch.setattr(figures3_4, "draw_products", lambda *args: drawn.append(args[1:3]))
    rows = draw("slanted", 5)
    kernel = Projected(np.eye(100)[:, :2])
    figures3_4.draw_figure3(tmp_path / "f.png", rows, kernel)
    positive, positive_test = rows.y_train == 1, rows.y_test == 1
    X = np.vstack([rows.X_train[positive], rows.X_train[~positive]])
    X_test = np.vstack([rows.X_test[positive_test], rows.X_test[~positive_test]])
    (before, borders), (after, _) = drawn
    assert_allclose(before, X @ X_test.T)
    assert_allclose(after, X[:, :2] @ X_test[:, :2].T)
    assert borders == (positive_test.sum(), positive.sum())


def test_online_errors_are_drawn_as_means_of_blocks_at_their_middles(rng):
    errors = 100.0 * rng.integers(2, size=(4, 30))
    ax = Figure().subplots()
    figures3_4.draw_online(ax, errors, "Learned", interval)
    x, y = map(np.asarray, ax.containers[0].lines[0].get_data(orig=False))
    assert_allclose(x, [5.5, 15.5, 25.5])
    assert_allclose(y, [errors[:, :10].mean(), errors[:, 10:20].mean(), errors[:, 20:].mean()])


def test_a_run_in_small_keeps_its_results_and_draws_both_pictures(small, tmp_path):
    selection = Selection(TABLE, TABLE.rows, TABLE.methods, 2)
    results = run(selection, tmp_path).results
    assert len(results) == 6
    for picture in TABLE.pictures:
        picture.draw(results, tmp_path / picture.name)
        assert np.ptp(imread(tmp_path / picture.name, format="png")) > 0.5


def test_the_figure_follows_the_draws_that_the_table_has(small, tmp_path, monkeypatch):
    drawn = {}
    monkeypatch.setattr(synthetic, "draw_figure4", lambda path, curves, interval: drawn.update(curves))
    selection = Selection(TABLE, TABLE.rows, TABLE.methods[:2], 3)
    results = run(selection, tmp_path).results
    TABLE.pictures[1].draw(results, tmp_path / "f.png")
    for name, curves in drawn.items():
        stored = [r.values for r in sorted(results, key=lambda r: r.cell) if r.cell.method == name]
        assert_allclose(curves["online"].mean(axis=1), [values[f"{name} online"] for values in stored])
        assert_allclose(curves["noisy"][:, 9], [values[f"{name} noisy ep=10"] for values in stored])
        assert_allclose(curves["test"][:, 0], [values[f"{name} test ep=1"] for values in stored])
