import pytest
from rich.console import Console

from reproduction.harness.reproduce import rows_without_data, run_table, run_with_bar
from reproduction.harness.runner import run
from reproduction.harness.selection import Selection
from reproduction.harness.store import Store
from toy_table import make_table


@pytest.fixture
def store(tmp_path) -> Store:
    return Store(tmp_path, "toy")


def select(*rows):
    return Selection(make_table(), rows, make_table().methods, 2)


def test_a_row_without_data_is_skipped_with_the_sentence_of_the_error(store):
    report = run_table(select("calm", "absent"), store, n_jobs=1, console=Console(quiet=True))
    assert report.skipped == {"absent": "The data set 'absent' was not found. Put it into the folder."}
    assert report.selection.rows == ("calm",)
    assert len(report.results) == 4


def test_a_row_that_is_finished_needs_no_data(store):
    list(run(select("calm"), store))

    def draw(row, seed):
        raise FileNotFoundError("The disk is gone.")

    selection = Selection(make_table(draw=draw), ("calm", "wild"), make_table().methods, 2)
    assert rows_without_data(selection, store) == {"wild": "The disk is gone."}
    report = run_table(selection, store, n_jobs=1, console=Console(quiet=True))
    assert report.selection.rows == ("calm",)


def test_a_row_that_lost_its_data_keeps_what_it_has(store):
    list(run(Selection(make_table(), ("calm",), make_table().methods, 1), store))

    def draw(row, seed):
        raise FileNotFoundError("The disk is gone.")

    selection = Selection(make_table(draw=draw), ("calm",), make_table().methods, 2)
    report = run_table(selection, store, n_jobs=1, console=Console(quiet=True))
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
