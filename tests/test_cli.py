import os
import subprocess
import sys
from importlib.metadata import version

import pytest
from typer.testing import CliRunner

from mercer import cli


@pytest.fixture
def mercer(monkeypatch, tmp_path):
    """Return a function that runs the command in an empty folder."""
    monkeypatch.chdir(tmp_path)
    return lambda *arguments: CliRunner().invoke(cli.make_app(), arguments)


def test_the_version_is_that_of_the_package(mercer):
    assert mercer("--version").stdout == f"mercer {version('mercer')}\n"


@pytest.mark.parametrize("arguments", [("--help",), ("similar", "--help")])
def test_help_has_examples_each_on_its_line(mercer, arguments):
    result = mercer(*arguments)
    assert result.exit_code == 0
    assert "\n    mercer similar out.mercer data.csv --query 17     " in result.stdout


def test_without_the_extra_packages_a_sentence_says_how_to_get_them(monkeypatch):
    monkeypatch.setattr(cli, "find_spec", lambda name: None)
    with pytest.raises(SystemExit) as caught:
        cli.main()
    assert caught.value.code == "The command `mercer` needs a few more packages: pip install 'mercer[app]'"


def test_importing_the_package_and_the_entry_point_needs_no_extra_package():
    # scikit-learn's callbacks import rich and others where they find them; none of these two.
    code = "import sys, mercer, mercer.cli; print(sorted({'typer', 'matplotlib'} & set(sys.modules)))"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout == "[]\n"


IMPORTING = """
import os, signal, sys

class Interrupt:
    def find_spec(self, name, path=None, target=None):
        if name == "typer":
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Interrupt())
sys.argv = ["mercer", "--version"]
signal.signal(signal.SIGINT, signal.default_int_handler)
from mercer.cli import main
main()
"""


@pytest.mark.skipif(os.name != "posix", reason="there are no such signals")
def test_an_interrupt_during_imports_ends_without_a_traceback():
    done = subprocess.run([sys.executable, "-c", IMPORTING], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")
