"""Weights, groups and pairs, as they come from a table."""

import io
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from typer.testing import CliRunner

from commands.conftest import QUICK
from mercer import cli, load
from mercer.commands import learn
from mercer.commands.errors import WrongRequestError
from mercer.commands.inputs import Request, check_request, read_task
from mercer.preprocessing import TableError

N_ROWS = 30


@pytest.fixture
def request_for(tmp_path):
    """Return a function that writes a table with weights and groups, changed or not, and asks for them."""

    def make(**changes):
        rng = np.random.default_rng(0)
        columns = {
            "size": rng.normal(size=N_ROWS).round(3),
            "weight": [f"{k % 3},5" for k in range(N_ROWS)],
            "patient": [f"p{k // 5}" for k in range(N_ROWS)],
            "y": [None, *(["a", "b"] * N_ROWS)[: N_ROWS - 1]],
        }
        path = tmp_path / "table.csv"
        pd.DataFrame({**columns, **changes}).to_csv(path, index=False)
        return Request(data=path, target="y", weight="weight", group="patient")

    return make


def test_weights_and_groups_are_those_of_the_rows_with_a_class_and_no_features(request_for):
    task = read_task(request_for())
    assert task.columns.used == ["size"]
    assert_array_equal(task.sample_weight, [k % 3 + 0.5 for k in range(1, N_ROWS)])
    assert_array_equal(task.groups, [f"p{k // 5}" for k in range(1, N_ROWS)])
    assert len(task.y) == len(task.X) == N_ROWS - 1


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"weight": ["heavy"] * N_ROWS}, "for --weight should hold a number of 0 or more in each row"),
        ({"weight": [-1.0] * N_ROWS}, "for --weight should hold"),
        ({"weight": [0.0] * N_ROWS}, "for --weight should hold"),
        ({"weight": [1.0, 1.0, None] * (N_ROWS // 3)}, "for --weight should hold"),
        ({"patient": ["p", "p", None] * (N_ROWS // 3)}, "for --group has no group in row 2"),
        ({"patient": ["p"] * N_ROWS}, "for --group holds a single group"),
    ],
)
def test_weights_and_groups_that_are_none_get_a_sentence(request_for, changes, words):
    with pytest.raises(TableError, match=words):
        read_task(request_for(**changes))


@pytest.mark.parametrize(
    ("request_", "words"),
    [
        (Request(data="t", target="y", weight="w", group="w"), "--weight and --group name the same column"),
        (Request(data="t", target="y", group="y"), "--target and --group name the same column"),
        (Request(data="t", pairs="p", weight="w"), "--weight and --group are for classes"),
        (Request(data="-", target="y", unlabelled="-"), "Only one table can come from the standard input"),
    ],
)
def test_requests_that_make_no_sense_are_refused(request_, words):
    with pytest.raises(WrongRequestError, match=words):
        check_request(request_)


def test_weights_and_groups_reach_the_search(request_for, monkeypatch):

    given = {}

    def fit(self, X, y=None, **options):
        given.update(options)
        raise ValueError("enough")

    monkeypatch.setattr(learn.KernelSearchCV, "fit", fit)
    task = read_task(request_for())
    with pytest.raises(WrongRequestError, match="enough"):
        learn.learn_task(task, learn.Options())
    assert_array_equal(given["sample_weight"], task.sample_weight)
    assert_array_equal(given["groups"], task.groups)


def learn_numbers(monkeypatch, answer, *, is_terminal):
    monkeypatch.setattr(learn, "is_terminal", lambda: is_terminal)
    table = pd.DataFrame({"x": np.arange(48) % 12 + 0.1 * (np.arange(48) % 3), "y": np.arange(48) % 12})
    table.to_csv("numbers.csv", index=False)
    request = ["learn", "numbers.csv", "--target", "y", *QUICK, "--json"]
    return CliRunner().invoke(cli.make_app(), request, input=answer)


def test_on_a_terminal_numbers_like_a_quantity_are_asked_about(mercer, monkeypatch):
    done = learn_numbers(monkeypatch, "y\n", is_terminal=True)
    assert done.exit_code == 0
    assert "12 different whole numbers from 0 to 11, like a quantity. Are they classes?" in done.stderr
    # what is typed is on the terminal too
    assert len(json.loads(done.stdout[done.stdout.index("{") :])["classes"]) == 12
    done = learn_numbers(monkeypatch, "n\n", is_terminal=True)
    assert done.exit_code == 0
    about = json.loads(done.stdout[done.stdout.index("{") :])
    assert (about["classes"], about["task"]) == (None, "number")
    assert about["numbers"] == {"low": 0.0, "mean": 5.5, "high": 11.0}


def test_where_nobody_can_answer_numbers_like_a_quantity_are_refused(mercer, monkeypatch):
    done = learn_numbers(monkeypatch, "y\n", is_terminal=False)
    assert done.exit_code == 2
    assert "add --task number; if they are classes, --task class" in done.stderr
    assert "Are they" not in done.stderr


def test_a_column_of_patients_is_said_to_look_like_groups_before_time_is_spent(mercer):
    rng = np.random.default_rng(0)
    patient = np.repeat(np.arange(30), 10)
    table = pd.DataFrame(
        {"patient": patient, "x": rng.normal(size=300), "y": np.array(["a", "b"])[patient % 2]}
    )
    table.to_csv("patients.csv", index=False)
    task = read_task(Request(data=Path("patients.csv"), target="y"))
    (hint,) = task.hints
    assert hint.startswith("'patient' (30 values in 300 rows) looks like groups")
    assert read_task(Request(data=Path("patients.csv"), target="y", group="patient")).hints == []


def test_a_rare_class_is_spoken_of_before_the_search_and_columns_not_known_after_it(mercer):
    rng = np.random.default_rng(0)
    y = np.arange(320) % 16 == 0
    table = pd.DataFrame({"x": rng.normal(size=320) + 2 * y, "y": np.where(y, "churn", "stay")})
    table.to_csv("rare.csv", index=False)
    done = mercer("learn", "rare.csv", "--target", "y", "--cost", "FP=1,FN=5", *QUICK, "--model", "m.mercer")
    assert done.exit_code == 0
    assert "churn is predicted where its probability is above 0.167, which costs least." in done.stdout
    done = mercer("learn", "rare.csv", "--target", "y", *QUICK, "--json")
    assert "Class churn is rare, one sample in 16" in done.stderr
    table.assign(size=1.0).to_csv("more.csv", index=False)
    done = mercer("predict", "m.mercer", "more.csv")
    assert "Ignored, as the model does not know them: 'size'." in done.stderr
    found = pd.read_csv(io.StringIO(done.stdout))
    assert ((found["prediction"] == "churn") == (found["probability churn"] > 1 / 6)).all()
    loaded = load("m.mercer")
    assert_array_equal(loaded.predict_proba(table)[:, 0], found["probability churn"])


@pytest.mark.parametrize("cost", ["FP=1", "FP=0,FN=1", "one", "FP=1,FN=x"])
def test_costs_that_cannot_be_are_refused(mercer, cost):
    done = mercer("learn", "data.csv", "--target", "state", "--cost", cost)
    assert done.exit_code == 2
    assert "--cost is two numbers above 0, such as FP=1,FN=5" in done.stderr
