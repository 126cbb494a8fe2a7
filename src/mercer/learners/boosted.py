"""Kernels learned by boosting over pairs of samples [CKS02]."""

import warnings
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import orth
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import kernels as sk_kernels
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import check_is_fitted

from mercer._typing import Array
from mercer.array_api import is_of_numpy, like, to_numpy
from mercer.kernels import Projected
from mercer.kernels.tree import fit_kernel
from mercer.learners.base import KernelLearner, TrainingData
from mercer.learners.base_kernel import as_they_are, check_base, evaluate, factor_base, psd_advice
from mercer.learners.weighted_pairs import balance_kinds, rows_in_pairs, tabulate, takes_all
from mercer.limits import check_memory
from mercer.losses import LOSSES, Loss
from mercer.parameters import check_count, check_option
from mercer.scikit import CallbackContext
from mercer.solvers.boosted import Coordinates, Expansions, PairTable, Round, Space, boost_kernel

NUMBERS_PER_PAIR = 10  # that a listed pair takes in memory, temporary arrays included


class BoostedKernel(KernelLearner):
    r"""A sum of rank-one kernels, each fitted to the pairs that those before it get wrong [CKS02].

    .. math:: k(x, x') = \sum_{t=1}^T \alpha_t \langle w_t, \phi(x) \rangle \langle w_t, \phi(x') \rangle,
              \qquad w_t = \sum_r v_{tr} \phi(\tilde x_r),\; \|w_t\| = 1,

    where φ is the feature map of the base kernel and the :math:`\tilde x_r` are the samples of a set S̃. A
    pair is right if k is positive for similar and negative for dissimilar samples: its margin is
    :math:`S_{ij} k(x_i, x_j)` with :math:`S_{ij} = \pm 1`. Each round weights the pairs, :math:`D_t` being
    minus the derivative of the loss at their margins; takes the w of the largest score, an eigenvector,

    .. math:: \sum_{ij} D_t(i, j) S_{ij} \langle w, \phi(x_i) \rangle \langle w, \phi(x_j) \rangle; \tag{1}

    and adds it with :math:`\alpha_t = \tfrac12 \ln(W^+_t / W^-_t)`, W⁺ and W⁻ being the weights of the pairs
    that it gets right and wrong. Every α is positive, so k is positive semi-definite by construction.

    For m samples (at most `max_rows`) a round takes O(m²) time: a few products with m × m matrices, and one
    pass over the pairs. It needs three m × m arrays of memory with a base kernel, two without. `max_pairs`
    makes time and memory linear if there is no base kernel. Of tensors (with labels, and no base kernel) no
    array of pairs is kept: a pass over them computes their weights anew, in tiles, where the tensor is.
    `pairs` index the rows of the X that `fit` is given: cross-validation, which fits to subsets of X, does
    not renumber them.

    Parameters
    ----------
    base : scikit-learn kernel or None, default=None
        The base kernel. None is the plain inner product: the directions are then vectors in the input space.
    loss : {"log", "exp"} or mercer.losses.Loss, default="log"
        The loss of a pair: log(1 + exp(−margin)); exp(−margin), which is less robust to pairs that no kernel
        gets right; or any convex, decreasing function of the margin.
    n_rounds : int, default=30
        Maximum number of rounds. It stops earlier when no direction has a positive score.
    n_directions : int or None, default=None
        Number of directions per round, the best ones, which share one α. None: the number of classes minus
        one, and one for pairs.
    balance : {"auto", True, False}, default="auto"
        Whether the similar pairs together have the same weight as the dissimilar ones before the first round.
        With ten classes only one pair in ten is similar, and would hardly count. "auto": if there are more
        than two classes (for pairs: if two classes cannot explain them).
    step : {"auto", "normalized", "search", "literal"}, default="auto"
        "normalized" divides the kernel of each round by its largest value before the step is computed, since
        the formula assumes values in [−1, 1], and divides α accordingly. "literal" does not, as in the paper.
        "search" is a line search from the normalized step to the minimum of the loss, in about four passes
        over the pairs. "auto": "search" with more than one direction per round, where the bound behind the
        formula is far from tight; else "normalized".
    max_pairs : int or None, default=None
        Maximum number of pairs to learn from. If there are more, a random sample of this size is used, half
        of it similar pairs (from labels with replacement), weighted to represent all pairs. None: no limit.
    max_rows : int, default=4000
        With more rows, a sample of this size is used: drawn by class, at least ten of each, with all rows
        that `pairs` mention. Unlabelled rows are sampled likewise.
    random_state : int, RandomState instance or None, default=None
        Random seed of the samples of rows and of pairs.

    Attributes
    ----------
    kernel_ : Projected
        The learned kernel.
    alphas_ : array of shape (T,)
        The weight α_t of each round, for directions of length one.
    losses_ : array of shape (T + 1,)
        The mean loss of the pairs, with their initial weights: before the first round, and after each round.
    n_rounds_ : int
        Number of rounds, T.
    n_directions_ : array of shape (T,)
        Number of directions of each round.
    sampled_rows_ : array of shape (n_sampled,) or None
        The rows of X that it learned from, if there were more than `max_rows`; None: all.
    sample_alignment_ : tuple of two floats, or None
        The centred alignment of the kernel with the labels, or numbers, of some of these rows, and of others:
        what they differ by is what the sample cost. None: it learned from all rows, or from pairs.
    classes_ : array of shape (n_classes,)
        The class labels, if it was fitted to labels.

    Notes
    -----
    `unlabelled` is the set S̃ that spans the directions, *instead of* the rows of X: the test set, for
    example, which makes the learning transductive. If it contains the rows of X it changes nothing: the best
    direction is a combination of the samples in pairs, being an eigenvector of B K.

    Departures from the paper:

    - The weight of a pair under the log loss is 1 / (1 + exp(+margin)), the derivative; Fig. 1 has a minus.
    - The step. ½ ln(W⁺/W⁻) minimises a bound that holds for kernels in [−1, 1]. Where the values are 10⁻³, as
      on the paper's own data, such steps hardly reduce the loss in 30 rounds. Hence "normalized", "search".
    - W⁻ is at least W⁺ divided by the number of pairs, so that α is finite where no pair is wrong.
    - AᵀBA is not positive semi-definite after round one, as the paper states. The largest eigenvalue may
      become negative; then it stops.
    - More than two classes, and pairs without labels, are ours. A sample is similar to itself, as in Fig. 1;
      in a list of pairs this has the weight of the sample's average other pair, a missing one being zero.

    References
    ----------
    [CKS02] K. Crammer, J. Keshet, Y. Singer. Kernel design using boosting. NIPS 2002.

    Examples
    --------
    >>> from mercer import BoostedKernel
    >>> from mercer.datasets import slanted
    >>> X, y = slanted(300, random_state=0)
    >>> learner = BoostedKernel(n_rounds=10).fit(X, y)
    >>> K = learner.kernel_(X)
    >>> bool(((K > 0) == (y[:, None] == y)).mean() > 0.99)  # the sign of k says which are similar
    True
    """

    def __init__(
        self,
        base: sk_kernels.Kernel | None = None,
        *,
        loss: str | Loss = "log",
        n_rounds: int = 30,
        n_directions: int | None = None,
        balance: str | bool = "auto",
        step: str = "auto",
        max_pairs: int | None = None,
        max_rows: int = 4000,
        random_state: Any = None,
    ) -> None:
        self.base = base
        self.loss = loss
        self.n_rounds = n_rounds
        self.n_directions = n_directions
        self.balance = balance
        self.step = step
        self.max_pairs = max_pairs
        self.max_rows = max_rows
        self.random_state = random_state

    def kernel_after(self, n_rounds: int) -> Projected:
        """Return the kernel after the first `n_rounds` rounds. It shares the arrays of `kernel_`."""
        check_is_fitted(self)
        check_count(n_rounds, "n_rounds", 0)
        if n_rounds > self.n_rounds_:
            raise ValueError(f"n_rounds must be at most {self.n_rounds_}, the number of rounds of the fit")
        n_columns = int(self.n_directions_[:n_rounds].sum())
        whole = self.kernel_
        return Projected(whole.coef[:, :n_columns], whole.base, whole.landmarks)

    def staged_kernels(self) -> Iterator[Projected]:
        """Return the kernels after one round, two rounds, and so on."""
        check_is_fitted(self)
        return (self.kernel_after(t + 1) for t in range(self.n_rounds_))

    def _learn(self, known: TrainingData, context: CallbackContext) -> None:
        span, table = self._tabulate(known) if is_of_numpy(known.X) else self._tabulate_on_device(known)
        before, n_directions = table.loss, self._count_directions(known)
        rounds = self._boost(span.space, table, n_directions, self._report_steps(context, "round"))
        if not rounds:
            warnings.warn(
                "no direction has a positive score, so the learned kernel is zero. Check the labels or "
                "pairs, and whether the base kernel distinguishes these samples",
                ConvergenceWarning,
                stacklevel=4,
            )
        self.losses_ = np.array([before, *(r.loss for r in rounds)])
        if self.losses_[-1] > before:
            warnings.warn(
                f"the loss grew from {before:.2g} to {self.losses_[-1]:.2g}: the literal step is too long "
                "for these kernel values. Use step='normalized', or scale the features down",
                ConvergenceWarning,
                stacklevel=4,
            )
        self._keep(span, rounds)
        for name in ("alphas_", "losses_", "n_directions_", "classes_"):
            if hasattr(self, name):
                setattr(self, name, like(known.X, getattr(self, name)))

    def _tabulate(self, known: TrainingData) -> tuple["Span", PairTable]:
        rng = check_random_state(self.random_state)
        rows = rows_in_pairs(known)
        self._check_memory(known, len(rows))
        span = _span(known.X[rows], self.base, known.unlabelled)
        return span, tabulate(known, self._loss(), self.balance, self.max_pairs, rng)[1]

    def _tabulate_on_device(self, known: TrainingData) -> tuple["Span", PairTable]:
        loss, others = self._loss(), (self.base, known.unlabelled, self.max_pairs)
        if known.label is None or loss not in LOSSES.values() or any(other is not None for other in others):
            raise TypeError(
                "BoostedKernel takes tensors with labels, and a loss 'log' or 'exp', but no base, pairs, "
                "unlabelled and max_pairs: give X.cpu().numpy()."
            )
        tiles = import_module("mercer.solvers.boosted.tiled_pairs")  # and torch, which is here with a tensor
        label, balance = like(known.X, known.label), balance_kinds(known.label, self.balance)
        span = Span(Coordinates(known.X), as_they_are, None, None)
        return span, tiles.TiledPairs(known.X, label, balance, loss.name)

    def _boost(
        self, space: Space, table: PairTable, n_directions: int, progress: Callable[[int], bool] | None
    ) -> list[Round]:
        """Run the booster, and say what to do where it cannot go on."""
        automatic = "search" if n_directions > 1 else "normalized"
        try:
            with psd_advice():
                return boost_kernel(
                    space,
                    table,
                    n_rounds=self.n_rounds,
                    n_directions=n_directions,
                    step=automatic if self.step == "auto" else self.step,
                    progress=progress,
                    find=getattr(table, "best_directions", None),  # of a table that is on a device
                )
        except OverflowError as error:
            raise ValueError(
                f"{error}: the literal step, meant for kernel values in [−1, 1], is too long for these. Use "
                "step='normalized', or scale the features down"
            ) from error

    def _loss(self) -> Loss:
        return self.loss if isinstance(self.loss, Loss) else LOSSES[self.loss]

    def _check_parameters(self) -> None:
        check_base(self.base)
        if not isinstance(self.loss, Loss):
            check_option(self.loss, "loss", tuple(LOSSES))
        check_count(self.n_rounds, "n_rounds")
        check_option(self.balance, "balance", ("auto", True, False))
        check_option(self.step, "step", ("auto", "normalized", "search", "literal"))
        if self.n_directions is not None:
            check_count(self.n_directions, "n_directions")
        if self.max_pairs is not None:
            check_count(self.max_pairs, "max_pairs", 2)

    def _check_memory(self, known: TrainingData, m: int) -> None:
        """Count the large arrays: two for all pairs or some for a list, and those of a base kernel."""
        n = 0 if known.unlabelled is None else len(known.unlabelled)
        if known.label is not None:
            cells = 2 * m**2 if takes_all(m, self.max_pairs) else NUMBERS_PER_PAIR * (self.max_pairs or 0)
        else:
            assert known.pairs is not None
            cells = NUMBERS_PER_PAIR * (len(known.pairs.similar) + len(known.pairs.dissimilar) + m)
        if self.base is not None:
            cells += 2 * n * (m + n) if n else m**2
        check_memory(8 * cells, f"Boosting on {m} rows", "Lower max_rows, or list fewer pairs.")

    def _count_directions(self, known: TrainingData) -> int:
        if self.n_directions is not None:
            return int(self.n_directions)
        return 1 if known.label is None else len(self.classes_) - 1

    def _most_steps(self) -> int:
        return int(self.n_rounds)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.array_api_support = True
        return tags

    def _keep(self, span: "Span", rounds: list[Round]) -> None:
        self.alphas_ = np.array([r.alpha for r in rounds])
        self.n_rounds_ = len(rounds)
        self.n_directions_ = np.array([r.directions.shape[1] for r in rounds], dtype=np.intp)
        U = np.hstack([np.zeros((span.space.size, 0)), *(to_numpy(r.directions) for r in rounds)])
        coef = _fix_signs(span.expand(U)) * np.sqrt(np.repeat(self.alphas_, self.n_directions_))
        self.kernel_ = Projected(coef, span.base, span.landmarks)


class Span(NamedTuple):
    """The directions that S̃ spans, and how to write them down."""

    space: Space
    expand: Callable[[Array], Array]  # from the space's numbers to coefficients on landmarks or columns
    base: sk_kernels.Kernel | None
    landmarks: Array | None


def _span(X: Array, base: sk_kernels.Kernel | None, unlabelled: Array | None) -> Span:
    if base is None and unlabelled is None:
        # all of the input space; the best direction is in the span of the rows by itself
        return Span(Coordinates(X), as_they_are, None, None)
    if base is None:
        assert unlabelled is not None
        basis = orth(unlabelled.T)
        return Span(Coordinates(X @ basis), basis.__matmul__, None, None)
    base = fit_kernel(clone(base), X)
    if unlabelled is None:
        return Span(Expansions(evaluate(base, X)), as_they_are, base, X)
    factor = factor_base(evaluate(base, unlabelled))
    landmarks = unlabelled[factor.landmarks]
    F = factor.coordinates(evaluate(base, X, landmarks))
    return Span(Coordinates(F), factor.expand, base, landmarks)


def _fix_signs(coef: Array) -> Array:
    """Turn each direction so that its largest coefficient is positive: the sign means nothing."""
    if coef.size == 0:
        return coef
    largest = np.take_along_axis(coef, np.argmax(np.abs(coef), axis=0)[None, :], axis=0)
    return coef * np.where(largest < 0, -1.0, 1.0)
