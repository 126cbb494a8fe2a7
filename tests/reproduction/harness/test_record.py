"""The record of all published numbers, and the overview that counts them."""

import math

import pytest

from reproduction.harness.record import (
    BEGIN,
    END,
    Measured,
    add_stored,
    entries_of,
    overview,
    put_into_page,
    read_record,
    write_record,
)
from reproduction.harness.runner import run
from reproduction.harness.selection import select
from reproduction.harness.store import Store
from toy_table import make_table

DAY = "2003-08-21"
RECORD = {
    ("toy-table", "calm", "mean"): Measured(0.15, 0.1, 3, DAY),  # published 0.0 ± 0.1
    ("toy-table", "calm", "long"): Measured(90.0, 0.1, 2, DAY),  # published 100.0 ± 0.1, lower is better
    ("toy-table", "wild", "mean"): Measured(-90.0, 1.0, 3, DAY),  # published −100, without an error
}
CAUSE = "Those numbers were drawn from elsewhere."


def toy(**changes):
    return make_table(ours=("mean", "long"), causes={("wild", "mean"): CAUSE}, **changes)


def test_a_record_is_read_as_it_was_written(tmp_path):
    record = RECORD | {("toy-table", "wild", "a, b"): Measured(1.5, None, 1, DAY)}
    write_record(tmp_path / "record.csv", record)
    assert read_record(tmp_path / "record.csv") == record
    assert list(read_record(tmp_path / "record.csv")) == list(record)


def test_a_record_that_is_not_there_is_empty(tmp_path):
    assert read_record(tmp_path / "none.csv") == {}


def test_stored_results_replace_those_of_as_many_repeats_or_fewer(tmp_path):
    table = toy()
    list(run(select(table, ("calm",), ("Mean",), 3), Store(tmp_path, "toy")))
    found = add_stored(RECORD, [table], tmp_path)
    assert found["toy-table", "calm", "mean"].repeats == 3
    assert found["toy-table", "calm", "mean"].day != DAY
    assert found["toy-table", "wild", "mean"] == RECORD["toy-table", "wild", "mean"]
    more = RECORD | {("toy-table", "calm", "mean"): Measured(9.0, 0.1, 4, DAY)}
    assert add_stored(more, [table], tmp_path)["toy-table", "calm", "mean"].value == 9.0


def test_numbers_that_are_not_published_any_more_leave_the_record(tmp_path):
    gone = RECORD | {("other-table", "calm", "mean"): Measured(1.0, 1.0, 2, DAY)}
    assert add_stored(gone, [toy()], tmp_path) == RECORD


def test_every_published_number_has_a_verdict_or_was_not_run():
    verdicts = {(e.row, e.column): e.verdict for e in entries_of(toy(), RECORD)}
    assert verdicts == {
        ("calm", "mean"): "within error",
        ("calm", "short"): None,
        ("calm", "long"): "better",
        ("wild", "mean"): "worse",
        ("wild", "short"): None,
    }


def test_a_missing_standard_error_is_ours_with_the_repeats_of_the_paper():
    # 12 repeats of ours, 3 of the paper's: its error would be 2, and the joint one √5
    for distance, verdict in ((2 * math.sqrt(5) - 0.01, "within error"), (2 * math.sqrt(5) + 0.01, "worse")):
        record = {("toy-table", "wild", "mean"): Measured(-100 + distance, 1.0, 12, DAY)}
        (entry,) = (e for e in entries_of(toy(), record) if e.ours)
        assert entry.verdict == verdict


def test_the_overview_counts_verdicts_and_gives_causes():
    text = overview([toy()], RECORD)
    first, table, _, worse = text.split("\n\n")
    assert first == (
        "Of 3 published numbers of the papers' own methods, 2 of the 3 that were run are within two joint "
        "standard errors or better (66.7 %), 1 is worse, and 0 were not run."
    )
    lines = table.splitlines()
    assert lines[2] == f"| A toy | 3 | 1 | 1 | 1 | 0 | 2 to 3 (3) | {DAY} |"
    assert lines[3] == "| **the methods of the papers** | **3** | **1** | **1** | **1** | **0** |  |  |"
    assert lines[4] == "| what they are compared with | 2 | 0 | 0 | 0 | 2 |  |  |"
    assert worse == f"- A toy: wild, mean, published -100, ours -90.00 (repeats: 3). {CAUSE}"


def test_a_number_of_two_tables_counts_once_and_other_readings_do_not():
    tables = [toy(beside=("short",)), toy(key="again", beside=("short",))]
    again = {("again", *place): found for (_, *place), found in RECORD.items()}
    for record in (RECORD, again, RECORD | again):  # in either table, or in both
        lines = overview(tables, record).split("\n\n")[1].splitlines()
        assert lines[4].startswith(
            "| **the methods of the papers** | **3** | **1** | **1** | **1** | **0** |"
        )
        assert lines[5].startswith("| what they are compared with | 0 |")


def test_a_table_without_a_method_of_the_paper_is_not_in_the_overview():
    assert "A toy" not in overview([make_table()], RECORD)


def test_the_overview_is_put_between_its_marks():
    page = f"# Results\n\n{BEGIN}\nold\n{END}\n\nMore."
    new = put_into_page(page, "a \\1 b")
    assert new == f"# Results\n\n{BEGIN}\n\na \\1 b\n\n{END}\n\nMore."
    assert put_into_page(new, "a \\1 b") == new
    with pytest.raises(ValueError, match="no place for the overview"):
        put_into_page("# Results", "text")
