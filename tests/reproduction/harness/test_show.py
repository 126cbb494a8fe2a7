import io
import json
from dataclasses import replace

import pytest
from rich.console import Console

from reproduction import CATALOGUE, Table
from reproduction.harness import show
from reproduction.harness.runner import Failure, finished, run
from reproduction.harness.selection import Selection
from reproduction.harness.store import Result, Store
from toy_table import failing_on, make_table


def make_report(folder, table=None, **more):
    table = table or make_table()
    selection = Selection(table, ("calm", "wild", "extra"), table.methods, 3)
    store = Store(folder, "toy")
    failures = [outcome for outcome in run(selection, store) if isinstance(outcome, Failure)]
    return show.Report(selection, finished(selection, store), more.pop("skipped", {}), failures, **more)


def in_terminal(report, width):
    console = Console(width=width, record=True, file=io.StringIO(), color_system=None)
    console.print(show.to_terminal(report))
    return console.export_text()


def test_json_has_every_number_of_the_table(tmp_path):
    report = make_report(tmp_path)
    document = json.loads(json.dumps(show.to_json(report), allow_nan=False))
    cells = {(cell["row"], cell["column"]): cell for cell in document["cells"]}
    assert set(cells) == {(row, column) for row in document["rows"] for column in document["columns"]}
    assert document["columns"] == ["mean", "short", "long"]
    for entry in report.entries:
        cell = cells[entry.row, entry.column]
        assert cell["ours"] == dict(zip(("mean", "error"), entry.ours, strict=True))
        assert (cell["published"] or {}).get("mean") == (entry.published or (None,))[0]
        assert cell["verdict"] == entry.verdict
        assert cell["repeats"] == 3


def test_the_summary_counts_the_verdicts_and_names_the_worse(tmp_path):
    report = make_report(tmp_path)
    document = show.to_json(report)
    verdicts = [entry.verdict for entry in report.entries]
    assert document["summary"] == {name: verdicts.count(name) for name in ("within error", "better", "worse")}
    assert document["worse"] == [["wild", "mean"]]
    counted, worse = show.remarks(report)
    assert (
        counted
        == f"{verdicts.count('within error')} within error, {verdicts.count('better')} better, 1 worse."
    )
    assert worse == "Worse: wild mean."


def test_where_nothing_was_computed_there_is_no_table_and_no_verdict(tmp_path):
    report = replace(
        make_report(tmp_path), results={}, skipped={"calm": "No calm.npz.", "wild": "No wild.npz."}
    )
    said = show.remarks(report)
    assert said[0] == "Nothing was computed: the data of calm, wild are missing."
    assert "Skipped calm: No calm.npz." in said
    assert "|" not in show.to_markdown(report)
    assert "within error" not in show.to_markdown(report)


@pytest.mark.parametrize("width", [80, 120])
def test_no_number_is_cut_off_in_a_terminal(tmp_path, width):
    text = in_terminal(make_report(tmp_path), width)
    for entry in make_report(tmp_path).entries:
        assert f"{entry.ours[0]:.2f} ± {entry.ours[1]:.2f}" in text
    assert "-100.00 " in text  # published without an error
    assert text.count("wild") == 1  # each block is named once
    assert "within error" in text


def test_markdown_has_a_line_for_each_number_with_all_six_columns(tmp_path):
    report = make_report(tmp_path)
    table = [line for line in show.to_markdown(report).splitlines() if line.startswith("|")]
    assert len(table) == 2 + len(report.entries)
    assert {line.count("|") for line in table} == {7}
    assert table[2].startswith("| calm | mean | 0.00 ± 0.10 | ")
    assert all("| — |" in line for line in table if line.startswith("| extra"))


def test_what_went_wrong_is_said(tmp_path):
    report = make_report(tmp_path, failing_on("wild"), skipped={"absent": "No such data."}, interrupted=True)
    text = "\n".join(show.remarks(report))
    assert "Skipped absent: No such data." in text
    assert "Failed wild Mean (repeat 2): ZeroDivisionError: division by zero" in text
    assert "Warnings in 6 of 6 runs, such as: not converged" in text
    assert "run the same command again to continue" in text
    document = show.to_json(report)
    assert document["skipped"] == {"absent": "No such data."}
    assert len(document["failed"]) == 3
    assert document["warnings"] == ["not converged"]
    assert document["interrupted"]
    assert document["seconds"] == sum(result.seconds for result in report.results.values())


def test_the_tables_of_the_papers_fit_a_terminal_of_80_columns():
    console = Console(width=200)
    for table in filter(lambda item: isinstance(item, Table), CATALOGUE.values()):
        selection = Selection(table, table.rows, table.methods, 100)
        results = {
            cell: Result(cell, "", dict.fromkeys(table.method(cell.method).columns, 12.34), 0.0)
            for cell in selection.cells()
        }
        assert console.measure(show.to_terminal(show.Report(selection, results, {}))).maximum <= 80
