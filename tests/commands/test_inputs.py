"""Weights, groups and pairs, as they come from a table."""

import json

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from typer.testing import CliRunner

from commands.conftest import QUICK
from mercer import cli
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
    from mercer.commands import search_run

    given = {}

    def fit(self, X, y=None, **options):
        given.update(options)
        raise ValueError("enough")

    monkeypatch.setattr(search_run.KernelSearchCV, "fit", fit)
    task = read_task(request_for())
    with pytest.raises(WrongRequestError, match="enough"):
        search_run.learn_task(task, search_run.Options())
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
