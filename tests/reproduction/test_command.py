"""``python -m reproduction``: tables and figures on the command line."""

import json
import os
import signal
import subprocess
import sys
import time
from importlib.metadata import version
from pathlib import Path

import pytest
from typer.testing import CliRunner

import reproduction
from reproduction.command import app
from reproduction.harness.record import BEGIN, END, Measured, read_record, write_record
from stand_ins import PATIENCE, interruptible
from toy_table import failing_on, interrupted_after, make_figure, make_table

ROOT = Path(reproduction.__file__).parents[1]
PLACE = ("ll05-table1", "twonorm", "SVM-Stump")


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


def test_the_list_says_which_data_are_missing(reproduce, monkeypatch, tmp_path):
    needs = {"calm": "there", "wild": "elsewhere"}
    replace_table(monkeypatch, make_table(needs=needs))
    (tmp_path / "there.npz").touch()
    monkeypatch.setenv("MERCER_DATA", str(tmp_path))
    table, figure = json.loads(reproduce("--json").stdout)
    assert table["needs"] == ["there", "elsewhere"]
    assert table["missing"] == ["elsewhere"]
    assert figure["needs"] == figure["missing"] == []
    listed = reproduce("--markdown").stdout
    assert "2 sets; not in MERCER_DATA: elsewhere" in listed
    (tmp_path / "elsewhere.npz").touch()
    assert "2 sets, all in MERCER_DATA" in reproduce().stdout


def test_a_table_is_run_and_shown(reproduce):
    result = reproduce("toy-table", "--jobs", "1")
    assert result.exit_code == 0
    assert "-100.00" in result.stdout
    assert "Worse: wild mean." in result.stdout
    assert len(Path(".mercer/papers/toy.jsonl").read_text().splitlines()) == 2 * 2 * 3


def test_json_is_all_that_is_printed(reproduce):
    result = reproduce("--all", "--json", "--jobs", "1", "--store", "kept")
    document = json.loads(result.stdout)
    assert [table["key"] for table in document["tables"]] == ["toy-table"]
    assert document["figures"] == [
        {"key": "toy-figure", "title": "A toy picture", "file": str(Path("kept/toy-figure.png"))}
    ]
    assert len(document["tables"][0]["cells"]) == 2 * 3
    assert document["mercer"] == version("mercer")


def test_options_choose_what_is_run(reproduce):
    options = ("--data", "extra, calm", "--methods", "Both", "--repeats", "2")
    table = json.loads(reproduce("toy-table", "--json", "--jobs", "1", *options).stdout)["tables"][0]
    assert table["rows"] == ["calm", "extra"]
    assert table["columns"] == ["short", "long"]
    assert {cell["repeats"] for cell in table["cells"]} == {2}


def test_the_output_goes_to_a_file(reproduce):
    printed = reproduce("toy-table", "--jobs", "1", "--markdown")
    written = reproduce("toy-table", "--jobs", "1", "--markdown", "--output", "table.md")
    assert written.stdout == ""
    assert Path("table.md").read_text(encoding="utf-8") == printed.stdout


def test_a_figure_is_drawn_into_the_file(reproduce):
    result = reproduce("toy-figure", "--output", "picture.png")
    assert result.exit_code == 0
    assert "picture.png" in result.stdout
    assert Path("picture.png").read_bytes().startswith(b"\x89PNG")


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
        (["toy-table", "--json", "--markdown"], "Choose one of --json and --markdown."),
        (["toy-table", "--all"], "Name tables and figures or give --all, not both."),
        (["toy-table", "--output", "/no/x.md"], "There is no folder /no for x.md: create it first."),
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


def test_a_row_without_data_is_skipped_and_the_others_run(reproduce):
    result = reproduce("toy-table", "--jobs", "1", "--data", "absent,calm")
    assert result.exit_code == 0
    assert "Skipped absent: The data set 'absent' was not found. Put it into the folder.\n" in result.stdout
    assert "100.00 ± 0.10" in result.stdout


def test_where_no_row_has_data_the_exit_code_says_so(reproduce):
    result = reproduce("toy-table", "--jobs", "1", "--data", "absent", "--json")
    assert result.exit_code == 1
    assert list(json.loads(result.stdout)["tables"][0]["skipped"]) == ["absent"]


def test_where_no_row_has_data_there_is_no_table(reproduce):
    said = reproduce("toy-table", "--jobs", "1", "--data", "absent").stdout
    assert "Nothing was computed: the data of absent are missing." in said
    assert "within error" not in said
    assert "published" not in said  # the head of the table


def test_a_failure_is_reported_and_the_exit_code_says_so(reproduce, monkeypatch):
    replace_table(monkeypatch, failing_on("wild"))
    result = reproduce("toy-table", "--jobs", "1")
    assert result.exit_code == 1
    assert "Failed wild Mean (repeat 0): ZeroDivisionError: division by zero" in result.stdout
    assert result.exception is None or isinstance(result.exception, SystemExit)


def test_an_interrupt_shows_what_is_done_and_a_rerun_goes_on(reproduce, monkeypatch):
    whole = json.loads(reproduce("toy-table", "--jobs", "1", "--store", "whole", "--json").stdout)
    n_looks = 2  # at the data of each row, before anything is run
    replace_table(monkeypatch, interrupted_after(make_table(), n_looks + 5))
    stopped = reproduce("toy-table", "--jobs", "1")
    assert stopped.exit_code == 130
    assert "run the same command again to continue" in stopped.stdout
    assert len(Path(".mercer/papers/toy.jsonl").read_text().splitlines()) == 5
    replace_table(monkeypatch, make_table())
    continued = json.loads(reproduce("toy-table", "--jobs", "1", "--json").stdout)
    assert continued["tables"][0]["cells"] == whole["tables"][0]["cells"]


def test_an_interrupt_in_the_first_table_leaves_the_rest(reproduce, monkeypatch):
    replace_table(monkeypatch, interrupted_after(make_table(), 4))
    result = reproduce("--all", "--jobs", "1", "--json")
    assert result.exit_code == 130
    document = json.loads(result.stdout)
    assert document["tables"][0]["interrupted"]
    assert document["figures"] == []


def test_fresh_forgets_what_is_run_and_nothing_else(reproduce, monkeypatch):
    assert reproduce("toy-table", "--jobs", "1").exit_code == 0
    store = Path(".mercer/papers/toy.jsonl")
    before = store.read_text().splitlines()
    again = reproduce("toy-table", "--jobs", "1", "--fresh", "--data", "wild", "--methods", "Mean")
    assert again.exit_code == 0
    after = store.read_text().splitlines()
    recomputed = [line for line in before if '"wild"' in line and '"Mean"' in line]
    assert len(recomputed) == 3
    assert after[:-3] == [line for line in before if line not in recomputed]
    assert len(after) == len(before)


@pytest.mark.skipif(os.name != "posix", reason="sends a signal")
def test_ctrl_c_on_a_real_run_keeps_what_is_done(tmp_path):
    command = [sys.executable, "-m", "reproduction", "ll05-table1", "--json", "--jobs", "1"]
    options = ["--data", "twonorm", "--methods", "AB-Stump", "--repeats", "100000", "--store", str(tmp_path)]
    with interruptible(command + options, ROOT) as process:
        store = tmp_path / "ll05.jsonl"
        while process.poll() is None and not (store.exists() and store.stat().st_size):
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    assert "Traceback" not in err
    table = json.loads(out)["tables"][0]
    assert table["interrupted"]
    assert table["cells"][0]["repeats"] == len(store.read_text().splitlines()) >= 1


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


# all tables in one


def run_overview(tmp_path, *options):
    record = tmp_path / "results.csv"
    write_record(record, {PLACE: Measured(2.9, 0.1, 20, "2005-01-31")})
    arguments = ["--overview", str(record), "--store", str(tmp_path / "none"), *options]
    return CliRunner().invoke(app, arguments)


def test_the_overview_is_printed_and_nothing_is_run(tmp_path):
    found = run_overview(tmp_path)
    assert found.exit_code == 0
    assert "1 of the 1 that were run are within two joint standard errors or better" in found.output
    assert read_record(tmp_path / "results.csv") == {PLACE: Measured(2.9, 0.1, 20, "2005-01-31")}
    assert not (tmp_path / "none").exists()


def test_the_overview_is_written_into_a_page(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(f"# Results\n\n{BEGIN}\n{END}\n", encoding="utf-8")
    assert run_overview(tmp_path, "--output", str(page)).exit_code == 0
    assert "| [LL05] Table I," in page.read_text(encoding="utf-8")


def test_a_page_without_a_place_for_it_is_left_alone(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("# Results", encoding="utf-8")
    found = run_overview(tmp_path, "--output", str(page))
    assert found.exit_code != 0
    assert page.read_text(encoding="utf-8") == "# Results"
