"""One learned kernel for all ten USPS digits: what [CKS02] leaves open, and calls interesting.

The paper learns a kernel for each two digits. Here one kernel is learned from 3000 training rows of all ten,
drawn at random and left in that order, and the whole test set judges it. The base kernel and the classifiers
are those of the paper's problems (`reproduction.cks02.usps`), the Perceptron in its multiclass form.
"""

import time
from collections.abc import Sequence

import numpy as np

from mercer.learners import BoostedKernel
from reproduction.cks02.synthetic import with_interval
from reproduction.cks02.usps import (
    BASE,
    RBF_KERNEL,
    WIDTH,
    classifier_errors,
    columns,
    digits,
    names_after,
    score_base,
)
from reproduction.harness import Method, Result, Split, Table

KEY, ROW, NAME = "cks02-digits", "usps", "Learned"
N_TRAIN, N_REPEATS = 3000, 5
ROUNDS = (30, 60, 100)


def draw(row: str, seed: int) -> Split:
    """Return training rows drawn at random without replacement, and all test rows."""
    X_train, y_train, X_test, y_test = digits()
    chosen = np.random.RandomState(seed).permutation(len(X_train))[:N_TRAIN]
    return Split(X_train[chosen], y_train[chosen], X_test, y_test)


def score_learned(split: Split, seed: int) -> Sequence[float]:
    """Return the classifiers' test errors after each of `ROUNDS`, and the CPU seconds of each fit."""
    errors, seconds = [], []
    for count in ROUNDS:
        start = time.process_time()
        learner = BoostedKernel(BASE, n_rounds=count).fit(split.X_train, split.y_train)
        seconds.append(time.process_time() - start)
        errors += classifier_errors(learner.kernel_, split)
    return [*errors, *seconds]


def summarize(results: Sequence[Result]) -> list[str]:
    """Say by how much the Perceptron's error falls, with the 95 % interval over the draws."""
    of = {method: {r.cell.repeat: r.values for r in results if r.cell.method == method} for method in NAMES}
    both = sorted(of[RBF_KERNEL].keys() & of[NAME].keys())
    before = np.array([of[RBF_KERNEL][repeat][f"{RBF_KERNEL} Perc"] for repeat in both])
    sentences = []
    for name in names_after(NAME, ROUNDS) if both else ():
        after = np.array([of[NAME][repeat][f"{name} Perc"] for repeat in both])
        falls = with_interval(100 * (1 - after / before))
        sentences.append(f"{name}: the Perceptron's error falls by {falls} % (95 % interval).")
    return sentences


NAMES = (RBF_KERNEL, NAME)
LEARNED_COLUMNS = (
    *columns(names_after(NAME, ROUNDS)),
    *(f"{name} CPU s" for name in names_after(NAME, ROUNDS)),
)
TABLE = Table(
    key=KEY,
    title="[CKS02] beyond the paper: one kernel for ten USPS digits",
    experiment=KEY,
    quantity="test error in %, CPU seconds of the fit",
    rows=(ROW,),
    methods=(
        Method(RBF_KERNEL, columns([RBF_KERNEL]), score_base, "the base kernel"),
        Method(NAME, LEARNED_COLUMNS, score_learned, f"BoostedKernel, log loss, rounds: {ROUNDS}"),
    ),
    published={},  # ours: the paper has two classes only
    repeats=N_REPEATS,
    draw=draw,
    protocol=f"{N_TRAIN} training rows drawn at random, all test rows; base exp(-d^2/{WIDTH:.0f})",
    needs={ROW: "usps"},
    summarize=summarize,
)
