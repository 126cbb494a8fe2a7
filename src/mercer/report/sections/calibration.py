"""Whether probabilities can be believed: how often held-out samples are of the class that was given each."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mercer._typing import Array, Flags, Index
from mercer.kernels.description import count
from mercer.report.content import Omitted, Section, Subject, Table
from mercer.report.held_out import HeldOut
from mercer.report.picture import Picture, draw_picture
from mercer.report.plots.style import COLOURS, ink
from mercer.search.result import Z95
from mercer.search.words import percent

# of the probability of the most probable class
EDGES = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99)
SIZE = (4.5, 3.7)  # inches
LEAST_POINTS = 3  # of a plot
ENOUGH = 5  # samples that a share is computed from
MOST_LISTED = 20  # samples whose most probable class is not predicted


class Verdicts(NamedTuple):
    """What is said of the held-out samples."""

    predicted: NDArray[Any]
    probable: NDArray[Any]  # the most probable class, which may be another one
    chances: Array  # (n_samples, n_classes)

    @property
    def conflicts(self) -> Index:
        """Return the samples whose most probable class is not predicted."""
        found: Index = np.flatnonzero(self.predicted != self.probable)
        return found

    def name(self, i: int) -> str:
        """Return what is predicted of a sample, and a class that is more probable if there is one."""
        said, other = self.predicted[i], self.probable[i]
        return str(said) if said == other else f"{said} (more probable: {other})"


def find_verdicts(subject: Subject) -> Verdicts | None:
    """Return predictions and probabilities; None if there are no probabilities."""
    data = subject.held_out
    if data is None or data.chances is None:
        return None
    probable = subject.search.classes_[np.argmax(data.chances, axis=1)]
    return Verdicts(data.predicted, probable, data.chances)


def show_calibration(subject: Subject) -> Section:
    """Return a table of what was said of held-out samples, and how often it was right."""
    data, verdicts = subject.held_out, find_verdicts(subject)
    if data is None or verdicts is None:
        raise Omitted("there are no decision values of held-out samples")
    text = [
        "Probabilities are those that the model gives samples which the search held out. If they are "
        "true, the most probable class is right as often "
        "as it is said to be, and points are on the dashed line, as far as their 95 % intervals tell.",
    ]
    text += describe_conflicts(verdicts)
    said, right = verdicts.chances.max(axis=1), verdicts.probable == data.y
    rows = tabulate(said, right)
    few = len(rows) < LEAST_POINTS
    text += [_name_values(rows)] if few else []
    heads = ["probability of the most probable class", "held-out samples", "mean probability", "right"]
    tables = [Table("Probabilities in numbers", heads, rows, folded=not few)]
    tables += [_tabulate_conflicts(subject, data, verdicts)] if len(verdicts.conflicts) else []
    return Section("calibration", "Probabilities", text, [] if few else [_draw(said, right)], tables)


def _tabulate_conflicts(subject: Subject, data: HeldOut, verdicts: Verdicts) -> Table:
    shown = verdicts.conflicts[:MOST_LISTED]
    said = zip(data.y[shown], verdicts.predicted[shown], verdicts.probable[shown], strict=True)
    rows = [
        [subject.name_row(data.rows[i]), *map(str, classes), percent(float(verdicts.chances[i].max()))]
        for i, classes in zip(shown, said, strict=True)
    ]
    first = f" (the first {len(shown)})" if len(shown) < len(verdicts.conflicts) else ""
    heads = ["held-out sample", "class", "predicted", "most probable", "its probability"]
    return Table(f"Where the most probable class is not predicted{first}", heads, rows, folded=True)


def _name_values(rows: list[list[str]]) -> str:
    """Say which probabilities there are, if a plot would be almost empty."""
    values = " or ".join(f"{mean} ({count(int(n), 'sample')})" for _, n, mean, _ in rows)
    return f"Here the most probable class is always given about {values}: too few values for a plot."


def describe_conflicts(verdicts: Verdicts | None) -> list[str]:
    """Say for how many held-out samples the most probable class is not the one that is predicted."""
    if verdicts is None or not len(verdicts.conflicts):
        return []
    return [
        f"For {len(verdicts.conflicts)} of {len(verdicts.predicted)} samples the most probable class is "
        "another one than the prediction: a threshold decides, which suits the score."
    ]


def _draw(said: Array, right: Flags) -> Picture:
    """Return what was said against what was seen, with 95 % intervals of Wilson's."""
    place = np.searchsorted(EDGES, said, side="right") - 1
    groups = [place == k for k in np.unique(place) if (place == k).sum() >= ENOUGH]
    points = [
        (float(said[mine].mean()), *_interval(int(right[mine].sum()), int(mine.sum()))) for mine in groups
    ]

    def draw(figure: Any) -> None:
        ax = figure.subplots()
        lowest = max(0.0, min([0.5, *(low for _, low, _, _ in points)]) - 0.05)
        ax.plot([lowest, 1], [lowest, 1], color=ink(), lw=1.0, ls=(0, (4, 3)), alpha=0.6)
        for x, low, seen, high in points:
            ax.plot([x, x], [low, high], color=COLOURS[0], lw=1.8)
            ax.plot(x, seen, "o", color=COLOURS[0], ms=7)
        ax.set(xlabel="probability that was given", ylabel="share that was right", xlim=(lowest, 1.02))
        ax.set_ylim(lowest, 1.02)
        ax.spines[["top", "right"]].set_visible(False)

    return draw_picture(
        draw,
        SIZE,
        alt="How often the most probable class was right, against the probability it was given.",
    )


def _interval(n_right: int, n: int) -> tuple[float, float, float]:
    """Return Wilson's 95 % interval of a share, with the share in the middle."""
    share, z2 = n_right / n, Z95**2
    middle = (share + z2 / (2 * n)) / (1 + z2 / n)
    half = Z95 * float(np.sqrt(share * (1 - share) / n + z2 / (4 * n * n))) / (1 + z2 / n)
    return middle - half, share, middle + half


def tabulate(said: Array, right: Flags) -> list[list[str]]:
    """Return lines of how often samples were right, by what was said of them."""
    place = np.searchsorted(EDGES, said, side="right") - 1
    ends = [*EDGES[1:], 1.0]
    rows = []
    for k in np.unique(place):
        mine = place == k
        share = percent(float(right[mine].mean())) if mine.sum() >= ENOUGH else "–"
        name = f"{100 * EDGES[k]:.0f} to {100 * ends[k]:.0f} %"
        rows.append([name, str(int(mine.sum())), percent(float(said[mine].mean())), share])
    return rows
