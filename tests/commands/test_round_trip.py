"""From a table to a model, and back to what it says of rows."""

import csv
import gzip
import io
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn.metrics.pairwise import pairwise_distances
from typer.testing import CliRunner

import mercer as library
from commands.conftest import QUICK
from commands.tables_at_hand import N_ROWS, make_table
from mercer import cli
from mercer.commands import learn as learning
from mercer.commands import progress
from mercer.commands.messages import legend
from mercer.commands.model import id_heading, result_of
from mercer.persistence import describe
from mercer.search.pairs import PairTask
from mercer.search.task import LabelTask, NumberTask
from mercer.search.words import describe_settings
from stand_ins import PATIENCE, interruptible

LEARN = ("learn", "data.csv", "--target", "state", *QUICK)


def numbers_by_hand(table, reference):
    """The features of a table, from the training table's medians and categories, written out."""
    columns = [table["weight"].fillna(reference["weight"].median()), table["days"]]
    columns += [table["colour"] == colour for colour in ("brown", "green", "red")]
    columns.append(table["colour"].isna())
    return np.column_stack(columns).astype(float)


def scaled_by_hand(table, reference):
    Z = numbers_by_hand(reference, reference)
    return (numbers_by_hand(table, reference) - Z.mean(axis=0)) / Z.std(axis=0)


def test_learn_says_what_it_did_with_the_table(mercer):
    result = mercer(*LEARN, "--model", "out.mercer")
    assert result.exit_code == 0
    for words in (
        f"data.csv: {N_ROWS} rows, 2 classes (raw: ",
        "), 2 numeric columns and 1 categorical column.",
        "One-hot encoded: colour; 6 features in all.",
        "2 missing values: imputed by the median",
        "Dropped column 'name': each row has its own text",
        "Dropped column 'planet': it has a single value.",
        "│ stump ",
        "Expected error on new samples",
        "The model is in out.mercer",
        "mercer predict out.mercer DATA",
        "Error: the cross-validated share of samples",
    ):
        assert words in result.stdout
    assert "example" not in result.stdout
    assert "linear: error " in result.stderr  # the progress
    assert sorted(path.name for path in Path().iterdir()) == ["data.csv", "out.mercer", "pairs.csv"]


def test_the_winner_has_an_asterisk_in_the_ranking(mercer, models):
    for model in ("out.mercer", "pairs.mercer"):
        about = describe(models / model).about
        members = set(about["search"]["blend"]) or {about["search"]["winner"]}
        lines = mercer("show", models / model).stdout.splitlines()
        assert {line.split()[1] for line in lines if line.startswith("│") and " * " in line} == members
        assert any(line.startswith(("* a member of the model", "* selected")) for line in lines)


def test_what_was_not_compared_has_no_column_and_no_word(mercer):
    said = mercer(*LEARN).stdout
    assert "RBF-SVM" not in said
    (head,) = [line for line in said.splitlines() if line.startswith("┃")]
    names = [cell.strip() for cell in head.split("┃")[1:-1]]
    assert names == ["candidate", "share", "error", "fit s", "folds", "settings, notes"]
    result = mercer(*LEARN, "--candidates", "linear,RBF-SVM")  # the last one counts
    assert "against RBF-SVM" in result.stdout
    assert "Against RBF-SVM: difference to a tuned RBF-SVM in percentage points" in result.stdout
    assert "tuned RBF-SVM" in result.stdout  # the verdict


def test_tell_names_settings_by_their_own_names():
    assert describe_settings({"learner__penalty": 100.0, "C": 0.25}) == "penalty=100, C=0.25"


def test_json_is_all_that_learn_prints_and_the_file_keeps_it(mercer):
    document = json.loads(mercer(*LEARN, "--json", "--model", "out.mercer").stdout)
    files = document.pop("files")
    assert files == {"model": "out.mercer", "report": None}
    assert document == describe("out.mercer").about
    found = document["search"]
    assert {found["winner"]} | {one["name"] for one in found["candidates"]} == {
        "linear",
        "stump",
        "always 'raw'",
    }
    shown = json.loads(mercer("show", "out.mercer", "--json").stdout)
    assert shown["about"] == document
    assert shown["versions"]["mercer"] == library.__version__


def test_the_saved_model_encodes_tables_as_written_out_by_hand(models):
    table, new = make_table(), make_table(seed=5, n_rows=30)
    model = library.load(models / "out.mercer")
    new["colour"] = new["colour"].astype(object)
    features = model.encoder_.transform(new[["weight", "days", "colour"]])
    for _, member in model.model_.members:  # each scales by itself
        assert_allclose(member[:-1].transform(features), scaled_by_hand(new, table), atol=1e-12)


def test_predictions_are_those_of_the_pipeline_in_any_order_of_columns(mercer, models):
    new = make_table(seed=5, n_rows=30)
    model = library.load(models / "out.mercer")
    expected = model.predict(new), model.predict_proba(new)
    new[["days", "colour", "weight"]].to_csv("new.csv", index=False)
    printed = mercer("predict", models / "out.mercer", "new.csv")
    assert printed.exit_code == 0
    found = pd.read_csv(io.StringIO(printed.stdout))
    assert list(found.columns) == ["row", "prediction", "probability raw", "probability ripe"]
    assert_allclose(found["probability raw"] + found["probability ripe"], 1.0)
    assert (found["prediction"] == expected[0]).all()
    assert_allclose(found[["probability raw", "probability ripe"]], expected[1], rtol=1e-12)
    assert (found["prediction"] == np.where(found["probability ripe"] > 0.5, "ripe", "raw")).all()
    written = mercer("predict", models / "out.mercer", "new.csv", "-o", "p.csv")
    assert (written.stdout, Path("p.csv").read_text()) == ("", printed.stdout)
    document = json.loads(mercer("predict", models / "out.mercer", "new.csv", "--json").stdout)
    assert document["classes"] == ["raw", "ripe"]
    assert document["predictions"] == found.to_dict(orient="records")


def test_predict_takes_the_training_table_with_its_classes_and_ids(mercer, models):
    found = pd.read_csv(io.StringIO(mercer("predict", models / "out.mercer", "data.csv").stdout))
    assert list(found.columns) == [
        "row",
        "name",
        "prediction",
        "probability raw",
        "probability ripe",
    ]  # the column of ids keeps its name
    assert list(found["name"]) == list(make_table()["name"])
    assert (found["prediction"] == make_table()["state"]).mean() > 0.8


def test_categories_and_gaps_that_training_did_not_know_are_no_mistake(mercer, models):
    Path("new.csv").write_text("weight,days,colour\n,,\n1.5,,blue\n")
    assert mercer("predict", models / "out.mercer", "new.csv").exit_code == 0


def test_rows_without_a_class_and_those_of_a_second_file_are_unlabelled(mercer):
    table = make_table()
    table.loc[[3, 8], "state"] = np.nan
    table.to_csv("gaps.csv", index=False)
    make_table(seed=7, n_rows=20).drop(columns="state").to_csv("more.csv", index=False)
    result = mercer("learn", "gaps.csv", "--target", "state", "--unlabelled", "more.csv", *QUICK, "--json")
    document = json.loads(result.stdout)
    assert (document["rows"], document["unlabelled_rows"]) == (N_ROWS - 2, 22)
    # the medians are those of all rows: nothing of the classes is in them
    assert document["missing_cells"] == 4


def test_similar_rows_are_the_nearest_by_the_kernel(mercer):
    options = ("--candidates", "linear", "--budget", "5", "--jobs", "1", "--model", "linear.mercer")
    assert mercer("learn", "data.csv", "--target", "state", *options).exit_code == 0
    result = mercer("similar", "linear.mercer", "data.csv", "--query", "17", "--top", "4", "--json")
    found = json.loads(result.stdout)
    table = make_table()
    Z = scaled_by_hand(table, table)  # the linear kernel's distance is Euclid's
    apart = pairwise_distances(Z[17:18], Z)[0]
    expected = np.argsort(apart)[1:5]
    assert [line["row"] for line in found["neighbours"]] == list(expected)
    assert_allclose([line["distance"] for line in found["neighbours"]], apart[expected], rtol=1e-6)
    assert [line["class"] for line in found["neighbours"]] == list(table["state"][expected])
    by_name = ("--query", "apple 17", "--id", "name", "--top", "4", "--json")
    named = json.loads(mercer("similar", "linear.mercer", "data.csv", *by_name).stdout)
    assert [line["name"] for line in named["neighbours"]] == [f"apple {row}" for row in expected]
    shown = mercer("similar", "linear.mercer", "data.csv", "--query", "17", "--top", "4").stdout
    assert f"│ {expected[0]} " in shown


def test_similar_remembers_the_ids_of_the_training(mercer, models):
    def found(*query):
        command = ("similar", models / "out.mercer", "data.csv", *query, "--top", "4")
        assert "apple" in mercer(*command).stdout
        return json.loads(mercer(*command, "--json").stdout)

    by_number = found("--query", "17")
    assert by_number == found("--query", "apple 17") == found("--query", "apple 17", "--id", "name")
    assert [line["name"] for line in by_number["neighbours"]] == [
        f"apple {line['row']}" for line in by_number["neighbours"]
    ]
    make_table().drop(columns="name").to_csv("nameless.csv", index=False)
    nameless = ("similar", models / "out.mercer", "nameless.csv", "--top", "4", "--query")
    (first, *_) = json.loads(mercer(*nameless, "17", "--json").stdout)["neighbours"]
    assert set(first) == {"row", "distance", "class"}
    assert "--id" in mercer(*nameless, "apple 17").stderr


def test_remembered_ids_that_repeat_leave_the_numbers_of_rows(mercer, models):
    make_table().assign(name="apple").to_csv("same.csv", index=False)
    result = mercer("similar", models / "out.mercer", "same.csv", "--query", "3", "--json")
    assert json.loads(result.stdout)["query"] == 3


@pytest.mark.parametrize(
    ("name", "heading"), [("name", "name"), ("row", "id"), ("decision a", "id"), ("rows", "rows")]
)
def test_ids_keep_their_name_unless_another_column_has_it(name, heading):
    assert id_heading(name, ("row", "decision")) == heading


def test_what_the_table_is_stands_before_the_search(mercer):
    result = mercer(*LEARN, "--json")
    json.loads(result.stdout)
    assert result.stderr.startswith(f"data.csv: {N_ROWS} rows, 2 classes (raw: ")
    assert result.stderr.index("Dropped column 'planet'") < result.stderr.index("linear: error ")


def test_the_help_lists_the_candidates_that_are_taken(mercer):
    said = "".join(mercer("learn", "--help").stdout.split())  # lines may end after a hyphen
    for task in (LabelTask, NumberTask, PairTask):
        assert ",".join(task.names) in said


def test_why_the_first_of_the_table_did_not_win_is_said(mercer, models):
    about = describe(models / "out.mercer").about
    result = result_of(about)
    assert result.listed == ("linear", "stump")
    linear, stump = (result.candidate(name) for name in result.listed)
    swapped = result._replace(winner="linear", candidates=(stump, linear))
    assert legend(about, swapped)[-1].startswith("linear counts most although stump has the lowest error: ")
    first = result._replace(winner="linear", candidates=(linear, stump))
    assert not any("counts most although" in said for said in legend(about, first))


def test_pairs_without_dissimilar_ones_are_said_to_be_guessed(mercer):
    pairs = pd.read_csv("pairs.csv")
    quick = ("--drop", "state", "--candidates", "plain", "--budget", "5", "--jobs", "1")
    assert "drawn at random" not in mercer("learn", "data.csv", "--pairs", "pairs.csv", *quick).stdout
    pairs[pairs["similar"] == 1][["first", "second"]][:20].to_csv("similar.csv", index=False)
    said = mercer("learn", "data.csv", "--pairs", "similar.csv", *quick, "--report", "report.html").stdout
    assert "drawn at random" in said
    assert "drawn at random" in Path("report.html").read_text(encoding="utf-8")


def test_the_example_names_no_file_that_is_not_there(mercer):
    quick = ("--budget", "5", "--candidates", "linear", "--jobs", "1", "--model", "out.mercer")
    said = mercer("learn", *quick).stdout
    assert "The model is in out.mercer." in said
    assert re.findall(r"mercer \w+ .*DATA.*", said) == ["mercer learn DATA --target COLUMN"]


def test_a_similar_row_without_a_class_has_an_empty_cell(mercer, models):
    table = make_table()
    table.loc[::2, "state"] = np.nan
    table.to_csv("gaps.csv", index=False)
    command = ("similar", models / "out.mercer", "gaps.csv", "--query", "3", "--top", "9")
    shown = mercer(*command).stdout
    assert "nan" not in shown
    cells = [[cell.strip() for cell in line.split("│")[1:-1]] for line in shown.splitlines() if "│" in line]
    found = json.loads(mercer(*command, "--json").stdout)["neighbours"]
    assert [row for row, *_ in cells] == [str(line["row"]) for line in found]
    assert [label for _, _, _, label, *_ in cells] == [line["class"] or "" for line in found]
    assert {bool(label) for _, _, _, label, *_ in cells} == {True, False}


def test_similar_gives_no_more_rows_than_there_are(mercer, models):
    found = json.loads(
        mercer("similar", models / "out.mercer", "data.csv", "--query", "0", "--top", "999", "--json").stdout
    )
    assert sorted(line["row"] for line in found["neighbours"]) == list(range(1, N_ROWS))


def test_pairs_alone_teach_a_distance(mercer, models):
    about = describe(models / "pairs.mercer").about
    assert about["classes"] is None
    assert about["search"]["measure"]["value"] > 0.6  # a coin has 0.5
    assert about["columns"]["dropped"]["state"] == "it is listed in --drop"
    table = make_table()
    rows = []
    for query in range(0, N_ROWS, 6):
        options = ("--query", query, "--top", "5", "--json")
        found = json.loads(mercer("similar", models / "pairs.mercer", "data.csv", *options).stdout)
        rows.append([line["row"] for line in found["neighbours"]])
    states = table["state"].to_numpy()
    assert (states[np.array(rows)] == states[::6][:, None]).mean() > 0.7


def test_pairs_may_name_rows_by_their_ids(mercer):
    pairs = pd.read_csv("pairs.csv")
    pairs[["first", "second"]] = "apple " + pairs[["first", "second"]].astype(str)
    pairs["similar"] = pairs["similar"].map({1: "similar", 0: "dissimilar"})
    pairs.to_csv("named.csv", index=False)
    quick = ("--drop", "state", "--candidates", "plain", "--budget", "5", "--jobs", "1", "--json")
    by_number = json.loads(mercer("learn", "data.csv", "--pairs", "pairs.csv", *quick).stdout)
    by_name = json.loads(mercer("learn", "data.csv", "--pairs", "named.csv", "--id", "name", *quick).stdout)
    assert by_number["pairs"] == by_name["pairs"]
    assert by_number["search"]["measure"] == by_name["search"]["measure"]


def test_show_says_the_same_as_learn_and_the_versions(mercer, models):
    result = mercer("show", models / "out.mercer")
    assert result.exit_code == 0
    assert "Expected error on new samples" in result.stdout
    assert f"mercer {library.__version__}, scikit-learn" in result.stdout
    assert "AUC" in mercer("show", models / "pairs.mercer").stdout


def test_show_knows_models_that_were_saved_in_python(mercer):
    library.save(library.StumpSVC(C=0.125), "stump.mercer", about={"by": "\x1b[31mme"})
    result = mercer("show", "stump.mercer")
    assert result.exit_code == 0
    assert "0.125" in result.stdout
    assert "\x1b" not in result.stdout


@pytest.mark.parametrize("name", ["linear", "kernelboost"])
def test_the_kernel_is_said_in_words(mercer, name):
    quick = ("--candidates", name, "--budget", "5", "--jobs", "1", "--model", "one.mercer")
    said = mercer("learn", "data.csv", "--target", "state", *quick).stdout
    words = describe("one.mercer").about["kernel"]
    if name == "kernelboost":
        T, M, d = library.load("one.mercer").best_estimator_[-1].kernel_.means.shape
        assert words == f"{T} Gaussian mixtures of {M} components on {d} columns"
    assert f"Its kernel: {words}." in said
    assert f"Its kernel: {words}." in mercer("show", "one.mercer").stdout


def test_without_a_file_it_learns_the_embedded_set(mercer):
    document = json.loads(mercer("learn", *QUICK, "--json").stdout)
    assert (document["rows"], document["features"]) == (569, 30)
    assert document["classes"] == {"benign": 357, "malignant": 212}
    assert document["search"]["measure"]["value"] < 0.1
    assert "This was an example." in mercer("learn", *QUICK).stdout


def test_the_same_seed_gives_the_same_model(mercer):
    first, second = (json.loads(mercer(*LEARN, "--seed", "3", "--json").stdout) for _ in range(2))
    for document in (first, second):
        document.pop("seconds")
        for one in document["search"]["candidates"]:
            one.pop("fit_seconds"), one.pop("predict_seconds")
        document["search"]["candidates"].sort(key=str)
    assert first == second


def interrupted_after(n_reports):
    """Return a callback's method that sends Ctrl-C after so many reports."""
    reports = []
    original = progress.Watcher.on_fit_task_end

    def on_fit_task_end(self, estimator, context, **more):
        if context.task_name == "candidate":
            reports.append(1)
            if len(reports) > n_reports:
                raise KeyboardInterrupt
        return original(self, estimator, context, **more)

    return on_fit_task_end


def test_ctrl_c_saves_the_best_so_far_and_the_exit_code_says_so(mercer, monkeypatch):
    monkeypatch.setattr(progress.Watcher, "on_fit_task_end", interrupted_after(2))
    result = mercer(*LEARN, "--model", "out.mercer")
    assert result.exit_code == 130
    assert "ended early (it was interrupted)" in result.stdout
    assert mercer("predict", "out.mercer", "data.csv").exit_code == 0


def test_ctrl_c_before_anything_is_done_leaves_nothing(mercer, monkeypatch):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("mercer.commands.learn.learn_task", interrupt)
    result = mercer(*LEARN, "--model", "out.mercer")
    assert (result.exit_code, result.stdout, Path("out.mercer").exists()) == (130, "", False)
    assert result.stderr.endswith("Interrupted before there was a result: nothing was written.\n")


def test_a_report_that_fails_leaves_the_model_and_no_half_a_report(mercer, monkeypatch):
    def fail(path, content):
        raise RuntimeError("no ink")

    monkeypatch.setattr("mercer.report.page.replace_file", fail)
    result = mercer(*LEARN, "--model", "out.mercer", "--report", "report.html")
    assert result.exit_code == 1
    assert "no ink" in result.stderr
    assert sorted(path.name for path in Path().iterdir()) == ["data.csv", "out.mercer", "pairs.csv"]


def test_the_report_is_given_the_rows_and_the_names_of_the_features(mercer, monkeypatch):
    given = {}

    def write_report(search, X, y, path, *, about, **more):
        encoder = search.encoder_
        names = list(encoder.get_feature_names_out())
        given.update(X=encoder.transform(X), y=y, names=names, about=about, **more)
        Path(path).write_text("a page", encoding="utf-8")

    monkeypatch.setattr("mercer.report.write_report", write_report)
    result = mercer(*LEARN, "--report", "report.html")
    assert result.exit_code == 0
    assert Path("report.html").read_text() == "a page"
    assert "The report is in report.html." in result.stdout
    assert given["names"] == [
        *("weight", "days"),
        *(f"colour: {value}" for value in ("brown", "green", "red", "missing")),
    ]
    assert_allclose(given["X"], numbers_by_hand(make_table(), make_table()))
    assert list(given["y"]) == list(make_table()["state"])
    assert given["row_names"] == list(range(N_ROWS))
    assert "One-hot encoded" in given["about"]["table"]
    assert given["about"]["data"] == "data.csv"
    assert given["about"]["target"] == "state"


@pytest.mark.parametrize("ids", [(), ("--id", "name")])
def test_rows_of_the_report_are_those_of_the_file_and_what_similar_takes(mercer, ids):
    """Rows without a class count too; with --id, rows go by their ids."""
    table = make_table()
    table.loc[::3, "state"] = np.nan
    table.to_csv("gaps.csv", index=False)
    learn = (
        "learn",
        "gaps.csv",
        "--target",
        "state",
        *ids,
        *QUICK[:2],
        "--jobs",
        "1",
        "--candidates",
        "linear",
    )
    assert mercer(*learn, "--report", "report.html", "--model", "out.mercer").exit_code == 0
    page = Path("report.html").read_text(encoding="utf-8")
    cells = re.findall(r">([^<>]+): (ripe|raw)</td>", page)
    assert len(cells) >= 6
    for name, state in cells:
        row = table.index[table["name"] == name].item() if ids else int(name.removeprefix("row "))
        assert table["state"][row] == state
        query = ("--query", name if ids else str(row), *ids, "--top", "1", "--json")
        found = json.loads(mercer("similar", "out.mercer", "gaps.csv", *query).stdout)
        assert found["query"] == row


def test_a_model_and_a_page_come_of_one_command(mercer):
    result = mercer(*LEARN, "--model", "out.mercer", "--report", "report.html")
    assert result.exit_code == 0
    page = Path("report.html").read_text(encoding="utf-8")
    assert page.startswith("<!DOCTYPE html>")
    assert "colour_green" in page or "stump" in page


@pytest.mark.parametrize("command", ["learn", "predict", "show", "similar"])
def test_help_has_examples_each_on_its_line(mercer, command):
    result = mercer(command, "--help")
    assert result.exit_code == 0
    assert f"\n    mercer {command} " in result.stdout or f"\n  mercer {command} " in result.stdout
    assert "--json" in result.stdout


def test_a_terminal_that_cannot_spell_is_no_reason_to_fail(models):
    show = [sys.executable, "-m", "mercer.cli", "show", str(models / "out.mercer")]
    ascii_only = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = subprocess.run(show, capture_output=True, text=True, encoding="ascii", env=ascii_only)
    assert (done.returncode, done.stderr) == (0, "")
    assert "Expected error on new samples" in done.stdout
    assert "+/- one standard error" in done.stdout


def test_what_cannot_be_spelled_is_spelled_plainly():
    error = UnicodeEncodeError("ascii", "1 \N{MINUS SIGN}±字 2", 2, 5, "not ASCII")
    assert cli.spell_plainly(error) == ("-+/-?", 5)


@pytest.mark.skipif(os.name != "posix", reason="sends a signal")
def test_ctrl_c_on_a_real_run_keeps_the_best(tmp_path):
    make_table().to_csv(tmp_path / "data.csv", index=False)
    mercer = [sys.executable, "-m", "mercer.cli"]
    # a budget that is never over: Ctrl-C comes as soon as a candidate is told
    learn = [
        "learn",
        "data.csv",
        "--target",
        "state",
        "--budget",
        "10000",
        "--jobs",
        "1",
        "--model",
        "out.mercer",
    ]
    with interruptible(mercer + learn, tmp_path) as process:
        while "after 1 fold" not in (process.stderr.readline() or "after 1 fold"):
            pass
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=PATIENCE)
    assert "Traceback" not in err
    assert process.returncode == 130
    assert "it was interrupted" in out
    predict = [*mercer, "predict", "out.mercer", "data.csv"]
    found = subprocess.run(predict, cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    assert len(found.splitlines()) == 1 + N_ROWS


@pytest.mark.parametrize(("n_rows", "is_one"), [(60, True), (1999, True), (2000, False)])
def test_few_rows_are_searched_by_one_process(n_rows, is_one, monkeypatch):
    monkeypatch.setattr("joblib.cpu_count", lambda: 8)
    assert learning.default_jobs(n_rows) == (1 if is_one else 8)


def test_jobs_are_those_that_the_user_asks_for(mercer, monkeypatch):
    asked = []

    def run(task, options, seconds_spent, *, quiet):
        asked.append(options.n_jobs)
        raise KeyboardInterrupt

    monkeypatch.setattr("mercer.commands.learn.run", run)
    for jobs in ((), ("--jobs", "3")):
        mercer("learn", "data.csv", "--target", "state", *jobs)
    assert asked == [1, 3]


def test_a_slow_start_is_part_of_the_budget(mercer, monkeypatch):
    order = []

    def run(task, options, seconds_spent, *, quiet):
        order.append(seconds_spent)
        raise KeyboardInterrupt

    monkeypatch.setattr("mercer.commands.learn.run", run)
    for seconds in (0.5, 1000.0):  # of importing
        request = ["learn", "data.csv", "--target", "state", "--model", "new.mercer"]
        CliRunner().invoke(cli.make_app(), request, obj=seconds)
    quick, slow = order
    assert 0.0 <= quick < 500.0
    assert slow >= 1000.0 - learning.STARTING_UP


@pytest.fixture
def python_s_own_handler():
    """Let Ctrl-C raise, as it does but in a process that was started in the background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("python_s_own_handler")
def test_ctrl_c_is_acknowledged_at_once(capfd):
    with pytest.raises(KeyboardInterrupt), progress.acknowledging_interrupts():
        signal.raise_signal(signal.SIGINT)
    assert "Stopping: the best so far is kept" in capfd.readouterr().err
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_predict_keeps_the_columns_of_the_table_as_they_are_written(mercer, models):
    Path("new.csv").write_text('weight,days,colour,state\n"1,234.50",7,"NA",\n2.5,?,red,raw\n')
    found = mercer("predict", models / "out.mercer", "new.csv", "--keep-columns").stdout
    rows = list(csv.DictReader(io.StringIO(found)))
    ours = ["prediction", "probability raw", "probability ripe"]
    assert list(rows[0]) == ["row", "weight", "days", "colour", "state", *ours]
    assert [(row["weight"], row["days"], row["colour"], row["state"]) for row in rows] == [
        ("1,234.50", "7", "NA", ""),
        ("2.5", "?", "red", "raw"),
    ]
    document = json.loads(
        mercer("predict", models / "out.mercer", "new.csv", "--keep-columns", "--json").stdout
    )
    assert document["predictions"][0]["weight"] == "1,234.50"


def test_kept_columns_that_are_called_as_ours_are_told_apart(mercer, models):
    table = make_table().rename(columns={"name": "row"})
    table.to_csv("data.csv", index=False)
    options = ("--candidates", "linear", "--jobs", "1", "--model", "row.mercer")
    assert mercer("learn", "data.csv", "--target", "state", *options).exit_code == 0
    found = pd.read_csv(io.StringIO(mercer("predict", "row.mercer", "data.csv", "--keep-columns").stdout))
    assert list(found["row"]) == list(range(N_ROWS))
    assert list(found["row (table)"]) == list(table["row"])


def test_tables_come_from_the_standard_input(mercer, models):
    expected = mercer("predict", models / "out.mercer", "data.csv").stdout
    content = gzip.compress(Path("data.csv").read_bytes())
    arguments = ["predict", str(models / "out.mercer"), "-"]
    assert CliRunner().invoke(cli.make_app(), arguments, input=content).stdout == expected
    learn = ["learn", "-", "--target", "state", *QUICK]
    result = CliRunner().invoke(cli.make_app(), learn, input=Path("data.csv").read_bytes())
    assert f"the standard input: {N_ROWS} rows" in result.stdout


def test_a_column_that_is_the_classes_of_pairs_is_named(mercer):
    quick = ("--candidates", "plain", "--budget", "5", "--jobs", "1")
    said = mercer("learn", "data.csv", "--pairs", "pairs.csv", *quick).stdout
    assert "Used as a feature, though it says which pairs are similar, as classes do: 'state'" in said
    assert (
        "though it says"
        not in mercer("learn", "data.csv", "--pairs", "pairs.csv", "--drop", "state", *quick).stdout
    )


def test_classes_that_are_words_for_missing_values_go_through(mercer):
    table = make_table()
    table["state"] = np.where(table["state"] == "raw", "NA", "007")
    table.to_csv("na.csv", index=False)
    options = ("--candidates", "linear", "--jobs", "1", "--model", "na.mercer")
    result = mercer("learn", "na.csv", "--target", "state", *options)
    assert "2 classes (007: " in result.stdout
    assert "'NA' in column 'state' is a class" in result.stdout
    printed = mercer("predict", "na.mercer", "na.csv").stdout
    found = pd.read_csv(io.StringIO(printed), dtype=str, keep_default_na=False)
    assert set(found["prediction"]) == {"NA", "007"}
    assert '"NA"' in printed
