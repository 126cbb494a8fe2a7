"""A paper's table or figure as a value: how each number is computed, and what was published."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

Number = tuple[float, float | None]  # a value and, where it is known, its standard error
Place = tuple[str, str]  # a row and a column


class Cell(NamedTuple):
    """The unit of work: one method on one repeat of one data set."""

    row: str
    method: str
    repeat: int


class Result(NamedTuple):
    """The outcome of a cell: a value for each of the method's columns."""

    cell: Cell
    values: Mapping[str, float]
    seed: int = 0  # the reader's: 0 for the draws of the docs
    commit: str = ""
    warnings: tuple[str, ...] = ()


class Draws(NamedTuple):
    """Which random draws: those of the docs begin with repeat 0 of seed 0; any other pair has fresh ones."""

    first: int = 0
    seed: int = 0

    def of(self, *names: str | int) -> int:
        """Return the random seed for these names."""
        return seed_of(*names, *([self.seed] if self.seed else []))


@dataclass(frozen=True)
class Method:
    """One computation that fills in one or more columns of a table.

    Parameters
    ----------
    name : str
        Its name, also on the command line.
    columns : tuple of str
        The columns that it fills in: boosting, for instance, gives an error after 100 rounds and after 1000.
    score : callable
        ``score(split, seed)`` returns a value for each column, in their order. It must be importable
        (a function of a module), because it runs in another process.
    protocol : str
        How it is fitted, in words. Results stored under another protocol are not used.
    """

    name: str
    columns: tuple[str, ...]
    score: Callable[[Any, int], Sequence[float]]
    protocol: str


@dataclass(frozen=True)
class Picture:
    """A picture of a table's results: ``draw(results, path)`` writes a PNG file."""

    name: str
    title: str
    draw: Callable[[Sequence[Result], Path], None]


@dataclass(frozen=True)
class Table:
    """A published table, and how to reproduce it.

    Parameters
    ----------
    key, title : str
        Its name on the command line, and what it shows.
    experiment : str
        Tables of the same experiment share splits, seeds and stored results.
    quantity : str
        What the numbers are.
    rows : tuple of str
        The data sets; those without a published number run only on request, unless none has one.
    methods : tuple of Method
        What fills in the columns.
    published : mapping
        ``published[row, column]`` is (value, standard error or None).
    repeats : int
        How many a run has by default: the paper's, where it can be had.
    draw : callable
        ``draw(row, seed)`` returns the data of one repeat, usually a `Split`; all methods see the same.
    protocol : str
        How the data are drawn, in words; stored results depend on it as on `Method.protocol`.
    needs : mapping
        The stored data set that a row needs; rows that are generated are not in it.
    better : {"lower", "higher"}
        Which way is better.
    higher : tuple of str
        Columns where higher is better though elsewhere in the table lower is.
    summarize : callable
        ``summarize(results)`` returns sentences to print below the table.
    pictures : tuple of Picture
        Drawn when the table is done.
    average : {"mean", "median"}
        Which average over the repeats was published.
    ours : tuple of str
        The columns of the paper's own method, strictly as the paper has it: these are counted.
    beside : tuple of str
        Columns of other readings of that method, which stand beside the same numbers and do not count.
    uncounted : mapping
        ``uncounted[row]`` says why no number of that row counts.
    causes : mapping
        ``causes[row, column]`` says why a number of ours is not as published; "" stands for all rows or for
        all columns.
    repeats_in_paper : str
        How many repeats the paper has, in words, where that is not `repeats`.
    derive : callable
        ``derive(values)`` returns published places that are no average of repeats, from those that are.
    """

    key: str
    title: str
    experiment: str
    quantity: str
    rows: tuple[str, ...]
    methods: tuple[Method, ...]
    published: Mapping[Place, Number]
    repeats: int
    draw: Callable[[str, int], Any]
    protocol: str
    needs: Mapping[str, str]
    better: Literal["lower", "higher"] = "lower"
    higher: tuple[str, ...] = ()
    summarize: Callable[[Sequence[Result]], Sequence[str]] = lambda results: ()
    pictures: tuple[Picture, ...] = ()
    average: Literal["mean", "median"] = "mean"
    ours: tuple[str, ...] = ()
    beside: tuple[str, ...] = ()
    uncounted: Mapping[str, str] = field(default_factory=dict)
    causes: Mapping[Place, str] = field(default_factory=dict)
    repeats_in_paper: str = ""
    derive: Callable[[Mapping[Place, float]], Mapping[Place, Number]] = lambda values: {}

    @property
    def published_rows(self) -> tuple[str, ...]:
        """The rows that the paper has numbers for; all of them, if it has none for any."""
        in_paper = {row for row, _ in self.published}
        return tuple(row for row in self.rows if row in in_paper) or self.rows

    def method(self, name: str) -> Method:
        """Return the method of that name."""
        return next(method for method in self.methods if method.name == name)

    def words(self, method: Method) -> tuple[str, ...]:
        """Return what a result depends on, besides its cell: results of other words are never mixed in."""
        return (self.experiment, self.protocol, method.name, *method.columns, method.protocol)

    def cause(self, row: str, column: str) -> str:
        """Return why a number of ours is not as published."""
        places = ((row, column), (row, ""), ("", column), ("", ""))
        return next((self.causes[place] for place in places if place in self.causes), "Not known.")


@dataclass(frozen=True)
class Figure:
    """A published figure, and the function that draws it into a PNG file from some random draws."""

    key: str
    title: str
    draw: Callable[[Path, Draws], None]
    needs: tuple[str, ...] = ()  # stored data sets


def by_column(results: Iterable[Result]) -> dict[Place, dict[int, float]]:
    """Return the values of each (row, column), by repeat and in their order."""
    values: dict[Place, dict[int, float]] = {}
    for result in sorted(results, key=lambda result: result.cell):
        for column, value in result.values.items():
            values.setdefault((result.cell.row, column), {})[result.cell.repeat] = value
    return values


@contextmanager
def png_canvas(path: Path, size: tuple[float, float]) -> Iterator[Any]:
    """Give a figure of this size in inches to draw into, and write it as a PNG file."""
    from matplotlib.figure import Figure as Canvas  # not needed to run tables

    canvas = Canvas(figsize=size, layout="constrained")
    yield canvas
    canvas.savefig(path, dpi=150, format="png")


def published(columns: Sequence[str], lines: str) -> dict[Place, Number]:
    """Read numbers typed as in the paper: the row, then ``value±error``, ``value`` or ``-`` per column."""
    numbers: dict[Place, Number] = {}
    for line in filter(str.strip, lines.splitlines()):
        row, *entries = line.split()
        for column, entry in zip(columns, entries, strict=True):
            if entry != "-":
                value, _, error = entry.partition("±")
                numbers[row, column] = float(value), float(error) if error else None
    return numbers


def seed_of(*names: str | int) -> int:
    """Return a random seed for these names, the same on every machine and in every process.

    It depends on the names alone: a repeat gives the same numbers whatever else is run, in which order and
    in how many processes.
    """
    digest = sha256("\x1f".join(map(str, names)).encode()).digest()
    words = np.frombuffer(digest, dtype="<u4").tolist()
    return int(np.random.SeedSequence(words).generate_state(1, dtype=np.uint32)[0])
