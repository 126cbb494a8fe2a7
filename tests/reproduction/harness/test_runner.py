from dataclasses import replace

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from reproduction.harness.experiment import Method, seed_of
from reproduction.harness.runner import Failure, finished, run
from reproduction.harness.selection import Selection
from reproduction.harness.store import Cell, Store
from toy_table import failing_on, interrupted_after, make_table


def select(table, rows=("calm", "wild"), repeats=3, methods=None):
    return Selection(table, rows, methods or table.methods, repeats)


def values_of(selection, store):
    return {cell: result.values for cell, result in finished(selection, store).items()}


@pytest.fixture
def store(tmp_path) -> Store:
    return Store(tmp_path, "toy")


@pytest.fixture
def expected(tmp_path):
    """Return what a run in one go gives."""
    store = Store(tmp_path / "in-one-go", "toy")
    selection = select(make_table())
    assert all(not isinstance(outcome, Failure) for outcome in run(selection, store))
    return values_of(selection, store)


def test_every_cell_has_the_score_of_its_own_seeds(expected):
    for (row, method, repeat), values in expected.items():
        data = make_table().draw(row, seed_of("toy", row, repeat, "data"))
        scores = make_table().method(method).score(data, seed_of("toy", row, repeat, "fit"))
        assert list(values.values()) == scores
    assert set(expected) == {
        Cell(row, method, repeat)
        for row in ("calm", "wild")
        for method in ("Mean", "Both")
        for repeat in range(3)
    }


def test_all_methods_of_a_repeat_see_the_same_data_and_seed(store):
    def score(data, seed):
        return [data.sum(), seed]

    methods = tuple(Method(name, (f"{name} sum", f"{name} seed"), score, "") for name in ("one", "two"))
    selection = select(make_table(methods=methods))
    results = {outcome.cell: list(outcome.values.values()) for outcome in run(selection, store)}
    seen = {(row, repeat): results[row, "one", repeat] for row, _, repeat in results}
    assert all(results[row, "two", repeat] == values for (row, repeat), values in seen.items())
    assert len({seed for _, seed in seen.values()}) == len(seen) == 6


def test_two_processes_give_the_numbers_of_one(store, expected):
    list(run(select(make_table()), store, n_jobs=2))
    assert values_of(select(make_table()), store) == expected


@pytest.mark.parametrize("rows", [("wild",), ("wild", "calm"), ("extra", "calm")])
def test_numbers_do_not_depend_on_which_rows_are_run(store, expected, rows):
    list(run(select(make_table(), rows=rows, repeats=2), store))
    ours = values_of(select(make_table(), repeats=2), store)
    assert ours == {cell: expected[cell] for cell in ours}
    assert {cell.row for cell in ours} == set(rows) - {"extra"}


@pytest.mark.parametrize("n_done", [0, 1, 7, 11])
def test_a_run_that_was_interrupted_goes_on_where_it_was(store, expected, n_done):
    stopped = select(interrupted_after(make_table(), n_done))
    with pytest.raises(KeyboardInterrupt):
        list(run(stopped, store))
    assert len(finished(stopped, store)) == n_done
    continued = list(run(select(make_table()), store))
    assert len(continued) == len(expected) - n_done
    assert values_of(select(make_table()), store) == expected


def test_a_run_whose_reader_stops_keeps_what_it_handed_out(store):
    outcomes = run(select(make_table()), store)
    handed_out = [next(outcomes), next(outcomes)]
    outcomes.close()
    assert list(finished(select(make_table()), store).values()) == handed_out


def test_a_finished_run_computes_nothing(store):
    list(run(select(make_table()), store))
    assert list(run(select(interrupted_after(make_table(), 0)), store)) == []


def test_more_repeats_add_to_those_that_are_there(store):
    list(run(select(make_table(), repeats=2), store))
    added = [outcome.cell.repeat for outcome in run(select(make_table(), repeats=4), store)]
    assert sorted(set(added)) == [2, 3]
    assert len(finished(select(make_table(), repeats=2), store)) == 2 * 2 * 2


def test_a_damaged_last_line_is_computed_again(store, expected):
    list(run(select(make_table()), store))
    store.path.write_bytes(store.path.read_bytes()[:-20])
    assert len(list(run(select(make_table()), store))) == 1
    assert values_of(select(make_table()), store) == expected


def test_results_of_another_protocol_are_not_used(store):
    list(run(select(make_table()), store))
    changed = select(make_table(protocol="six normal numbers"))
    assert finished(changed, store) == {}
    assert len(list(run(changed, store))) == 12


def test_a_changed_method_is_run_again_and_the_others_are_not(store):
    table = make_table()
    list(run(select(table), store))
    methods = (table.methods[0], replace(table.methods[1], protocol="means of two and five"))
    again = {outcome.cell.method for outcome in run(select(make_table(methods=methods)), store)}
    assert again == {"Both"}


def test_a_cell_that_fails_does_not_stop_the_others_and_is_not_stored(store):
    selection = select(failing_on("wild"))
    outcomes = list(run(selection, store))
    failures = [outcome for outcome in outcomes if isinstance(outcome, Failure)]
    assert {failure.reason for failure in failures} == {"ZeroDivisionError: division by zero"}
    assert {failure.cell for failure in failures} == {Cell("wild", "Mean", repeat) for repeat in range(3)}
    assert {cell.row for cell in finished(selection, store)} == {"calm"}


@pytest.mark.parametrize("score", [np.nan, np.inf])
def test_a_score_that_is_not_finite_is_a_failure(store, score):
    table = make_table(methods=(Method("Bad", ("bad",), lambda data, seed: [score], ""),))
    assert all(isinstance(outcome, Failure) for outcome in run(select(table), store))


def test_a_score_too_few_is_a_failure(store):
    table = make_table(methods=(Method("Bad", ("one", "two"), lambda data, seed: [1.0], ""),))
    assert all(isinstance(outcome, Failure) for outcome in run(select(table), store))


def test_warnings_are_kept_with_the_result(store):
    results = list(run(select(failing_on("wild"), rows=("calm",)), store))
    assert [result.warnings for result in results] == [["not converged"]] * 3


def test_a_cell_computes_on_one_thread(store):
    def score(data, seed):
        return [max(pool["num_threads"] for pool in threadpool_info())]

    table = make_table(methods=(Method("Threads", ("threads",), score, ""),))
    with threadpool_limits(2):
        assert [outcome.values for outcome in run(select(table), store)] == [{"threads": 1.0}] * 6


def test_repeats_come_one_after_the_other_so_that_a_part_has_all_rows():
    cells = list(select(make_table()).cells())
    assert [cell.repeat for cell in cells] == sorted(cell.repeat for cell in cells)
    assert {cell.row for cell in cells if cell.repeat == 0} == {"calm", "wild"}
