"""The top of the page: what must not be overlooked is said there."""

from types import SimpleNamespace

import numpy as np
import pytest

from mercer.report.content import Subject
from mercer.report.sections.headline import make_headline, warn_of_classes
from mercer.search.label_task import LabelTask
from report.html_page import Page


def held_out(truth, predicted):
    predictor = SimpleNamespace(predict=lambda X: np.array(predicted))
    return SimpleNamespace(X=np.zeros((len(truth), 1)), y=np.array(truth), predictor=predictor)


@pytest.mark.parametrize(
    ("truth", "predicted", "said"),
    [
        (["no", "no", "yes"], ["no"] * 3, "'no' for every held-out sample: it ranks samples, it does not"),
        (["a", "b", "c"], ["b"] * 3, "It predicts 'b' for every held-out sample."),
        (["a", "b", "b", "c"], ["a", "a", "a", "c"], "It never predicts 'b' (2 samples), which"),
        ([*map(str, range(12))], ["0"] * 11 + ["1"], "'6' (1 sample), '7' (1 sample), and 2 more, which"),
    ],
)
def test_classes_that_are_never_predicted_are_named(truth, predicted, said):
    (sentence,) = warn_of_classes(held_out(sorted(truth), predicted))
    assert said in sentence


def test_there_is_no_warning_where_all_classes_are_predicted_or_nothing_is_held_out():
    assert warn_of_classes(held_out(["a", "b", "b"], ["b", "a", "a"])) == []
    assert warn_of_classes(held_out(["a", "a"], ["a", "a"])) == []  # no other class is there
    assert warn_of_classes(None) == []


def test_the_warning_is_at_the_top_of_the_page(linear, iris):
    X, y = iris
    held = held_out(y, np.zeros(len(y), dtype=int))
    headline = make_headline(Subject(linear, LabelTask(X, y), list("abcd"), held, 0, []))
    assert headline.warnings == ["It predicts '0' for every held-out sample."]


def test_the_page_marks_warnings(linear, iris, coarse_pictures):
    from mercer.report import Report

    page = Report(linear, *iris, questions=["data"])
    assert {"class": "warning"} not in Page(page.html()).all("p")
    page.headline = page.headline._replace(warnings=["Beware <of> it."])
    found = Page(page.html())
    assert {"class": "warning"} in found.all("p")
    assert "Beware <of> it." in found.text[: found.text.index("The winner is")]
