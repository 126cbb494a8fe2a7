"""What every learner is: a transformer, fitted to labels, numbers or pairs, whose `kernel_` is learned."""

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.preprocessing import StandardScaler
from sklearn.utils import Tags, check_consistent_length, check_random_state
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import check_array, check_is_fitted

from mercer._typing import Array, Index
from mercer.array_api import is_of_numpy, is_of_torch, matching, take, to_numpy
from mercer.kernels import Combination, Mixture, Projected
from mercer.kernels.description import as_html, describe_kernel
from mercer.kernels.tensors import gram_of
from mercer.learners.sampling import draw, draw_by_class, draw_with_pairs
from mercer.metrics import alignment, ideal_kernel
from mercer.notebook import Line, paragraphs, show_bars
from mercer.pairs import Pairs
from mercer.parameters import check_count
from mercer.scikit import CallbackContext, CallbackSupportMixin, check_feature_names, with_callbacks
from mercer.shown import shown
from mercer.validation import check_rows, check_target, dense

MOST_BARS = 10  # that a notebook shows of a kernel
JUDGED = 500  # rows of a sample, and of the others, on which the kernel is compared with the labels
PAIRS_OF_NUMBERS = 10_000  # at most, that are made of a numeric target


class TrainingData(NamedTuple):
    """What a learner is given, checked. There are labels, pairs or numbers: one of the three."""

    X: Array
    label: NDArray[np.intp] | None  # positions in the sorted classes
    pairs: Pairs | None
    unlabelled: Array | None
    target: Array | None = None  # numbers, (n, n_targets)
    rows: Index | None = None  # the numbers of these rows, if they are a sample; then those of `unlabelled`

    def sample(self, most: int, rng: RandomState, all_unlabelled: bool = False) -> Self:
        """Return what is known of some `most` rows of X, and of as many unlabelled ones, or of all these."""
        n, n_more = len(self.X), 0 if self.unlabelled is None else len(self.unlabelled)
        if n <= most and (all_unlabelled or n_more <= most):
            return self
        if n <= most:
            rows = np.arange(n)
        elif self.pairs is not None:
            rows = draw_with_pairs(self.pairs, n, most, rng)
        else:
            label = np.zeros(n, dtype=np.intp) if self.label is None else self.label
            rows = draw_by_class(label, most, rng)
        more = np.arange(n_more) if all_unlabelled else draw(n_more, most, rng)
        return self._replace(
            X=take(self.X, rows),
            label=None if self.label is None else self.label[rows],
            pairs=None if self.pairs is None else self.pairs.within(rows),
            unlabelled=None if self.unlabelled is None else take(self.unlabelled, more),
            target=None if self.target is None else self.target[rows],
            rows=np.concatenate([rows, n + more]),
        )


def align(kernel: Any, known: TrainingData, rows: Index) -> float:
    """Return the centred alignment of a kernel with the labels, or numbers, of some rows."""
    X = take(known.X, rows)
    K = np.array(to_numpy(gram_of(kernel, X, X)), dtype=np.float64)
    if known.label is not None:
        ideal = ideal_kernel(known.label[rows])
    else:
        assert known.target is not None
        T = StandardScaler().fit_transform(known.target[rows])
        ideal = T @ T.T
    for M in (K, ideal):
        M -= M.mean(axis=0)
        M -= M.mean(axis=1)[:, None]
    return alignment(K, ideal) if np.any(K) and np.any(ideal) else 0.0


def report_steps(estimator: Any, context: CallbackContext, name: str) -> Callable[[int], bool] | None:
    """Return what a solver calls after each of its steps, if the estimator has callbacks."""
    if not hasattr(estimator, "_skl_callbacks"):
        return None

    def report(step: int) -> bool:
        task = context.subcontext(name)
        task.call_on_fit_task_begin(estimator=estimator)
        return bool(task.call_on_fit_task_end(estimator=estimator))

    return report


class KernelLearner(ClassNamePrefixFeaturesOutMixin, TransformerMixin, CallbackSupportMixin, BaseEstimator):
    """A transformer whose features have the learned kernel `kernel_` as their inner products.

    A subclass gives `_learn`, which sets `kernel_`. One that has its own way to learn from numbers says so in
    `_takes_numbers`; the others get pairs of near and far numbers. With a parameter `max_rows`, of more rows
    it gets a sample; one whose work grows with unlabelled rows as their number does, gets all of these.
    """

    _takes_numbers: ClassVar[bool] = False
    _takes_all_unlabelled: ClassVar[bool] = False
    _report_steps = report_steps

    @abstractmethod
    def _learn(self, known: TrainingData, context: CallbackContext) -> None:
        """Learn, and set `kernel_`."""

    def _check_parameters(self) -> None:
        """Raise if a parameter is not what it may be."""

    @with_callbacks
    def fit(
        self, X: Any, y: Any = None, *, target: Any = None, pairs: Any = None, unlabelled: Any = None
    ) -> Self:
        """Learn the kernel, from labels, numbers or pairs.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The samples.
        y : array-like of shape (n_samples,), optional
            Class labels, of two or more classes. (A label of −1 is a class like any other, and numbers are
            labels, too.)
        target : array-like of shape (n_samples,) or (n_samples, n_targets), optional
            Numbers, instead of classes: what `mercer.KernelRegressor` passes on. Nothing is guessed from the
            values. A learner that has no way of its own with numbers takes `Pairs.from_target` of one target.
        pairs : Pairs, optional
            Similar and dissimilar samples, as row numbers of X. If given, the kernel is learned from them,
            not from y or target. Cross-validation, which fits to subsets of X, does not renumber them.
        unlabelled : array-like of shape (n_unlabelled, n_features), optional
            More samples, without labels; each learner documents how it uses them.

        Returns
        -------
        KernelLearner
            This estimator.
        """
        self._check_parameters()
        most = self.get_params(deep=False).get("max_rows")
        if most is not None:
            check_count(most, "max_rows", least=4)
        known = given = self._check(X, y, target, pairs, unlabelled)
        if most is not None:
            known = self._sample(given, int(most))
        if known.target is not None and not self._takes_numbers:
            known = self._pair_numbers(known, known.target)
        context = self._init_callback_context(max_subtasks=self._most_steps())
        context.call_on_fit_task_begin(estimator=self)
        self._learn(known, context)
        sampled: Index | None = getattr(self, "sampled_rows_", None)
        if sampled is not None:
            self._judge_sample(given, sampled)
        context.call_on_fit_task_end(estimator=self)
        return self

    def _most_steps(self) -> int | None:
        """Return how many steps `_learn` reports at most, if that is known."""
        return None

    def transform(self, X: Any) -> Array:
        """Return features of the samples whose inner products are the learned kernel."""
        check_is_fitted(self)
        X = check_rows(self, X, reset=False)
        _check_scale(X)
        features: Array = self.kernel_.transform(X)
        return features

    def _html_repr(self) -> str:
        """Return what a notebook shows: the kernel in words with its largest weights, and the estimator."""
        diagram: str = super()._html_repr()
        if getattr(self, "kernel_", None) is None:
            return diagram
        names, weights = self._weights()
        order = np.argsort(-weights, kind="stable")[:MOST_BARS]
        largest = float(weights.max(initial=0.0)) or 1.0
        lines = [Line(names[k], float(weights[k]) / largest, [f"{weights[k]:.3g}"]) for k in order]
        picture = show_bars(lines) if len(lines) > 1 else ""
        more = f"The {len(lines)} largest of {len(weights)} weights." if len(lines) < len(weights) else ""
        rows = getattr(self, "sampled_rows_", None)
        sample = "" if rows is None else f"Learned from a sample of {len(rows)} rows."
        aligned = getattr(self, "sample_alignment_", None)
        if aligned is not None:
            own, other = aligned
            sample += f" Its alignment is {own:.2f} there, and {other:.2f} on other rows."
        return f"{as_html(self.kernel_)}{picture}{paragraphs(more, sample)}{diagram}"

    def _weights(self) -> tuple[list[str], Array]:
        """Return what the kernel is a sum of, and how much of each: to be shown."""
        kernel = self.kernel_
        if isinstance(kernel, Combination):
            return [describe_kernel(one) for one in kernel.kernels], np.asarray(kernel.weights)
        if isinstance(kernel, Mixture):
            return [f"mixture {t + 1}" for t in range(len(kernel.alpha))], np.asarray(kernel.alpha)
        if isinstance(kernel, Projected):
            lengths = np.sum(np.asarray(kernel.coef) ** 2, axis=0)
            return [f"direction {k + 1}" for k in range(len(lengths))], lengths
        return [], np.empty(0)

    @property
    def _n_features_out(self) -> int:
        return int(self.kernel_.transform(np.zeros((1, self.n_features_in_))).shape[1])

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = True  # or pairs, for which scikit-learn has no word
        return tags

    def _check(self, X: Any, y: Any, target: Any, pairs: Any, unlabelled: Any) -> TrainingData:
        if y is not None and target is not None:
            raise ValueError("give labels as y or numbers as target, not both")
        if y is None and target is None and pairs is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None: give labels y, "
                "numbers target=, or pairs=Pairs(similar, dissimilar)."
            )
        label, numbers, checked = None, None, None
        if pairs is None and y is not None:
            X, y = check_rows(self, X, to_numpy(y) if is_of_torch(y) else y)
            label = self._label(y)
        else:
            X = check_rows(self, X)
            self.__dict__.pop("classes_", None)  # of an earlier fit, to labels
        if pairs is not None:
            checked = _as_pairs(pairs).check(len(X))
        elif target is not None:
            numbers = check_target(to_numpy(target) if is_of_torch(target) else target)
            check_consistent_length(X, numbers)
            numbers = numbers.reshape(len(numbers), -1)
        _check_scale(X)
        more = self._check_unlabelled(unlabelled, X)
        if more is not None:
            _check_scale(more)
        return TrainingData(X, label, checked, more, numbers)

    def _sample(self, known: TrainingData, most: int) -> TrainingData:
        """Return what is known of a sample of the rows, if they are too many."""
        rng = check_random_state(self.get_params(deep=False).get("random_state"))
        sample = known.sample(most, rng, self._takes_all_unlabelled)
        n = len(sample.X)
        self.sampled_rows_ = None if sample.rows is None or n == len(known.X) else sample.rows[:n]
        self.sample_alignment_: tuple[float, float] | None = None
        return sample

    def _judge_sample(self, known: TrainingData, sampled: Index) -> None:
        """Compare the kernel with the labels of rows that it was learned from, and of others."""
        if known.label is None and known.target is None:
            return
        others = np.setdiff1d(np.arange(len(known.X)), sampled)
        rng = RandomState(0)  # another than that of the learner, which stays as it is
        both = [rows[draw(len(rows), JUDGED, rng)] for rows in (sampled, others)]
        own, other = (align(self.kernel_, known, rows) for rows in both)
        self.sample_alignment_ = own, other

    def _check_unlabelled(self, unlabelled: Any, X: Array) -> Array | None:
        """Return samples without labels, where X is."""
        if unlabelled is None or is_of_numpy(X):
            more = check_unlabelled(unlabelled, X.shape[1])
            if more is not None:
                check_feature_names(self, unlabelled, reset=False)
            return more
        rows = check_rows(self, unlabelled, reset=False)
        return matching(X, rows)

    def _pair_numbers(self, known: TrainingData, numbers: Array) -> TrainingData:
        """Return what is known with the pairs that numbers make."""
        seed = self.get_params(deep=False).get("random_state")
        pairs = Pairs.from_target(numbers, n_pairs=PAIRS_OF_NUMBERS, random_state=seed)
        return known._replace(pairs=pairs, target=None)

    def _label(self, y: NDArray[Any]) -> NDArray[np.intp]:
        if type_of_target(y).startswith("continuous"):
            raise ValueError(
                "Unknown label type: continuous. y holds numbers with fractions, which are no classes: give "
                f"fit(X, target=y), or KernelRegressor({type(self).__name__}())."
            )
        check_classification_targets(y)
        self.classes_, label = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(
                f"{type(self).__name__} learns from two or more classes, but y has only one class: "
                f"{shown(self.classes_[0])}"
            )
        return label.astype(np.intp)


def check_unlabelled(unlabelled: Any, n_features: int) -> Array | None:
    """Return samples without labels as an array; raise unless they have the features of X."""
    if unlabelled is None:
        return None
    unlabelled = to_numpy(unlabelled) if is_of_torch(unlabelled) else dense(unlabelled)
    rows: Array = check_array(unlabelled, dtype=np.float64, input_name="unlabelled")
    if rows.shape[1] != n_features:
        raise ValueError(
            f"unlabelled has {rows.shape[1]} features, X has {n_features}: they must be the same"
        )
    return rows


def _check_scale(X: Array) -> None:
    largest = max(float(X.max()), -float(X.min())) if len(X) else 0.0
    if largest > 1e100 or 0.0 < largest < 1e-100:
        raise ValueError(f"the features have values up to {largest:.0e}, too extreme to square: scale them")


def _as_pairs(pairs: Any) -> Pairs:
    if isinstance(pairs, Pairs):
        return pairs
    if isinstance(pairs, tuple) and len(pairs) == 2:
        return Pairs(*pairs)
    raise TypeError(f"pairs must be Pairs(similar, dissimilar), not {type(pairs).__name__}")
