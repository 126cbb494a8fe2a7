import math

import numpy as np
import pytest

from reproduction.harness.comparison import compare, judge
from reproduction.harness.runner import finished, run
from reproduction.harness.selection import Selection
from reproduction.harness.store import Store
from toy_table import make_table


@pytest.mark.parametrize(
    ("published", "ours", "verdict"),
    [
        ((10.0, 0.3), (10.9, 0.4), "within error"),  # 0.9 < 2 · 0.5
        ((10.0, 0.3), (11.1, 0.4), "worse"),  # 1.1 > 2 · 0.5
        ((10.0, 0.3), (8.9, 0.4), "better"),
        ((10.0, 0.3), (9.1, 0.4), "within error"),
        ((10.0, 0.0), (11.0, 0.5), "within error"),  # exactly two standard errors
        ((10.0, None), (10.9, 0.5), "within error"),  # without a published error, ours alone counts
        ((10.0, None), (11.1, 0.5), "worse"),
        ((10.0, None), (10.0, 0.0), "within error"),
    ],
)
def test_two_joint_standard_errors_decide(published, ours, verdict):
    assert judge(published, ours) == verdict
    mirrored = {"better": "worse", "worse": "better"}.get(verdict, verdict)
    assert judge(published, ours, lower_is_better=False) == mirrored


@pytest.fixture
def compared(tmp_path):
    selection = Selection(make_table(), ("calm", "wild", "extra"), make_table().methods, 4)
    store = Store(tmp_path, "toy")
    list(run(selection, store))
    results = finished(selection, store)
    return results, {(entry.row, entry.column): entry for entry in compare(selection, results.values())}


def test_ours_is_the_mean_and_its_standard_error(compared):
    results, entries = compared
    for (row, column), entry in entries.items():
        scores = [r.values[column] for cell, r in results.items() if cell.row == row and column in r.values]
        assert entry.repeats == len(scores) == 4
        mean = sum(scores) / 4
        spread = math.sqrt(sum((score - mean) ** 2 for score in scores) / 3)
        assert entry.ours == pytest.approx((mean, spread / 2), rel=1e-12)


def test_every_row_and_column_has_an_entry_in_the_order_of_the_table(compared):
    _, entries = compared
    assert list(entries) == [(row, c) for row in ("calm", "wild", "extra") for c in ("mean", "short", "long")]


def test_the_verdict_follows_from_the_table(compared):
    _, entries = compared
    assert entries["calm", "long"].verdict == "better"  # published as 100, and lower is better
    assert entries["wild", "mean"].verdict == "worse"  # published as −100
    assert entries["wild", "short"].verdict == "within error"  # published with an error of 100


def test_without_a_published_number_there_is_no_verdict(compared):
    _, entries = compared
    assert entries["wild", "long"].published is None
    assert entries["wild", "long"].verdict is None
    assert all(entry.verdict is None for entry in entries.values() if entry.row == "extra")


@pytest.mark.parametrize("better", ["lower", "higher"])
def test_the_table_says_which_way_is_better(compared, better):
    results, _ = compared
    selection = Selection(make_table(better=better), ("calm",), make_table().methods, 4)
    entries = {entry.column: entry for entry in compare(selection, results.values())}
    assert entries["long"].verdict == {"lower": "better", "higher": "worse"}[better]


def test_one_repeat_has_a_mean_but_neither_error_nor_verdict(compared):
    results, _ = compared
    selection = Selection(make_table(), ("calm",), make_table().methods, 1)
    first = [result for result in results.values() if result.cell.repeat == 0 and result.cell.row == "calm"]
    for entry in compare(selection, first):
        assert np.isfinite(entry.ours[0])
        assert (entry.ours[1], entry.verdict, entry.repeats) == (None, None, 1)


def test_a_column_that_was_not_run_is_empty():
    selection = Selection(make_table(), ("calm",), make_table().methods, 1)
    assert {(entry.ours, entry.repeats, entry.verdict) for entry in compare(selection, [])} == {
        (None, 0, None)
    }
