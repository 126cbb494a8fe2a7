"""The section on probabilities: what was said, and how often it was right."""

import numpy as np

from mercer.report.sections.labels import tabulate


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
