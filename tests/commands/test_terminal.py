"""What others wrote cannot reach a terminal: it would obey."""

import sys

import pytest

from mercer.commands.outputs import LONGEST_LINE, print_table

UGLY = "name\n\x1b[2J\x07\u202egreen\nplain ä 列\n" + "x" * 10**5 + "\n"


def test_a_terminal_gets_no_control_characters_and_no_endless_line(capsys, monkeypatch):
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    print_table(UGLY)
    lines = capsys.readouterr().out.split("\n")
    assert lines[:3] == ["name", "\\x1b[2J\\x07\\u202egreen", "plain ä 列"]
    assert len(lines[3]) == LONGEST_LINE + 1


def test_a_file_gets_what_is_there(capsys):
    print_table(UGLY)
    assert capsys.readouterr().out == UGLY


@pytest.mark.parametrize("command", ["predict", "match", "group"])
def test_every_command_that_prints_a_table_prints_it_so(command):
    module = pytest.importorskip(f"mercer.commands.{command}")
    assert module.print_table is print_table
