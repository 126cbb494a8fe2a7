import math

import pytest
from rich.console import Console

from mercer.papers.harness.progress import Pace, rows_without_data, run_and_report, run_with_bar
from mercer.papers.harness.runner import Selection, run
from mercer.papers.harness.store import Cell, Result, Store
from papers.harness.toy import make_table


@pytest.fixture
def store(tmp_path) -> Store:
    return Store(tmp_path, "toy")


def select(*rows):
    return Selection(make_table(), rows, make_table().methods, 2)


def took(row, method, seconds):
    return Result(Cell(row, method, 0), "", {}, seconds)


def test_the_pace_of_a_cell_is_that_of_its_row_and_method_then_of_its_method_then_of_all():
    pace = Pace(
        [took("a", "fast", 1.0), took("a", "fast", 3.0), took("a", "slow", 50.0), took("b", "slow", 70.0)]
    )
    assert pace.seconds({("a", "fast"): 3}) == 3 * 2.0
    assert pace.seconds({("b", "fast"): 3}) == 3 * 2.0
    assert pace.seconds({("c", "slow"): 2, ("a", "fast"): 1}) == 2 * 60.0 + 2.0
    assert pace.seconds({("c", "new"): 1}) == (1.0 + 3.0 + 50.0 + 70.0) / 4
    assert pace.seconds({("c", "new"): 0}) == 0


def test_before_anything_is_done_nobody_knows_how_long_it_takes():
    assert math.isnan(Pace([]).seconds({("a", "fast"): 1}))
    assert Pace([]).seconds({}) == 0


def test_a_row_without_data_is_skipped_with_the_sentence_of_the_error(store):
    report = run_and_report(select("calm", "absent"), store, n_jobs=1, console=Console(quiet=True))
    assert report.skipped == {"absent": "The data set 'absent' was not found. Put it into the folder."}
    assert report.selection.rows == ("calm",)
    assert len(report.results) == 4


def test_a_row_that_is_finished_needs_no_data(store):
    list(run(select("calm"), store))

    def draw(row, seed):
        raise FileNotFoundError("The disk is gone.")

    selection = Selection(make_table(draw=draw), ("calm", "wild"), make_table().methods, 2)
    assert rows_without_data(selection, store) == {"wild": "The disk is gone."}
    report = run_and_report(selection, store, n_jobs=1, console=Console(quiet=True))
    assert report.selection.rows == ("calm",)


def test_a_row_that_lost_its_data_keeps_what_it_has(store):
    list(run(Selection(make_table(), ("calm",), make_table().methods, 1), store))

    def draw(row, seed):
        raise FileNotFoundError("The disk is gone.")

    selection = Selection(make_table(draw=draw), ("calm",), make_table().methods, 2)
    report = run_and_report(selection, store, n_jobs=1, console=Console(quiet=True))
    assert report.skipped == {"calm": "The disk is gone."}
    assert [entry.repeats for entry in report.entries] == [1, 1, 1]


def test_the_bar_says_how_much_is_done_how_long_the_rest_takes_and_what_was_last(store, tmp_path):
    list(run(Selection(make_table(), ("calm",), make_table().methods, 1), store))
    with (tmp_path / "terminal").open("w+", encoding="utf-8") as file:
        console = Console(file=file, force_terminal=True, width=80, color_system=None)
        assert run_with_bar(select("calm"), store, n_jobs=1, console=console) == []
        file.seek(0)
        text = file.read()
    assert "toy-table" in text
    assert "4/4" in text
    assert "0:00:00 left" in text
    assert "calm · Both · 2" in text
