"""A numeric target from a table to predictions with intervals, and back again from a file."""

import json
from io import StringIO
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from commands.conftest import QUICK, invoke
from mercer import load
from report.html_page import Page


def make_houses(n=90):
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "name": [f"h{k}" for k in range(n)],
            "size": rng.uniform(30, 200, n).round(1),
            "town": rng.choice(["Ulm", "Bonn"], n),
        }
    )
    price = 1500 * table["size"] + np.where(table["town"] == "Bonn", 80_000, 0) + rng.normal(0, 9000, n)
    table["price"] = [f"{value:,.0f} €" for value in price]
    table.loc[5, "price"] = ""
    table.loc[7, "size"] = np.nan
    return table


@pytest.fixture(scope="module")
def houses(tmp_path_factory):
    """Return a folder with a table, a model and a report of it, and what was printed."""
    folder = tmp_path_factory.mktemp("houses")
    make_houses().to_csv(folder / "houses.csv", index=False)
    options = ("--target", "price", "--id", "name", *QUICK, "--model", folder / "out.mercer")
    done = invoke("learn", folder / "houses.csv", *options, "--report", folder / "report.html")
    assert done.exit_code == 0, done.stderr
    (folder / "printed.txt").write_text(done.stdout)
    return folder


def test_it_is_said_that_the_target_is_a_number(houses):
    printed = Path(houses / "printed.txt").read_text()
    assert "89 rows, target 'price' a number from" in printed
    assert "different whole numbers" in printed
    assert "the target is a number, not a class." in printed
    assert "1 more row without a target (unlabelled)." in printed
    assert "Expected R² on new samples: 0.9" in printed
    assert "Numbers of new rows: mercer predict" in printed
    assert "always" in printed


def test_predictions_have_intervals(houses):
    done = invoke("predict", houses / "out.mercer", houses / "houses.csv")
    assert done.exit_code == 0
    found = pd.read_csv(StringIO(done.stdout))
    assert list(found) == ["row", "name", "prediction", "low", "high"]
    y = load(houses / "out.mercer").predict(make_houses())
    np.testing.assert_allclose(found["prediction"], y)
    true = pd.to_numeric(make_houses()["price"].str.replace(r"[^\d]", "", regex=True))
    inside = (found["low"] <= true) & (true <= found["high"])
    assert 0.8 <= inside[true.notna()].mean() <= 1.0
    narrow = invoke("predict", houses / "out.mercer", houses / "houses.csv", "--coverage", "0.5", "--json")
    lines = json.loads(narrow.stdout)["predictions"]
    assert lines[0]["high"] - lines[0]["low"] < found["high"][0] - found["low"][0]


def test_shares_that_are_none_are_refused(houses):
    done = invoke("predict", houses / "out.mercer", houses / "houses.csv", "--coverage", "90")
    assert done.exit_code == 2
    assert done.stderr == "--coverage must be between 0 and 1, such as 0.9, not 90.\n"


def test_the_model_is_shown_and_finds_similar_rows(houses):
    shown = invoke("show", houses / "out.mercer")
    assert "target 'price' a number" in shown.stdout
    assert "R²" in shown.stdout
    about = json.loads(invoke("show", houses / "out.mercer", "--json").stdout)["about"]
    assert about["task"] == "number"
    near = invoke("similar", houses / "out.mercer", houses / "houses.csv", "--query", "h3", "--json")
    lines = json.loads(near.stdout)["neighbours"]
    assert len(lines) == 10
    assert set(lines[0]) == {"row", "name", "distance", "target"}
    assert "€" in lines[0]["target"]


def test_the_report_shows_predictions_residuals_and_intervals(houses):
    page = Page((houses / "report.html").read_text(encoding="utf-8"))
    assert {"leaderboard", "predictions", "intervals", "failures", "columns"} <= page.sections
    assert "confusion" not in page.sections
    assert "Predicting price from houses.csv" in page.text
    assert "expected R² on new samples" in page.text
    assert "held-out targets inside" in page.text


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--target", "town", "--task", "number"), "holds 'Bonn' in row 0, which is no number"),
        (("--target", "price", "--task", "price"), "--task is class or number, not 'price'."),
        (("--target", "price", "--scoring", "accuracy"), "There is no score 'accuracy' of numbers"),
        (("--target", "town", "--scoring", "r2"), "There is no score 'r2' of classes"),
        (("--target", "price", "--candidates", "kernelboost"), "There is no candidate 'kernelboost'"),
        (("--target", "price", "--candidates", "nothing"), "There is no candidate 'nothing'"),
        (("--pairs", "pairs.csv", "--task", "number"), "--task is about the column of --target"),
    ],
)
def test_wrong_use_gets_a_sentence(houses, options, words, monkeypatch):
    monkeypatch.chdir(houses)
    done = invoke("learn", "houses.csv", *options, "--budget", "5")
    assert done.exit_code == 2
    assert words in done.stderr
    assert done.stderr.count("\n") <= 8
