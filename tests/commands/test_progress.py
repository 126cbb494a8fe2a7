import io

import pytest
from rich.console import Console

from commands.conftest import QUICK
from mercer.commands.inputs import Request, read_task
from mercer.commands.messages import leaderboard_table, score_text
from mercer.commands.progress import Watcher
from mercer.commands.search_run import Options, learn_task
from mercer.report.content import plain_note

LINE = {
    "candidate": "stump",
    "error": 0.125,
    "std_error": 0.01,
    "difference": -0.02,
    "low": -0.05,
    "high": 0.01,
    "fit_seconds": 0.5,
    "folds": 5,
    "settings": {"C": 0.25},
    "note": "[red]slow",
}


def watched(console):
    watcher = Watcher(console)
    task = read_task(Request())
    with watcher.watching():
        learn_task(task, Options(("linear", "stump"), budget=float(QUICK[1])), [watcher])
    return watcher, console.file.getvalue()


def test_elsewhere_each_result_is_a_line():
    _, text = watched(Console(file=io.StringIO(), force_terminal=False))
    lines = text.splitlines()
    assert sum(line.startswith("linear: ") for line in lines) == 5  # one for each fold
    assert lines[0].endswith("after 1 fold")
    assert "after 5 folds" in text


def test_on_a_terminal_the_table_changes_in_its_place():
    watcher, text = watched(Console(file=io.StringIO(), force_terminal=True, width=100))
    assert {line["candidate"] for line in watcher.lines} == {"linear", "stump"}
    assert "searching," in text
    assert "\x1b[2K" in text  # lines are cleared and written again
    assert "after 1 fold" not in text


def drawn(lines):
    console = Console(file=io.StringIO(), width=120)
    console.print(leaderboard_table(lines))
    return console.file.getvalue()


def test_the_ranking_has_all_its_figures_and_takes_text_as_text():
    text = drawn([LINE])
    for words in ("12.5 ± 1.0 %", "−2.0 [−5.0, +1.0]", "0.50", "C=0.25; [red]slow", "against RBF-SVM"):
        assert words in text


def test_zero_has_no_sign():
    text = drawn([{**LINE, "difference": -0.0001, "low": -0.0004, "high": 0.0004}])
    assert "0.0 [0.0, 0.0]" in text
    assert "-0.0" not in text.replace("−", "-")


@pytest.mark.parametrize(
    ("note", "shown"),
    [
        ("ValueError: too few pairs: list more", "too few pairs: list more"),
        ("of some settings, LinAlgError: singular", "of some settings, singular"),
        ("MemoryError: ", "MemoryError: "),  # there is nothing else to say
        ("no time for it: one fold takes about 3.0 s", "no time for it: one fold takes about 3.0 s"),
    ],
)
def test_notes_are_words_and_not_names_of_python(note, shown):
    assert plain_note(note) == shown
    assert shown.strip() in drawn([{**LINE, "note": note}])


def test_what_is_not_known_is_left_blank():
    unknown = {**LINE, "error": float("nan"), "fit_seconds": None, "difference": None, "folds": 0}
    assert score_text(unknown) == ""
    assert "nan" not in drawn([unknown])


def test_an_auc_is_no_per_cent():
    line = {**LINE, "auc": 0.912}
    line.pop("error")
    assert score_text(line) == "0.912 ± 0.010"
    assert "against plain" in drawn([line])
