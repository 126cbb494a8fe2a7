"""The section on probabilities: what was said, and how often it was right."""

import numpy as np
import pytest

from mercer import KernelSearchCV, StumpSVC
from mercer.report.content import Omitted, Subject
from mercer.report.held_out import hold_out
from mercer.report.sections.calibration import show_calibration, tabulate
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


def test_all_held_out_samples_are_in_the_table_and_without_them_there_is_none(rng):
    X = rng.normal(size=(80, 2))
    y = np.array(["no", "yes"])[(X[:, 0] + 0.3 * rng.normal(size=80) > 0).astype(int)]
    search = KernelSearchCV({"stump": StumpSVC(C=0.1)}, cv=2, random_state=0).fit(X, y)
    task = LabelTask(X, y)
    subject = Subject(search, task, ["a", "b"], hold_out(search, task, 0), 0, range(80))
    (table,) = show_calibration(subject).tables
    assert sum(int(row[1]) for row in table.rows) == len(subject.held_out.y)
    with pytest.raises(Omitted):
        show_calibration(subject._replace(held_out=None))
