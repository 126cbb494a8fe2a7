"""A command imports what it needs: `mercer predict` is over before what learns would be loaded."""

import json
import subprocess
import sys

import pytest

from mercer import cli

PROGRAM = """
import atexit, json, sys
sys.argv[0] = "mercer"
atexit.register(lambda: print(json.dumps(sorted(sys.modules)), file=sys.stderr))
from mercer.cli import main
main()
"""
NOT_NEEDED = {"numba", "llvmlite", "skops", "matplotlib", "jinja2", "torch", "pytest"}
NOT_NEEDED |= {"mercer.commands.learn", "mercer.report"}
NOT_NEEDED |= {"mercer.search.pairs", "mercer.solvers.superkernel"}
NOT_NEEDED |= {"mercer.learners.kernelboost", "mercer.learners.superkernel"}


def modules_after(*arguments):
    command = [sys.executable, "-c", PROGRAM, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout
    return set(json.loads(done.stderr.splitlines()[-1]))


@pytest.mark.parametrize("command", [("predict", "out.mercer", "data.csv"), ("show", "out.mercer")])
def test_what_learns_is_not_loaded_to_predict_or_to_show(models, command):
    name, *files = command
    assert NOT_NEEDED & modules_after(name, *(models / file for file in files)) == set()


@pytest.mark.parametrize("words", [(), ("--help",), ("--debug", "predict"), ("lern",)])
def test_without_the_name_of_a_command_first_there_are_all(words):
    assert names_of(cli.make_app(words)) == list(cli.COMMANDS)


@pytest.mark.parametrize("name", cli.COMMANDS)
def test_a_command_is_there_by_its_name(name):
    assert names_of(cli.make_app([name, "--help"])) == [name]


def names_of(app):
    return [command.callback.__name__ for command in app.registered_commands]
