"""Table 2 of Ong, Smola & Williamson, "Superkernels" [OSW02].

``R_reg`` is an SVM with a Gaussian kernel that is too wide on purpose, ``Q_reg`` one with the best kernel in
the span of the harmonic superkernel of that same Gaussian; nothing is tuned. What the paper leaves open is
settled here:

- The width. "σ⁻¹ = 100 d" in (14), read literally, makes every kernel constant. With features scaled to
  [0, 1] on the training part and exp(−‖x − x'‖²/(100 d)), the exponent not squared, the R_reg columns come
  out.
- The paper's ± are standard deviations over its 200 splits: means are compared by their standard errors.
- USPS "6 vs 9" has 1424 rows in the paper. Only 5 and 8 have as many. Both are run, on the customary split (a
  table of its own, because there is nothing to repeat).
- "Hand-tuned" is a grid of 110 values and five folds here, that of [LL05] (whose features are in [−1, 1]).
- "Best in [9, 10]" is of no method of the paper: the least error that two papers on boosting report, with
  90 % of the rows for training. It is run by nobody here, and cited below the table.
- ``Ours`` is `Superkernel` with its defaults, its penalty chosen by five folds. Sonar, heart and german are
  not in the paper: they are there to compare it with a tuned SVM.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.svm import SVC

from mercer import datasets
from mercer._typing import Array
from mercer.learners import Superkernel
from mercer.machines import KernelSVC
from mercer.superkernels import GaussianHarmonic, Risk, Widths
from reproduction.baselines import many_kernels
from reproduction.harness import (
    Method,
    Number,
    Result,
    Split,
    Table,
    by_column,
    customary_split,
    published,
    random_split,
)

C, PENALTY, DECAY, WIDTH = 100.0, 1e-4, 0.6, 100  # λ_s, λ_h, and the kernel exp(−d²/(100 D))
LOG10_PENALTY = np.arange(3, -5, -1)  # of λ_s / C², the strongest first: it wins a tie
LOG2_C = np.arange(-5, 16, 2)  # the grid of [LL05], 11 values by 10, but
LOG2_GAMMA = np.arange(-13, 6, 2)  # its features are in [−1, 1], squared distances four times as large
LOG2_C_OF_SUMS = np.arange(-5, 10, 2)  # for kernels of spread one
Weigh = Callable[[Array, Array, float], Array]  # Gram matrices, labels and C to weights
RIVALS: dict[str, Weigh] = {
    "Average": many_kernels.average,
    "Aligned": many_kernels.align,
    "EasyMKL": many_kernels.easy,
    "SimpleMKL": many_kernels.simple,
}
TRAIN_SHARE, PAPER_REPEATS, N_FOLDS = 0.6, 200, 5
DIGITS = {"usps-5-8": (5, 8), "usps-6-9": (6, 9)}
REAL = ("pima", "ionosphere", "wdbc", "sonar", "heart", "german")


def draw(row: str, seed: int) -> Split:
    """Return 60 % of the rows for training and the others, scaled to [0, 1] on the training part."""
    return random_split(datasets.load(row), TRAIN_SHARE, seed).scaled(0, 1)


def draw_two_digits(row: str, seed: int) -> Split:
    """Return the rows of two digits in the customary split; nothing in it is random."""
    return customary_split(datasets.load("usps")).only(DIGITS[row]).scaled(0, 1)


def plain_svm(split: Split, seed: int) -> Sequence[float]:
    """Return the errors of the SVM with the wide kernel, on training and on test rows."""
    return errors_of(SVC(C=C, gamma=1.0 / (WIDTH * split.X_train.shape[1])), split)


def superkernel_svm(split: Split, seed: int) -> Sequence[float]:
    """Return the errors of the SVM with the learned kernel, its candidate terms and those that it uses."""
    model = KernelSVC(Superkernel(GaussianHarmonic(decay=DECAY), quality=Risk(C), penalty=PENALTY))
    errors = errors_of(model, split)
    beta = model.learner_.beta_
    return [*errors, len(beta), int(np.count_nonzero(beta))]


def errors_of(model: Any, split: Split) -> list[float]:
    """Fit, and return the errors in % on training and on test rows."""
    model.fit(split.X_train, split.y_train)
    wrong_in_training = 100 * float(np.mean(model.predict(split.X_train) != split.y_train))
    return [wrong_in_training, split.percent_wrong(model.predict(split.X_test))]


def tuned_svm(split: Split, seed: int) -> Sequence[float]:
    """Return the test error of an RBF-SVM of the best of 110 settings, and the CPU seconds of the choice."""
    return search(SVC(), {"C": 2.0**LOG2_C, "gamma": 2.0**LOG2_GAMMA}, split, seed)


def ours(split: Split, seed: int) -> Sequence[float]:
    """Return the test error of the default superkernel, its penalty chosen, and the CPU seconds of that."""
    model = KernelSVC(Superkernel(quality=Risk(C)))
    return search(model, {"learner__penalty": C**2 * 10.0**LOG10_PENALTY}, split, seed)


def search(model: Any, grid: dict[str, Any], split: Split, seed: int) -> list[float]:
    """Return the test error of the model of least cross-validation error, and the CPU seconds it took."""
    start = time.process_time()
    folds = StratifiedKFold(N_FOLDS, shuffle=True, random_state=seed)
    found = GridSearchCV(model, grid, cv=folds).fit(split.X_train, split.y_train)
    seconds = time.process_time() - start
    return [split.percent_wrong(found.predict(split.X_test)), seconds]


def weighed_kernels(split: Split, seed: int, *, weigh: Weigh) -> list[float]:
    """Return the test error of an SVM with the kernels of `Widths`, weighed by a rival; C by five folds."""
    varies = np.ptp(split.X_train, axis=0) > 0
    X, X_test, y = split.X_train[:, varies], split.X_test[:, varies], split.y_train
    kernels = Widths().fitted_to(X).kernels
    grams = np.stack([kernel(X) for kernel in kernels])
    spread = np.trace(grams, axis1=1, axis2=2) / len(X) - grams.mean(axis=(1, 2))
    grams /= spread[:, None, None]
    crossed = np.stack([kernel(X_test, X) / s for kernel, s in zip(kernels, spread, strict=True)])

    def predict(C: float, train: Array, new: Array, labels: Array) -> Array:
        weights = weigh(train, np.where(labels == y[0], 1.0, -1.0), C)
        svm = SVC(kernel="precomputed", C=C).fit(np.tensordot(weights, train, 1), labels)
        return svm.predict(np.tensordot(weights, new, 1))

    folds = list(StratifiedKFold(N_FOLDS, shuffle=True, random_state=seed).split(X, y))
    wrong = [
        sum(
            np.sum(predict(C, grams[:, kept][:, :, kept], grams[:, left][:, :, kept], y[kept]) != y[left])
            for kept, left in folds
        )
        for C in 2.0**LOG2_C_OF_SUMS
    ]
    best = 2.0 ** LOG2_C_OF_SUMS[int(np.argmin(wrong))]
    return [split.percent_wrong(predict(best, grams, crossed, y))]


COLUMNS = ("R_reg train", "R_reg test", "Q_reg train", "Q_reg test", "Tuned SVM")
NUMBERS = """
pima        25.2±2.0  26.2±3.3  22.2±1.4  23.2±2.0  22.9±2.0
ionosphere  13.4±2.0  16.5±3.4  10.9±1.5  13.4±2.4   6.1±1.9
wdbc         5.7±0.8   5.7±1.3   2.1±0.6   2.7±1.0   2.5±0.9
"""
USPS = "2.1  3.4  1.5  2.8  2.5"
BEST_CITED = {"pima": 23.5, "ionosphere": 6.2, "wdbc": 3.2}  # "Best in [9, 10]"; of USPS there is none


def _standard_error(number: Number) -> Number:
    value, deviation = number
    return value, None if deviation is None else deviation / float(np.sqrt(PAPER_REPEATS))


PUBLISHED = {place: _standard_error(number) for place, number in published(COLUMNS, NUMBERS).items()}
PUBLISHED_DIGITS = published(COLUMNS, "\n".join(f"{row} {USPS}" for row in DIGITS))

CHOICE = f"of least {N_FOLDS}-fold stratified cross-validation error"
METHODS = (
    Method("R_reg", COLUMNS[:2], plain_svm, f"SVC, C = {C:g}, kernel exp(-d^2/({WIDTH} D))"),
    Method(
        "Q_reg",
        (*COLUMNS[2:4], "Q_reg terms", "Q_reg used"),
        superkernel_svm,
        f"GaussianHarmonic, lambda_h = {DECAY}, lambda_s = {PENALTY:g}, C = {C:g}, also for the SVM",
    ),
    Method(
        "Tuned SVM",
        ("Tuned SVM", "Tuned SVM CPU s"),
        tuned_svm,
        f"RBF, log2 C in {LOG2_C.tolist()}, log2 gamma in {LOG2_GAMMA.tolist()} {CHOICE}",
    ),
    Method(
        "Ours",
        ("Ours", "Ours CPU s"),
        ours,
        f"Superkernel(), log10 of penalty / C^2 in {LOG10_PENALTY.tolist()} {CHOICE}, strongest of equals",
    ),
    *(
        Method(
            name,
            (name,),
            partial(weighed_kernels, weigh=weigh),
            f"Widths(), each of spread one, log2 C in {LOG2_C_OF_SUMS.tolist()} {CHOICE}",
        )
        for name, weigh in RIVALS.items()
    ),
)


def summarize(results: Sequence[Result]) -> list[str]:
    """Compare the errors and the CPU times of ours and of the tuned SVM on the splits that both have."""
    errors = on_same_splits(results, "Ours", "Tuned SVM")
    if not errors:
        return _beside_rivals(results)
    error, tuned = np.mean([pairs.mean(axis=0) for pairs in errors.values()], axis=0)
    sets = "1 set" if len(errors) == 1 else f"{len(errors)} sets"
    times = [
        f"{row} {seconds[0]:.2f} s against {seconds[1]:.2f} s ({seconds[0] / seconds[1]:.2f})"
        for row, pairs in on_same_splits(results, "Ours CPU s", "Tuned SVM CPU s").items()
        for seconds in [np.median(pairs, axis=0)]
    ]
    return [
        f"Mean error on the same splits of {sets}: {error:.2f} % (ours) against {tuned:.2f} % (tuned SVM), a "
        f"difference of {error - tuned:+.2f}{_error_of_difference(errors)}.",
        f"Median CPU time with model selection, ours against the tuned SVM: {'; '.join(times)}.",
        *_beside_cited(errors),
        *_beside_rivals(results),
    ]


def _beside_rivals(results: Sequence[Result]) -> list[str]:
    """Return a sentence for each rival that ran on splits of ours: how much higher its mean error is."""
    found = {name: on_same_splits(results, name, "Ours") for name in RIVALS}
    return [
        f"{name} less ours on the same splits of {', '.join(errors)}: "
        f"{np.mean([np.mean(pairs[:, 0] - pairs[:, 1]) for pairs in errors.values()]):+.2f}"
        f"{_error_of_difference(errors)}."
        for name, errors in found.items()
        if errors
    ]


def _beside_cited(errors: Mapping[str, Array]) -> list[str]:
    """Return a sentence on the paper's column of citations, where there are rows of it."""
    cited = [
        f"{row} {best} (ours {errors[row][:, 0].mean():.2f})"
        for row, best in BEST_CITED.items()
        if row in errors
    ]
    return ["Best in [9, 10], boosting with 90 % for training: " + ", ".join(cited) + "."] if cited else []


def on_same_splits(results: Sequence[Result], first: str, second: str) -> dict[str, Array]:
    """Return the values of two columns for each row, a line for each split that has both."""
    values = by_column(results)
    both = {}
    for row in dict.fromkeys(row for row, _ in values):
        a, b = values.get((row, first), {}), values.get((row, second), {})
        if common := [repeat for repeat in a if repeat in b]:
            both[row] = np.array([[a[repeat], b[repeat]] for repeat in common])
    return both


def _error_of_difference(errors: Mapping[str, Array]) -> str:
    """Return the standard error of the mean difference, as text; "" where a set has one split only."""
    if any(len(pairs) < 2 for pairs in errors.values()):
        return ""
    squares = [np.var(pairs[:, 0] - pairs[:, 1], ddof=1) / len(pairs) for pairs in errors.values()]
    return f" ± {np.sqrt(np.sum(squares)) / len(squares):.2f}"


_table = partial(
    Table,
    quantity="error in % (terms are counts, CPU s seconds of a search)",
    methods=METHODS,
    summarize=summarize,
    ours=COLUMNS[2:4],
    causes={
        ("ionosphere", ""): (
            "Not known. The training error with the paper's alternation in place of cutting "
            "planes is 6.8 % on ten "
            "splits, still not the published 10.9; how the features were scaled is not said."
        ),
        (
            "usps-5-8",
            "",
        ): "Not known. Of 326 test rows ours has two wrong fewer; the scale of the pixels is not said.",
        ("", ""): "Not known. The width and the scale of the features are inferred, see the papers page.",
    },
)
TABLES = (
    _table(
        key="osw02-table2",
        title="[OSW02] Table 2, kernels from the span of a superkernel",
        experiment="osw02-table2",
        rows=REAL,
        published=PUBLISHED,
        repeats=PAPER_REPEATS,
        draw=draw,
        protocol=f"{TRAIN_SHARE:.0%} of the rows for training at random, features scaled to [0, 1] on them",
        needs={row: row for row in REAL if row != "wdbc"},  # which scikit-learn ships
    ),
    _table(
        key="osw02-table2-usps",
        title="[OSW02] Table 2, two USPS digits",
        experiment="osw02-table2-usps",
        rows=tuple(DIGITS),
        published=PUBLISHED_DIGITS,
        repeats=1,
        draw=draw_two_digits,
        uncounted={
            "usps-6-9": "The paper's 1424 rows and its errors are those of 5 and 8: the same numbers, once."
        },
        protocol="customary split, features scaled to [0, 1] on the training part",
        needs=dict.fromkeys(DIGITS, "usps"),
    ),
)
