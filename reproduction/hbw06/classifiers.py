"""What the tables of [HBW06] have in common: SVMs with KernelBoost's kernel, and with the usual ones.

What the paper leaves open of them is settled here:

- The components of a mixture, their covariances, and how weights enter EM: as `KernelBoost` has them by
  default, whatever the data. KB-dis dissolves labels.
- ``KB C=1`` is not in the paper, whose C = 300 is next to a hard margin for a kernel of at most one. Where
  classes have many labels or few, but count the same in the end, it gives them one weight: else five of 100
  labels in the wrong cell outvote three in the right one.
- The kernel is normalised (its α sum to one), so that C means the same for all; without that Σα may be 0.02,
  and C = 300 is one of 6.
- The polynomial is (1 + ⟨x, x'⟩ / s)^p, s the mean squared length of the centred rows, labelled and not.
- σ of the RBF kernel is one for all pairs of classes, of nine by stratified cross-validation: exp(−γ d²), γ
  from 2⁻⁴ to 2⁴ over s. There are five folds, or as many as the smallest class has rows.
- ``Tuned`` is not in the paper either, whose RBF column is easy to beat: it also chooses C, from 0.1 to 10⁴
  and, where ``KB C=1`` has weights, whether to have them, by balanced accuracy.
- The SVMs of pairs of classes vote; ties are broken by the sum of the decision values.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.svm import SVC

from mercer._typing import Array, Labels
from mercer.learners import KernelBoost
from mercer.machines import KernelSVC
from mercer.machines.multiclass import score_classes
from reproduction.harness import Method

N_MUTUAL = 12
LOG2_GAMMA = np.arange(-4, 5)
LOG10_C = np.arange(-1, 5)
MOST_FOLDS = 5


class Draw(NamedTuple):
    """One repeat: labelled rows, unlabelled ones, and those that are judged on (which may be the same)."""

    X: Array
    y: Labels  # 0, 1, …
    unlabelled: Array
    X_test: Array
    y_test: Labels


class Settings(NamedTuple):
    """What a table fixes for all kernels."""

    C: float
    n_rounds: int
    degree: int  # of the polynomial
    n_components: int | None = None  # of KB-dis; None: as many as classes
    balanced: bool = False  # whether classes are tuned for as if they had as many labels each


Fit = Callable[[Draw, int, Settings], Any]


def fit_kernelboost(
    draw: Draw, seed: int, settings: Settings, *, dissolve: bool, alone: bool = False, soft: bool = False
) -> KernelSVC:
    """Return SVMs for all pairs of classes, with the parts of one learned kernel that suit them.

    With `alone` the kernel is learned from the labelled rows alone. With `soft` C is one, and classes have
    one weight where the settings say so.
    """
    learner = KernelBoost(
        n_rounds=settings.n_rounds,
        n_components=settings.n_components if dissolve else None,
        dissolve=dissolve,
        n_mutual=N_MUTUAL,
        random_state=seed,
    )
    weights = "balanced" if soft and settings.balanced else None
    C = 1.0 if soft else settings.C
    model = KernelSVC(learner, C=C, class_weight=weights, kernel_per_class_pair=True)
    return model.fit(draw.X, draw.y, unlabelled=None if alone else draw.unlabelled)


def fit_plain(draw: Draw, seed: int, settings: Settings, *, kernel: str) -> Any:
    """Return an SVM with the linear or the polynomial kernel."""
    unit = 1.0 / mean_square(draw)
    return SVC(
        C=settings.C, kernel=kernel, degree=settings.degree, gamma=unit, coef0=1.0, **ONE_AGAINST_ONE
    ).fit(draw.X, draw.y)


def fit_rbf(draw: Draw, seed: int, settings: Settings) -> Any:
    """Return an SVM with an RBF kernel whose width is chosen by cross-validation."""
    return choose(SVC(C=settings.C, **ONE_AGAINST_ONE), {}, draw, seed, "accuracy")


def fit_tuned(draw: Draw, seed: int, settings: Settings) -> Any:
    """Return an SVM with an RBF kernel of which all is chosen by cross-validation."""
    grid: dict[str, Any] = {"C": 10.0**LOG10_C}
    if settings.balanced:
        grid["class_weight"] = [None, "balanced"]
    scoring = "balanced_accuracy" if settings.balanced else "accuracy"
    return choose(SVC(**ONE_AGAINST_ONE), grid, draw, seed, scoring)


def choose(model: SVC, grid: dict[str, Any], draw: Draw, seed: int, scoring: str) -> GridSearchCV:
    """Return the model with the width, and what else the grid has, of the best cross-validation score."""
    n_folds = int(np.clip(np.bincount(draw.y).min(), 2, MOST_FOLDS))
    folds = StratifiedKFold(n_folds, shuffle=True, random_state=seed)
    everything = {"gamma": 2.0**LOG2_GAMMA / mean_square(draw), **grid}
    return GridSearchCV(model, everything, scoring=scoring, cv=folds).fit(draw.X, draw.y)


def mean_square(draw: Draw) -> float:
    """Return the mean squared length of the rows, labelled and unlabelled, about their mean."""
    rows = np.vstack([draw.X, draw.unlabelled])
    return float(np.sum(rows.var(axis=0)))


def pair_decisions(model: Any, X: Array) -> Array:
    """Return the decision values of all pairs of classes (0, 1), (0, 2), …; positive for the later one."""
    if isinstance(model, KernelSVC):
        return np.hstack([svms(X) for svms in model.machines_])
    decisions = model.decision_function(X)
    return decisions[:, None] if decisions.ndim == 1 else -decisions  # scikit-learn: positive for the first


def percent_right(decisions: Array, y: Labels) -> float:
    """Return the accuracy in % of the votes of all pairs of classes."""
    n_classes = int(1 + np.sqrt(1 + 8 * decisions.shape[1])) // 2
    scores = score_classes(decisions, n_classes, "ovo")
    chosen = scores > 0 if n_classes == 2 else scores.argmax(axis=1)
    return 100 * float(np.mean(chosen == y))


def score_votes(draw: Draw, seed: int, *, fit: Fit, settings: Settings) -> Sequence[float]:
    """Return the accuracy in % on the test rows."""
    return [percent_right(pair_decisions(fit(draw, seed, settings), draw.X_test), draw.y_test)]


def methods_of(
    settings: Settings, columns: Callable[[str], tuple[str, ...]], score: Callable[..., Sequence[float]]
) -> tuple[Method, ...]:
    """Return the methods that all tables of SVMs have, each with its columns.

    ``score(draw, seed, fit=..., settings=...)`` fits a method and returns a value for each of its columns.
    """
    return tuple(
        Method(name, columns(name), partial(score, fit=fit, settings=settings), _in_words(words, settings))
        for name, (fit, words) in FITS.items()
    )


def _in_words(words: str, settings: Settings) -> str:
    C, T, p, M, balanced = settings
    judge = "balanced accuracy, class weights or none" if balanced else "accuracy"
    weights = "balanced classes" if balanced else "no weights"
    return words.format(C=f"{C:g}", T=T, p=p, M="classes" if M is None else M, judge=judge, weights=weights)


ONE_AGAINST_ONE = {"decision_function_shape": "ovo"}
CHOICE = f"log2 gamma s in {LOG2_GAMMA.tolist()} by at most {MOST_FOLDS} folds"
FITS: dict[str, tuple[Fit, str]] = {
    "KB": (partial(fit_kernelboost, dissolve=False), "KernelBoost, {T} rounds; SVM for each pair, C = {C}"),
    "KB-dis": (
        partial(fit_kernelboost, dissolve=True),
        f"KernelBoost, dissolve, {N_MUTUAL} mutual, {{M}} components, {{T}} rounds; the same SVMs, C = {{C}}",
    ),
    "KB C=1": (
        partial(fit_kernelboost, dissolve=False, soft=True),
        "KernelBoost, {T} rounds; SVM for each pair, C = 1, {weights}",
    ),
    "Lin.": (partial(fit_plain, kernel="linear"), "linear SVM, C = {C}"),
    "Poly.": (partial(fit_plain, kernel="poly"), "polynomial of degree {p}, C = {C}"),
    "RBF": (fit_rbf, f"RBF, C = {{C}}, {CHOICE}"),
    "Tuned": (
        fit_tuned,
        f"RBF, log10 C in {LOG10_C.tolist()}, {CHOICE} and {{judge}}",
    ),
}
