"""Untrusted models, targets that are no files, and being ended from outside."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from commands.tables_at_hand import make_table
from forgery import repack, unpack
from mercer.commands.inputs import MOST_CLASSES
from mercer.persistence import container
from stand_ins import PATIENCE

POSIX = pytest.mark.skipif(os.name != "posix", reason="there are no such pipes and signals")
CHANGES = {
    "no search": lambda about: about.pop("search"),
    "no candidates": lambda about: about["search"].update(candidates=[]),
    "no classes": lambda about: about.update(classes=None),
    "an id that is no name": lambda about: about.update(id={}),
    "a target that is no name": lambda about: about.update(target=["state"]),
    "a budget in words": lambda about: about.update(budget="long"),
}
ONLY_SHOWN = {"no search", "no candidates", "no classes", "a budget in words"}
ONLY_USED = {"an id that is no name", "a target that is no name"}


def is_refused(result):
    one_sentence = result.stderr.count("\n") == 1 and "The metadata in odd.mercer" in result.stderr
    return result.exit_code == 2 and one_sentence and result.stdout == ""


@pytest.mark.parametrize("change", CHANGES)
def test_notes_that_learn_did_not_write_get_a_sentence(mercer, models, change):
    notes, schema, arrays = unpack(models / "out.mercer")
    CHANGES[change](notes["about"])
    repack(Path("odd.mercer"), notes, schema, arrays)
    shown = mercer("show", "odd.mercer")
    assert shown.exit_code == 0 if change in ONLY_USED else is_refused(shown)
    for command in (("predict",), ("similar", "--query", "3")):
        result = mercer(command[0], "odd.mercer", "data.csv", *command[1:])
        assert result.exit_code == 0 if change in ONLY_SHOWN else is_refused(result)


def test_notes_that_are_nested_too_deep_get_a_sentence(mercer, models, monkeypatch):
    notes, schema, arrays = unpack(models / "out.mercer")
    notes["about"]["seed"] = "DEEP"
    dumps = json.dumps
    deep = "[" * 600 + "]" * 600
    monkeypatch.setattr(container.json, "dumps", lambda *a, **k: dumps(*a, **k).replace('"DEEP"', deep))
    repack(Path("odd.mercer"), notes, schema, arrays)
    monkeypatch.undo()
    result = mercer("show", "odd.mercer", "--json")
    assert result.exit_code in (0, 2)  # as deep as this Python goes
    assert result.stderr.count("\n") == (result.exit_code == 2)


def test_a_query_of_more_digits_than_python_reads_is_no_row(mercer, models):
    result = mercer("similar", models / "out.mercer", "data.csv", "--query", "1" * 5000)
    assert result.exit_code == 2
    assert "There is no row '111" in result.stderr
    assert len(result.stderr) < 400


def test_show_prints_json_that_every_parser_reads(mercer, models):
    def refuse(word):
        raise ValueError(f"{word} is not JSON")

    plain, schema, arrays = unpack(models / "out.mercer")
    plain["settings"]["missing_values"] = np.nan  # as SimpleImputer has it
    repack(Path("nan.mercer"), plain, schema, arrays)
    said = json.loads(mercer("show", "nan.mercer", "--json").stdout, parse_constant=refuse)
    assert said["settings"]["missing_values"] is None
    assert said["about"] == plain["about"]
    assert said["versions"] == plain["versions"]


def test_a_model_too_large_to_be_loaded_is_told_and_not_written(mercer, monkeypatch):
    monkeypatch.setattr(container, "MOST_STRUCTURE", 1000)
    learn = ("learn", "data.csv", "--target", "state", "--candidates", "linear", "--jobs", "1")
    before = sorted(os.listdir())
    result = mercer(*learn, "--model", "out.mercer", "--report", "out.html")
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.splitlines()[-1].startswith("out.mercer was not saved: its texts have")
    assert sorted(os.listdir()) == before


@pytest.mark.parametrize("as_text", [False, True])
def test_more_classes_than_mercer_learns_are_refused(mercer, as_text):
    n_classes = MOST_CLASSES + 1
    y = np.arange(3 * n_classes) % n_classes
    table = pd.DataFrame({"x": np.arange(len(y)) % 17, "y": [f"c{k}" for k in y] if as_text else y})
    table.to_csv("many.csv", index=False)
    options = () if as_text else ("--task", "class")
    result = mercer("learn", "many.csv", "--target", "y", "--model", "out.mercer", *options)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.count("\n") == 1
    assert f"has {n_classes} classes" in result.stderr
    assert "--task number: it holds numbers" in result.stderr
    assert not Path("out.mercer").exists()


@POSIX
def test_predictions_go_into_a_pipe(mercer, models):
    os.mkfifo("pipe")
    got = []
    reader = threading.Thread(target=lambda: got.append(Path("pipe").read_text()), daemon=True)
    reader.start()
    result = mercer("predict", models / "out.mercer", "data.csv", "-o", "pipe")
    reader.join(10)
    assert result.exit_code == 0
    assert got == [mercer("predict", models / "out.mercer", "data.csv").stdout]
    assert Path("pipe").is_fifo()


@POSIX
def test_predictions_go_to_a_device_which_stays_one(mercer, models):
    """A terminal: where it lives nobody can make files, so that a mistake here replaces nothing."""
    screen, terminal = os.openpty()
    try:
        name = Path(os.ttyname(terminal))
        result = mercer("predict", models / "out.mercer", "data.csv", "-o", name)
        assert result.exit_code == 0
        assert os.read(screen, 100).startswith(b"row,")
        assert name.is_char_device()
    finally:
        os.close(screen)
        os.close(terminal)


def processes_of(session):
    """Return the processes of a session that still run."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:  # it has ended
            continue
        if int(fields[3]) == session and fields[0] != "Z":
            found.append(stat.parent.name)
    return found


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks for processes in /proc")
def test_a_run_that_is_ended_from_outside_leaves_nothing(tmp_path):
    make_table(n_rows=400).to_csv(tmp_path / "data.csv", index=False)
    learn = "learn data.csv --target state --budget 10000 --jobs 2 --model out.mercer --report out.html"
    with subprocess.Popen(
        [sys.executable, "-m", "mercer.cli", *learn.split()],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            while "after 1 fold" not in (process.stderr.readline() or "after 1 fold"):
                pass
            assert len(processes_of(process.pid)) > 1  # it has workers
            process.send_signal(signal.SIGTERM)
            out, err = process.communicate(timeout=PATIENCE)
            deadline = time.monotonic() + PATIENCE
            while processes_of(process.pid) and time.monotonic() < deadline:
                time.sleep(0.1)
            assert processes_of(process.pid) == []
        finally:
            for left in processes_of(process.pid):
                os.kill(int(left), signal.SIGKILL)
    assert process.returncode == 128 + signal.SIGTERM
    assert (out, "Traceback" in err) == ("", False)
    assert os.listdir(tmp_path) == ["data.csv"]


@POSIX
def test_a_file_in_the_making_is_removed_when_the_run_is_ended(tmp_path):
    program = (
        "import os, signal, sys; from pathlib import Path; from mercer import cli; "
        "from mercer.files import replace_file; signal.signal(signal.SIGTERM, cli.end_in_order); "
        "os.fsync = lambda file: os.kill(os.getpid(), signal.SIGTERM); "
        "replace_file(Path('out'), b'content')"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, check=False)
    assert done.returncode == 128 + signal.SIGTERM
    assert os.listdir(tmp_path) == []
