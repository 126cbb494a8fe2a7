"""The report as a value: questions to pick from, tables of any kind, and what a notebook shows."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

import mercer
from mercer import KernelSearchCV, KernelSearchRegressor, KernelSVC, StumpSVC
from mercer.report import Report
from mercer.report.sections.effects import some_values
from mercer.report.sections.kernel import correlations
from report.html_page import Page, search_for

pytestmark = pytest.mark.usefixtures("coarse_pictures")


def section_of(report, key):
    return next(s for chapter in report.chapters for s in chapter.sections if s.key == key)


@pytest.fixture(scope="module")
def messy():
    """A table whose class is said by a category, with a column of noise and one of a single value."""
    rng = np.random.default_rng(0)
    colour = rng.choice(["red", "green", "<blue>"], 120)
    size = rng.normal(size=120)
    size[::10] = np.nan
    table = pd.DataFrame({"colour": colour, "size": size, "noise": rng.normal(size=120), "one": 1.0})
    return table, np.where(colour == "red", "stop", "go")


@pytest.fixture(scope="module")
def report(messy, coarse_pictures):
    X, y = messy
    return Report(KernelSearchCV({"stump": StumpSVC()}, cv=2, random_state=0).fit(X, y), X, y)


def test_questions_can_be_picked(linear, iris):
    picked = Report(linear, *iris, questions=["fails", "good"])
    assert [chapter.key for chapter in picked.chapters] == ["fails", "good"]
    assert "Where is it wrong?" in Page(picked.html()).text
    with pytest.raises(ValueError, match="no question 'better'; there are good, uses, fails, sees, data"):
        Report(linear, *iris, questions=["better"])


def test_a_notebook_shows_the_page_in_a_frame(linear, iris):
    shown = Report(linear, *iris, questions=["data"])._repr_html_()
    assert shown.startswith('<iframe srcdoc="&lt;!DOCTYPE html&gt;')
    assert shown.count("<") == 2  # the frame, and its end


def test_columns_of_a_table_are_named_and_what_was_dropped_is_said(report):
    used, dropped = section_of(report, "columns").tables
    kinds = {row[0]: tuple(row[1:3]) for row in used.rows}
    assert kinds == {"colour": ("category", "0"), "size": ("number", "12"), "noise": ("number", "0")}
    assert dropped.rows == [["one", "it has a single value"]]
    assert dict(report.headline.facts)["columns"] == "3 (6 features)"


def test_the_levels_of_a_category_matter_together(report):
    assert section_of(report, "effects").tables[0].rows[0][0] == "colour"


def test_the_worst_samples_are_those_whose_class_got_the_least(report):
    table = section_of(report, "failures").tables[0]
    given = [float(row[3].removesuffix(" %")) for row in table.rows if row[3]]
    assert given == sorted(given)
    assert len(given) == 6
    assert list(table.leads) == [4 * k for k in range(7)] + [25]  # and what is typical of either class


def test_the_worst_samples_stand_above_their_neighbours_with_their_values(report, messy):
    X, y = messy
    table = section_of(report, "failures").tables[0]
    assert table.columns[4] == "colour"  # which matters most
    assert set(table.columns[4:]) == {"colour", "size", "noise"}
    for k, row in enumerate(table.rows[:24]):
        i = int(row[0].removeprefix("near: ").removeprefix("row "))
        assert row[0].startswith("near: ") == (k % 4 > 0)
        assert row[1] == y[i]
        values = dict(zip(table.columns, row, strict=True))
        assert values["colour"] == X["colour"][i]
        size = values["size"]
        assert size == "missing" if np.isnan(X["size"][i]) else abs(number(size) - X["size"][i]) < 0.01
        assert abs(number(values["noise"]) - X["noise"][i]) < 0.01
    stop = dict(zip(table.columns, table.rows[25], strict=True))
    assert stop["sample"] == "typical of stop"
    assert stop["colour"] == "red"


def number(text):
    return float(text.replace("−", "-"))


def test_columns_that_matter_to_a_number_are_found(rng):
    X = rng.normal(size=(120, 3))
    y = 5.0 * X[:, 2] + 0.1 * rng.normal(size=120)
    search = KernelSearchRegressor(["linear"], cv=2, random_state=0).fit(X, y)
    table = section_of(Report(search, X, y, questions=["uses"]), "effects").tables[-1]
    assert table.rows[0][0] == "x2"
    assert float(table.rows[0][1]) > 3.0  # about (√2 − 0) · 5, less what a shuffling leaves in place
    assert abs(float(table.rows[1][1].replace("−", "-"))) < 1.0


def test_similarities_do_not_depend_on_a_constant_or_on_the_scale_of_a_kernel(rng):
    Z = rng.normal(size=(20, 4))
    K = Z @ Z.T
    found = correlations(K)
    assert_allclose(correlations(7.0 * K + 100.0), found, atol=1e-10)
    centred = Z - Z.mean(axis=0)
    cosine = centred @ centred.T / np.outer(*[np.linalg.norm(centred, axis=1)] * 2)
    assert_allclose(found, cosine, atol=1e-10)


def test_two_classes_have_curves_and_their_areas_are_said(messy):
    X, y = messy
    numbers = pd.get_dummies(X[["colour"]]).to_numpy(dtype=float) + np.random.default_rng(1).normal(
        size=(120, 3)
    )
    curves = section_of(Report(search_for({"linear": KernelSVC()}, numbers, y), numbers, y), "thresholds")
    roc, precision = (picture.caption for picture in curves.pictures)
    assert 0.5 < float(roc.removeprefix("ROC curve: area ").partition(";")[0]) <= 1.0
    assert precision.startswith("Average precision 0.")


def test_a_column_of_a_table_works_the_way_that_it_is_said_to(report):
    """Only red stops: its probability of stop is the highest, and noise hardly changes it."""
    table = next(t for t in section_of(report, "effects").tables if t.caption.startswith("Mean predictions"))
    assert table.columns[2:] == ["lowest probability of stop", "highest probability of stop"]
    lines = {row[0]: row[1:] for row in table.rows}
    assert lines["colour"][0] == "–"  # levels have no order
    assert lines["colour"][2].endswith(" at red")
    low, high = (float(cell.partition(" %")[0]) for cell in lines["colour"][1:])
    assert low < 10 < 90 < high


def test_values_of_a_curve_are_all_if_few_and_leave_the_extremes_out_if_many(rng):
    few = np.array([5.0, 1.0, np.nan, 2.0, 1.0])
    assert few[some_values(few)].tolist() == [1.0, 2.0, 5.0]
    many = rng.permutation(np.arange(101.0))
    chosen = many[some_values(many)]
    assert (chosen[0], chosen[-1]) == (2.0, 98.0)
    assert (np.diff(chosen) > 0).all()
    rare = np.append(np.zeros(500), np.arange(7.0))  # all but a few are zero
    assert rare[some_values(rare)][[0, -1]].tolist() == [0.0, 6.0]


def test_a_curve_is_the_mean_of_predictions_with_one_value_for_all(rng):
    days = pd.Timestamp("2024-03-01") + pd.to_timedelta(rng.integers(0, 60, 150), unit="D")
    table = pd.DataFrame({
        "day": days.strftime("%d.%m.%Y"),
        "kind": rng.choice(["a", "b"], 150),
        "size": rng.integers(0, 50, 150),
    })  # fmt: skip
    y = table["size"] / 10.0 + (table["kind"] == "b") + days.month
    search = KernelSearchRegressor(["linear"], cv=2, random_state=0).fit(table, y.to_numpy())
    uses = section_of(Report(search, table, y.to_numpy(), questions=["uses"]), "effects")
    lines = {row[0]: row[1:] for row in uses.tables[0].rows}
    assert set(lines) == {"day", "kind", "size"}
    assert lines["day"][0] == lines["size"][0] == "it rises"
    for name, (_, lowest, highest) in lines.items():
        for cell in (lowest, highest):
            said, _, value = cell.partition(" at ")
            changed = table.assign(**{name: int(value) if name == "size" else value})
            assert number(said) == pytest.approx(search.predict(changed).mean(), abs=0.02)


def test_the_cell_of_python_writes_the_page_again(messy, report, tmp_path, monkeypatch):
    X, y = messy
    monkeypatch.chdir(tmp_path)
    namespace = {"X": X, "y": y, "StumpSVC": StumpSVC}
    exec(report.code, namespace)  # what the page shows
    assert_allclose(
        mercer.load(tmp_path / "MODEL.mercer").predict_proba(X), namespace["search"].predict_proba(X)
    )
    found, expected = Page((tmp_path / "report.html").read_text(encoding="utf-8")), Page(report.html())
    assert found.sections == expected.sections
    assert found.all("img") == expected.all("img")


def test_of_two_words_the_rarer_is_looked_for(rng):
    """`left` comes first in the alphabet, and is rare."""
    X = rng.normal(size=(90, 2))
    y = np.where(X[:, 0] > 0.8, "left", "stayed")
    page = Report(KernelSearchCV({"stump": StumpSVC()}, cv=2, random_state=0).fit(X, y), X, y)
    assert "'left' is what is looked for" in section_of(page, "thresholds").text[0]
    first = section_of(page, "effects").tables[0]
    assert first.columns[2:] == ["lowest probability of left", "highest probability of left"]
    assert first.rows[0][:2] == ["x0", "it rises"]
