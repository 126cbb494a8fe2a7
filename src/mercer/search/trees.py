"""Trees that scikit-learn grows, as members of a blend: a forest of random ones, and boosted ones.

What is fitted is kept as plain arrays, which can be checked and saved; scikit-learn's own trees cannot.
"""

from abc import ABC, abstractmethod
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, is_classifier
from sklearn.utils.validation import check_is_fitted, validate_data

from mercer._typing import Array, Index
from mercer.kernels import Forest
from mercer.limits import one_loop_at_a_time

ALONE = 20_000  # rows up to which one thread is fast enough, and no other that is busy is waited for
BLOCK = 2**22  # values of which a step takes that many at a time


class Grown(NamedTuple):
    """One tree as scikit-learn has it; children are zero or less where there are none."""

    feature: Index
    threshold: Array
    low: Index
    high: Index
    value: Array  # (n_nodes, n_columns), or (n_nodes, 1) of a tree that adds to one column
    column: int


class Sum(NamedTuple):
    """What trees add up to: their leaves, with the values of these."""

    kernel: Forest
    value: Array
    column: Index  # of each tree
    start: Array  # of each column

    @classmethod
    def of(cls, grown: list[Grown], start: Array, n_features: int) -> Self:
        """Put trees together."""
        sizes = np.array([len(tree.feature) for tree in grown])
        roots = np.cumsum(sizes) - sizes
        itself, root = np.arange(sizes.sum()), np.repeat(roots, sizes)
        feature, threshold, low, high, value = map(
            np.concatenate, zip(*(tree[:5] for tree in grown), strict=True)
        )
        leaf = low <= 0  # the root is no child
        kernel = Forest(
            np.where(leaf, 0, feature).astype(np.int32),
            np.where(leaf, 0.0, threshold),
            np.where(leaf, itself, low + root).astype(np.int32),
            np.where(leaf, itself, high + root).astype(np.int32),
            roots.astype(np.int32),
            n_features,
        )
        column = np.array([tree.column for tree in grown], dtype=np.intp)
        return cls(kernel, value.astype(np.float32) if value.shape[1] > 1 else value, column, start)

    def __call__(self, X: Array) -> Array:
        """Return the sums, (n_rows, n_columns)."""
        total = np.repeat(self.start[None], len(X), axis=0)
        step = max(1, BLOCK // len(self.column))
        for first in range(0, len(X), step):
            part, leaves = total[first : first + step], self.kernel.leaves(X[first : first + step])
            for column, leaf in zip(self.column, leaves.T, strict=True):
                if self.value.shape[1] == 1:
                    part[:, column] += self.value[leaf, 0]
                else:
                    part += self.value[leaf]
        return total


def trees_of_forest(forest: Any) -> list[Grown]:
    """Return the trees of a forest; their values are shares of classes, or means."""
    each = [one.tree_ for one in forest.estimators_]
    return [Grown(t.feature, t.threshold, t.children_left, t.children_right, t.value[:, 0], 0) for t in each]


def trees_of_boosting(boosting: Any) -> list[Grown]:
    """Return the trees of scikit-learn's gradient boosting on histograms."""
    grown = []
    for iteration in boosting._predictors:
        for column, n in enumerate(tree.nodes for tree in iteration):
            low, high = (np.where(n["is_leaf"], 0, n[side]).astype(np.int64) for side in ("left", "right"))
            grown.append(Grown(n["feature_idx"], n["num_threshold"], low, high, n["value"][:, None], column))
    return grown


class TreeMember(BaseEstimator, ABC):
    """What members of trees share: they grow trees, and say a sum of their values."""

    @abstractmethod
    def _grow(self, X: Array, y: NDArray[Any], sample_weight: Any) -> tuple[list[Grown], Array]:
        """Return trees, and what their sum starts from, for each column."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Grow the trees, and keep them as arrays."""
        X, y = validate_data(self, X, y, dtype=np.float64)
        if is_classifier(self):
            self.classes_ = np.unique(y)
        with one_loop_at_a_time(len(X) <= ALONE):
            grown, start = self._grow(X.astype(np.float32), y, sample_weight)
        self.sum_ = Sum.of(grown, start, X.shape[1])
        return self

    @property
    def kernel_(self) -> Forest:
        """In what share of the trees two rows meet."""
        kernel: Forest = self.sum_.kernel
        return kernel

    def _sum(self, X: Any) -> Array:
        check_is_fitted(self)
        total: Array = self.sum_(validate_data(self, X, reset=False, dtype=np.float64))
        return total


class TreeClassifier(ClassifierMixin, TreeMember):
    """A classifier of trees."""

    def decision_function(self, X: Any) -> Array:
        """Return log odds of two classes; of more, logarithms of probabilities but for a constant."""
        values = self._sum(X)
        if values.shape[1] == 1:
            return values[:, 0]
        return values[:, 1] - values[:, 0] if len(self.classes_) == 2 else values

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the most probable classes."""
        values = self.decision_function(X)
        chosen = values > 0 if values.ndim == 1 else values.argmax(axis=1)
        labels: NDArray[Any] = self.classes_[chosen.astype(np.intp)]
        return labels


class ForestClassifier(TreeClassifier):
    """A forest, of random splits [GEW06] or of the best on drawn samples [B01].

    Its decisions are logarithms of the trees' mean shares of each class, counted with one more tree that
    knows nothing: no share is zero.

    [GEW06] Geurts, Ernst, Wehenkel: Extremely randomized trees. Machine Learning 63, 2006.
    [B01] Breiman: Random forests. Machine Learning 45, 2001.

    Parameters
    ----------
    n_trees : int, default=150
        Number of trees.
    random_splits : bool, default=True
        Whether thresholds are drawn, and trees see all samples: half of the features are tried at a split.
        Otherwise it is the square root of their number, the best threshold, and bootstrap samples.
    min_samples_leaf : int, default=1
        Number of samples of a leaf, at least.
    class_weight : dict, "balanced" or None, default=None
        Weights of classes.
    random_state : int, RandomState or None, default=None
        Random seed.
    """

    def __init__(
        self,
        n_trees: int = 150,
        random_splits: bool = True,
        min_samples_leaf: int = 1,
        class_weight: Any = None,
        random_state: Any = None,
    ) -> None:
        self.n_trees = n_trees
        self.random_splits = random_splits
        self.min_samples_leaf = min_samples_leaf
        self.class_weight = class_weight
        self.random_state = random_state

    def _grow(self, X: Array, y: NDArray[Any], sample_weight: Any) -> tuple[list[Grown], Array]:
        from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier  # which takes a while

        kind, tried = (ExtraTreesClassifier, 0.5) if self.random_splits else (RandomForestClassifier, "sqrt")
        forest = kind(
            self.n_trees,
            min_samples_leaf=self.min_samples_leaf,
            max_features=tried,
            class_weight=self.class_weight,
            random_state=self.random_state,
        )
        trees = trees_of_forest(forest.fit(X, y, sample_weight=sample_weight))
        return trees, np.full(len(self.classes_), 1.0 / len(self.classes_))

    def _sum(self, X: Any) -> Array:
        shares: Array = np.log(super()._sum(X) / (len(self.sum_.column) + 1.0))
        return shares


class BoostingClassifier(TreeClassifier):
    """Gradient boosting of trees on histograms, scikit-learn's.

    Parameters
    ----------
    n_rounds : int, default=120
        Number of trees, or of as many as there are classes if these are more than two.
    learning_rate : float, default=0.1
        By what the values of each tree are multiplied.
    max_leaf_nodes : int, default=16
        Number of leaves of a tree.
    class_weight : dict, "balanced" or None, default=None
        Weights of classes.
    random_state : int, RandomState or None, default=None
        Random seed.
    """

    def __init__(
        self,
        n_rounds: int = 120,
        learning_rate: float = 0.1,
        max_leaf_nodes: int = 16,
        class_weight: Any = None,
        random_state: Any = None,
    ) -> None:
        self.n_rounds = n_rounds
        self.learning_rate = learning_rate
        self.max_leaf_nodes = max_leaf_nodes
        self.class_weight = class_weight
        self.random_state = random_state

    def _grow(self, X: Array, y: NDArray[Any], sample_weight: Any) -> tuple[list[Grown], Array]:
        from sklearn.ensemble import HistGradientBoostingClassifier  # which takes a while

        boosting = HistGradientBoostingClassifier(
            max_iter=self.n_rounds,
            learning_rate=self.learning_rate,
            max_leaf_nodes=self.max_leaf_nodes,
            early_stopping=False,
            class_weight=self.class_weight,
            random_state=self.random_state,
        ).fit(X, y, sample_weight=sample_weight)
        return trees_of_boosting(boosting), boosting._baseline_prediction[0].copy()


class ForestRegressor(RegressorMixin, TreeMember):
    """A forest of numbers: the mean of its trees. Parameters are those of `ForestClassifier`.

    Random splits try all features at a split, the best ones a third of them.
    """

    def __init__(
        self,
        n_trees: int = 150,
        random_splits: bool = True,
        min_samples_leaf: int = 1,
        random_state: Any = None,
    ) -> None:
        self.n_trees = n_trees
        self.random_splits = random_splits
        self.min_samples_leaf = min_samples_leaf
        self.random_state = random_state

    def _grow(self, X: Array, y: NDArray[Any], sample_weight: Any) -> tuple[list[Grown], Array]:
        from sklearn.ensemble import ExtraTreesRegressor, RandomForestRegressor  # which takes a while

        kind, tried = (ExtraTreesRegressor, 1.0) if self.random_splits else (RandomForestRegressor, 1.0 / 3.0)
        forest = kind(
            self.n_trees,
            min_samples_leaf=self.min_samples_leaf,
            max_features=tried,
            random_state=self.random_state,
        )
        return trees_of_forest(forest.fit(X, y, sample_weight=sample_weight)), np.zeros(1)

    def predict(self, X: Any) -> Array:
        """Return the mean of the trees."""
        mean: Array = self._sum(X)[:, 0] / len(self.sum_.column)
        return mean


class BoostingRegressor(RegressorMixin, TreeMember):
    """Gradient boosting of trees on histograms, of numbers. Parameters are those of `BoostingClassifier`."""

    def __init__(
        self,
        n_rounds: int = 120,
        learning_rate: float = 0.1,
        max_leaf_nodes: int = 16,
        random_state: Any = None,
    ) -> None:
        self.n_rounds = n_rounds
        self.learning_rate = learning_rate
        self.max_leaf_nodes = max_leaf_nodes
        self.random_state = random_state

    def _grow(self, X: Array, y: NDArray[Any], sample_weight: Any) -> tuple[list[Grown], Array]:
        from sklearn.ensemble import HistGradientBoostingRegressor  # which takes a while

        mean, unit = float(np.mean(y)), float(np.std(y)) or 1.0  # it computes in single precision
        boosting = HistGradientBoostingRegressor(
            max_iter=self.n_rounds,
            learning_rate=self.learning_rate,
            max_leaf_nodes=self.max_leaf_nodes,
            early_stopping=False,
            random_state=self.random_state,
        ).fit(X, (y - mean) / unit, sample_weight=sample_weight)
        trees = [tree._replace(value=unit * tree.value) for tree in trees_of_boosting(boosting)]
        return trees, np.array([mean + unit * float(np.ravel(boosting._baseline_prediction)[0])])

    def predict(self, X: Any) -> Array:
        """Return the sum of the trees."""
        total: Array = self._sum(X)[:, 0]
        return total
