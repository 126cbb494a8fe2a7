"""The quality functionals against their formulas, and at the minimisers that [OSW02, Section 2] names."""

import numpy as np
import pytest
from scipy.optimize import minimize, minimize_scalar
from sklearn.base import clone
from sklearn.gaussian_process.kernels import RBF
from sklearn.kernel_ridge import KernelRidge
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from mercer.solvers.superkernel import Stopping
from mercer.superkernels import Alignment, Explicit, Posterior, Risk, SquaredRisk

FUNCTIONALS = [Alignment(), Risk(C=2.0), Posterior()]
EACH = pytest.mark.parametrize("functional", FUNCTIONALS, ids=str)


def some_problem(rng, n=12, rank=3):
    F = rng.normal(size=(n, rank))
    return F @ F.T, np.where(rng.permutation(n) < n // 2, 1, -1)


def random_kernel_of_trace_one(rng, n):
    F = rng.normal(size=(n, int(rng.integers(1, n))))
    K = F @ F.T
    return K / np.trace(K)


# (3)


def test_misalignment_is_equation_3(rng):
    K, y = some_problem(rng)
    expected = 1 - (y @ K @ y) / (np.sum(y**2) * np.sqrt(np.trace(K @ K.T)))
    assert Alignment()(K, y) == pytest.approx(expected, rel=1e-12)


def test_equation_4_the_ideal_kernel_has_no_misalignment_and_no_kernel_has_less(rng):
    y = np.array([1, -1, 1, 1, -1])
    assert Alignment()(3.0 * np.outer(y, y), y) == pytest.approx(0, abs=1e-12)
    assert all(0 < Alignment()(random_kernel_of_trace_one(rng, 5), y) <= 1 for _ in range(20))


# (6)


def literal_risk(K, y, C):
    """(6) with an intercept, at the α and b that LIBSVM finds."""
    svc = SVC(kernel="precomputed", C=C, tol=1e-8).fit(K, y)
    alpha = np.zeros(len(y))
    alpha[svc.support_] = svc.dual_coef_[0]
    loss = [max(0.0, 1 - y[i] * (K[i] @ alpha + svc.intercept_[0])) for i in range(len(y))]
    return sum(loss) / len(y) + alpha @ K @ alpha / (2 * C * len(y))


@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
def test_the_risk_is_equation_6(rng, C):
    K, y = some_problem(rng)
    assert Risk(C)(K, y) == pytest.approx(literal_risk(K, y, C), rel=1e-5)


@pytest.mark.parametrize("n_positive", [2, 5, 8])
@pytest.mark.parametrize("scale", [0.5, 3.0, 1e4])
def test_the_risk_of_a_multiple_of_the_ideal_kernel_is_that_of_the_paper(n_positive, scale):
    y = np.where(np.arange(10) < n_positive, 1, -1)
    C = 7.0
    assert Risk(C)(scale * np.outer(y, y), y) == pytest.approx(1 / (C * 10) / (2 * scale), rel=1e-5)


@pytest.mark.parametrize("C", [0.3, 1.0, 20.0])
@pytest.mark.parametrize("n_positive", [5, 3])
def test_of_trace_one_the_paper_s_minimiser_has_the_least_risk(rng, C, n_positive):
    # z minimises Σ c(z_i) / m + λ/2 ‖z‖² (the paper's second sum lacks 1/m); its mean is the intercept's
    y = np.where(np.arange(10) < n_positive, 1.0, -1.0)
    z = y - y.mean()
    least = Risk(C)(np.outer(z, z) / (z @ z), y)
    for _ in range(30):
        assert Risk(C)(random_kernel_of_trace_one(rng, 10), y) > least
        near = np.outer(w := z + 0.1 * rng.normal(size=10), w)
        assert Risk(C)(near / np.trace(near), y) > least
    if n_positive == 5 and C >= 1:
        assert least == pytest.approx(1 / (2 * C))


# (7)


def literal_posterior(K, y):
    def cost(f):
        return np.log1p(np.exp(-y * f)).sum() + f @ np.linalg.solve(K, f) / 2

    return minimize(cost, np.zeros(len(y)), method="BFGS").fun + np.log(np.linalg.det(K)) / 2


@pytest.mark.parametrize("noise", [0.1, 1.0, 5.0])
def test_the_posterior_is_equation_7_of_the_kernel_with_noise(rng, noise):
    K, y = some_problem(rng, n=6)
    expected = literal_posterior(K + noise * np.eye(6), y)
    assert Posterior(noise=noise)(K, y) == pytest.approx(expected, rel=1e-7)


def equation_8(y, beta):
    m, P = len(y), np.outer(y, y) / len(y)
    return beta * P + beta ** (-1 / (m - 1)) * (np.eye(m) - P)


def test_equation_8_has_determinant_one_and_brings_the_posterior_to_its_least():
    y = np.array([1, -1, -1, 1, 1])
    values = []
    for beta in [1.0, 10.0, 1e3, 1e6]:
        K = equation_8(y, beta)
        assert np.linalg.det(K) == pytest.approx(1)
        # by symmetry f is t y
        along = minimize_scalar(lambda t, beta=beta: 5 * (np.log1p(np.exp(-t)) + t * t / (2 * beta)))
        values.append(Posterior(noise=0)(K, y))
        assert values[-1] == pytest.approx(along.fun, rel=1e-6, abs=1e-8)
    assert np.all(np.diff(values) < 0)
    assert values[-1] < 2e-3


def test_without_noise_the_posterior_has_no_least_value_and_with_noise_it_has(rng):
    y = np.array([1, -1, -1, 1, 1])
    K = np.cov(rng.normal(size=(5, 30)))
    for shrink in [1e-10, 1e-50, 1e-100]:
        assert Posterior(noise=0)(shrink * K, y) < 5 / 2 * np.log(shrink) + 10
        assert Posterior(noise=0.1)(shrink * K, y) > 5 / 2 * np.log(0.1)


# all of them


@EACH
def test_the_names_of_the_classes_and_their_order_do_not_matter(functional, rng):
    K, y = some_problem(rng)
    expected = functional(K, y)
    for names in (["b", "a"], [0, 1], [True, False]):
        assert functional(K, np.where(y > 0, *names)) == pytest.approx(expected, rel=1e-6)


@EACH
def test_nothing_is_changed(functional, rng):
    K, y = some_problem(rng)
    before = K.copy()
    functional(K, y)
    assert np.array_equal(K, before)


@EACH
@pytest.mark.parametrize(
    ("K", "y", "message"),
    [
        (np.eye(3), [1, 1, 1], "two classes, not 1"),
        (np.eye(3), [1, 2, 3], "two classes, not 3"),
        (np.eye(3), [1, 2], "shape"),
        (np.ones((2, 3)), [1, 2], "shape"),
        (np.array([[1.0, 0.5], [0.0, 1.0]]), [1, 2], "not symmetric"),
        (np.array([[1.0, np.nan], [np.nan, 1.0]]), [1, 2], "NaN"),
    ],
)
def test_what_is_no_gram_matrix_with_labels_is_refused(functional, K, y, message):
    with pytest.raises(ValueError, match=message):
        functional(K, y)


def test_indefinite_matrices_are_refused_where_it_matters():
    for functional in FUNCTIONALS[1:]:
        with pytest.raises(ValueError, match="not positive semi-definite"):
            functional(np.array([[1.0, 2.0], [2.0, 1.0]]), [0, 1])


def test_a_singular_matrix_needs_noise():
    with pytest.raises(ValueError, match="set noise"):
        Posterior(noise=0)(np.ones((2, 2)), [0, 1])
    for noise in (-1.0, np.nan, np.inf):
        with pytest.raises(ValueError, match="noise must be positive"):
            Posterior(noise=noise)(np.eye(2), [0, 1])
    with pytest.raises(ValueError, match="C must be positive"):
        Risk(0.0)(np.eye(2), [0, 1])


# they are values


@EACH
def test_they_are_cloned_compared_and_shown_by_their_parameters(functional):
    assert clone(functional) == functional
    assert clone(functional) is not functional
    assert eval(repr(functional)) == functional
    assert Risk(C=2.0) != Risk(C=3.0)
    assert Risk().set_params(C=3.0).get_params() == {"C": 3.0, "solver": "planes"}


def test_only_the_risk_is_learned_for_an_svm_and_only_alignment_learns_from_pairs():
    assert [functional.svm_C for functional in FUNCTIONALS] == [1.0, 2.0, 1.0]
    assert ["pairs" in functional.learns_from for functional in FUNCTIONALS] == [True, False, False]


@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
def test_the_squared_risk_is_equation_6_of_ridge_regression(rng, C):
    K, _ = some_problem(rng)
    y = rng.normal(3.0, 2.0, size=len(K))
    P = np.eye(len(y)) - 1 / len(y)
    alpha = KernelRidge(alpha=1 / C, kernel="precomputed").fit(P @ K @ P, P @ y).dual_coef_
    error = P @ (y - K @ P @ alpha)  # the intercept takes the mean
    expected = error @ error / (2 * len(y)) + alpha @ P @ K @ P @ alpha / (2 * C * len(y))
    assert SquaredRisk(C)(K, y) == pytest.approx(expected, rel=1e-8)


@pytest.mark.parametrize("functional", [SquaredRisk(3.0), Alignment()], ids=str)
def test_from_numbers_the_number_with_the_penalty_is_least(functional, rng):
    X = rng.normal(size=(30, 2))
    Y = StandardScaler().fit_transform(X[:, :1] * X + 0.1 * rng.normal(size=(30, 2)))
    terms = Explicit([RBF(0.5), RBF(1.0), RBF(3.0)]).expand(
        X, X[:0], tol=1e-5, max_rank=9, rng=np.random.RandomState(0)
    )
    penalty = functional.default_penalty(terms)
    found = functional.minimize_on_numbers(terms, Y, penalty, Stopping(1e-8, 300))
    P = np.eye(30) - 1 / 30

    def objective(beta):
        K = terms.grams.combine(beta)
        far = np.mean((P @ (K - np.mean([np.outer(y, y) for y in Y.T], axis=0)) @ P) ** 2) / 2
        value = far if functional == Alignment() else np.mean([functional(K, y) for y in Y.T])
        return value + penalty / 2 * beta**2 @ terms.penalty

    least = objective(found.beta)
    assert found.objective == pytest.approx(least, rel=1e-6)
    for _ in range(20):
        assert objective(np.abs(found.beta * (1 + 0.1 * rng.normal(size=3)))) >= least * (1 - 1e-6)


@EACH
def test_what_is_minimised_is_the_number_that_it_gives_with_the_penalty(functional, rng):
    X = rng.normal(size=(30, 2))
    y = (X[:, 0] > 0).astype(np.intp)
    terms = Explicit([RBF(0.5), RBF(1.0), RBF(3.0)]).expand(
        X, X[:0], tol=1e-5, max_rank=9, rng=np.random.RandomState(0)
    )
    penalty = functional.default_penalty(terms)
    found = functional.minimize(terms, y, penalty, Stopping(1e-8, 300))

    def objective(beta):
        K = terms.grams.combine(beta)
        return of_scale(functional, K, y) + penalty / 2 * beta**2 @ terms.penalty

    least = objective(found.beta)
    assert found.objective == pytest.approx(least, rel=1e-6)
    for _ in range(20):
        assert objective(np.abs(found.beta * (1 + 0.1 * rng.normal(size=3)))) >= least * (1 - 1e-6)


def of_scale(functional, K, y):
    """What a search minimises: (6), (7) divided by n, or the distance that stands for (3)."""
    if functional != Alignment():
        return functional(K, y) / (len(y) if functional == Posterior() else 1)
    H = np.eye(len(y)) - 1 / len(y)
    return np.mean((H @ (K - np.outer(2 * y - 1, 2 * y - 1)) @ H) ** 2) / 2
