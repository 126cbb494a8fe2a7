"""The section on probabilities: what was said, and how often it was right."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from mercer import KernelSearchCV, StumpSVC
from mercer.report.content import Omitted, Subject
from mercer.report.held_out import hold_out
from mercer.report.sections.calibration import (
    describe_conflicts,
    find_verdicts,
    show_calibration,
    tabulate,
)
from mercer.search.label_task import LabelTask


def test_lines_count_samples_and_say_how_often_they_were_right():
    said = np.array([0.55] * 10 + [0.97] * 20 + [0.7] * 2 + [1.0])
    right = np.array([True] * 6 + [False] * 4 + [True] * 19 + [False] + [True] * 3)
    assert tabulate(said, right) == [
        ["50 to 60 %", "10", "55.0 %", "60.0 %"],
        ["70 to 80 %", "2", "70.0 %", "–"],
        ["95 to 99 %", "20", "97.0 %", "95.0 %"],
        ["99 to 100 %", "1", "100.0 %", "–"],
    ]


def test_of_many_classes_probabilities_below_a_half_are_told_apart():
    said = np.repeat([0.12, 0.35, 0.48], 10)
    assert [row[:2] for row in tabulate(said, said > 0.4)] == [
        ["10 to 20 %", "10"],
        ["30 to 40 %", "10"],
        ["40 to 50 %", "10"],
    ]


def test_all_held_out_samples_are_in_the_table_and_without_them_there_is_none(rng):
    X = rng.normal(size=(80, 2))
    y = np.array(["no", "yes"])[(X[:, 0] + 0.3 * rng.normal(size=80) > 0).astype(int)]
    search = KernelSearchCV({"stump": StumpSVC(C=0.1)}, cv=2, random_state=0).fit(X, y)
    task = LabelTask(X, y)
    subject = Subject(search, task, ["a", "b"], hold_out(search, task, 0), 0, range(80))
    (table,) = show_calibration(subject).tables
    assert sum(int(row[1]) for row in table.rows) == len(subject.held_out.y)
    with pytest.raises(Omitted):
        show_calibration(replace(subject, held_out=None))


@pytest.mark.parametrize(("threshold", "n"), [(0.0, 0), (0.25, 3)])
def test_samples_whose_most_probable_class_is_not_predicted_are_counted(threshold, n):
    """Decision values of at least 0 predict the second class, and it is probable from the threshold on."""
    values = np.array([-1.0, 0.0, 0.1, 0.2, 0.3, 1.0])
    predictor = SimpleNamespace(
        classes_=np.array([0, 1]),
        predict=lambda X: (X[:, 0] >= 0).astype(int),
        decision_function=lambda X: X[:, 0],
    )
    search = SimpleNamespace(
        classes_=predictor.classes_,
        calibration_=lambda D: np.column_stack([D[:, 0] < threshold, D[:, 0] >= threshold]).astype(float),
    )
    rows = np.arange(10, 16)
    data = SimpleNamespace(X=values[:, None], y=np.zeros(6, dtype=int), predictor=predictor, rows=rows)
    subject = Subject(search, None, ["a"], data, 0, range(16))
    verdicts = find_verdicts(subject)
    assert [sentence[:50] for sentence in describe_conflicts(verdicts)] == (
        ["For 3 of 6 samples the most probable class is anot"] if n else []
    )
    assert verdicts.name(0) == "0"
    assert verdicts.name(2) == ("1 (more probable: 0)" if n else "1")
    tables = show_calibration(subject).tables[1:]
    assert [row for table in tables for row in table.rows] == [
        [f"row {10 + i}", "0", "1", "0", "100.0 %"] for i in range(1, 1 + n)
    ]


@pytest.mark.parametrize("levels", [(0.9, 0.86), (0.9, 0.86, 0.75)])
def test_probabilities_of_two_values_are_a_sentence_and_of_three_a_plot(levels, coarse_pictures):
    chance = np.repeat(levels, [20] + [6] * (len(levels) - 1))
    classes = np.array(["no", "yes"])
    predictor = SimpleNamespace(
        classes_=classes, predict=lambda X: classes[[0] * len(X)], decision_function=lambda X: X[:, 0]
    )
    search = SimpleNamespace(classes_=classes, calibration_=lambda D: np.column_stack([D[:, 0], 1 - D[:, 0]]))
    data = SimpleNamespace(X=chance[:, None], y=classes[[0] * len(chance)], predictor=predictor)
    section = show_calibration(Subject(search, None, ["a"], data, 0, []))
    is_few = len(levels) < 3
    assert len(section.pictures) == (not is_few)
    assert section.tables[0].folded == (not is_few)
    said = "always given about 86.0 % (6 samples) or 90.0 % (20 samples): too few values for a plot."
    assert (said in section.text[-1]) == is_few
