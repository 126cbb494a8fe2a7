"""What was measured, and how it is counted."""

import math

import numpy as np
import pandas as pd
import pytest

from reproduction.harness import Draws
from reproduction.harness.count import (
    FIELDS,
    average,
    cells,
    count,
    fresh,
    judge,
    measured,
    merge,
    read_record,
    write_record,
)
from reproduction.harness.run import Selection, run
from toy_table import make_table

DAY = "2003-08-21"


def line(row, column, value, error, repeats=3, table="toy-table", first=0, seed=0):
    return (table, row, column, first, seed, value, error, repeats, DAY, "abc")


def record(*lines):
    return pd.DataFrame(lines, columns=FIELDS)


RECORD = record(
    line("calm", "mean", 0.15, 0.1),  # published 0.0 ± 0.1
    line("calm", "long", 90.0, 0.1, 2),  # published 100.0 ± 0.1, lower is better
    line("wild", "mean", -90.0, 1.0),  # published −100, without an error
    line("wild", "short", 10.0, 1.0),  # published 0 ± 100
)


def toy(**changes):
    return make_table(**({"ours": ("mean", "long")} | changes))


@pytest.mark.parametrize(
    ("published", "ours", "verdict"),
    [
        ((10.0, 0.3), (10.9, 0.4), "within error"),  # 0.9 < 2 · 0.5
        ((10.0, 0.3), (11.1, 0.4), "worse"),  # 1.1 > 2 · 0.5
        ((10.0, 0.3), (8.9, 0.4), "better"),
        ((10.0, 0.0), (11.0, 0.5), "within error"),  # exactly two standard errors
        ((10.0, None), (11.1, 0.5), "worse"),  # without a published error, ours alone counts
        ((10.0, None), (10.0, None), "within error"),
    ],
)
def test_two_joint_standard_errors_decide(published, ours, verdict):
    assert judge(published, ours) == verdict
    mirrored = {"better": "worse", "worse": "better"}.get(verdict, verdict)
    assert judge(published, ours, lower_is_better=False) == mirrored


def test_an_average_has_the_standard_error_of_its_kind():
    scores = [1.0, 2.0, 6.0]
    assert average(scores) == (3.0, pytest.approx(math.sqrt(7 / 3)))
    assert average(scores, "median") == (2.0, pytest.approx(math.sqrt(math.pi / 2 * 7 / 3)))
    assert average([5.0]) == (5.0, None)


def test_medians_of_normal_scores_deviate_by_the_error_that_is_said():
    stream = np.random.default_rng(0)
    medians = [np.median(stream.normal(size=400)) for _ in range(2000)]
    said = average(list(stream.normal(size=400)), "median")[1]
    assert np.std(medians) == pytest.approx(said, rel=0.15)  # each is known to some 4 %


def test_a_record_is_read_as_it_was_written(tmp_path):
    whole = record(line("calm", "a, b", 1.5, None, 1), line("wild", "mean", 0.25, 0.125))
    write_record(tmp_path / "record.csv", whole)
    again = read_record(tmp_path / "record.csv")
    pd.testing.assert_frame_equal(again, whole, check_dtype=False)
    assert read_record(tmp_path / "none.csv").empty


def test_a_run_is_recorded_with_its_draws(tmp_path):
    table = toy()
    selection = Selection(table, ("wild", "calm"), table.methods, 4, Draws(10, 3))
    report = run(selection, tmp_path)
    lines = measured(report)
    assert list(zip(lines.row, lines.column, strict=True))[:4] == [
        ("wild", "mean"),
        ("wild", "short"),
        ("wild", "long"),
        ("calm", "mean"),
    ]
    assert set(lines["first"]) == {10}
    assert set(lines.seed) == {3}
    scores = [result.values["mean"] for result in report.results if "mean" in result.values]
    assert lines.value[0] == pytest.approx(np.mean(scores[4:]))  # results are in the order of the rows' names


def test_new_lines_replace_those_of_as_many_repeats_or_fewer_and_the_order_stays():
    new = record(line("wild", "mean", 1.0, 1.0, 2), line("calm", "mean", 9.0, 0.1, 3))
    found = merge(RECORD, new)
    assert list(found.row) == list(RECORD.row)
    assert found.value[0] == 9.0
    assert found.value[2] == -90.0
    assert len(merge(RECORD, record(line("calm", "mean", 9.0, 0.1, first=7)))) == len(RECORD) + 1


def test_every_published_number_has_both_verdicts_or_was_not_run():
    found = cells([toy()], RECORD)
    verdicts = {(c.row, c.column): (c.verdict, c.exact) for c in found.itertuples()}
    assert verdicts == {
        ("calm", "mean"): ("within error", "within error"),
        ("calm", "short"): ("not run", "not run"),
        ("calm", "long"): ("better", "better"),
        ("wild", "mean"): ("worse", "worse"),
        ("wild", "short"): ("within error", "worse"),
    }
    assert list(found.kind) == ["method", "compared", "method", "method", "compared"]
    assert count(found) == [5, 2, 1, 1, 1]
    assert count(found, "exact") == [5, 1, 1, 2, 1]


@pytest.mark.parametrize(("distance", "verdict"), [(-0.01, "within error"), (0.01, "worse")])
def test_a_missing_standard_error_is_ours_with_the_repeats_of_the_paper(distance, verdict):
    # 12 repeats of ours, 3 of the paper's: its error would be 2, and the joint one √5
    table = make_table(ours=("mean",))
    found = cells([table], record(line("wild", "mean", -100 + 2 * math.sqrt(5) + distance, 1.0, 12)))
    (cell,) = found[found.verdict != "not run"].itertuples()
    assert cell.verdict == verdict
    assert cell.exact == "worse"


def test_what_is_within_error_but_far_off_is_said():
    for value, far in ((-86.0, False), (-84.0, True)):
        found = cells([toy()], record(line("wild", "mean", value, 20.0)))
        assert found[found.verdict == "within error"].far.tolist() == [far]
    accuracy = toy(better="higher", published={("calm", "mean"): (95.0, None)})
    for value, far in ((95.7, False), (96.0, True)):  # an error of 5 % is 4 %
        found = cells([accuracy], record(line("calm", "mean", value, 20.0)))
        assert found.far.tolist() == [far]


def test_columns_may_differ_in_which_way_is_better():
    found = cells([toy(higher=("long",))], RECORD)
    assert found[found.column == "long"].verdict.tolist() == ["worse"]


def test_rows_out_of_the_count_and_other_readings_are_of_other_kinds():
    found = cells([toy(beside=("short",), uncounted={"wild": "Not the paper's data."})], RECORD)
    assert list(found.kind) == ["method", "beside", "method", "uncounted", "uncounted"]


def test_a_number_that_two_tables_of_an_experiment_have_counts_once():
    assert cells([toy(), toy(key="again")], RECORD).again.tolist() == [False] * 5 + [True] * 5


def test_a_number_may_be_derived_from_those_of_all_rows():
    def derive(values):
        return {("all", "sum"): (sum(values.values()), 1.0)} if values else {}

    table = toy(published={("all", "sum"): (10.0, None)}, derive=derive, ours=("sum",))
    found = cells([table], RECORD)
    assert found.ours.tolist() == [pytest.approx(10.15)]
    assert found.verdict.tolist() == ["within error"]
    assert cells([table], RECORD[:0]).verdict.tolist() == ["not run"]
    assert table.published_rows == table.rows


def test_fresh_draws_are_set_beside_the_docs_own_in_joint_standard_errors():
    lines = fresh(
        pd.concat([RECORD, record(line("wild", "mean", -85.0, 0.75, first=7), line("a", "b", 0, 1, seed=1))])
    )
    assert lines.errors.tolist() == [pytest.approx(5 / 1.25)]
