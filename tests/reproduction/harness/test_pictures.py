"""Tables that draw pictures of their results, say more than their lines do, or have no published number."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

import reproduction
from reproduction import Picture
from reproduction.command import app
from reproduction.harness import listing, show
from reproduction.harness.selection import Selection, choose
from toy_table import interrupted_after, make_table


def draw_counts(results, path):
    path.write_text(" ".join(sorted(result.cell.row for result in results if result.cell.method == "Mean")))


def say_how_many(results):
    return [f"There are {len(results)} results."]


PICTURE = Picture("scatter", "A scatter plot", draw_counts)


@pytest.fixture
def reproduce(monkeypatch, tmp_path):
    """Return a function that runs a table on the command line, in an empty folder."""
    monkeypatch.chdir(tmp_path)

    def run(table, *arguments):
        monkeypatch.setattr(reproduction, "CATALOGUE", {table.key: table})
        return CliRunner().invoke(app, [table.key, "--jobs", "1", *arguments])

    return run


def test_a_picture_is_drawn_from_the_results_into_the_folder_that_keeps_them(reproduce):
    done = reproduce(make_table(pictures=(PICTURE,)), "--repeats", "1", "--store", "kept", "--markdown")
    assert done.exit_code == 0
    assert Path("kept/toy-table-scatter.png").read_text() == "calm wild"
    assert "![A scatter plot](kept/toy-table-scatter.png)" in done.stdout


def test_a_run_that_was_interrupted_draws_no_picture(reproduce):
    table = replace(interrupted_after(make_table(), 6), pictures=(PICTURE,))
    done = reproduce(table, "--store", "kept")
    assert done.exit_code == 130
    assert not Path("kept/toy-table-scatter.png").exists()


def test_without_results_there_is_no_picture(reproduce):
    done = reproduce(make_table(pictures=(PICTURE,)), "--data", "absent", "--store", "kept")
    assert done.exit_code == 1
    assert not Path("kept/toy-table-scatter.png").exists()


def test_what_a_table_says_about_its_results_stands_below_it(reproduce):
    table = make_table(summarize=say_how_many)
    assert "There are 4 results." in reproduce(table, "--repeats", "1", "--markdown").stdout
    assert "There are 4 results." in reproduce(table, "--repeats", "1").stdout
    document = json.loads(reproduce(table, "--repeats", "1", "--json").stdout)
    assert document["tables"][0]["notes"] == ["There are 4 results."]
    without = reproduce(table, "--data", "absent", "--json").stdout
    assert json.loads(without)["tables"][0]["notes"] == []


def test_a_table_without_published_numbers_runs_all_its_rows_and_counts_no_verdicts():
    table = make_table(published={})
    (selection,) = choose({table.key: table}, [table.key])
    assert selection.rows == table.rows
    said = show.remarks(show.Report(Selection(table, table.rows, table.methods, 1), {}, {}))
    assert not any("within error" in sentence for sentence in said)


def test_a_data_set_that_many_rows_need_is_listed_once(monkeypatch, tmp_path):
    table = make_table(needs={"calm": "one", "wild": "one"})
    monkeypatch.setenv("MERCER_DATA", str(tmp_path))
    assert listing.needed(table) == ["one"]
    assert listing.describe_data(table) == "1 set; not in MERCER_DATA: one"
    (tmp_path / "one.npz").touch()
    assert listing.describe_data(table) == "1 set, in MERCER_DATA"
