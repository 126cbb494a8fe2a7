"""``python -m reproduction``: tables and figures on the command line."""

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

import reproduction
from reproduction.command import app
from reproduction.harness import Draws, Picture
from reproduction.harness.count import read_record
from stand_ins import PATIENCE, interruptible
from toy_table import failing_on, interrupted_after, make_figure, make_table

ROOT = Path(reproduction.__file__).parents[1]


@pytest.fixture
def reproduce(monkeypatch, tmp_path):
    """Return a function that runs the command on the toys, in an empty folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MERCER_DATA", raising=False)
    monkeypatch.setattr(reproduction, "CATALOGUE", {item.key: item for item in (make_table(), make_figure())})
    return lambda *arguments: CliRunner().invoke(app, arguments)


def replace_table(monkeypatch, table):
    monkeypatch.setitem(reproduction.CATALOGUE, table.key, table)


def test_help_has_examples_each_on_its_line(reproduce):
    result = reproduce("--help")
    assert result.exit_code == 0
    assert result.stdout.startswith("Usage: python -m reproduction [OPTIONS] [KEY]...\n")
    assert "\n    python -m reproduction     " in result.stdout


def test_the_command_alone_lists_what_there_is(reproduce):
    result = reproduce()
    assert result.exit_code == 0
    assert "toy-table" in result.stdout
    assert "A toy picture" in result.stdout
    assert not Path(".mercer").exists()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["nope"], "There is no table or figure 'nope'; choose from: toy-table, toy-figure."),
        (
            ["toy-table", "--data", "nope"],
            "There is no data set 'nope'; choose from: calm, wild, extra, absent.",
        ),
        (
            ["toy-table", "--methods", "no"],
            "There is no method 'no'; choose from: Mean, mean, Both, short, long.",
        ),
        (["--page", "page.md"], "Name the record of all results with --record."),
        (["toy-table", "--all"], "Name tables and figures or give --all, not both."),
        (["toy-table", "--record", "/no/x.csv"], "There is no folder /no for x.csv: create it first."),
    ],
)
def test_a_wrong_request_gets_one_sentence(reproduce, arguments, sentence):
    result = reproduce(*arguments)
    assert result.exit_code == 2
    assert result.stderr == sentence + "\n"
    assert result.stdout == ""


def test_debug_shows_the_traceback_before_the_sentence(reproduce):
    shown = reproduce("nope", "--debug")
    assert shown.exit_code == 2
    assert shown.stderr.startswith("Traceback")
    assert shown.stderr.endswith("choose from: toy-table, toy-figure.\n")


@pytest.mark.parametrize("option", ["--repeats", "--jobs"])
def test_numbers_below_one_are_refused(reproduce, option):
    assert reproduce("toy-table", option, "0").exit_code == 2


IMPORTING = """
import os, runpy, signal, sys

class Interrupt:
    def find_spec(self, name, path=None, target=None):
        if name == "typer":
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Interrupt())
sys.argv = ["reproduction"]
signal.signal(signal.SIGINT, signal.default_int_handler)
runpy.run_module("reproduction", run_name="__main__")
"""


@pytest.mark.skipif(os.name != "posix", reason="there are no such signals")
def test_an_interrupt_during_imports_ends_without_a_traceback():
    command = [sys.executable, "-c", IMPORTING]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


def test_a_table_is_run_and_shown(reproduce):
    result = reproduce("toy-table", "--jobs", "1")
    assert result.exit_code == 0
    assert "| wild | mean | -100.00 |" in result.stdout
    assert "1 better, 1 worse." in result.stdout


def test_options_choose_what_is_run(reproduce):
    options = ("--data", "extra, calm", "--methods", "Both", "--repeats", "2")
    lines = reproduce("toy-table", "--jobs", "1", *options).stdout.splitlines()
    cells = [line.split(" | ") for line in lines if line.startswith("| ")][2:]
    assert [(cell[0].strip("| "), cell[1]) for cell in cells] == [
        ("calm", "short"),
        ("calm", "long"),
        ("extra", "short"),
        ("extra", "long"),
    ]
    assert {cell[4] for cell in cells} == {"2"}


def test_the_list_says_which_data_are_missing(reproduce, monkeypatch, tmp_path):
    replace_table(monkeypatch, make_table(needs={"calm": "there", "wild": "elsewhere"}))
    (tmp_path / "there.npz").touch()
    monkeypatch.setenv("MERCER_DATA", str(tmp_path))
    assert "| there, elsewhere; not in MERCER_DATA: elsewhere |" in reproduce().stdout
    assert "| generated |" in reproduce().stdout  # the figure


def test_a_figure_is_drawn_into_the_folder_from_the_draws_that_are_asked_for(reproduce, monkeypatch):
    asked = []
    figure = replace(make_figure(), draw=lambda path, draws: asked.append((path.name, draws)))
    monkeypatch.setitem(reproduction.CATALOGUE, figure.key, figure)
    assert reproduce("toy-figure", "--first-repeat", "5", "--seed", "2").exit_code == 0
    assert asked == [("toy-figure.png", Draws(5, 2))]


def test_a_picture_is_drawn_from_the_results(reproduce, monkeypatch):
    def draw(results, path):
        path.write_text(" ".join(result.cell.row for result in results if result.cell.method == "Mean"))

    replace_table(monkeypatch, make_table(pictures=(Picture("scatter", "A scatter plot", draw),)))
    done = reproduce("toy-table", "--jobs", "1", "--repeats", "1", "--store", "kept")
    assert Path("kept/toy-table-scatter.png").read_text() == "calm wild"
    assert "![A scatter plot](kept/toy-table-scatter.png)" in done.stdout


def test_a_row_without_data_is_skipped_and_the_others_run(reproduce):
    result = reproduce("toy-table", "--jobs", "1", "--data", "absent,calm")
    assert result.exit_code == 0
    assert "Skipped absent: The data set 'absent' was not found. Put it into the folder." in result.stdout
    none = reproduce("toy-table", "--jobs", "1", "--data", "absent")
    assert none.exit_code == 1
    assert "Nothing was computed." in none.stdout


def test_a_failure_is_reported_and_the_exit_code_says_so(reproduce, monkeypatch):
    replace_table(monkeypatch, failing_on("wild"))
    result = reproduce("toy-table", "--jobs", "1")
    assert result.exit_code == 1
    assert "Failed wild Mean 0: ZeroDivisionError: division by zero" in result.stdout


def test_an_interrupt_leaves_the_rest_and_a_rerun_goes_on(reproduce, monkeypatch):
    n_looks = 2  # at the data of each row, before anything is run
    replace_table(monkeypatch, interrupted_after(make_table(), n_looks + 5))
    stopped = reproduce("--all", "--jobs", "1")
    assert stopped.exit_code == 130
    assert "run the same command again to continue" in stopped.stdout
    assert "toy-figure" not in stopped.stdout
    replace_table(monkeypatch, interrupted_after(make_table(), n_looks + 12 - 5))
    assert reproduce("toy-table", "--jobs", "1").exit_code == 0


@pytest.mark.skipif(os.name != "posix", reason="sends a signal")
def test_ctrl_c_on_a_real_run_keeps_what_is_done(tmp_path):
    command = [sys.executable, "-m", "reproduction", "ll05-table1", "--jobs", "1"]
    options = ["--data", "twonorm", "--methods", "AB-Stump", "--repeats", "100000", "--store", str(tmp_path)]
    with interruptible(command + options, ROOT) as process:
        while process.poll() is None and not list(tmp_path.rglob("output.pkl")):
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    assert "Traceback" not in err
    assert "Interrupted. Finished results are kept" in out


# the record, and the page


def test_averages_are_added_to_the_record_and_the_page_is_written_from_it(reproduce):
    assert reproduce("toy-table", "--jobs", "1", "--record", "results.csv").exit_code == 0
    record = read_record(Path("results.csv"))
    assert set(record.repeats) == {3}
    fresh = ("--first-repeat", "7000", "--seed", "3", "--repeats", "2", "--record", "results.csv")
    assert reproduce("toy-table", "--jobs", "1", *fresh).exit_code == 0
    both = read_record(Path("results.csv"))
    assert len(both) == 2 * len(record)
    assert set(both["first"]) == {0, 7000}
    assert reproduce("--record", "results.csv", "--page", "page.md").exit_code == 0
    page = Path("page.md").read_text(encoding="utf-8")
    assert "## A toy" in page
    assert "`--first-repeat 7000 --seed 3`" in page


def test_an_interrupted_run_is_not_recorded(reproduce, monkeypatch):
    replace_table(monkeypatch, interrupted_after(make_table(), 6))
    assert reproduce("toy-table", "--jobs", "1", "--record", "results.csv").exit_code == 130
    assert not Path("results.csv").exists()
