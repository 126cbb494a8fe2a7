"""Superkernels: the formulas, and the two laws of [OSW02, Definition 5]."""

from math import factorial

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, DotProduct, Matern

from mercer.kernels import Combination, Stump
from mercer.superkernels import (
    ARD,
    Explicit,
    GaussianHarmonic,
    Harmonic,
    PowerSeries,
    Widths,
    explicit,
    power_series,
)
from mercer.superkernels.power_series import one_of_each_bin
from stand_ins import Function

TABLE_1 = ["exp", "sinh", "cosh", "arctanh", "log"]
SERIES = [PowerSeries(RBF(0.8), function) for function in [*TABLE_1, "geometric"]]
SERIES += [PowerSeries(ConstantKernel(3.0) * RBF(), "exp"), PowerSeries(RBF(), "log", scale=0.3)]
SERIES += [Harmonic(Matern(1.0), 0.3), GaussianHarmonic(1.0), GaussianHarmonic(decay=0.95)]
SUPERKERNELS = [*SERIES, ARD(GaussianHarmonic(0.7)), ARD(PowerSeries(RBF(), "cosh"))]
SUPERKERNELS += [Explicit([RBF(0.5), RBF(2.0), Matern()], [1.0, 2.0, 0.3])]
SUPERKERNELS += [Widths(), Widths(feature_widths=(1.0,))]
SUPERKERNELS += [Explicit([RBF(0.5), RBF([1.0, 2.0])], columns=[(0,), (2, 1)])]
EACH = pytest.mark.parametrize("superkernel", SUPERKERNELS, ids=str)


def random_pairs(rng, n, d=3):
    return rng.normal(size=(n, 2, d))


def expand(superkernel, X, others=None, tol=1e-5, max_rank=100):
    others = X[:0] if others is None else others
    fitted, rng = superkernel.fitted_to(X), np.random.RandomState(0)
    return fitted.expand(X, others, tol=tol, max_rank=max_rank, rng=rng)


# Definition 5


@EACH
def test_on_pairs_it_is_a_kernel(superkernel, rng):
    P, Q = random_pairs(rng, 40), random_pairs(rng, 5)
    K = superkernel(P)
    assert_allclose(K, K.T, rtol=1e-12)
    assert np.linalg.eigvalsh(K)[0] > -1e-12 * np.trace(K)
    fitted = superkernel.fitted_to(P.reshape(-1, 3))
    assert_allclose(fitted(P, Q), fitted(Q, P).T, rtol=1e-12)
    assert_allclose(fitted(P, P), K, rtol=1e-12)


@EACH
def test_for_a_fixed_pair_it_is_a_kernel_on_rows(superkernel, rng):
    X = rng.normal(size=(12, 3))
    fitted = superkernel.fitted_to(X)
    pairs = np.array([[x, z] for x in X for z in X])
    for first in random_pairs(rng, 3):
        K = fitted(first[None], pairs).reshape(12, 12)
        assert_allclose(K, K.T, rtol=1e-10)
        assert np.linalg.eigvalsh((K + K.T) / 2)[0] > -1e-10 * np.trace(K)


@EACH
def test_terms_are_kernels_of_pairs_and_the_penalty_is_their_superkernel_matrix(superkernel, rng):
    X = rng.normal(size=(8, 3))
    terms = expand(superkernel, X)
    r = terms.grams.n_terms
    M = np.diag(terms.penalty) if terms.penalty.ndim == 1 else terms.penalty
    assert M.shape == (r, r)
    np.linalg.cholesky(M)
    beta = rng.exponential(size=r) * (np.arange(r) < 4)
    assert_allclose(terms.kernel(beta)(X), terms.grams.combine(beta), rtol=1e-8, atol=1e-10)
    for i in range(r):
        assert np.linalg.eigvalsh(terms.grams.term(i))[0] > -1e-9 * np.trace(terms.grams.term(i))


@EACH
def test_it_is_a_value(superkernel):
    copy = clone(superkernel)
    assert copy == superkernel
    assert sum(copy == other for other in SUPERKERNELS) == 1
    assert copy != "superkernel"
    P = np.random.default_rng(0).normal(size=(3, 2, 3))
    assert_array_equal(copy(P), superkernel(P))


# formulas


def table_1(function, xi):
    odd, even = range(1, 60, 2), range(0, 60, 2)
    if function == "exp":
        return sum(xi**i / factorial(i) for i in range(60))
    if function in ("sinh", "cosh"):
        return sum(xi**i / factorial(i) for i in (odd if function == "sinh" else even))
    if function == "arctanh":
        return sum(xi**i / i for i in range(1, 2000, 2))
    return sum(xi**i / i for i in range(1, 2000))


@pytest.mark.parametrize("function", TABLE_1)
def test_a_power_series_is_that_of_table_1_of_the_scaled_product(function, rng):
    P, Q = random_pairs(rng, 5), random_pairs(rng, 4)
    base = RBF(2.0)
    xi = [[base([p[0]], [p[1]])[0, 0] * base([q[0]], [q[1]])[0, 0] for q in Q] for p in P]
    scale = 0.9 if function in ("arctanh", "log") else 1.0  # what the docstring promises
    assert_allclose(PowerSeries(base, function)(P, Q), table_1(function, scale * np.array(xi)), rtol=1e-10)
    half = PowerSeries(base, function, scale=0.5)(P, Q)
    assert_allclose(half, table_1(function, 0.5 * np.array(xi)), rtol=1e-10)


def test_the_gaussian_harmonic_is_equation_14(rng):
    P, Q = random_pairs(rng, 5), random_pairs(rng, 4)

    def literal(p, q, h=0.6, ell=1.7):
        d = np.sum((p[0] - p[1]) ** 2) + np.sum((q[0] - q[1]) ** 2)
        return (1 - h) / (1 - h * np.exp(-d / (2 * ell**2)))

    assert_allclose(GaussianHarmonic(1.7)(P, Q), [[literal(p, q) for q in Q] for p in P], rtol=1e-12)
    # the paper's width, for D features: κ = exp(−‖x − x'‖² / (100 D))
    assert 2 * GaussianHarmonic().fitted_to(P[0]).length_scale ** 2 == pytest.approx(100 * 3)
    assert GaussianHarmonic(1.7).fitted_to(P[0]).length_scale == 1.7


def test_a_decay_near_one_gives_the_indicator_of_diagonal_pairs(rng):
    X = rng.normal(size=(5, 3))
    pairs = np.array([[x, z] for x in X for z in X])
    on_diagonal = np.eye(5, dtype=bool).ravel()
    K = GaussianHarmonic(1.0, decay=1 - 1e-9)(pairs)
    assert_allclose(K, np.outer(on_diagonal, on_diagonal).astype(float), atol=1e-6)


def test_ard_is_the_product_over_features(rng):
    P, Q = random_pairs(rng, 5), random_pairs(rng, 4)
    series = Harmonic(RBF(0.8), 0.5)
    expected = np.prod([series(P[:, :, [j]], Q[:, :, [j]]) for j in range(3)], axis=0)
    assert_allclose(ARD(series)(P, Q), expected, rtol=1e-12)
    assert ARD(GaussianHarmonic()).fitted_to(P[0]).series.length_scale == pytest.approx(np.sqrt(50))


def test_the_explicit_superkernel_is_equation_15(rng):
    P, Q = random_pairs(rng, 5), random_pairs(rng, 4)
    kernels, weights, columns = [RBF(0.5), Matern(), DotProduct()], [1.0, 2.0, 0.3], [None, (0, 2), (1,)]

    def literal(p, q):
        total = 0.0
        for k, c, some in zip(kernels, weights, columns, strict=True):
            some = [0, 1, 2] if some is None else list(some)
            total += c * k([p[0, some]], [p[1, some]])[0, 0] * k([q[0, some]], [q[1, some]])[0, 0]
        return total

    found = Explicit(kernels, weights, columns=columns)(P, Q)
    assert_allclose(found, [[literal(p, q) for q in Q] for p in P], rtol=1e-10)


def test_columns_may_be_lists(rng):
    X = rng.normal(size=(10, 3))
    tuples, lists = (Explicit([RBF(), RBF(2.0)], columns=some) for some in ([(0,), (1, 2)], [[0], [1, 2]]))
    beta = np.array([1.0, 2.0])
    assert_array_equal(expand(lists, X).grams.combine(beta), expand(tuples, X).grams.combine(beta))
    assert_array_equal(Combination([RBF()], [1.0], [[0, 1]])(X), Combination([RBF()], [1.0], [(0, 1)])(X))


def test_an_explicit_list_is_penalised_by_its_weights_and_by_its_spreads(rng):
    X = rng.normal(size=(10, 3))
    kernels, c = [RBF(0.5), RBF(2.0), DotProduct()], np.array([1.0, 2.0, 0.3])
    assert_allclose(expand(Explicit(kernels, c, normalize=False), X).penalty, 1 / c)
    # β of kernels divided by their spread is β times the spread
    spread = np.array([np.trace(k(X)) / 10 - k(X).mean() for k in kernels])
    assert_allclose(expand(Explicit(kernels, c), X).penalty, spread**2 / c)


def test_a_kernel_that_tells_no_rows_apart_is_given_no_weight(rng):
    X = rng.normal(size=(10, 3))
    penalty = expand(Explicit([RBF(), ConstantKernel(2.0)]), X).penalty
    assert penalty[1] > 1e15 * penalty[0]


def test_widths_do_not_depend_on_units_and_have_median_distance_one(rng):
    X = rng.normal(size=(30, 3)) * np.array([1.0, 100.0, 1e-3])
    K = expand(Widths((1.0,)), X).grams.term(0)
    assert_allclose(expand(Widths((1.0,)), X * [5.0, 1e-4, 7.0] + 3.0).grams.term(0), K, rtol=1e-8)
    distance = np.sqrt(-2 * np.log(K[np.triu_indices(30, 1)]))
    assert np.median(distance) == pytest.approx(1.0)
    constant = np.column_stack([X, np.full(30, 4.0)])
    assert_allclose(expand(Widths((1.0,)), constant).grams.term(0), K, rtol=1e-10)


def test_feature_widths_are_in_standard_deviations_of_the_feature(rng):
    X = rng.normal(size=(30, 2)) * np.array([1.0, 100.0])
    grams = expand(Widths((), feature_widths=(0.5, 2.0)), X).grams
    expected = [RBF(w * X[:, j].std())(X[:, [j]]) for j in range(2) for w in (0.5, 2.0)]
    for i, K in enumerate(expected):
        assert_allclose(grams.term(i), K, atol=1e-9)


# the expansion


def test_unlabelled_rows_give_more_pairs_to_choose_from(rng):
    X, others = 0.01 * rng.normal(size=(10, 2)), 3.0 * rng.normal(size=(20, 2))
    series = Harmonic(RBF(1.0), 0.9)
    assert expand(series, X).grams.n_terms < expand(series, X, others).grams.n_terms
    ard = ARD(series)
    assert expand(ard, X).grams.n_terms < expand(ard, X, others).grams.n_terms


@pytest.mark.parametrize("superkernel", SERIES, ids=str)
def test_the_finest_expansion_still_has_a_cholesky_factor(superkernel, rng):
    terms = expand(superkernel, rng.normal(size=(40, 2)), tol=1e-15)
    factor = np.linalg.cholesky(terms.penalty)
    assert_allclose(factor @ factor.T, terms.penalty, rtol=1e-9, atol=1e-12)


def test_no_more_terms_than_allowed(rng):
    for superkernel in (GaussianHarmonic(0.5, 0.9), ARD(GaussianHarmonic(0.5, 0.9))):
        assert expand(superkernel, rng.normal(size=(40, 2)), max_rank=3).grams.n_terms == 3


def test_ard_matrices_that_do_not_fit_are_computed_anew(rng, monkeypatch):
    X = rng.normal(size=(10, 2))
    held = expand(ARD(GaussianHarmonic(0.5)), X).grams
    monkeypatch.setattr(power_series, "HELD", 10)
    computed = expand(ARD(GaussianHarmonic(0.5)), X).grams
    assert type(computed).__name__ == "ComputedGrams"
    assert_allclose(computed.term(2), held.term(2))


def test_bins_keep_the_largest_value_and_one_of_each_bin(rng):
    values = rng.uniform(size=(20, 20))
    kept = one_of_each_bin(values, 10)
    assert kept[0] == values.max()
    assert set(kept) <= set(values.ravel())
    assert_array_equal(np.unique((kept[1:] - values.min()) // (np.ptp(values) / 10 * (1 + 1e-12))), range(10))
    assert_array_equal(one_of_each_bin(np.full((3, 3), 2.0), 10), [2.0])


# what is refused


@pytest.mark.parametrize(
    ("superkernel", "message"),
    [
        (Harmonic(DotProduct()), r"values in \[0, 1\].*take an RBF kernel"),
        (Harmonic(2.0 * RBF()), r"values in \[0, 1\]"),
        (Harmonic(Function(lambda G: 0.1 * np.tanh(G))), r"values in \[0, 1\]"),
        (PowerSeries(DotProduct(0.0)), "base kernel of smaller or non-negative values"),
        (PowerSeries(RBF(), "log", scale=1.0), "or a smaller scale"),
        (PowerSeries(2.0 * RBF(), "arctanh"), "or a smaller scale"),
        (PowerSeries(1e3 * RBF(), "exp"), "less than 700.*or a smaller scale"),
        (PowerSeries(RBF(), "tan"), "function must be one of"),
        (PowerSeries(RBF(), scale=-1.0), "scale must be positive"),
        (GaussianHarmonic(decay=0.0), "decay must be positive"),
        (GaussianHarmonic(decay=1.0), r"decay must be in \(0, 1\)"),
        (GaussianHarmonic(decay=np.nan), "decay must be positive"),
        (GaussianHarmonic(-1.0), "length_scale must be positive"),
        (GaussianHarmonic(1e12), "constant on these rows.*narrower"),
        (ARD(GaussianHarmonic(1e12)), "constant on these rows"),
        (ARD(Harmonic(DotProduct())), r"values in \[0, 1\]"),
        (Explicit([RBF(1e12)]), "constant on these rows"),
        (Explicit([RBF(1e12)], normalize=False), "constant on these rows"),
        (Explicit([RBF(), Stump()]), "not positive semi-definite.*Stump.spanning"),
        (Explicit([RBF(), Stump()], columns=[None, (0,)]), "not positive semi-definite"),
        (Explicit([Function(lambda G: np.full_like(G, np.nan))]), "not finite"),
        (Explicit([RBF()], columns=[(5,)]), "looks at column 5"),
        (Explicit([RBF()], columns=[()]), "one at least"),
        (Explicit([RBF()], columns=[(0,), (1,)]), "2 entries for 1 kernels"),
        (Explicit([RBF()], [0.0]), "weights must be 1 positive numbers"),
        (Explicit([RBF()], [1.0, 2.0]), "weights must be 1 positive numbers"),
        (Explicit([RBF()], normalize="yes"), "normalize must be one of"),
        (Widths((0.0,)), "widths must be positive numbers"),
        (Widths(()), "both empty"),
    ],
    ids=str,
)
def test_what_is_wrong_is_said(superkernel, message, rng):
    with pytest.raises(ValueError, match=message):
        expand(superkernel, rng.normal(size=(20, 3)))


@pytest.mark.parametrize("kernels", [[], ["rbf"], [RBF]])
def test_a_list_of_anything_but_kernels_is_refused(kernels, rng):
    with pytest.raises(TypeError, match="a list of scikit-learn kernels"):
        expand(Explicit(kernels), rng.normal(size=(20, 3)))


@pytest.mark.parametrize(
    ("P", "message"),
    [
        (np.zeros((3, 2)), "pairs of rows"),
        (np.zeros((3, 3, 2)), "pairs of rows"),
        (np.full((1, 2, 1), np.inf), "not finite"),
    ],
)
@pytest.mark.parametrize(
    "superkernel", [GaussianHarmonic(1.0), ARD(GaussianHarmonic(1.0)), Explicit([RBF()])], ids=str
)
def test_what_is_not_pairs_is_refused(superkernel, P, message):
    for arguments in ((P,), (np.zeros((1, 2, 1)), P)):
        with pytest.raises(ValueError, match=message):
            superkernel(*arguments)


def test_columns_that_are_constant_leave_nothing_to_widths():
    with pytest.raises(ValueError, match="all columns of X are constant"):
        expand(Widths(), np.ones((5, 2)))


def test_a_matrix_that_is_too_large_is_said_before_it_is_made(rng, have_memory):
    have_memory(10_000)
    with pytest.raises(MemoryError, match="Gram matrices"):
        explicit.keep([explicit.Term(RBF(), None, 1.0)], rng.normal(size=(50, 2)))
