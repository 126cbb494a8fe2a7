"""A kernel that learns how much each feature matters: recursive feature machines."""

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.random import RandomState
from scipy.stats import chi2
from sklearn.gaussian_process import kernels as sk_kernels
from sklearn.preprocessing import StandardScaler
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import check_is_fitted

from mercer._typing import Array
from mercer.array_api import apply, is_of_numpy, like, namespace, take, to_numpy
from mercer.kernels import Kernel, Perceptron, Rescaled, Tree
from mercer.kernels.metrics import city_block, euclidean
from mercer.kernels.tensors import gram_of
from mercer.learners.base import KernelLearner, TrainingData
from mercer.learners.sampling import draw
from mercer.learners.superkernel import SpanFeatures
from mercer.limits import check_memory, one_thread
from mercer.parameters import check_count, check_option, check_positive
from mercer.scikit import CallbackContext
from mercer.solvers.relevance import Ridge, average_slopes, compare_products, fit_ridge
from mercer.validation import check_rows, some_rows


class RelevanceSettings(NamedTuple):
    """What steers the rounds, and what goes wrong without it."""

    penalties: tuple[float, ...] = (1e-3, 1e-2, 1e-1, 1.0, 10.0)
    """The λ of the ridge regression, of a kernel that is 1 on its diagonal; the best one is looked for."""
    n_points: int = 500
    """Rows at which slopes are averaged. Their average is as good as that of thousands."""
    n_splits: int = 3
    """Divisions of the rows into halves. One alone lets more useless features through."""
    sharpness: tuple[float, ...] = (0.5, 1.0)
    """Powers of the average squared gradient that are tried as weights. One half, its root, is usual; one
    drops useless features in fewer rounds, and sometimes weak ones with them."""
    useless: float = 0.5
    """Share of useless features above which features have a price, and what follows is tried as well. Where
    most features are of use, each of a little, none should be missed."""
    price: float = 1.0
    """So many times log D / n of the loss is the price of a feature. The best of D useless ones, found with
    the same labels, seems to gain as much."""
    weak: float = 0.3
    """Share of the largest weight below which weights are zero."""
    flat: float = 0.25
    """Power of what is left then: those that are of use are more equal than their slopes."""
    added: tuple[int, ...] = (1, 2, 4)
    """Numbers of unused features, those of the largest slopes, that come back."""
    couples: int = 4
    """Levels of certainty at which unused features come back that act together with another one."""
    by_chance: float = 0.05
    """Chance that a pair of features seems to act together, and no pair does."""
    most_in_pairs: int = 2000
    """Features of which all pairs are looked at: there are as many as their square."""
    revival: float = 0.3
    """Weight of the feature whose slope is largest, however small its weight was, in the third that is tried.
    Without it no feature comes back that acts only together with others, found in a later round."""
    notable: float = 0.2
    """Share of the largest slope below which nothing is revived."""
    nothing: float = 1e-3
    """Share of the largest weight below which a weight is zero."""
    patience: int = 2
    """Rounds after which it stops if they brought little."""
    little: float = 0.01
    """Share of the loss that is little."""
    some_rows: int = 1000
    """Rows of which the median distance is taken."""
    one_thread_up_to: int = 1500
    """Rows up to which threads of matrix products wait more than they work."""


SETTINGS = RelevanceSettings()


class Base(NamedTuple):
    """A kernel on weighted features."""

    power: int  # of a difference in its slope: 1 is its sign, 2 the difference itself
    metric: Callable[[Array, Array], Array]  # the distances of rows
    kernel: Callable[[Array], Kernel]  # for rows whose median distance is one
    slope: Callable[[Array], Array]  # what multiplies the difference, given the distances

    def unit(self, Z: Array) -> float:
        """Return the median distance of two distinct rows, of some of them if they are many."""
        some = np.unique(to_numpy(take(Z, some_rows(len(Z), SETTINGS.some_rows))), axis=0)
        distance = self.metric(some, some)[np.triu_indices(len(some), 1)]
        return float(np.median(distance)) if len(distance) else 1.0


def _inverse(distance: Array) -> Array:
    xp = namespace(distance)
    inverse: Array = xp.where(distance > 0, 1.0 / xp.where(distance > 0, distance, 1.0), 0.0)
    return inverse


BASES = {
    "tree": Base(1, city_block, lambda Z: Tree(1.0), lambda r: apply("exp", -r)),
    "perceptron": Base(2, euclidean, Perceptron.spanning, _inverse),
    "rbf": Base(2, euclidean, lambda Z: sk_kernels.RBF(1.0, "fixed"), lambda r: apply("exp", -(r**2) / 2)),
}


class Machine(NamedTuple):
    """Ridge regression with a kernel on weighted features."""

    weight: Array  # of standardised features, the largest is 1
    unit: float  # what the features are divided by: the median distance of two rows, times the width
    K: Array
    ridge: Ridge
    price: float  # what the features that it uses cost, as a factor

    @property
    def cost(self) -> float:
        """Return the loss times the price."""
        return self.ridge.loss * self.price


class RelevanceKernel(KernelLearner):
    r"""A kernel on weighted features, whose weights are learned: a recursive feature machine.

    .. math:: k(x, x') = \kappa(w \odot x,\, w \odot x'), \qquad
              w_d^2 \propto \frac1n \sum_i \left( \frac{\partial f(x_i)}{\partial x_d} \right)^2,

    where f is the kernel machine with the weights before: fit a machine, average its squared gradients over
    the rows (the diagonal of the average gradient outer product), weigh the features by them, and repeat.
    Useless features fade within a few rounds, and the kernel looks at the others alone. The machine is ridge
    regression on numbers, or on labels ±1; the round that is kept is that of the least leave-one-out loss.

    **This method is not from one of the five papers** that the other learners are from, but from [RBPB24].

    A round costs O(n³) for n rows (at most `max_rows`) and O(n D) for each point of the average: about a
    second for 1000 rows and 200 features.

    Parameters
    ----------
    base : {"tree", "perceptron", "rbf"}, default="tree"
        κ, of which the weights are learned: exp(−‖z − z'‖₁), Δ − ‖z − z'‖₂ or exp(−‖z − z'‖₂² / 2), of
        features that are divided by the median distance of two rows.
    width : float, default=1.0
        Of κ, by what its features are divided in place of the median distance: so many times that. Of many
        samples narrower kernels are better, for which the sample that it learns from may be too few to tell:
        search it over 0.25 … 1. (To "perceptron" it is another scale of the kernel.)
    n_rounds : int, default=8
        Maximum number of rounds.
    max_rows : int, default=2000
        With more rows, a sample of this size is used: drawn by class, at least ten of each, with all rows
        that `pairs` mention. Unlabelled rows are sampled likewise.
    random_state : int, RandomState or None, default=None
        Random seed, of the halves and of the rows that are drawn.

    Attributes
    ----------
    kernel_ : Rescaled
        The learned kernel.
    relevance_ : array of shape (n_features,)
        The weight of each feature in units of its standard deviation; the largest is 1, those of useless
        features are zero.
    loss_ : array of shape (n_rounds + 1,)
        The leave-one-out loss before the first round and after each, as a share of that of the mean.
    n_rounds_ : int
        The number of rounds after which it is least.
    penalty_ : float
        λ of the ridge regression there.
    sampled_rows_ : array of shape (n_sampled,) or None
        The rows of X that it learned from, if there were more than `max_rows`; None: all.
    sample_alignment_ : tuple of two floats, or None
        The centred alignment of the kernel with the labels, or numbers, of some of these rows, and of others:
        what they differ by is what the sample cost. None: it learned from all rows, or from pairs.
    classes_ : array of shape (n_classes,)
        The labels, if it was fitted to labels.

    Notes
    -----
    It learns from classes, ``fit(X, y)``, or from numbers, ``fit(X, target=y)``, as `KernelRegressor` does;
    several targets share the weights. Pairs are not enough for a machine. `unlabelled` rows join the average
    of the gradients. Features are standardised first, so that their units do not matter.

    `transform` gives coordinates in the span of the rows of `fit` (of the sample), as that of
    `Superkernel` does.

    Tensors are computed with where they are, under scikit-learn's array API convention.

    Departures from [RBPB24]:

    - Two machines, each fitted to one half of the rows, and the product of their gradients instead of the
      square of one: the noise of a useless feature has the mean zero, not its variance.
    - In each round three weightings are tried (the root of the average, the average, and the root with
      features revived whose slope was large though their weight was small), and the leave-one-out loss
      decides among them.
    - Where more than half of the features seem useless (half of these have a product below zero), a feature
      has a price, log D / n of the loss, or those would be kept that fit the labels by chance; and weightings
      without the weak ones, more equal ones, and ones with unused features are tried, too. Among these are
      features that act only together with another one, which no slope shows while neither is used: what is
      left of the targets is compared with the products of all pairs of features (of at most 2000).
    - Only the diagonal of the outer product; features are weighed, not mixed.

    References
    ----------
    [RBPB24] A. Radhakrishnan, D. Beaglehole, P. Pandit, M. Belkin. Mechanism for feature learning in neural
    networks and backpropagation-free machine learning models. Science 383, 1461-1467, 2024.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelSVC, RelevanceKernel
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(400, 30))
    >>> y = X[:, 3] + X[:, 5] ** 2 > 1  # 28 features are useless
    >>> model = KernelSVC(RelevanceKernel(random_state=0)).fit(X[:300], y[:300])
    >>> np.flatnonzero(model.learner_.relevance_ > 0.5)
    array([3, 5])
    >>> bool(model.score(X[300:], y[300:]) > 0.85)
    True

    Numbers, of which five features of twenty say something:

    >>> from sklearn.datasets import make_friedman1
    >>> from mercer import KernelRegressor
    >>> X, y = make_friedman1(400, n_features=20, noise=1.0, random_state=0)
    >>> model = KernelRegressor(RelevanceKernel(random_state=0)).fit(X, y)
    >>> np.flatnonzero(model.learner_.relevance_ > 0.1)
    array([0, 1, 2, 3, 4])
    """

    _takes_numbers = True
    svm_C: ClassVar[float] = 4.0  # noqa: N815  (of an SVM with the kernel: the default of `TreeSVC`, too)

    def __init__(
        self,
        base: str = "tree",
        *,
        width: float = 1.0,
        n_rounds: int = 8,
        max_rows: int = 2000,
        random_state: Any = None,
    ) -> None:
        self.base = base
        self.width = width
        self.n_rounds = n_rounds
        self.max_rows = max_rows
        self.random_state = random_state

    def transform(self, X: Any) -> Array:
        """Return coordinates of rows in the span of those of `fit`, whose inner products are the kernel."""
        check_is_fitted(self)
        X = check_rows(self, X, reset=False)
        features: Array = like(X, self.span_.transform(to_numpy(X)))
        return features

    @property
    def _n_features_out(self) -> int:
        return len(self.span_.factor.landmarks)

    def _check_parameters(self) -> None:
        check_option(self.base, "base", tuple(BASES))
        check_positive(self.width, "width")
        check_count(self.n_rounds, "n_rounds")

    def _most_steps(self) -> int | None:
        return int(self.n_rounds)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.array_api_support = True
        return tags

    def _weights(self) -> tuple[list[str], Array]:
        names = getattr(self, "feature_names_in_", [f"x{d}" for d in range(len(self.relevance_))])
        return [str(name) for name in names], to_numpy(self.relevance_)

    def _learn(self, known: TrainingData, context: CallbackContext) -> None:
        if known.pairs is not None:
            raise ValueError("RelevanceKernel learns from classes y or numbers target, not from pairs")
        rng = check_random_state(self.random_state)
        n = len(known.X)
        if is_of_numpy(known.X):
            check_memory(6 * 8 * n**2, f"The kernel of {n} rows", "Lower max_rows.")
        xp = namespace(known.X)
        X = xp.astype(known.X, xp.float64, copy=False)
        T = like(X, make_targets(known))
        deviation, largest = to_numpy(xp.std(X, axis=0)), to_numpy(xp.max(xp.abs(X), axis=0))
        varies = deviation > 1e-12 * largest
        if not np.any(varies):
            raise ValueError("all columns of X are constant: there is nothing to learn from")
        deviation = np.where(varies, deviation, 1.0)
        points = take_points(X, known.unlabelled, rng)
        scale, centre = like(X, deviation), xp.mean(X, axis=0)  # slopes have single precision
        Z, points = (X - centre) / scale, (points - centre) / scale
        rounds = Rounds(BASES[self.base], Z, points, T, rng, width=self.width)
        report = self._report_steps(context, "round")
        with one_thread(n <= SETTINGS.one_thread_up_to):
            machines = rounds.run(varies.astype(np.float64), self.n_rounds, report)
        self._keep(to_numpy(X), deviation, machines)
        for name in ("relevance_", "loss_", "classes_"):
            if hasattr(self, name):
                setattr(self, name, like(known.X, getattr(self, name)))

    def _keep(self, X: Array, deviation: Array, machines: list[Machine]) -> None:
        self.loss_ = np.array([machine.ridge.loss for machine in machines])
        self.n_rounds_ = int(np.argmin([machine.cost for machine in machines]))
        best = machines[self.n_rounds_]
        self.penalty_, self.relevance_ = best.ridge.penalty, best.weight
        weight = np.maximum(best.weight, 1e-9)  # a scale must be finite
        scale = deviation * best.unit / weight
        base = BASES[self.base].kernel(X / scale)
        self.kernel_ = Rescaled(base, np.zeros(X.shape[1]), scale)
        self.span_ = SpanFeatures(self.kernel_, X)


class Rounds(NamedTuple):
    """The rows, standardised, and what the rounds need to know of them."""

    base: Base
    X: Array
    points: Array  # where slopes are taken
    T: Array
    rng: RandomState
    price: float = 0.0  # the logarithm of that of a feature
    width: float = 1.0  # of the kernel, in median distances

    def run(self, weight: Array, n_rounds: int, report: Callable[[int], Any] | None) -> list[Machine]:
        """Return the machines, that of the first weights and one after each round."""
        machines = [self.fit(weight, SETTINGS.penalties)]
        slope = self.slopes(machines[0])
        if share_of_useless(slope[weight > 0]) > SETTINGS.useless:
            n, n_varying = len(self.X), np.count_nonzero(weight)
            self = self._replace(price=SETTINGS.price * float(np.log(n_varying)) / n)
            machines = [self.fit(weight, (machines[0].ridge.penalty,))]
        while len(machines) <= n_rounds and not _is_in_vain([one.cost for one in machines]):
            last = min(machines, key=lambda one: one.cost) if self.price else machines[-1]
            slope = slope if len(machines) == 1 else self.slopes(last)
            slope = np.maximum(slope, 0.0)
            proposed = self.propose(last, slope)
            if not proposed:  # f is constant
                break
            tried = [self.fit(weight, (last.ridge.penalty,)) for weight in proposed] + self.add(last, slope)
            machines.append(self.refine(min(tried, key=lambda one: one.cost)))
            if report is not None and report(len(machines) - 1):
                break
        return machines

    def fit(self, weight: Array, penalties: Sequence[float], unit: float | None = None) -> Machine:
        """Return the machine on weighted features, divided by their own median distance or a given unit."""
        Z = self.X[:, like(self.X, weight > 0)] * like(self.X, weight[weight > 0])
        unit = self.width * self.base.unit(Z) if unit is None else unit
        Z /= unit
        K = gram_of(self.base.kernel(Z), Z, Z)
        price = float(np.exp(self.price * np.count_nonzero(weight)))
        return Machine(weight, unit, K, fit_ridge(K, self.T, penalties), price)

    def add(self, machine: Machine, slope: Array) -> list[Machine]:
        """Return machines with a few more features, if these are worth it; none where most are of use.

        The unit stays: another one may be better whatever the features.
        """
        if not self.price:
            return []
        together = self.together(machine)
        levels = np.unique(together[together > 0])[::-1][: SETTINGS.couples]
        more = [_add(machine.weight, slope, n) for n in SETTINGS.added]
        more += [_add(machine.weight, together * (together >= level), len(slope)) for level in levels]
        tried = [self.fit(weight, (machine.ridge.penalty,), machine.unit) for weight in more]
        return [one for one in tried if one.cost < (1.0 - SETTINGS.little) * machine.cost]

    def together(self, machine: Machine) -> Array:
        """Return, for each feature that is not used, how surely the rest depends on its product with another.

        Zero where that may be chance. No slope shows it as long as the other one is not used, either.
        """
        n_pairs = self.X.shape[1] * (self.X.shape[1] - 1) / 2
        if self.X.shape[1] > SETTINGS.most_in_pairs or n_pairs < 1:
            return np.zeros(self.X.shape[1])
        score = compare_products(self.X, machine.ridge.coef)
        chance = chi2.isf(SETTINGS.by_chance / n_pairs, self.T.shape[1])
        best = np.where(machine.weight > 0, 0.0, score.max(axis=0))
        return np.where(best > chance, best, 0.0)

    def refine(self, machine: Machine) -> Machine:
        """Return the machine with a better penalty, if one of its neighbours is."""
        place = SETTINGS.penalties.index(machine.ridge.penalty)
        near = [SETTINGS.penalties[k] for k in (place - 1, place + 1) if 0 <= k < len(SETTINGS.penalties)]
        other = fit_ridge(machine.K, self.T, near)
        return machine._replace(ridge=min(machine.ridge, other, key=lambda ridge: ridge.loss))

    def slopes(self, machine: Machine) -> Array:
        """Return the average product of the slopes of two machines, on halves of the rows, by feature."""
        weight = machine.weight
        used, scale = like(self.X, weight > 0), like(self.X, weight[weight > 0] / machine.unit)
        distance = self.base.metric(self.points[:, used] * scale, self.X[:, used] * scale)
        slope = average_slopes(
            self.X,
            self.points,
            machine.K,
            self.base.slope(distance),
            self.T,
            machine.ridge.penalty,
            power=self.base.power,
            n_splits=SETTINGS.n_splits,
            rng=self.rng,
        )
        return np.where(to_numpy(namespace(self.X).std(self.X, axis=0)) > 0, slope, 0.0)

    def propose(self, machine: Machine, slope: Array) -> list[Array]:
        """Return new weights, from the slopes of the machine; none if it has none."""
        weight = machine.weight
        gradient = slope * weight ** (2 * self.base.power)  # its average square
        if not np.max(gradient) > 0:
            return []
        gradient /= np.max(gradient)
        notable = np.where(slope < SETTINGS.notable * slope.max(), 0.0, slope / slope.max())
        proposed = [gradient**power for power in SETTINGS.sharpness]
        proposed.append(np.sqrt(gradient) + SETTINGS.revival * notable)
        if self.price:
            strong = np.where(np.sqrt(gradient) < SETTINGS.weak, 0.0, gradient)
            proposed += [strong**SETTINGS.flat, np.sqrt(strong), gradient**SETTINGS.flat]
        return [_cut(weight) for weight in proposed]


def share_of_useless(slope: Array) -> float:
    """Return the share of the features that are useless: half of these have a product below zero."""
    return min(2.0 * float(np.mean(slope < 0)), 1.0)


def _add(weight: Array, slope: Array, n: int) -> Array:
    """Return the weights, and for the n unused features of the largest slopes the median of the others."""
    used = weight > 0
    best = np.argsort(np.where(used, 0.0, -slope), kind="stable")[:n]
    more = weight.copy()
    more[best] = np.where(used[best] | (slope[best] <= 0), weight[best], np.median(weight[used]))
    return more


def _cut(weight: Array) -> Array:
    weight = weight / weight.max()
    return np.where(weight < SETTINGS.nothing, 0.0, weight)


def _is_in_vain(losses: list[float]) -> bool:
    """Whether the last rounds brought little."""
    recent = SETTINGS.patience
    return len(losses) > recent and min(losses[-recent:]) >= (1.0 - SETTINGS.little) * min(losses[:-recent])


def make_targets(known: TrainingData) -> Array:
    """Return what the machine is to fit, of mean zero and mean square one: numbers, or ±1 for each class."""
    if known.target is not None:
        return np.asarray(StandardScaler().fit_transform(known.target))  # each has its own unit
    assert known.label is not None
    label = known.label
    n_classes = int(label.max()) + 1
    T = np.where(label[:, None] == np.arange(n_classes), 1.0, -1.0)[:, 1 if n_classes == 2 else 0 :]
    T = T - T.mean(axis=0)
    return T / (np.sqrt(np.mean(T**2)) or 1.0)


def take_points(X: Array, unlabelled: Array | None, rng: RandomState) -> Array:
    """Return rows at which slopes are averaged, of those with and without labels."""
    n = len(X) + (0 if unlabelled is None else len(unlabelled))
    chosen = draw(n, SETTINGS.n_points, rng)
    of_X: Array = take(X, chosen[chosen < len(X)])
    if unlabelled is None:
        return of_X
    xp = namespace(X)
    others = xp.astype(take(unlabelled, chosen[chosen >= len(X)] - len(X)), xp.float64)
    points: Array = xp.concat([of_X, others])
    return points
