"""What is learned from judged pairs: how much each column's kernels count, and what a missing cell says."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mercer._typing import Array, Flags, Index
from mercer.machines import StumpSVC
from mercer.matching.comparison import Comparison, Similarities
from mercer.solvers.nonnegative import fit_nonnegative

LIFT = 2.0  # of the log odds by curves, at most: no judged pair may have been as far apart as others are
N_KNOTS = 65  # of a curve between similarities 0 and 1
DETAIL = 1.0  # of one kernel of a column, against their mean, in the penalty
GAP = 0.5  # of a missing cell, likewise
NO_CURVES = np.empty((0, N_KNOTS))
NEUTRAL = 0.5  # the similarity of two cells of which one is missing, where no pair tells


class Decision(NamedTuple):
    """f(a, b) = Σ_j w_j k_j(a, b) + Σ_c (e_c edit_c(a, b) + g_c gap_c(a, b)) + intercept, with w_j, e_c ≥ 0.

    k_j are the kernels of the columns. If a cell of column c is missing, k_j and edit_c are replaced by
    neutral values, and gap_c is 1. If held-out pairs are told apart better so, f is the mean of this and of a
    machine with the stump kernel [LL05] on the same similarities: a sum of curves, one for each of them.
    """

    weights: Array  # w, one for each kernel
    edits: Array  # e, one for each column
    gaps: Array  # g, likewise
    levels: Array  # neutral values of the kernels
    edit_levels: Array
    intercept: float
    column_of: Index
    curves: Array = NO_CURVES  # (n_kernels + 2 n_columns, N_KNOTS): of kernels, edit distances, gaps

    def with_curves(self, machine: StumpSVC) -> "Decision":
        """Return the mean of this and of a machine on `all_similarities`."""
        n = machine.n_features_in_
        knots = np.zeros((1 + n * N_KNOTS, n))
        for j in range(n):
            knots[1 + j * N_KNOTS : 1 + (j + 1) * N_KNOTS, j] = np.linspace(0.0, 1.0, N_KNOTS)
        at_zero, *values = machine.decision_function(knots)
        return self._replace(
            curves=np.reshape(values, (n, N_KNOTS)) - at_zero + (at_zero - self.intercept) / n
        )

    @property
    def lift(self) -> float:
        """Return by how much f may be above the linear decision."""
        return LIFT if len(self.curves) else 0.0

    def all_similarities(self, found: Similarities) -> Array:
        """Return kernels, edit distances and gaps of pairs, neutral values where a cell is missing."""
        kernels = np.where(found.known[:, self.column_of], found.values, self.levels)
        return np.hstack([kernels, np.where(found.known, found.edits, self.edit_levels), ~found.known])

    @property
    def when_missing(self) -> Array:
        """Return for each column what it adds if one of two cells is missing."""
        neutral = np.bincount(self.column_of, self.weights * self.levels, len(self.gaps))
        return neutral + self.edits * self.edit_levels + self.gaps

    def by_column(self, found: Similarities) -> Array:
        """Return what each column adds, for each pair. Shape (n_pairs, n_columns)."""
        added = np.column_stack(
            [
                found.values[:, self.column_of == c] @ self.weights[self.column_of == c]
                for c in range(len(self.gaps))
            ]
        )
        linear: Array = np.where(found.known, added + found.edits * self.edits, self.when_missing)
        if not len(self.curves):
            return linear
        more = (self._along_curves(found) - linear) / 2.0
        total = more.sum(axis=1, keepdims=True)
        return linear + more * np.where(total > LIFT, LIFT / np.maximum(total, LIFT), 1.0)

    def score(self, found: Similarities) -> Array:
        """Return f of each pair."""
        total: Array = self.by_column(found).sum(axis=1) + self.intercept
        return total

    def _along_curves(self, found: Similarities) -> Array:
        place = (N_KNOTS - 1) * np.clip(self.all_similarities(found), 0.0, 1.0)
        below = np.minimum(place.astype(np.intp), N_KNOTS - 2)
        rows, part = np.arange(len(self.curves)), place - below
        values = (1.0 - part) * self.curves[rows, below] + part * self.curves[rows, below + 1]
        columns = np.arange(len(self.gaps))
        added: Array = values @ (np.concatenate([self.column_of, columns, columns])[:, None] == columns)
        return added


class Design(NamedTuple):
    """The features of pairs in which a decision is linear.

    Their weights are turned back into those of kernels. For each column there is the mean of its kernels,
    and each kernel alone. With one penalty for all, few pairs move the weight of the column and many those
    of its kernels.
    """

    column_of: Index
    levels: Array
    edit_levels: Array
    has_edits: Flags

    @classmethod
    def of(cls, comparison: Comparison, found: Similarities, answer: Flags) -> "Design":
        """Set neutral values: halfway between matching pairs and others, on average."""
        column_of = comparison.column_of
        has_edits = np.array([column.has_edits for column in comparison.columns])
        return cls(
            column_of,
            _halfway(found.values, found.known[:, column_of], answer),
            _halfway(found.edits, found.known, answer),
            has_edits,
        )

    @property
    def n_columns(self) -> int:
        """Return the number of columns."""
        return len(self.has_edits)

    def features(self, found: Similarities) -> Array:
        """Return the features: means of columns, kernels, edit distances, gaps."""
        kernels = np.where(found.known[:, self.column_of], found.values, self.levels)
        edits = np.where(found.known, found.edits, self.edit_levels)[:, self.has_edits]
        return np.hstack([kernels @ self._means(), DETAIL * kernels, DETAIL * edits, GAP * ~found.known])

    @property
    def bounded(self) -> Flags:
        """Return which weights must not be negative: all but those of gaps."""
        n = self.n_columns + len(self.column_of) + int(self.has_edits.sum())
        return np.arange(n + self.n_columns) < n

    def learn(self, F: Array, answer: Flags, penalty: float, weight: Array | None = None) -> Decision:
        """Minimise the logistic loss of the features of judged pairs."""
        found = fit_nonnegative(F, answer, np.full(F.shape[1], penalty), self.bounded, weight)
        n, m = self.n_columns, len(self.column_of)
        columns, kernels, rest = np.split(found.weights, [n, n + m])
        edits = np.zeros(n)
        edits[self.has_edits] = DETAIL * rest[:-n]
        return Decision(
            self._means() @ columns + DETAIL * kernels,
            edits,
            GAP * rest[-n:],
            self.levels,
            self.edit_levels,
            found.intercept,
            self.column_of,
        )

    def _means(self) -> NDArray[np.float64]:
        is_of = self.column_of[:, None] == np.arange(self.n_columns)
        return is_of / is_of.sum(axis=0)


def equal_weights(comparison: Comparison) -> Decision:
    """Return what is known before any pair is judged: each column counts the same."""
    column_of, n = comparison.column_of, len(comparison.columns)
    weights = 1.0 / np.bincount(column_of)[column_of] / n
    levels = np.full(len(column_of), NEUTRAL)
    return Decision(weights, np.zeros(n), np.zeros(n), levels, np.full(n, NEUTRAL), -NEUTRAL, column_of)


def _halfway(values: Array, known: Flags, answer: Flags) -> Array:
    ends = []
    for kind in (answer, ~answer):
        n = known[kind].sum(axis=0)
        total = np.where(known[kind], values[kind], 0.0).sum(axis=0)
        ends.append(np.where(n > 0, total / np.maximum(n, 1), NEUTRAL))
    return np.mean(ends, axis=0)
