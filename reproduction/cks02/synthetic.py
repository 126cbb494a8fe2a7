"""The synthetic experiment of Crammer, Keshet & Singer, "Kernel design using boosting" [CKS02, Section 4].

On each of 100 draws of 300 training and 200 test rows a Perceptron learns for ten epochs, with the plain
inner product and with a kernel that 30 rounds of boosting under the log loss have learned from the same
training rows. What the paper leaves open is settled here:

- The data are `mercer.datasets.slanted`, the only reading of the printed covariance that is separable.
- The rows are visited in the order in which they were drawn. A row whose score is zero is a mistake.
- The noisy test rows are the test rows with normal noise of deviation 0.03 on the first two features.
- "Examples before converging" are counted as updates: the Perceptron ignores the rows that it has right.
- ``Literal`` is the learned kernel with the step as printed, ``BoostedKernel(step="literal")``.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t as student

from mercer._typing import Array
from mercer.datasets import slanted
from mercer.learners import BoostedKernel
from reproduction.baselines import KernelPerceptron
from reproduction.cks02.figures3_4 import draw_figure3, draw_figure4
from reproduction.harness import Draws, Method, Picture, Result, Table, published

KEY, ROW = "cks02-synthetic", "slanted"
N_DRAWS, N_TRAIN, N_TEST, NOISE = 100, 300, 200, 0.03
N_EPOCHS, N_ROUNDS = 10, 30
STEPS = {"Standard": None, "Learned": "normalized", "Literal": "literal"}


class Draw(NamedTuple):
    """Training rows, test rows, and the same test rows with noise on the informative features."""

    X_train: Array
    y_train: NDArray[np.int64]
    X_test: Array
    y_test: NDArray[np.int64]
    X_noisy: Array


class Course(NamedTuple):
    """What a Perceptron did: its mistakes on the way, and the errors in % that it made on test rows."""

    online: NDArray[np.bool_]  # whether it was wrong on each row when it first came to it
    test: Array  # after each epoch
    noisy: Array  # after each epoch
    n_updates: int
    separated: bool  # whether all training rows were right in the end


def draw(row: str, seed: int) -> Draw:
    """Return the rows of one repeat."""
    stream = np.random.RandomState(seed)  # one for all parts, so that no test row can be a training row
    X_train, y_train = slanted(N_TRAIN, random_state=stream)
    X_test, y_test = slanted(N_TEST, random_state=stream)
    X_noisy = X_test.copy()
    X_noisy[:, :2] += NOISE * stream.standard_normal((N_TEST, 2))
    return Draw(X_train, y_train, X_test, y_test, X_noisy)


def draw_repeat(repeat: int, seed: int) -> Draw:
    """Return the rows of that repeat of the table, with the reader's seed."""
    return draw(ROW, Draws(repeat, seed).of(KEY, ROW, repeat, "data"))


def kernel_of(name: str, rows: Draw) -> Any:
    """Return the kernel of a method: None, the plain inner product, or one learned from the training rows."""
    step = STEPS[name]
    if step is None:
        return None
    return BoostedKernel(loss="log", n_rounds=N_ROUNDS, step=step).fit(rows.X_train, rows.y_train).kernel_


def follow(kernel: Any, rows: Draw) -> Course:
    """Run the Perceptron with a kernel and look at it after each epoch."""
    model = KernelPerceptron(kernel, n_epochs=N_EPOCHS).fit(rows.X_train, rows.y_train)
    test, noisy = (
        np.array([100 * np.mean(predicted != rows.y_test) for predicted in model.staged_predict(X)])
        for X in (rows.X_test, rows.X_noisy)
    )
    separated = model.n_updates_to_separate_ is not None
    return Course(model.mistakes_[0], test, noisy, model.n_updates_, separated)


def score(rows: Draw, seed: int, *, name: str) -> Sequence[float]:
    """Return the numbers of one method on one repeat, in the order of `columns`."""
    course = follow(kernel_of(name, rows), rows)
    # Where the rows are not separated, every epoch has an update: that is more than one as well.
    counts = [course.n_updates, 100 * (course.n_updates > 1), 100 * (not course.separated)]
    return [*counts, 100 * course.online.mean(), *course.test, *course.noisy]


def columns(name: str) -> tuple[str, ...]:
    """Return the columns of a method: counts, then the online error, then test errors after each epoch."""
    first = (f"{name} updates", f"{name} > 1 update", f"{name} unseparated", f"{name} online")
    epochs = range(1, N_EPOCHS + 1)
    return (*first, *(f"{name} {rows} ep={t}" for rows in ("test", "noisy") for t in epochs))


def summarize(results: Sequence[Result]) -> list[str]:
    """Return the mean of each main column with its 95 % interval, a sentence for each kernel."""
    return [_sentence(name, results) for name in STEPS if any(r.cell.method == name for r in results)]


def _sentence(name: str, results: Sequence[Result]) -> str:
    values = [r.values for r in results if r.cell.method == name]

    def mean(column: str) -> str:
        return with_interval([value[f"{name} {column}"] for value in values])

    def count(column: str) -> int:
        return sum(value[f"{name} {column}"] == 0 for value in values)

    return (
        f"{name}, {len(values)} draws, means with 95 % intervals: {mean('updates')} updates; training rows "
        f"separated on {count('unseparated')} draws, by one update on {count('> 1 update')}; online error "
        f"{mean('online')} %; after {N_EPOCHS} epochs test error {mean(f'test ep={N_EPOCHS}')} %, "
        f"noisy {mean(f'noisy ep={N_EPOCHS}')} %."
    )


def with_interval(values: Sequence[float]) -> str:
    """Return a mean and half the width of its 95 % interval as text."""
    mean, half = interval(np.asarray(values))
    return f"{mean:.2f} ± {half:.2f}"


def interval(values: Array) -> tuple[Any, Any]:
    """Return means over the first axis and half the widths of their 95 % t intervals, zero for one value."""
    n, mean = len(values), values.mean(axis=0)
    if n == 1:
        return mean, np.zeros_like(mean)
    return mean, student.ppf(0.975, n - 1) * values.std(axis=0, ddof=1) / np.sqrt(n)


def draw_matrices(results: Sequence[Result], path: Any) -> None:
    """Draw Figure 3 for the first of the draws that have results."""
    rows = draw_repeat(results[0].cell.repeat, results[0].seed)
    draw_figure3(path, rows, kernel_of("Learned", rows))


def draw_courses(results: Sequence[Result], path: Any) -> None:
    """Draw Figure 4 for the draws that have results: these hold no curves, but a draw takes a moment only."""
    names = ("Standard", "Learned")
    draws = [draw_repeat(*names) for names in sorted({(r.cell.repeat, r.seed) for r in results})]
    courses = {name: [follow(kernel_of(name, rows), rows) for rows in draws] for name in names}
    curves = {
        name: {
            "online": np.array([100.0 * course.online for course in courses[name]]),
            "test": np.array([course.test for course in courses[name]]),
            "noisy": np.array([course.noisy for course in courses[name]]),
        }
        for name in names
    }
    draw_figure4(path, curves, interval)


PROTOCOLS = {
    "Standard": "plain inner product",
    "Learned": f"BoostedKernel, log loss, {N_ROUNDS} rounds, normalized step",
    "Literal": f"BoostedKernel, log loss, {N_ROUNDS} rounds, literal step",
}
METHODS = tuple(
    Method(
        name, columns(name), partial(score, name=name), f"{PROTOCOLS[name]}; Perceptron, {N_EPOCHS} epochs"
    )
    for name in STEPS
)
PUBLISHED = ("Standard updates", "Learned updates", "Learned > 1 update")

TABLE = Table(
    key=KEY,
    title="[CKS02] synthetic data, two informative features among a hundred",
    experiment=KEY,
    quantity=f"updates in {N_EPOCHS} epochs, and % of draws or of rows",
    rows=(ROW,),
    methods=METHODS,
    published=published(PUBLISHED, f"{ROW} 94 1 0"),  # "around 94", and "a single example" on all draws
    repeats=N_DRAWS,
    draw=draw,
    protocol=f"{N_TRAIN} training and {N_TEST} test rows; noisy: deviation {NOISE} on the first two features",
    needs={},
    summarize=summarize,
    ours=PUBLISHED[1:],
    pictures=(
        Picture(
            "figure3", "[CKS02] Figure 3, data and inner products before and after learning", draw_matrices
        ),
        Picture("figure4", "[CKS02] Figure 4, errors of the Perceptron with both kernels", draw_courses),
    ),
)
