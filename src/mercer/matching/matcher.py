"""From judged pairs to decisions: matches, groups, and which pair to judge next."""

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from mercer._typing import Array, Flags, Index
from mercer.matching.asking import first_pairs, least_certain, not_judged
from mercer.matching.candidates import find_candidates, most_alike, nearest_candidates
from mercer.matching.cells import read_columns
from mercer.matching.comparison import Comparison, Records, Similarities
from mercer.matching.decision import equal_weights
from mercer.matching.groups import Links, group_pairs
from mercer.matching.judged import Judged, check_pairs, keys_of, rows_of
from mercer.matching.learning import learn
from mercer.matching.probability import Sigmoid
from mercer.matching.record_kernel import RecordKernel
from mercer.matching.words import notes_of
from mercer.pairs import Pairs

N_DRAWN = 500  # pairs at random, which differ if no judged pair does
LOOKED_AT = 2000  # pairs at random, besides the nearest ones, of which some may be asked
FAR_BELOW = 0.1  # times the threshold: less likely pairs count as 0 in an average
MOST_CLUSTERED = 2000  # rows that are divided into a given number of groups
RESCORED = 20  # more rows than wanted are looked at with edit distances too
PAIRS_AT_ONCE = 500_000


class PairMatcher(BaseEstimator):
    """Which records mean the same thing? Learned from pairs that somebody has judged.

    Records are compared column by column: numbers and dates by their difference on several scales,
    categories by equality, names and texts by groups of letters and by words (the cosine of TF-IDF vectors),
    short ones also by their edit distance. From judged pairs it learns

        f(a, b) = Σ_j w_j k_j(a, b) + Σ_c (e_c edit_c(a, b) + g_c gap_c(a, b)) + intercept,   w_j, e_c ≥ 0

    by the logistic loss with a quadratic penalty. The sum of the kernels is a kernel again (`kernel_`), one
    of the superkernels of [OSW02]; edit distances and gaps are no kernels and only take part in the
    decision. A missing cell is not known, and not different: it counts as much as a similarity halfway
    between matching and other pairs, and g_c more or less.

    Few pairs move one weight per column, many that of each kernel: each column's mean is a feature beside
    its kernels, under one penalty. The penalty, the calibration of the probability and the error come from
    cross-validation in which no record of a held-out pair occurs in what is learned from.

    Parameters
    ----------
    columns : list of str, optional
        The columns to compare. Default: all that both tables have.
    cost : float, default=1.0
        What a false match costs, in missed ones. Pairs match from the probability cost / (1 + cost) on.
    precision : float, optional
        Instead, the share of true ones that matches should have: the least threshold with it on held-out
        pairs.
    n_folds : int, default=10
        Folds of the cross-validation.
    random_state : int, RandomState instance or None, default=0
        Random seed of folds, and of the pairs that `ask` draws.

    Attributes
    ----------
    kernel_ : RecordKernel
        The learned kernel of records.
    threshold_ : float or None
        The probability from which on two records match; None if nothing could be learned.
    column_weights_ : dict
        How much each column counts: what it adds to the score where two cells are equal.
    error_, reference_ : MatchError or None
        Of held-out pairs: precision, recall, F1 with intervals, and the log loss; likewise of plain logistic
        regression on the columns' mean similarities. None if there are too few pairs.
    notes_ : list of str
        What a user should know of the judged pairs.

    Notes
    -----
    The probability is that of pairs such as those that were judged: if they are closer than most, as asked
    ones are, it is cautious about all others.

    Examples
    --------
    >>> import pandas as pd
    >>> from mercer import PairMatcher, Pairs
    >>> table = pd.DataFrame({"name": ["Ada Meyer", "Ada Meyyer", "Bo Lund", "Bo Lundt", "Cy Orr", "Di Fox"]})
    >>> matcher = PairMatcher().fit(table, pairs=Pairs(similar=[(0, 1)], dissimilar=[(0, 2), (1, 4)]))
    >>> matcher.match(table)[["row", "other"]].values.tolist()
    [[0, 1], [2, 3]]
    """

    def __init__(
        self,
        *,
        columns: list[str] | None = None,
        cost: float = 1.0,
        precision: float | None = None,
        n_folds: int = 10,
        random_state: Any = 0,
    ) -> None:
        self.columns = columns
        self.cost = cost
        self.precision = precision
        self.n_folds = n_folds
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None, *, pairs: Any = None, right: Any = None) -> Self:
        """Learn what each column is, and from pairs how much it counts.

        Parameters
        ----------
        X : DataFrame
            The records; those of no pair help to weigh letters and words.
        y : object
            Not used.
        pairs : Pairs, optional
            Pairs of row numbers that mean the same (similar) or not. Without any, only `ask` and `tell` work.
        right : DataFrame, optional
            A second table: then pairs are of a row of X and a row of this.
        """
        self._check_parameters()
        left_table = read_columns(X, self.columns, "X")
        right_table = None if right is None else read_columns(right, self.columns, "right")
        self.comparison_ = Comparison.of(left_table, right_table)
        self.judged_ = Judged.none(len(self.comparison_.column_of), len(self.comparison_.columns))
        left, other = self._prepare(left_table, right_table)
        self._draw(left, other)
        return self._judge(left, right is not None, other, Pairs() if pairs is None else pairs, ())

    def tell(self, X: Any, pairs: Any, *, right: Any = None, unsure: Any = ()) -> Self:
        """Learn from more pairs, besides those that were judged before.

        Parameters
        ----------
        X : DataFrame
            The table that the row numbers are about; the columns are compared as they were in `fit`.
        pairs : Pairs
            The new pairs.
        right : DataFrame, optional
            The second table, if there are two.
        unsure : array-like of shape (n, 2), default=()
            Pairs of which nobody can tell: they are not asked again.
        """
        check_is_fitted(self)
        left, other = self._prepare(X, right)
        return self._judge(left, right is not None, other, pairs, unsure)

    def match_proba(self, A: Any, B: Any) -> Array:
        """Return the probability that row k of A and row k of B match, for each k."""
        self._check_learned()
        left, right = self._prepare(A, B)
        if len(left.keys) != len(right.keys):
            raise ValueError(
                f"A has {len(left.keys)} rows and B {len(right.keys)}, and row k is compared with row k of "
                "the other: use match for all pairs"
            )
        rows = np.arange(len(left.keys))
        return self._probability(left, right, rows, rows)

    def predict_match(self, A: Any, B: Any) -> Flags:
        """Return whether row k of A and row k of B match, for each k."""
        found: Flags = self.match_proba(A, B) >= self._above(None)
        return found

    def match(self, X: Any, right: Any = None, *, above: float | None = None) -> pd.DataFrame:
        """Return all pairs that match, the most probable first, as columns row, other and probability.

        Up to 20 000 rows all pairs are looked at. Of more, the 25 neighbours of each row that have the most
        weight in common with it by the learned kernel, in time that grows as the number of rows.

        Parameters
        ----------
        X, right : DataFrame
            The records; without `right`, pairs are of two rows of X, and each comes once.
        above : float, optional
            The least probability. Default: `threshold_`.
        """
        self._check_learned()
        left, other = self._prepare(X, right)
        i, j, probability = self._find(left, None if right is None else other, self._above(above))
        order = np.lexsort((j, i, -probability))
        return pd.DataFrame({"row": i[order], "other": j[order], "probability": probability[order]})

    def nearest(self, X: Any, rows: Any = None, n: int = 10, *, right: Any = None) -> pd.DataFrame:
        """Return the n rows that each row most probably matches, as columns row, other and probability.

        Parameters
        ----------
        X : DataFrame
            The records.
        rows : array-like of int, optional
            Of which rows of X the nearest are wanted. Default: of all.
        n : int, default=10
            How many.
        right : DataFrame, optional
            A second table: then the nearest rows are among its own.
        """
        self._check_learned()
        table = read_columns(X, None, "X")
        rows = np.arange(len(table)) if rows is None else np.asarray(rows, dtype=np.intp)
        asked = self.comparison_.prepare(table.iloc[rows], "X")
        other = self.comparison_.prepare(table if right is None else right, "right")
        i, j = most_alike(asked, other, self.decision_, n + RESCORED)
        if right is None:
            i, j = i[rows[i] != j], j[rows[i] != j]
        probability = self._probability(asked, other, i, j)
        found = pd.DataFrame({"row": rows[i], "other": j, "probability": probability, "place": i})
        found = found.sort_values(["place", "probability"], ascending=[True, False], kind="stable")
        return found.groupby("place").head(n).drop(columns="place").reset_index(drop=True)

    def group(
        self, X: Any, *, average: bool = True, n_groups: int | None = None, above: float | None = None
    ) -> Index:
        """Return the group of each row, from 0: rows that mean the same thing.

        Judged pairs are kept, wherever their records are in the table: in one group, or never in one.

        Parameters
        ----------
        X : DataFrame
            The records.
        average : bool, default=True
            Whether groups are merged by the mean probability of their pairs (average linkage), or if any two
            of their rows match (connected components).
        n_groups : int, optional
            Instead of a threshold, the number of groups, by average linkage of scores; up to 2000 rows.
        above : float, optional
            The least probability. Default: `threshold_`.
        """
        self._check_learned()
        records = self._prepare(X, None)[0]
        links = Links(
            *(
                rows_of(self.judged_.keys[kind], records)
                for kind in (self.judged_.answer, ~self.judged_.answer)
            )
        )
        links = links._replace(cannot=_without(links.cannot, links.must))
        n = len(records.keys)
        if n_groups is not None:
            if n > MOST_CLUSTERED:
                raise ValueError(f"n_groups is for up to {MOST_CLUSTERED} rows, X has {n}: use above")
            i, j = np.triu_indices(n, 1)
            score = self.decision_.score(self.comparison_.paired(records, records, i, j))
            pairs = np.column_stack([i, j])
            return group_pairs(n, pairs, score, links, least=-np.inf, average=True, n_groups=n_groups)
        least = self._above(above)
        i, j, probability = self._find(records, None, least * FAR_BELOW if average else least)
        return group_pairs(n, np.column_stack([i, j]), probability, links, least=least, average=average)

    def ask(self, X: Any, n: int = 20, *, right: Any = None, among: Any = None) -> Index:
        """Return pairs that are worth judging, as row numbers, shape (n, 2): none that was judged before.

        Once there are judged pairs, those near the boundary that differ from one another, and some that seem
        certain. Before, likely matches by plain similarity, and others.

        Parameters
        ----------
        X, right : DataFrame
            The records, of one table or two.
        n : int, default=20
            How many; fewer if there are no more.
        among : array-like of shape (n_pairs, 2), optional
            Ask only some of these.
        """
        check_is_fitted(self)
        left, other = self._prepare(X, right)
        rng = check_random_state(self.random_state)
        pairs = (
            self._worth_a_look(left, None if right is None else other, rng)
            if among is None
            else np.asarray(among)
        )
        keys = keys_of(left, other, pairs[:, 0], pairs[:, 1])
        taken = not_judged(keys, np.concatenate([self.judged_.keys, self.judged_.unsure]))
        pairs, keys = pairs[taken], keys[taken]
        if not len(pairs):
            return np.empty((0, 2), dtype=np.intp)
        score, found = self._compare(left, other, pairs[:, 0], pairs[:, 1])
        records = pairs + np.array([0, 0 if right is None else len(left.keys)])
        if self.threshold_ is None:
            return pairs[first_pairs(score, records, n, rng)]
        boundary = self.probability_.score_of(self.threshold_)
        added = self.decision_.by_column(found)
        return pairs[least_certain(score - boundary, added, records, n)]

    def explain(self, a: Any, b: Any) -> pd.DataFrame:
        """Return why two records match or not: the cells, how similar they are, and what each column adds.

        What is added by columns and the intercept is the score; the probability is 0.5 where that is 0, or
        nearly.

        Parameters
        ----------
        a, b : dict, Series or DataFrame with one row
            The records.
        """
        check_is_fitted(self)
        one, other = _as_table(a), _as_table(b)
        left, right = self._prepare(one, other)
        row = np.zeros(1, dtype=np.intp)
        found = self.comparison_.paired(left, right, row, row)
        names = [column.name for column in self.comparison_.columns]
        means = [found.values[0, self.comparison_.column_of == c].mean() for c in range(len(names))]
        lines = pd.DataFrame(
            {
                "column": names,
                "first": [one[name].iloc[0] if name in one else "" for name in names],
                "second": [other[name].iloc[0] if name in other else "" for name in names],
                "similarity": np.where(found.known[0], means, np.nan),
                "adds": self.decision_.by_column(found)[0],
            }
        )
        return lines.sort_values("adds", key=np.abs, ascending=False, kind="stable", ignore_index=True)

    @property
    def column_weights_(self) -> dict[str, float]:
        """How much each column counts: what it adds where two cells are equal."""
        check_is_fitted(self)
        ones = np.ones((1, len(self.decision_.gaps)))
        equal = Similarities(np.ones((1, len(self.decision_.weights))), ones, ones.astype(bool))
        full = self.decision_.by_column(equal)[0]
        names = [column.name for column in self.comparison_.columns]
        return dict(zip(names, full.tolist(), strict=True))

    @property
    def kernel_(self) -> RecordKernel:
        """The learned kernel of records."""
        check_is_fitted(self)
        return RecordKernel(self.comparison_, self.decision_.weights)

    def _judge(self, left: Records, two: bool, right: Records, pairs: Any, unsure: Any) -> Self:
        pairs = Pairs(*pairs)
        kinds = [np.empty((0, 2), dtype=np.intp)] * 2
        if len(pairs.similar) + len(pairs.dissimilar):
            kinds = list(check_pairs(pairs, len(left.keys), len(right.keys) if two else None))
        rows = np.concatenate(kinds)
        answer = np.arange(len(rows)) < len(kinds[0])
        found = self.comparison_.paired(left, right, rows[:, 0], rows[:, 1])
        doubted = np.asarray(unsure, dtype=np.intp).reshape(-1, 2)
        self.judged_ = self.judged_.and_more(
            keys_of(left, right, rows[:, 0], rows[:, 1]),
            answer,
            found,
            keys_of(left, right, doubted[:, 0], doubted[:, 1]),
        )
        return self._learn()

    def _learn(self) -> Self:
        self.threshold_: float | None
        if not self.judged_.answer.any():
            self.decision_ = equal_weights(self.comparison_)
            self.probability_, self.threshold_ = Sigmoid(), None
            self.penalty_ = self.error_ = self.reference_ = None
        else:
            learned = learn(
                self.comparison_,
                self.judged_,
                self.drawn_,
                n_folds=self.n_folds,
                cost=self.cost,
                precision=self.precision,
                rng=check_random_state(self.random_state),
            )
            self.decision_, self.probability_, self.penalty_ = (
                learned.decision,
                learned.probability,
                learned.penalty,
            )
            self.threshold_ = learned.threshold
            self.error_, self.reference_ = learned.error, learned.reference
        self.notes_ = notes_of(self.comparison_, self.judged_, self.drawn_, self.error_, self.threshold_)
        return self

    def _draw(self, left: Records, right: Records) -> None:
        """Compare pairs that are drawn at random, of different records."""
        rng = check_random_state(self.random_state)
        i, j = rng.randint(len(left.keys), size=N_DRAWN), rng.randint(len(right.keys), size=N_DRAWN)
        differ = left.keys[i] != right.keys[j]
        self.drawn_ = self.comparison_.paired(left, right, i[differ], j[differ])

    def _worth_a_look(self, left: Records, right: Records | None, rng: np.random.RandomState) -> Index:
        near = nearest_candidates(left, right, self.decision_)
        n, m = len(left.keys), len((left if right is None else right).keys)
        far = np.column_stack([rng.randint(n, size=LOOKED_AT), rng.randint(m, size=LOOKED_AT)])
        if right is None:
            far = np.sort(far[far[:, 0] != far[:, 1]], axis=1)
        return np.unique(np.concatenate([np.column_stack(near), far]), axis=0)

    def _find(self, left: Records, right: Records | None, above: float) -> tuple[Index, Index, Array]:
        least = self.probability_.score_of(above)
        i, j = find_candidates(left, right, self.decision_, least)
        probability = self._probability(left, left if right is None else right, i, j)
        kept = probability >= above
        return i[kept], j[kept], probability[kept]

    def _probability(self, left: Records, right: Records, i: Index, j: Index) -> Array:
        parts = [
            self.probability_(
                self._compare(
                    left, right, i[begin : begin + PAIRS_AT_ONCE], j[begin : begin + PAIRS_AT_ONCE]
                )[0]
            )
            for begin in range(0, len(i), PAIRS_AT_ONCE)
        ]
        return np.concatenate(parts) if parts else np.empty(0)

    def _compare(self, left: Records, right: Records, i: Index, j: Index) -> tuple[Array, Similarities]:
        found = self.comparison_.paired(left, right, i, j)
        return self.decision_.score(found), found

    def _prepare(self, X: Any, right: Any) -> tuple[Records, Records]:
        left = self.comparison_.prepare(X, "X")
        return left, left if right is None else self.comparison_.prepare(right, "right")

    def _above(self, above: float | None) -> float:
        if above is not None and not 0.0 <= above <= 1.0:
            raise ValueError(f"above is a probability, between 0 and 1, not {above!r}")
        least = self.threshold_ if above is None else above
        return 1.0 if least is None else float(least)

    def _check_parameters(self) -> None:
        if not self.cost > 0.0:
            raise ValueError(f"cost must be positive, got {self.cost!r}")
        if self.precision is not None and not 0.0 < self.precision <= 1.0:
            raise ValueError(f"precision must be a share, 0 < precision <= 1, got {self.precision!r}")

    def _check_learned(self) -> None:
        check_is_fitted(self)
        if self.threshold_ is None:
            raise ValueError(
                "no pair is judged the same yet: judge some likely matches, which ask proposes, and call tell"
            )


def _as_table(record: Any) -> pd.DataFrame:
    if isinstance(record, pd.DataFrame):
        return record.iloc[:1]
    return pd.DataFrame([dict(record) if isinstance(record, Mapping) else record.to_dict()])


def _without(pairs: Index, others: Index) -> Index:
    """Return the pairs that are not among others: rows with the same cells may be judged both ways."""
    known = {tuple(pair) for pair in others.tolist()}
    kept = [pair for pair in pairs.tolist() if tuple(pair) not in known]
    return np.array(kept, dtype=np.intp).reshape(-1, 2)
