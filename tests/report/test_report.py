"""The report as a value: questions to pick from, tables of any kind, and what a notebook shows."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from mercer import KernelSearchCV, KernelSearchRegressor, KernelSVC, StumpSVC
from mercer.preprocessing.kinds import CategoryColumn
from mercer.report import Report
from mercer.report.content import Chapter, Section
from mercer.report.plots.style import read_classes
from mercer.report.scatter import HEIGHT, WIDTH, draw_scatter, group_classes
from mercer.report.sections.dependence import (
    scale_of_levels,
    scale_of_numbers,
)
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
    assert "Where does it fail?" in Page(picked.html()).text
    with pytest.raises(ValueError, match="no question 'better'; there are good, uses, sees, fails, data"):
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


def test_the_levels_of_a_category_matter_together_and_are_bars(report):
    relevance = section_of(report, "relevance").tables[0]
    assert relevance.rows[0][0] == "colour"
    levels = section_of(report, "levels").pictures[0]
    assert "4 levels" in levels.alt  # and whether size is missing
    assert "2 most important" in section_of(report, "shapes").pictures[0].alt  # size, noise


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
    table = section_of(Report(search, X, y, questions=["uses"]), "relevance").tables[-1]
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


def test_marks_of_a_map_are_inside_it_at_one_scale_and_say_their_names():
    places = np.array([[0.0, 0.0], [4.0, 0.0], [4.0, 1.0]])
    found = draw_scatter(
        places,
        group_classes(read_classes(["a", "b", "b"], 3)),
        ["one", "<two>", "three"],
        alt="x",
        caption="",
        labels=("", ""),
    )
    page = Page(found.svg)
    marks = [attrs for attrs in page.all("path") if "transform" in attrs]
    spots = np.array([[float(v) for v in m["transform"][10:-1].split()] for m in marks])
    assert (spots > 0).all()
    assert (spots < [WIDTH, HEIGHT]).all()
    across, up = spots[1, 0] - spots[0, 0], spots[1, 1] - spots[2, 1]
    assert across == pytest.approx(4.0 * up, rel=0.01)
    assert {"one", "<two>", "three"} <= set(page.texts)
    assert len({m["fill"] for m in marks}) == len({m["d"] for m in marks}) == 2


def test_two_classes_have_curves_and_their_areas_are_said(messy):
    X, y = messy
    numbers = pd.get_dummies(X[["colour"]]).to_numpy(dtype=float) + np.random.default_rng(1).normal(
        size=(120, 3)
    )
    curves = section_of(Report(search_for({"linear": KernelSVC()}, numbers, y), numbers, y), "curves")
    roc, precision = (picture.caption for picture in curves.pictures)
    assert 0.5 < float(roc.rpartition(" ")[2]) <= 1.0
    assert precision.startswith("Average precision 0.")


def test_a_column_of_a_table_works_the_way_that_it_is_said_to(report):
    """Only red stops: its probability of stop is the highest, and noise hardly changes it."""
    table = next(
        t for t in section_of(report, "relevance").tables if t.caption.startswith("Mean predictions")
    )
    assert table.columns[2:] == ["lowest probability of stop", "highest probability of stop"]
    lines = {row[0]: row[1:] for row in table.rows}
    assert lines["colour"][0] == "–"  # levels have no order
    assert lines["colour"][2].endswith(" at red")
    low, high = (float(cell.partition(" %")[0]) for cell in lines["colour"][1:])
    assert low < 10 < 90 < high


def test_a_number_of_few_values_is_tried_at_each(rng):
    X = np.column_stack([rng.choice([1.0, 2.0, 5.0], 30), rng.integers(0, 2, 30)])
    scale = scale_of_numbers(X)  # the second feature says whether it is missing
    assert scale.names == ["1", "2", "5"]
    assert_allclose(scale.features, [[1.0, 0.0], [2.0, 0.0], [5.0, 0.0]])
    rare = np.append(np.zeros(500), np.arange(7.0))[:, None]  # all but a few are zero
    assert scale_of_numbers(rare).values[[0, -1]].tolist() == [0.0, 6.0]


def test_the_levels_of_a_curve_are_the_most_frequent_ones():
    kind = CategoryColumn("c", list("abcdefgh"), has_gaps=False, has_rare=False)
    X = np.eye(8)[np.repeat(np.arange(8), [1, 9, 8, 1, 7, 6, 5, 4])]
    scale = scale_of_levels(kind, X)
    assert scale.names == list("bcefgh")
    assert scale.features.argmax(axis=1).tolist() == [1, 2, 4, 5, 6, 7]


def test_a_narrow_section_without_another_beside_it_is_alone():
    narrow, wide = Section("n", "", [], ["picture"]), Section("w", "", [])
    chapter = Chapter("", "", [narrow, narrow, narrow, wide, narrow, wide, narrow, narrow])
    assert [chapter.is_alone(k) for k in range(8)] == [False, False, True, False, True, False, False, False]


def test_the_cell_of_python_writes_the_page_again(messy, report, tmp_path, monkeypatch):
    X, y = messy
    monkeypatch.chdir(tmp_path)
    namespace = {"X": X, "y": y, "StumpSVC": StumpSVC}
    exec(report.code, namespace)  # what the page shows
    found, expected = Page((tmp_path / "report.html").read_text(encoding="utf-8")), Page(report.html())
    assert found.sections == expected.sections
    assert found.all("img") == expected.all("img")


def test_of_two_words_the_rarer_is_looked_for(rng):
    """`left` comes first in the alphabet, and is rare."""
    X = rng.normal(size=(90, 2))
    y = np.where(X[:, 0] > 0.8, "left", "stayed")
    page = Report(KernelSearchCV({"stump": StumpSVC()}, cv=2, random_state=0).fit(X, y), X, y)
    assert "class left is what is looked for" in section_of(page, "curves").text[0]
    first = section_of(page, "relevance").tables[0]
    assert first.columns[2:] == ["lowest probability of left", "highest probability of left"]
    assert first.rows[0][:2] == ["x0", "it rises"]
