"""Tables that cost nothing, for the tests of the framework and of the command line."""

import warnings
from pathlib import Path
from typing import Any

import numpy as np

from reproduction import Figure, Method, Table
from reproduction.harness import Draws

COLUMNS = ("mean", "short", "long")
PUBLISHED = {
    ("calm", "mean"): (0.0, 0.1),
    ("calm", "short"): (0.0, 0.1),
    ("calm", "long"): (100.0, 0.1),
    ("wild", "mean"): (-100.0, None),
    ("wild", "short"): (0.0, 100.0),
}


def make_table(**changes: Any) -> Table:
    """Return a table of normal numbers: 'calm' has scale 1, 'wild' 10, and 'extra' is not in the paper.

    The functions are local ones, which joblib sends to its processes by value.
    """

    def draw(row: str, seed: int) -> Any:
        if row == "absent":
            raise FileNotFoundError("The data set 'absent' was not found. Put it into the folder.")
        return np.random.default_rng(seed).normal(
            scale={"calm": 1.0, "wild": 10.0, "extra": 2.0}[row], size=5
        )

    def score_mean(data: Any, seed: int) -> list[float]:
        return [data.mean()]

    def score_both(data: Any, seed: int) -> list[float]:
        noise = np.random.default_rng(seed).normal()
        return [data[:2].mean() + noise, data[:4].mean() + noise]

    table = {
        "key": "toy-table",
        "title": "A toy",
        "experiment": "toy",
        "quantity": "points",
        "rows": ("calm", "wild", "extra", "absent"),
        "methods": (
            Method("Mean", ("mean",), score_mean, "the mean"),
            Method("Both", ("short", "long"), score_both, "means of two and four"),
        ),
        "published": PUBLISHED,
        "repeats": 3,
        "draw": draw,
        "protocol": "five normal numbers",
        "needs": {"absent": "absent"},
    }
    return Table(**(table | changes))


def make_figure() -> Figure:
    """Return a figure of eight bytes."""

    def draw(path: Path, draws: Draws) -> None:
        path.write_bytes(b"\x89PNG\r\n\x1a\n")

    return Figure("toy-figure", "A toy picture", draw)


def interrupted_after(table: Table, n_calls: int) -> Table:
    """Return the table, whose data cannot be drawn more than so many times before the user presses Ctrl-C."""
    calls = []

    def draw(row: str, seed: int) -> Any:
        calls.append(row)
        if len(calls) > n_calls:
            raise KeyboardInterrupt
        return table.draw(row, seed)

    return make_table(draw=draw)


def failing_on(row: str) -> Table:
    """Return the table with a method that fails on one row, and warns on every other."""
    whole = make_table()

    def draw(name: str, seed: int) -> Any:
        return name, whole.draw(name, seed)

    def score(data: Any, seed: int) -> list[float]:
        name, numbers = data
        if name == row:
            raise ZeroDivisionError("division by zero")
        warnings.warn("not converged", UserWarning, stacklevel=2)
        return [numbers.mean()]

    return make_table(draw=draw, methods=(Method("Mean", ("mean",), score, "fails"),))
