"""What is predicted of samples, classes or numbers, as the page shows what a kernel makes of it."""

from abc import ABC, abstractmethod
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

from mercer._typing import Array, Index
from mercer.kernels.description import count
from mercer.report.content import Subject, decimals, finest, plain, steps
from mercer.report.held_out import N_NEIGHBOURS, Figures, HeldOut, draw_rows, measure, measure_numbers
from mercer.report.plots.gram import plot_gram
from mercer.report.plots.style import read_classes
from mercer.report.scatter import Groups, Key, group_classes

ENOUGH_ROWS = 5  # held out, of each class, for pictures and numbers to mean something
MOST_QUERIES = 6  # samples whose neighbours are shown
TICKS = (0.0, 0.25, 0.5, 0.75, 1.0)  # places along sorted numbers that are named
FIFTHS = (0.2, 0.4, 0.6, 0.8)
# from low to high on light and on dark ground: to all kinds of colour vision from blue to yellow, and lighter
RAMP = ("#2f6fd0", "#8b63cf", "#c4559b", "#de6a35", "#e0a100")
RADII = (2.6, 3.2, 3.8, 4.4, 5.0)  # colours are never the only sign


class Target(ABC):
    """What samples are sorted, marked and compared by."""

    noun: ClassVar[str]
    pattern: ClassVar[str]  # what the Gram matrix of a good kernel looks like
    ideal: ClassVar[str]  # the matrix that is the best one

    @abstractmethod
    def text(self, value: Any) -> str:
        """Return a target as it is read."""

    @abstractmethod
    def estimate(self, value: Any) -> str:
        """Return a prediction as it is read."""

    @abstractmethod
    def draw(self, y: Any, most: int, seed: int) -> Index:
        """Return at most so many of the samples, at random."""

    @abstractmethod
    def plot(self, K: Array, y: Any, ax: Any, limits: tuple[float, float]) -> Any:
        """Draw a Gram matrix, sorted; without a bar, whose numbers would make one smaller than another."""

    @abstractmethod
    def group(self, y: Any) -> Groups:
        """Return which samples look the same on a map."""

    @abstractmethod
    def choose(self, data: HeldOut) -> list[int]:
        """Return some held-out samples, unlike each other, and one that is predicted wrong."""

    @abstractmethod
    def measure(self, kernel: Any, data: HeldOut, some: Index) -> Figures:
        """Return how well a kernel knows the targets."""

    @abstractmethod
    def figure_names(self, data: HeldOut) -> tuple[str, str]:
        """Return what these figures are called."""

    @abstractmethod
    def doubts(self, data: HeldOut) -> list[str]:
        """Say that few held-out samples mean little, if they are few."""


class ClassTarget(Target):
    """Classes: blocks, a mark for each, and neighbours that are of the same one or not."""

    noun = "class"
    pattern = "A kernel that knows the classes shows bright blocks along the diagonal."
    ideal = "is 1 for two samples of the same class and 0 for others"

    def text(self, value: Any) -> str:
        """Return its name."""
        return str(value)

    def estimate(self, value: Any) -> str:
        """Return its name."""
        return str(value)

    def draw(self, y: Any, most: int, seed: int) -> Index:
        """Return some of every class."""
        return draw_rows(y, most, seed, by_class=True)

    def plot(self, K: Array, y: Any, ax: Any, limits: tuple[float, float]) -> Any:
        """Draw the classes as blocks."""
        return plot_gram(K, None, y, ax, bar=False, limits=limits)

    def group(self, y: Any) -> Groups:
        """Return the classes."""
        return group_classes(read_classes(y, len(y)))

    def choose(self, data: HeldOut) -> list[int]:
        """Return one of each class, and the first that is predicted wrong."""
        _, firsts = np.unique(data.y, return_index=True)
        wrong = np.flatnonzero(data.predicted != data.y)
        return list(dict.fromkeys([*firsts[: MOST_QUERIES - 1].tolist(), *wrong[:1].tolist()]))

    def measure(self, kernel: Any, data: HeldOut, some: Index) -> Figures:
        """Return the alignment with the classes, and how many neighbours are of the same one."""
        return measure(kernel, data, some)

    def figure_names(self, data: HeldOut) -> tuple[str, str]:
        """Return the names of both."""
        return "alignment with the classes", f"same class among {N_NEIGHBOURS} nearest"

    def doubts(self, data: HeldOut) -> list[str]:
        """Say which class is rare."""
        labels, counts = np.unique(data.y, return_counts=True)
        fewest = int(np.argmin(counts))
        if counts[fewest] >= ENOUGH_ROWS:
            return []
        return [_few(int(counts[fewest]), f" of class {labels[fewest]}")]


class NumberTarget(Target):
    """Numbers: from low to high, in fifths on a map, and neighbours whose mean is a prediction.

    Parameters
    ----------
    own : int
        How many digits after the decimal point the targets have.
    digits : int
        How many predictions have: they are between targets.
    """

    noun = "target"
    pattern = "A kernel that knows the target is bright near the diagonal, and dark far from it."
    ideal = "has the products of two samples' targets, less the mean of all"

    def __init__(self, own: int, digits: int) -> None:
        self.own, self.digits = own, digits

    def text(self, value: Any) -> str:
        """Return it with the digits of all targets."""
        return plain(float(value), self.own)

    def estimate(self, value: Any) -> str:
        """Return it with the digits of all predictions."""
        return plain(float(value), self.digits)

    def draw(self, y: Any, most: int, seed: int) -> Index:
        """Return any of them."""
        return draw_rows(y, most, seed, by_class=False)

    def plot(self, K: Array, y: Any, ax: Any, limits: tuple[float, float]) -> Any:
        """Draw samples from the lowest target to the highest."""
        order = np.argsort(y, kind="stable")
        plot_gram(K[np.ix_(order, order)], None, None, ax, bar=False, limits=limits)
        places = np.unique(np.round(np.array(TICKS) * (len(y) - 1)).astype(np.intp))
        ax.set_yticks(places, [self.text(y[order[k]]) for k in places])
        ax.set_ylabel("target of the sample")
        return ax

    def group(self, y: Any) -> Groups:
        """Return fifths of the samples, or fewer parts where many have the same target."""
        ends = np.unique(np.quantile(y, [0.0, *FIFTHS, 1.0]))
        of_row = np.clip(np.searchsorted(ends, y, side="right") - 1, 0, max(len(ends) - 2, 0))
        said = steps(ends.tolist())
        names = [f"{low} to {high}" for low, high in pairwise(said)] or said
        return Groups([_fifth(k, len(names), name) for k, name in enumerate(names)], of_row)

    def choose(self, data: HeldOut) -> list[int]:
        """Return samples from low to high, and the one that is predicted worst."""
        order = np.argsort(data.y, kind="stable")
        places = np.round(np.linspace(0, len(order) - 1, MOST_QUERIES - 1)).astype(np.intp)
        worst = int(np.argmax(np.abs(data.predicted - data.y)))
        return list(dict.fromkeys([*order[places].tolist(), worst]))

    def measure(self, kernel: Any, data: HeldOut, some: Index) -> Figures:
        """Return the alignment with the targets, and the R² of the neighbours' mean."""
        return measure_numbers(kernel, data, some)

    def figure_names(self, data: HeldOut) -> tuple[str, str]:
        """Return the names of both."""
        n = min(N_NEIGHBOURS, len(data.y_others))
        return "alignment with the target", f"R² of the mean of {n} nearest"

    def doubts(self, data: HeldOut) -> list[str]:
        """Say how few there are."""
        return [_few(len(data.y))] if len(data.y) < ENOUGH_ROWS else []


def _few(n: int, of: str = "") -> str:
    samples = count(n, "sample")
    return f"Only {samples}{of} could be held out: pictures and numbers of this few samples mean little."


def _fifth(k: int, n: int, name: str) -> Key:
    """Return the k-th of n parts as a disc: the higher its targets, the lighter and the larger it is."""
    place = round(k * (len(RAMP) - 1) / max(n - 1, 1))
    r = RADII[place]
    return Key(name, f"M{-r} 0a{r} {r} 0 1 0 {2 * r} 0a{r} {r} 0 1 0 {-2 * r} 0z", RAMP[place])


def target_of(subject: Subject) -> Target:
    """Return how the page shows what is predicted: numbers, to a thousandth of their range."""
    if subject.kind != "number":
        return ClassTarget()
    y = subject.y
    digits = finest(y)
    return NumberTarget(decimals(y, digits), digits)
