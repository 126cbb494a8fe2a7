"""Table 2 of [OSW02]."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.svm import SVC

from mercer import datasets
from reproduction import CATALOGUE, Split
from reproduction.harness import Cell, Result
from reproduction.harness.run import run_cell
from reproduction.ll05 import tables1_2
from reproduction.osw02 import table2

TABLE, DIGITS = CATALOGUE["osw02-table2"], CATALOGUE["osw02-table2-usps"]


@pytest.fixture
def split(rng):
    """Two overlapping classes in [0, 1]³."""
    X = rng.uniform(size=(90, 3))
    y = (X[:, 0] + 0.3 * rng.normal(size=90) > 0.5).astype(int)
    return Split(X[:50], y[:50], X[50:], y[50:])


@pytest.fixture
def cheap(monkeypatch):
    """Let few settings be tried."""
    monkeypatch.setattr(table2, "LOG2_C", np.array([-1, 3]))
    monkeypatch.setattr(table2, "LOG2_GAMMA", np.array([-3, 1]))
    monkeypatch.setattr(table2, "LOG10_PENALTY", np.array([1, -1]))


def errors(predict, split):
    """The errors in % on training and on test rows, counted."""
    parts = ((split.X_train, split.y_train), (split.X_test, split.y_test))
    return [100 * sum(a != b for a, b in zip(predict(X), y, strict=True)) / len(y) for X, y in parts]


def test_the_plain_svm_has_the_wide_kernel_whose_exponent_is_not_squared(split):
    def kernel(A, B):
        return np.array([[np.exp(-sum((a - b) ** 2) / (100 * 3)) for b in B] for a in A])

    model = SVC(C=100, kernel=kernel).fit(split.X_train, split.y_train)
    assert TABLE.method("R_reg").score(split, 0) == pytest.approx(errors(model.predict, split))


def test_read_literally_the_width_makes_the_kernel_constant_and_the_svm_a_constant(split):
    sigma = 1 / (100 * 3)
    D = ((split.X_train[:, None] - split.X_train) ** 2).sum(axis=2)
    K = np.exp(-(sigma**2) * D)
    assert K.min() > 0.9999
    predicted = SVC(C=100, kernel="precomputed").fit(K, split.y_train).predict(K)
    assert len(np.unique(predicted)) == 1


def test_the_learned_kernel_is_the_best_multiple_of_harmonic_terms_for_the_papers_parameters(split):
    train, test, terms, used = TABLE.method("Q_reg").score(split, 0)
    learner = table2.Superkernel(table2.GaussianHarmonic(), quality=table2.Risk(C=100), penalty=1e-4)
    learner.fit(split.X_train, split.y_train)
    assert learner.superkernel_.decay == 0.6
    assert learner.superkernel_.length_scale == pytest.approx(np.sqrt(100 * 3 / 2))
    assert (terms, used) == (len(learner.beta_), np.sum(learner.beta_ > 0))
    model = SVC(C=100, kernel=learner.kernel_, tol=1e-5).fit(split.X_train, split.y_train)
    assert [train, test] == pytest.approx(errors(model.predict, split), abs=100 / 40)  # a row on the boundary


def test_the_grid_has_110_settings_and_reaches_as_far_as_that_of_ll05():
    assert len(table2.LOG2_C) * len(table2.LOG2_GAMMA) == 110
    assert_allclose(table2.LOG2_C, tables1_2.LOG2_C_GAUSS)
    # γ ‖x − x'‖² is the same for features in [−1, 1] and four times the γ in [0, 1]
    assert_allclose(2.0**table2.LOG2_GAMMA, 4 * 2.0**tables1_2.LOG2_GAMMA)


def test_the_tuned_svm_is_the_one_of_least_cross_validation_error(cheap, split):
    folds = list(StratifiedKFold(5, shuffle=True, random_state=3).split(split.X_train, split.y_train))

    def wrong(C, gamma):
        X, y = split.X_train, split.y_train
        found = [SVC(C=C, gamma=gamma).fit(X[a], y[a]).score(X[b], y[b]) for a, b in folds]
        return -np.mean(found)

    settings = [(C, gamma) for C in (0.5, 8.0) for gamma in (0.125, 2.0)]
    C, gamma = min(settings, key=lambda setting: wrong(*setting))
    model = SVC(C=C, gamma=gamma).fit(split.X_train, split.y_train)
    error, seconds = TABLE.method("Tuned SVM").score(split, 3)
    assert error == pytest.approx(errors(model.predict, split)[1])
    assert seconds > 0


def test_of_penalties_with_equal_errors_the_strongest_is_taken(monkeypatch, split):
    searches = []

    class Kept(GridSearchCV):
        def fit(self, X, y):
            searches.append(self)
            return super().fit(X, y)

    monkeypatch.setattr(table2, "GridSearchCV", Kept)
    monkeypatch.setattr(table2, "LOG10_PENALTY", table2.LOG10_PENALTY[::3])
    y = (split.X_train[:, 0] > 0.5).astype(int)
    apart = split._replace(X_train=split.X_train + 9 * y[:, None], y_train=y)  # no penalty errs on these
    table2.ours(apart, 0)
    (search,) = searches
    assert search.cv.random_state == 0
    equal = search.cv_results_["mean_test_score"] == 1
    penalties = np.array([setting["learner__penalty"] for setting in search.cv_results_["params"]])
    assert equal.sum() > 1
    assert search.best_params_["learner__penalty"] == penalties[equal].max()


def test_ours_has_the_error_of_the_superkernel_with_the_chosen_penalty(cheap, split):
    error, seconds = TABLE.method("Ours").score(split, 3)
    candidates = []
    for penalty in (1e5, 1e3):
        learner = table2.Superkernel(quality=table2.Risk(C=100), penalty=penalty).fit(
            split.X_train, split.y_train
        )
        model = SVC(C=100, kernel=learner.kernel_).fit(split.X_train, split.y_train)
        candidates.append(errors(model.predict, split)[1])
    assert min(abs(error - candidate) for candidate in candidates) <= 100 / 40
    assert seconds > 0


def test_splits_are_60_to_40_and_scaled_on_the_training_part():
    split = table2.draw("wdbc", 1)
    assert len(split.X_train) == round(0.6 * 569)
    assert len(split.X_train) + len(split.X_test) == 569
    assert_allclose([split.X_train.min(axis=0), split.X_train.max(axis=0)], [[0] * 30, [1] * 30], atol=1e-12)
    assert split.X_test.min() < 0
    assert split.X_test.max() > 1
    raw = datasets.load("wdbc").X
    straight = np.corrcoef(np.sort(np.r_[split.X_train[:, 0], split.X_test[:, 0]]), np.sort(raw[:, 0]))
    assert straight[0, 1] == pytest.approx(1)
    assert not np.array_equal(split.y_train, table2.draw("wdbc", 2).y_train)


def test_of_all_pairs_of_digits_only_5_and_8_have_the_papers_1424_rows():
    counts = [int(n) for n in datasets.real._FORMS["usps"].counts.values()]
    pairs = [(a, b) for b in range(10) for a in range(b) if counts[a] + counts[b] == 1424]
    assert pairs == [(5, 8)]


def test_the_papers_usps_errors_are_shares_of_the_test_rows_of_5_and_8_and_not_of_6_and_9():
    def is_share(value, n):
        return any(round(100 * wrong / n, 1) == value for wrong in range(n + 1))

    n_test = {"usps-5-8": 326, "usps-6-9": 347}
    published = [
        DIGITS.published["usps-5-8", column][0] for column in ("R_reg test", "Q_reg test", "Tuned SVM")
    ]
    assert all(is_share(value, n_test["usps-5-8"]) for value in published)
    assert not is_share(published[0], n_test["usps-6-9"])


def test_the_digits_are_split_as_usual_whatever_the_seed(monkeypatch, rng):
    X, y = rng.uniform(-1, 1, size=(60, 4)), np.tile(np.arange(10), 6)
    usps = datasets.Dataset("usps", X, y, (), "a test", n_train=40)
    monkeypatch.setattr(datasets, "load", {"usps": usps}.get)
    first, second = (table2.draw_two_digits("usps-6-9", seed) for seed in (0, 1))
    assert_allclose(first.X_test, second.X_test)
    assert (set(first.y_train), len(first.y_train), len(first.y_test)) == ({6, 9}, 8, 4)
    assert_allclose(first.X_train.min(axis=0), 0, atol=1e-12)


def test_the_published_errors_are_standard_errors_of_200_splits():
    assert TABLE.repeats == 200
    assert TABLE.published["pima", "R_reg test"] == (26.2, pytest.approx(3.3 / np.sqrt(200)))
    assert TABLE.published_rows == ("pima", "ionosphere", "wdbc")
    assert len(TABLE.published) == 15
    assert DIGITS.published["usps-5-8", "Q_reg test"] == (2.8, None)
    assert "wdbc" not in TABLE.needs
    assert set(TABLE.needs.values()) <= set(datasets.names())


def test_every_method_runs_on_a_set_that_comes_along(cheap):
    for method in TABLE.methods:
        result = run_cell(TABLE, Cell("wdbc", method.name, 0))
        assert isinstance(result, Result), result
        assert set(result.values) == set(method.columns)


def results(row, method, column, values):
    cells = [Cell(row, method, repeat) for repeat in range(len(values))]
    return [
        Result(cell, {column: value, f"{column} CPU s": 2.0 if method == "Ours" else 8.0})
        for cell, value in zip(cells, values, strict=True)
    ]


def test_the_summary_compares_ours_and_the_tuned_svm_split_by_split():
    found = [
        *results("a", "Ours", "Ours", [4.0, 6.0]),
        *results("a", "Tuned SVM", "Tuned SVM", [5.0, 9.0, 100.0]),  # ours has not seen the third split
        *results("b", "Ours", "Ours", [1.0, 1.0]),
        *results("b", "Tuned SVM", "Tuned SVM", [1.0, 1.0]),
        *results("c", "Ours", "Ours", [7.0]),
    ]
    # a: means 5 and 7, differences −1 and −3, an error of 1; b: none. Over both sets: −1 ± 1/2
    errors_said, times = table2.summarize(found)
    assert errors_said == (
        "Mean error on the same splits of 2 sets: 3.00 % (ours) against 4.00 % (tuned SVM), a difference of "
        "-1.00 ± 0.50."
    )
    assert times.endswith("a 2.00 s against 8.00 s (0.25); b 2.00 s against 8.00 s (0.25).")
    assert table2.summarize(found[-1:]) == []
    one, _ = table2.summarize([found[0], found[2]])
    assert one.endswith("1 set: 4.00 % (ours) against 5.00 % (tuned SVM), a difference of -1.00.")


def test_the_summary_compares_rivals_with_ours_on_the_splits_that_both_have():
    both = [
        *results("pima", "Ours", "Ours", [20.0, 22.0, 50.0]),
        *results("pima", "EasyMKL", "EasyMKL", [21.0, 25.0]),
    ]
    (sentence,) = table2.summarize(both)
    assert sentence == "EasyMKL less ours on the same splits of pima: +2.00 ± 1.00."


def test_the_summary_shows_the_papers_citations_beside_ours():
    found = [
        *results("wdbc", "Ours", "Ours", [2.0, 3.0]),
        *results("wdbc", "Tuned SVM", "Tuned SVM", [2.0, 2.0]),
        *results("sonar", "Ours", "Ours", [20.0, 20.0]),
        *results("sonar", "Tuned SVM", "Tuned SVM", [20.0, 20.0]),
    ]
    assert table2.summarize(found)[-1].endswith("90 % for training: wdbc 3.2 (ours 2.50).")
