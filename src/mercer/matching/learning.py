"""From judged pairs to a decision: its penalty and its probabilities by cross-validation, and its error."""

from typing import NamedTuple

import numpy as np
from sklearn.linear_model import LogisticRegression

from mercer._typing import Array, Flags, Index
from mercer.machines import StumpSVC
from mercer.matching.comparison import Comparison, Similarities
from mercer.matching.decision import Decision, Design
from mercer.matching.judged import Judged
from mercer.matching.pair_folds import PairFolds, make_folds
from mercer.matching.probability import LEAST_EACH, MatchError, Sigmoid, calibrate, find_threshold, measure

PENALTIES = (1e-1, 1e-2, 1e-3, 1e-4, 1e-5)
CURVED = (None, 1.0, 10.0)  # C of the machine that is averaged with the linear decision, if any
SETTINGS = tuple((penalty, C) for C in CURVED for penalty in PENALTIES)
MOST_BINS = 256  # of similarities, where pairs are more
FEW = 1e-2  # the penalty where pairs are too few to choose one


class Learned(NamedTuple):
    """A decision, what its scores mean, and how well it does on held-out pairs."""

    decision: Decision
    probability: Sigmoid
    threshold: float  # a probability
    penalty: float
    error: MatchError | None  # None where pairs are too few
    reference: MatchError | None  # of logistic regression on the columns' mean similarities


def learn(
    comparison: Comparison,
    judged: Judged,
    drawn: Similarities,
    *,
    n_folds: int,
    cost: float,
    precision: float | None,
    rng: np.random.RandomState,
) -> Learned:
    """Learn from judged pairs; if all match, also from pairs drawn at random, as if different."""
    found, answer, weight = judged.found, judged.answer, np.ones(len(judged.answer))
    if answer.all():
        found = found.and_those(drawn)
        n_drawn = len(drawn.values)
        answer = np.append(answer, np.zeros(n_drawn, dtype=bool))
        weight = np.append(weight, np.full(n_drawn, len(weight) / n_drawn))
        threshold = find_threshold(np.zeros(0), np.zeros(0, dtype=bool), cost, None)
        return Learned(_fit(comparison, found, answer, FEW, weight), Sigmoid(), threshold, FEW, None, None)
    n_folds = min(n_folds, int(answer.sum()), int((~answer).sum()))
    if n_folds < 2 or min(answer.sum(), (~answer).sum()) < LEAST_EACH:
        threshold = find_threshold(np.zeros(0), np.zeros(0, dtype=bool), cost, None)
        return Learned(_fit(comparison, found, answer, FEW, weight), Sigmoid(), threshold, FEW, None, None)
    folds = make_folds(judged.keys, answer, n_folds, rng)
    scores, plain, held_out = _cross_validate(comparison, found, answer, folds)
    losses = np.logaddexp(0.0, np.where(answer, -1.0, 1.0) * scores)
    best = _best_without(losses, folds, held_out)
    penalty, C = SETTINGS[losses[:, held_out].mean(axis=1).argmin()]
    chosen = scores[best, np.arange(len(answer))]
    return Learned(
        _fit(comparison, found, answer, penalty, weight, C),
        sigmoid := calibrate(chosen[held_out], answer[held_out]),
        find_threshold(sigmoid(chosen[held_out]), answer[held_out], cost, precision),
        penalty,
        _error(chosen, answer, folds, held_out, cost, precision),
        _error(plain, answer, folds, held_out, cost, precision),
    )


def _fit(
    comparison: Comparison,
    found: Similarities,
    answer: Flags,
    penalty: float,
    weight: Array,
    C: float | None = None,
) -> Decision:
    design = Design.of(comparison, found, answer)
    linear = design.learn(design.features(found), answer, penalty, weight)
    return linear if C is None else linear.with_curves(_machine(linear, found, answer, C))


def _machine(linear: Decision, found: Similarities, answer: Flags, C: float) -> StumpSVC:
    machine = StumpSVC(C, loss="log_loss", max_bins=MOST_BINS if len(answer) > MOST_BINS else None)
    return machine.fit(linear.all_similarities(found), answer)


def _cross_validate(
    comparison: Comparison, found: Similarities, answer: Flags, folds: PairFolds
) -> tuple[Array, Array, Flags]:
    """Return held-out pairs' scores for each penalty, and by the reference, and which pairs have some."""
    scores, plain = np.zeros((len(SETTINGS), len(answer))), np.zeros(len(answer))
    scored = np.zeros(len(answer), dtype=bool)
    for fold in range(folds.n_folds):
        train, test = folds.split(fold)
        if not answer[train].any() or answer[train].all():
            continue
        known = found.of(train)
        new = found.of(test)
        design = Design.of(comparison, known, answer[train])
        F = design.features(known)
        linear = [design.learn(F, answer[train], penalty) for penalty in PENALTIES]
        for part, C in zip(np.split(scores, len(CURVED)), CURVED, strict=True):
            machine = None if C is None else _machine(linear[0], known, answer[train], C)
            for k, decision in enumerate(linear):
                full = decision if machine is None else decision.with_curves(machine)
                part[k, test] = full.score(new)
        n = design.n_columns
        logistic = LogisticRegression(max_iter=1000).fit(_plain(F, n), answer[train])
        plain[test] = logistic.decision_function(_plain(design.features(new), n))
        scored |= test
    return scores, plain, scored


def _plain(F: Array, n_columns: int) -> Array:
    """Return the mean similarity of each column, and its gaps."""
    return np.hstack([F[:, :n_columns], F[:, -n_columns:]])


def _best_without(losses: Array, folds: PairFolds, scored: Flags) -> Index:
    """Return for each pair the penalty that is best for the pairs of the other folds."""
    best = np.zeros(losses.shape[1], dtype=np.intp)
    for fold in range(folds.n_folds):
        others = scored & (folds.fold != fold)
        if others.any():
            best[folds.fold == fold] = losses[:, others].mean(axis=1).argmin()
    return best


def _error(
    score: Array, answer: Flags, folds: PairFolds, scored: Flags, cost: float, precision: float | None
) -> MatchError:
    """Measure decisions whose probabilities and threshold are those of the other folds."""
    probability, excess = np.zeros(len(score)), np.zeros(len(score))
    for fold in range(folds.n_folds):
        others, mine = scored & (folds.fold != fold), folds.fold == fold
        sigmoid = calibrate(score[others], answer[others])
        threshold = find_threshold(sigmoid(score[others]), answer[others], cost, precision)
        probability[mine] = sigmoid(score[mine])
        excess[mine] = probability[mine] - threshold
    return measure(probability[scored], excess[scored] >= 0.0, answer[scored], folds.sets[scored])
