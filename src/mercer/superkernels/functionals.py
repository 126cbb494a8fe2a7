r"""The quality functionals: how bad a kernel is for some labels, by its Gram matrix alone [OSW02, Section 2].

Each is least for a kernel that is of no use for other rows. So `mercer.Superkernel` minimises it with a
penalty on the kernel,

.. math:: Q_{\mathrm{reg}}[k] = Q_{\mathrm{emp}}[k] + \tfrac12 \lambda_s \|k\|^2 \qquad (10).
"""

import warnings
from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np
from scipy.linalg import LinAlgError, cholesky, eigvalsh
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_array, column_or_1d

from mercer._typing import Array, Index
from mercer.metrics import alignment
from mercer.pairs import Pairs
from mercer.parameters import check_option, check_positive
from mercer.solvers.superkernel import (
    KernelWeights,
    LeastSquares,
    Penalty,
    SquaredRiskOfKernel,
    Stopping,
    alternate,
    balance,
    compare_with_labels,
    compare_with_pairs,
    minimize_at_variance_one,
    minimize_distance,
    minimize_posterior,
    minimize_risk,
    minimize_squared_risk,
    most_probable,
    solve_dense_svm,
)
from mercer.solvers.superkernel.grams import HeldGrams
from mercer.superkernels.base import Expansion, Value
from mercer.validation import check_target

PAPER_PENALTY = 1e-4  # λ_s of the paper's experiments [OSW02, Section 6]
TOL = 1e-9  # the relative duality gap of the SVM
NEGATIVE = 1e-8  # of the trace: an eigenvalue that is more negative is no rounding error
SEARCHES = {"planes": minimize_risk, "alternation": alternate}


class QualityFunctional(Value, ABC):
    """A quality functional [OSW02, Definition 1]: a number for a Gram matrix and labels, the less the better.

    It is a value, made of its parameters alone. Called with a Gram matrix and labels it gives the number;
    `minimize` gives the weights at which it is least, with a penalty on the kernel. `learns_from` says of
    what: of "labels", "numbers" or "pairs".
    """

    learns_from: ClassVar[tuple[str, ...]] = ("labels",)
    advice: ClassVar[str]  # what to try where the best kernel is zero

    @abstractmethod
    def __call__(self, K: Any, y: Any) -> float:
        """Return Q_emp of a Gram matrix of shape (n, n) and n labels of two classes."""

    def minimize(self, terms: Expansion, label: Index, penalty: float, stopping: Stopping) -> KernelWeights:
        """Return the β ≥ 0 that are best for labels 0, 1, …, with λ_s = penalty (10)."""
        raise NotImplementedError

    def minimize_on_numbers(
        self, terms: Expansion, Y: Array, penalty: float, stopping: Stopping
    ) -> KernelWeights:
        """Return the same for standardised numbers, of shape (n, n_targets)."""
        raise NotImplementedError

    def minimize_on_pairs(
        self, terms: Expansion, pairs: Pairs, penalty: float, stopping: Stopping
    ) -> KernelWeights:
        """Return the same for similar and dissimilar pairs."""
        raise NotImplementedError

    def check(self) -> None:
        """Raise if a parameter is not what it may be."""

    def default_penalty(self, terms: Expansion) -> float:
        """Return λ_s where none is given: the paper's for power series, whose terms are not orthogonal."""
        return PAPER_PENALTY if terms.penalty.ndim == 2 else self.list_penalty

    @property
    def list_penalty(self) -> float:
        """The λ_s for a list of kernels where none is given."""
        return 1e-2

    @property
    def svm_C(self) -> float:  # noqa: N802  (C is the field's letter)
        """The C of the SVM that the kernel is learned for; 1 if it is learned for none."""
        return 1.0


class Risk(QualityFunctional):
    r"""The least regularised risk that an SVM has with a kernel [OSW02, (6)].

    .. math:: \min_{\alpha, b} \frac1n \sum_i \max(0, 1 - y_i ((K \alpha)_i + b))
              + \frac{\lambda}2 \alpha^\top K \alpha, \qquad \lambda = \frac1{C n} .

    For :math:`K = \beta y y^\top` it is :math:`\lambda / (2 \beta)` unless β is small, and so goes to zero
    with 1/β. Among kernels of trace one, for classes of one size, :math:`K = y y^\top / n` has the least:
    :math:`1 / (2 C)` for C ≥ 1. Calling it takes an SVM, solved to a relative duality gap of 10⁻⁹ if the
    digits suffice; a warning says if less than 10⁻⁶ was reached.

    The intercept b is free, and not in the paper. For classes of different sizes it puts :math:`y - \bar y`
    in the place of y as the best of trace one.

    It is convex in the kernel (Corollary 8), and `Superkernel` reaches its minimum. More than two classes
    share one kernel: the mean over all pairs of classes, weighted by their numbers of rows.

    Parameters
    ----------
    C : float, default=100.0
        The penalty C of the SVM, 1 / (λ n). `KernelSVC` without a C of its own takes this one.
    solver : {"planes", "alternation"}, default="planes"
        How `Superkernel` minimises it: by cutting planes, or by the paper's alternation, which stops short of
        the minimum.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.superkernels import Risk
    >>> y = np.array([1, 1, -1, -1])
    >>> round(Risk(C=10.0)(np.outer(y, y), y), 6)  # 1 / (2 C n)
    0.0125
    """

    advice = "Take a superkernel of other kernels, or a smaller penalty."

    def __init__(self, C: float = 100.0, *, solver: str = "planes") -> None:
        self.C = C
        self.solver = solver

    def __call__(self, K: Any, y: Any) -> float:
        """Return (6) for a Gram matrix of shape (n, n) and n labels of two classes."""
        self.check()
        gram, target = _check(K, y)
        _check_psd(gram)
        # C K with C = 1 is K with C
        found = solve_dense_svm(float(self.C) * gram, target, balance(target), TOL)
        gap = (found.primal - found.dual) / found.primal
        if not gap <= 1e-6:
            warnings.warn(
                f"the SVM stopped at a relative gap of {gap:.1e}: C times the kernel is too large for more",
                ConvergenceWarning,
                stacklevel=2,
            )
        return found.primal / len(target)  # (6)

    def check(self) -> None:
        """Raise if a parameter is not what it may be."""
        check_option(self.solver, "solver", tuple(SEARCHES))
        check_C(self.C)

    @property
    def list_penalty(self) -> float:
        """The λ_s for a list of kernels where none is given; it counts only through λ_s / C²."""
        return 0.3 * float(self.C) ** 2

    @property
    def svm_C(self) -> float:  # noqa: N802  (C is the field's letter)
        """The C of the SVM that the kernel is learned for."""
        return float(self.C)

    def minimize(self, terms: Expansion, label: Index, penalty: float, stopping: Stopping) -> KernelWeights:
        """Return the β ≥ 0 that minimise (18)."""
        C = float(self.C)
        M = Penalty(penalty / C**2 * terms.penalty)  # the solver has C = 1: its weights are C β
        found = SEARCHES[self.solver](terms.grams, label, M, stopping)
        return found._replace(beta=found.beta / C)


class SquaredRisk(QualityFunctional):
    r"""The least regularised risk that ridge regression has with a kernel [OSW02, (6)].

    .. math:: \min_{\alpha, b} \frac1n \sum_i \tfrac12 (y_i - (K \alpha)_i - b)^2
              + \frac{\lambda}2 \alpha^\top K \alpha, \qquad \lambda = \frac1{C n} .

    (6) is stated for any loss, and the paper's experiments have the hinge alone; this is it for numbers, with
    a free intercept. It is convex in the kernel (Corollary 8), and `Superkernel` reaches its minimum, at
    O(n³) per plane. Several targets share one kernel: the mean over them, each of standard deviation one.

    Parameters
    ----------
    C : float, default=1.0
        1 / (λ n), for targets of standard deviation one. With a penalty λ_s only λ_s / C² matters.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.superkernels import SquaredRisk
    >>> y = np.array([3.0, 1.0, -1.0, -3.0])
    >>> round(SquaredRisk()(np.outer(y, y), y), 6)  # var(y) / 2 (1 + C n var(y))
    0.119048
    """

    learns_from = ("numbers",)
    advice = "Take a superkernel of other kernels, or a smaller penalty."

    def __init__(self, C: float = 1.0) -> None:
        self.C = C

    def __call__(self, K: Any, y: Any) -> float:
        """Return (6) for a Gram matrix of shape (n, n) and n numbers."""
        self.check()
        target = check_target(y)
        gram = _check_gram(K, len(target))
        _check_psd(gram)
        risk = SquaredRiskOfKernel(HeldGrams(gram[None]), target.reshape(len(target), -1))
        return risk.ask(np.array([float(self.C)]), 0.0).value

    def check(self) -> None:
        """Raise if a parameter is not what it may be."""
        check_C(self.C)

    @property
    def list_penalty(self) -> float:
        """The λ_s for a list of kernels where none is given; it counts only through λ_s / C²."""
        return 10.0 * float(self.C) ** 2

    def minimize_on_numbers(
        self, terms: Expansion, Y: Array, penalty: float, stopping: Stopping
    ) -> KernelWeights:
        """Return the β ≥ 0 that minimise (18) with the squared error."""
        C = float(self.C)
        M = Penalty(penalty / C**2 * terms.penalty)
        found = minimize_squared_risk(terms.grams, Y, M, stopping)
        return found._replace(beta=found.beta / C)


class Alignment(QualityFunctional):
    r"""One minus the alignment of a kernel with the labels [OSW02, (3)].

    .. math:: 1 - \frac{y^\top K y}{\|y\|^2 \|K\|}, \qquad y_i \in \{-1, 1\},

    with the Frobenius norm. It is in [0, 1] for a kernel, and 0 for multiples of :math:`y y^\top` (4).
    The scale of K does not count. O(n²).

    Alignment knows no scale, and with a penalty on the scale has no minimiser. So `Superkernel` minimises a
    distance in its place, that of the centred kernel to the centred ideal one (1 for rows of one class,
    −1 / (n_classes − 1) for others). Its minimum over all multiples of a kernel falls as their alignment
    rises. From numbers the ideal kernel is y y', of standardised y (the mean over several targets). From
    pairs it is the distance of the kernel's values to 1 and −1, centred; if by chance the dissimilar pairs
    are nearer to each other than the similar ones, by every kernel, the pair of each row with itself counts
    as similar, too. It is solved at once, whatever `tol` and `max_iter` are.

    Parameters
    ----------
    centred : bool, default=False
        Whether K and the labels' kernel are centred in the value of (3), as by Cortes, Mohri and
        Rostamizadeh (JMLR 2012). What `Superkernel` minimises is centred either way: for two classes and
        next to no penalty, its kernel has the best centred alignment (their ``alignf``).

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.superkernels import Alignment
    >>> y = np.array([1, 1, -1])
    >>> round(Alignment()(np.outer(y, y), y), 6), round(Alignment()(np.eye(3), y), 3)
    (0.0, 0.423)
    """

    learns_from = ("labels", "numbers", "pairs")
    advice = "Take a superkernel of other kernels or, with labels, quality=Risk()."

    def __init__(self, *, centred: bool = False) -> None:
        self.centred = centred

    def __call__(self, K: Any, y: Any) -> float:
        """Return (3) for a Gram matrix of shape (n, n), not zero, and n labels of two classes."""
        self.check()
        gram, target = _check(K, y)
        return 1.0 - alignment(gram, np.outer(target, target), centred=self.centred)  # (3)

    def check(self) -> None:
        """Raise if a parameter is not what it may be."""
        check_option(self.centred, "centred", (False, True))

    def minimize(self, terms: Expansion, label: Index, penalty: float, stopping: Stopping) -> KernelWeights:
        """Return the β ≥ 0 whose kernel is nearest to the ideal one, both centred."""
        same = label[:, None] == label[None, :]
        return self._approach(np.where(same, 1.0, -1.0 / int(label.max())), terms, penalty, stopping)

    def minimize_on_numbers(
        self, terms: Expansion, Y: Array, penalty: float, stopping: Stopping
    ) -> KernelWeights:
        """Return the β ≥ 0 whose kernel is nearest to the products of the numbers, both centred."""
        return self._approach(Y @ Y.T / Y.shape[1], terms, penalty, stopping)

    def _approach(self, ideal: Array, terms: Expansion, penalty: float, stopping: Stopping) -> KernelWeights:
        distance = compare_with_labels(terms.grams, ideal)
        return minimize_distance(distance, penalty * terms.penalty, stopping.progress)

    def minimize_on_pairs(
        self, terms: Expansion, pairs: Pairs, penalty: float, stopping: Stopping
    ) -> KernelWeights:
        """Return the β ≥ 0 whose kernel is nearest to 1 on similar pairs, −1 on dissimilar ones, centred."""
        distance = _compare(terms, np.vstack(pairs), len(pairs.similar))
        if not np.any(distance.b > 0):  # by chance the dissimilar ones are nearer, by all kernels
            alone = np.unique(np.vstack(pairs))
            rows = np.vstack([np.column_stack([alone, alone]), *pairs])
            distance = _compare(terms, rows, len(alone) + len(pairs.similar))
        return minimize_distance(distance, penalty * terms.penalty, stopping.progress)


def _compare(terms: Expansion, rows: Index, n_similar: int) -> LeastSquares:
    """Return how far sums of the kernels are from 1 on the first pairs of rows, and from −1 on the others."""
    target = np.where(np.arange(len(rows)) < n_similar, 1.0, -1.0)
    values = np.stack([terms.grams.term(i)[tuple(rows.T)] for i in range(terms.grams.n_terms)])
    return compare_with_pairs(values, target)


class Posterior(QualityFunctional):
    r"""The negative log posterior of a Gaussian process at its most probable f [OSW02, (7)].

    .. math:: \min_f \sum_i \log(1 + e^{-y_i f_i}) + \tfrac12 f^\top K_\varepsilon^{-1} f
              + \tfrac12 \log\det K_\varepsilon, \qquad K_\varepsilon = K + \varepsilon I .

    The paper has ε = 0, with which it is unbounded below: it goes to −∞ as K, or any eigenvalue of it, goes
    to zero. ε > 0 keeps it above :math:`\tfrac n2 \log \varepsilon`. Even if det K is held at one, the K of
    (8) brings all the rest to zero as its β grows. O(n³).

    `Superkernel` minimises it divided by n, at O(n³) per step. It is not convex: the minimum may be a local
    one. Of more than two classes it is the mean over each class against the rest. Of few samples (forty, say)
    the minimum is often no kernel at all: then a warning says so, and the kernel is the best of those in
    whose space the samples have variance one.

    Parameters
    ----------
    noise : float, default=1.0
        ε, the variance of the noise on f, in the units of the logit. 0 is the paper's functional, for a K of
        full rank; `Superkernel` needs a positive one.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.superkernels import Posterior
    >>> y = np.array([1, 1, -1, -1])
    >>> Posterior()(np.outer(y, y), y) < Posterior()(np.ones((4, 4)), y)
    True
    """

    advice = "Take a superkernel of other kernels, or quality=Risk()."

    def __init__(self, noise: float = 1.0) -> None:
        self.noise = noise

    def __call__(self, K: Any, y: Any) -> float:
        """Return (7) for a Gram matrix of shape (n, n) and n labels of two classes."""
        if self.noise != 0:
            self.check()
        gram, target = _check(K, y)
        _check_psd(gram)
        gram = gram + self.noise * np.eye(len(target))
        try:
            half_log_det = float(np.log(np.diag(cholesky(gram, lower=True))).sum())
        except LinAlgError:
            raise ValueError("K has not full rank, where (7) is −∞: set noise to a positive number") from None
        return most_probable(gram, target).value + half_log_det  # (7)

    def check(self) -> None:
        """Raise if a parameter is not what it may be."""
        check_positive(self.noise, "noise")

    def minimize(self, terms: Expansion, label: Index, penalty: float, stopping: Stopping) -> KernelWeights:
        """Return β ≥ 0 at a minimum of (7) with noise and the penalty. There is no bound of it."""
        targets = [np.where(label == k, 1.0, -1.0) for k in np.unique(label)]
        targets = targets[1:] if len(targets) == 2 else targets
        M = Penalty(penalty * terms.penalty)
        found = minimize_posterior(terms.grams, targets, M, float(self.noise), stopping)
        if np.any(found.beta > 0):
            return found
        warnings.warn(
            f"by {self!r} no kernel explains these labels better than noise alone: the samples are too few "
            "for it. The kernel is the best of those of variance one; compare it with quality=Risk().",
            UserWarning,
            stacklevel=2,
        )
        return minimize_at_variance_one(terms.grams, targets, float(self.noise), stopping)


def _check(K: Any, y: Any) -> tuple[Array, Array]:
    """Return a symmetric matrix, and labels of −1 and 1 for its rows."""
    classes, label = np.unique(column_or_1d(y), return_inverse=True)
    gram = _check_gram(K, len(label))
    if len(classes) != 2:
        raise ValueError(f"y must have two classes, not {len(classes)}")
    return gram, np.where(label == 1, 1.0, -1.0)


def _check_gram(K: Any, n: int) -> Array:
    gram: Array = check_array(K, dtype=np.float64, input_name="K")
    if gram.shape != (n, n):
        raise ValueError(f"K must be of shape {(n, n)}, as there are labels, not {gram.shape}")
    if not np.allclose(gram, gram.T, rtol=1e-6, atol=1e-8 * np.abs(gram).max()):
        raise ValueError("K is not symmetric: give the Gram matrix of all rows with themselves")
    return gram


def check_C(C: Any) -> None:  # noqa: N802  (C is the field's letter)
    """Raise unless C is a positive number whose square can be computed."""
    check_positive(C, "C")
    if not 1e-100 <= C <= 1e100:
        raise ValueError(f"C must be between 1e-100 and 1e100, got {C!r}.")


def _check_psd(K: Array) -> None:
    least = float(eigvalsh(K, subset_by_index=(0, 0))[0])
    if least < -NEGATIVE * float(np.abs(np.diag(K)).sum()):
        raise ValueError(
            f"K is not positive semi-definite (an eigenvalue is {least:.2g}): take a kernel that is"
        )
