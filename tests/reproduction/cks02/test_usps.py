import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.image import imread
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_digits
from sklearn.svm import SVC

from mercer import BoostedKernel
from reproduction import CATALOGUE, Split
from reproduction.baselines import KernelPerceptron
from reproduction.cks02 import ten_digits, usps
from reproduction.harness import Cell, Result

TABLE, TEN = CATALOGUE["cks02-usps"], CATALOGUE["cks02-digits"]


@pytest.fixture
def digits(monkeypatch) -> Split:
    """Put the small digits that come with scikit-learn in the place of USPS."""
    X, y = load_digits(return_X_y=True)
    X = X / 8 - 1
    split = Split(X[:500], y[:500], X[500:900], y[500:900])
    for module in (usps, ten_digits):
        monkeypatch.setattr(module, "digits", lambda: split)
    return split


def result(row, method, repeat=0, **values):
    return Result(Cell(row, method, repeat), {f"{method} {key}": value for key, value in values.items()})


def percent_wrong(model, split):
    return 100 * np.mean(model.fit(split.X_train, split.y_train).predict(split.X_test) != split.y_test)


def test_every_two_digits_are_a_problem_once():
    problems = [frozenset(row.split("-")) for row in TABLE.rows]
    assert len(set(problems)) == len(problems) == 45
    assert all(len(problem) == 2 for problem in problems)
    assert TABLE.published_rows == TABLE.rows


def test_a_problem_has_the_rows_of_its_digits_in_the_order_of_the_file(digits):
    split = usps.draw("3-8", 0)
    chosen = [i for i, label in enumerate(digits.y_train) if label in (3, 8)]
    chosen_test = [i for i, label in enumerate(digits.y_test) if label in (3, 8)]
    assert_array_equal(split.X_train, digits.X_train[chosen])
    assert_array_equal(split.y_train, digits.y_train[chosen])
    assert_array_equal(split.X_test, digits.X_test[chosen_test])
    assert_array_equal(split.y_test, digits.y_test[chosen_test])


def test_the_base_kernel_is_that_of_the_docstring(rng):
    x, z = rng.uniform(-1, 1, size=(2, 256))
    assert_allclose(usps.BASE([x], [z]), np.exp(-((x - z) @ (x - z)) / 256))


def test_the_classifiers_are_those_of_the_columns(digits):
    kernel = usps.BASE
    split = Split(digits.X_train[:120], digits.y_train[:120], digits.X_test, digits.y_test)
    models = {
        "Perc": KernelPerceptron(kernel),
        "Avg-Perc": KernelPerceptron(kernel, n_epochs=10, average=True),
        "SVM": SVC(C=10, gamma=1 / 256),
    }
    errors = dict(zip(usps.CLASSIFIERS, usps.classifier_errors(kernel, split), strict=True))
    assert errors == pytest.approx({name: percent_wrong(model, split) for name, model in models.items()})
    assert errors["Avg-Perc"] != percent_wrong(KernelPerceptron(kernel, n_epochs=10), split)
    assert errors["SVM"] != percent_wrong(SVC(C=1, gamma=1 / 256), split)


@pytest.mark.parametrize("name", ["Log-train", "Exp-train", "Log-test", "Exp-test"])
def test_a_kernel_is_judged_after_each_of_its_rounds(digits, monkeypatch, name):
    monkeypatch.setitem(usps.LEARNED, name, (*usps.LEARNED[name][:2], (2, 5)))
    method = usps._learned_method(name)
    split = usps.draw("4-9", 0)
    values = dict(zip(method.columns, method.score(split, 0), strict=True))
    loss, spanned_by = name.lower().split("-")
    unlabelled = split.X_test if spanned_by == "test" else None
    for count in (2, 5):
        learner = BoostedKernel(usps.BASE, loss=loss, n_rounds=count)
        learner.fit(split.X_train, split.y_train, unlabelled=unlabelled)
        model = KernelPerceptron(learner.kernel_)
        assert values[f"{name} T={count} Perc"] == pytest.approx(percent_wrong(model, split))


def test_the_rounds_are_those_of_the_paper_and_of_the_issue():
    named = {column.rpartition(" ")[0] for method in TABLE.methods for column in method.columns}
    learned = {"Log-train T=30", "Exp-train T=50", "Log-test T=100", "Exp-test T=50", "Exp-test T=100"}
    assert named == {"RBF"} | learned
    assert {usps.OF_TRAIN, usps.OF_TEST} <= learned


def test_the_summary_compares_only_problems_that_both_kernels_have():
    results = [
        *(result(row, "RBF", Perc=error) for row, error in (("0-1", 4.0), ("0-2", 2.0), ("0-3", 3.0))),
        *(
            result(row, "Log-train", **{"T=30 Perc": e})
            for row, e in (("0-1", 1.0), ("0-2", 2.0), ("0-4", 9.0))
        ),
        *(
            result(row, "Log-test", **{"T=100 Perc": e})
            for row, e in (("0-1", 2.0), ("0-2", 1.0), ("0-4", 9.5))
        ),
    ]
    first, *_, spans = usps.summarize(results)
    assert first == (
        "Mean error, Perc: RBF 3.00 %; Log-train T=30 4.00 % (better on 1, equal on 1, worse on 0); "
        "Log-test T=100 4.17 % (better on 2, equal on 0, worse on 0)."
    )
    assert spans == "Against Log-train T=30 Perc, Log-test T=100 Perc is better on 1, equal on 0, worse on 2."


def test_a_summary_without_the_base_kernel_has_means_alone():
    sentences = usps.summarize([result("0-1", "Exp-train", **{"T=50 SVM": 2.0})])
    assert sentences[-1] == "Mean error, SVM: Exp-train T=50 2.00 %."


def test_a_point_of_figure_5_is_a_problem_and_the_line_is_where_both_are_equal():
    ax = Figure().subplots()
    old, new = {"0-1": 3.0, "0-2": 1.0, "0-3": 7.0}, {"0-2": 2.0, "0-1": 0.5}
    usps.draw_scatter(ax, old, new)
    assert_array_equal(ax.collections[0].get_offsets(), [[3, 0.5], [1, 2]])
    x, y = ax.lines[0].get_data()
    assert_array_equal(x, y)
    assert [(text.get_text(), text.xy) for text in ax.texts] == [("0-1", (3.0, 0.5)), ("0-2", (1.0, 2.0))]


def test_figure_5_is_drawn_from_whatever_results_there_are(tmp_path):
    usps.draw_figure5([result("0-1", "RBF", Perc=4.0)], tmp_path / "f.png")
    assert np.ptp(imread(tmp_path / "f.png", format="png")) > 0.5


def test_ten_digits_are_learned_from_random_rows_and_judged_on_all_test_rows(digits, monkeypatch):
    monkeypatch.setattr(ten_digits, "N_TRAIN", 400)
    split = ten_digits.draw("usps", 7)
    assert split.X_train.shape == (400, 64)
    assert_array_equal(split.X_test, digits.X_test)
    where = {tuple(row): i for i, row in enumerate(digits.X_train)}
    chosen = [where[tuple(row)] for row in split.X_train]
    assert len(set(chosen)) == 400
    assert_array_equal(split.y_train, digits.y_train[chosen])
    assert (np.diff(chosen) < 0).any()  # not in the order of the file
    assert (ten_digits.draw("usps", 8).X_train != split.X_train).any()


def test_one_kernel_for_ten_digits_is_scored_after_each_of_its_rounds(digits, monkeypatch):
    monkeypatch.setattr(ten_digits, "N_TRAIN", 150)
    monkeypatch.setattr(ten_digits, "ROUNDS", (2, 4))
    split = ten_digits.draw("usps", 0)
    *errors, first_seconds, second_seconds = ten_digits.score_learned(split, 0)
    for count, expected in ((2, errors[:3]), (4, errors[3:])):
        kernel = BoostedKernel(usps.BASE, n_rounds=count).fit(split.X_train, split.y_train).kernel_
        assert expected == usps.classifier_errors(kernel, split)
    assert first_seconds > 0
    assert second_seconds > 0


def test_ten_digits_have_a_column_for_each_number():
    assert [column for method in TEN.methods for column in method.columns if column.endswith(" Perc")] == [
        "RBF Perc",
        *(f"Learned T={count} Perc" for count in ten_digits.ROUNDS),
    ]
    assert len(TEN.method("Learned").columns) == 4 * len(ten_digits.ROUNDS)


def test_the_fall_of_the_error_is_a_mean_over_draws_that_both_methods_have(monkeypatch):
    monkeypatch.setattr(ten_digits, "ROUNDS", (30,))
    results = [
        *(result("usps", "RBF", repeat, Perc=20.0) for repeat in range(3)),
        *(result("usps", "Learned", repeat, **{"T=30 Perc": e}) for repeat, e in ((0, 10.0), (1, 14.0))),
    ]
    # 50 and 30 %: their mean is 40, its standard error 10, and Student's t of one degree of freedom 12.706.
    assert ten_digits.summarize(results) == [
        "Learned T=30: the Perceptron's error falls by 40.00 ± 127.06 % (95 % interval)."
    ]
    assert ten_digits.summarize(results[:3]) == []
