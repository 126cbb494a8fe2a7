import os
from dataclasses import replace

import numpy as np
import pytest

from reproduction import Method
from reproduction.harness import Cell, Draws, show
from reproduction.harness.experiment import seed_of
from reproduction.harness.run import Selection, UnknownNameError, choose, run
from toy_table import failing_on, interrupted_after, make_figure, make_table


def whole(table, repeats=3, **changes):
    return replace(Selection(table, ("calm", "wild"), table.methods, repeats), **changes)


def values(report):
    return {result.cell: result.values for result in report.results}


def test_each_cell_is_computed_from_its_own_seeds(tmp_path):
    table = make_table()
    found = values(run(whole(table), tmp_path))
    assert len(found) == 2 * 2 * 3
    data = table.draw("wild", seed_of("toy", "wild", 2, "data"))
    assert found[Cell("wild", "Mean", 2)] == {"mean": data.mean()}
    short, long = table.methods[1].score(data, seed_of("toy", "wild", 2, "fit"))
    assert found[Cell("wild", "Both", 2)] == {"short": short, "long": long}


def test_two_processes_give_what_one_gives(tmp_path):
    one, two = (values(run(whole(make_table()), tmp_path / str(n), n_jobs=n)) for n in (1, 2))
    assert one == two


def counted(calls):
    table = make_table()

    def draw(row, seed):
        calls.append(row)
        return table.draw(row, seed)

    return make_table(draw=draw)


def test_what_is_stored_is_not_computed_again(tmp_path):
    calls = []
    first = run(whole(counted(calls)), tmp_path)
    calls.clear()
    again = run(whole(counted(calls), repeats=4), tmp_path)
    looks = 2  # at the data of each row, before anything is run
    assert len(calls) == looks + 2 * 2  # the new repeat alone
    assert values(again).items() >= values(first).items()


@pytest.mark.parametrize("change", ["fresh", "words"])
def test_it_is_computed_again_on_request_or_where_the_protocol_is_another(tmp_path, change):
    run(whole(make_table()), tmp_path)
    calls = []
    table = counted(calls)
    if change == "words":
        table = replace(table, protocol="six numbers")
    run(whole(table), tmp_path, fresh=change == "fresh")
    assert len(calls) == 2 + 2 * 2 * 3


def test_fresh_draws_are_those_of_other_seeds(tmp_path):
    own = run(whole(make_table(), repeats=8), tmp_path)
    later = run(whole(make_table(), repeats=3, draws=Draws(first=5)), tmp_path)
    assert values(later).items() <= values(own).items()
    other = run(whole(make_table(), draws=Draws(seed=3)), tmp_path)
    assert {result.cell.repeat for result in other.results} == {0, 1, 2}
    assert not {v["mean"] for v in values(other).values() if "mean" in v} & {
        v["mean"] for v in values(own).values() if "mean" in v
    }


def test_an_error_costs_its_cell_only_and_is_not_stored(tmp_path):
    report = run(whole(failing_on("wild")), tmp_path)
    assert {cell.row for cell, _ in report.failures} == {"wild"}
    assert {reason for _, reason in report.failures} == {"ZeroDivisionError: division by zero"}
    assert {result.cell.row for result in report.results} == {"calm"}
    assert all(result.warnings == ("not converged",) for result in report.results)
    said = show.remarks(report)
    assert "Failed wild Mean 0: ZeroDivisionError: division by zero" in said
    assert "Warnings in 3 of 3 runs, such as: not converged" in said


def test_a_score_that_is_not_finite_is_an_error(tmp_path):
    def score(data, seed):
        return [np.nan]

    table = make_table(methods=(Method("Mean", ("mean",), score, "nothing"),))
    assert "the score is not finite" in run(whole(table), tmp_path).failures[0][1]


def test_a_row_without_data_is_skipped(tmp_path):
    report = run(whole(make_table(), rows=("absent", "calm")), tmp_path)
    assert list(report.skipped) == ["absent"]
    assert {result.cell.row for result in report.results} == {"calm"}


def test_ctrl_c_keeps_what_is_done(tmp_path):
    report = run(whole(interrupted_after(make_table(), 2 + 5)), tmp_path)
    assert report.interrupted
    assert len(report.results) == 5
    calls = []
    run(whole(counted(calls)), tmp_path)
    assert len(calls) == 2 + 12 - 5


def test_in_a_process_of_its_own_a_method_has_one_thread(tmp_path):
    def score(data, seed):
        return [float(os.environ["OMP_NUM_THREADS"])]

    table = make_table(methods=(Method("Mean", ("mean",), score, "threads"),))
    assert {v["mean"] for v in values(run(whole(table), tmp_path, n_jobs=2)).values()} == {1.0}


def test_without_names_all_that_the_paper_has_is_chosen():
    table, figure = make_table(), make_figure()
    selection, drawn = choose({"toy-table": table, "toy-figure": figure}, ["toy-table", "toy-figure"])
    assert (selection.rows, selection.methods, selection.repeats) == (("calm", "wild"), table.methods, 3)
    assert drawn is figure


def test_names_choose_rows_methods_and_columns():
    chosen = choose({"toy-table": make_table()}, ["toy-table"], data=["extra"], methods=["long"], repeats=7)
    assert [selection.rows for selection in chosen] == [("extra",)]
    assert chosen[0].columns == ("short", "long")
    assert chosen[0].repeats == 7


@pytest.mark.parametrize(
    ("names", "sentence"),
    [
        ({"keys": ["no"]}, "There is no table or figure 'no'; choose from: toy-table."),
        ({"data": ["no"]}, "There is no data set 'no'; choose from: calm, wild, extra, absent."),
        ({"methods": ["no"]}, "There is no method 'no'; choose from: Mean, mean, Both, short, long."),
    ],
)
def test_an_unknown_name_is_refused_with_those_that_exist(names, sentence):
    with pytest.raises(UnknownNameError) as refused:
        choose({"toy-table": make_table()}, **{"keys": ["toy-table"], **names})
    assert str(refused.value) == sentence


def test_with_several_tables_one_that_has_none_of_the_names_is_left_out():
    tables = {"a": make_table(), "b": make_table(key="b", rows=("calm",))}
    assert [s.table.key for s in choose(tables, ["a", "b"], data=["extra"])] == ["toy-table"]


def test_a_result_knows_the_commit_of_its_code(tmp_path, monkeypatch):
    monkeypatch.setattr("reproduction.harness.run.commit_here", lambda: "abc1234")
    assert {result.commit for result in run(whole(make_table()), tmp_path).results} == {"abc1234"}
    monkeypatch.setattr("reproduction.harness.run.commit_here", lambda: "later")
    again = run(whole(make_table(), repeats=4), tmp_path)  # what is stored keeps its own
    assert {result.commit for result in again.results if result.cell.repeat < 3} == {"abc1234"}
    assert {result.commit for result in again.results if result.cell.repeat == 3} == {"later"}
