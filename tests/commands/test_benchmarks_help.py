"""`python -m benchmarks --help` says what there is to run, and runs nothing."""

import importlib
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def benchmarks(*arguments):
    command = [sys.executable, "-m", "benchmarks", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, encoding="utf-8")


@pytest.mark.parametrize("option", ["-h", "--help"])
def test_help_lists_every_benchmark_with_its_first_line(option):
    done = benchmarks(option)
    assert (done.returncode, done.stderr) == (0, "")
    usage, _, *lines = done.stdout.splitlines()
    assert usage.startswith("usage: python -m benchmarks")
    for line in lines:
        name, words = line.split(maxsplit=1)
        one, several = ROOT / "benchmarks" / f"{name}.py", ROOT / "benchmarks" / name / "__init__.py"
        first = (one if one.exists() else several).read_text(encoding="utf-8").splitlines()[0]
        assert words == first.removeprefix('"""').removesuffix('"""')
    refused = benchmarks("nothing").stderr  # it names them all
    assert [line.split()[0] for line in lines] == refused.strip(" .\n").split("There are ")[1].split(", ")


@pytest.mark.parametrize("path", sorted((ROOT / "benchmarks").glob("[a-z]*.py")), ids=lambda path: path.stem)
def test_a_benchmark_imports_what_there_is(path, monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT))
    assert callable(getattr(importlib.import_module(f"benchmarks.{path.stem}"), "main", print))


def test_options_are_refused_where_there_are_none():
    assert (
        "Options are for one of these alone: budget, coverage, tables"
        in benchmarks("cold", "--rows", "3").stderr
    )


def test_a_long_benchmark_lists_its_own_options():
    done = benchmarks("tables", "--help")
    assert (done.returncode, done.stderr) == (0, "")
    assert "--side" in done.stdout
