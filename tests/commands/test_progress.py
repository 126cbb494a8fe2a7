import io

from rich.console import Console

from commands.conftest import QUICK
from mercer.commands.inputs import Request, read_task
from mercer.commands.learn import Options, learn_task
from mercer.commands.messages import leaderboard_table
from mercer.commands.progress import Watcher
from mercer.search import CandidateResult, Difference, Measure, SearchResult
from mercer.search.pairs import AUC
from mercer.search.scoring import ERROR

STUMP = CandidateResult(
    "stump",
    {"C": 0.25},
    Measure(ERROR, 0.125, 0.01, n_folds=5),
    Difference(-0.02, -0.05, 0.01),
    fit_seconds=0.5,
    note="[red]slow",
)


def watched(console):
    watcher = Watcher(console)
    task = read_task(Request())
    with watcher.watching():
        learn_task(task, Options(("linear", "stump"), budget=float(QUICK[1])), [watcher])
    return watcher, console.file.getvalue()


def test_the_search_has_the_budget_that_was_given_whatever_was_left_of_it():
    task = read_task(Request())
    learned = learn_task(task, Options(("linear",), budget=300.0), seconds_spent=100.0)
    assert learned.search.get_params()["budget"] == 300.0


def test_elsewhere_there_is_a_line_at_once_and_then_one_a_minute():
    watcher, text = watched(Console(file=io.StringIO(), force_terminal=False))
    (line,) = text.splitlines()
    assert line.endswith("after 1 fold")
    watcher.start -= 61.0
    watcher._print_news(watcher.result)
    assert len(watcher.console.file.getvalue().splitlines()) == 2


def test_who_wants_it_quiet_sees_nothing():
    watcher = Watcher(Console(file=io.StringIO(), force_terminal=True), quiet=True)
    with watcher.watching():
        watcher.result = None
    assert watcher.console.file.getvalue() == ""


def test_on_a_terminal_the_table_changes_in_its_place():
    watcher, text = watched(Console(file=io.StringIO(), force_terminal=True, width=100))
    assert set(watcher.result.listed) == {"linear", "stump"}
    assert "s left" in text
    assert "\x1b[2K" in text  # lines are cleared and written again
    assert "after 1 fold" not in text


def drawn(candidate, reference="RBF-SVM"):
    console = Console(file=io.StringIO(), width=120)
    result = SearchResult(candidate.measure.metric, (candidate,), (candidate.name,), reference=reference)
    console.print(leaderboard_table(result))
    return console.file.getvalue()


def test_the_ranking_has_all_its_figures_and_takes_text_as_text():
    text = drawn(STUMP)
    for words in ("12.5 ± 1.0 %", "−2.0 [−5.0, +1.0]", "0.50", "C=0.25; [red]slow", "against RBF-SVM"):
        assert words in text


def test_zero_has_no_sign():
    text = drawn(STUMP._replace(difference=Difference(-0.0001, -0.0004, 0.0004)))
    assert "0.0 [0.0, 0.0]" in text
    assert "-0.0" not in text.replace("−", "-")


def test_what_is_not_known_is_left_blank():
    assert "nan" not in drawn(CandidateResult("stump", {}, Measure(ERROR), note="no time for it"))


def test_an_auc_is_no_percentage():
    text = drawn(STUMP._replace(measure=Measure(AUC, 0.912, 0.01, n_folds=5)), reference="plain")
    assert "0.912 ± 0.010" in text
    assert "against plain" in text
