"""All ways to keep Gram matrices against the stack of them."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.gaussian_process.kernels import RBF
from sklearn.metrics import euclidean_distances

from mercer.power_series import FUNCTIONS, PowerSum, evaluate_series
from mercer.solvers.superkernel.grams import (
    ComputedGrams,
    FactoredGrams,
    HeldGrams,
    JointGrams,
    PowerGrams,
    SeriesGrams,
    dense,
)
from mercer.solvers.superkernel.grams import factored as factored_module
from mercer.superkernels import Explicit, explicit

N = 17


def random_stack(rng, r=5):
    F = rng.normal(size=(r, N, 3))
    return F @ F.transpose(0, 2, 1)


def held(rng):
    stack = random_stack(rng)
    return HeldGrams(stack), stack


def computed(rng):
    stack = random_stack(rng)
    return ComputedGrams(lambda i, rows, others: stack[i][np.ix_(rows, others)], len(stack), N), stack


def factored(rng):
    factors = [rng.normal(size=(N, rank)) for rank in (1, 3, 2, 0, 4)]
    return FactoredGrams(factors), np.stack([F @ F.T for F in factors])


def series(rng, function="geometric"):
    kappa = RBF()(rng.normal(size=(N, 2)))
    terms = PowerSum(FUNCTIONS.index(function), rng.uniform(0.1, 0.9, 5), rng.uniform(0.5, 2.0, 5))
    pairs = zip(terms.constants, terms.weights, strict=True)
    return SeriesGrams(terms, kappa), np.stack([w * evaluate_series(function, c * kappa) for c, w in pairs])


def exponential(rng):
    return series(rng, "exp")


def powers(rng):
    E = np.exp(-0.1 * euclidean_distances(rng.normal(size=(N, 3))) ** 2)
    squarings = np.array([2, 0, 5, 2, 1])
    return PowerGrams(E, squarings), np.stack([E ** (2.0**s) for s in squarings])


def joint(rng):
    kinds, stack = [], np.empty((15, N, N))
    places = rng.permutation(15)
    for k, make in enumerate((factored, held, series)):
        grams, part = make(rng)
        kinds.append((places[5 * k : 5 * k + 5].tolist(), grams))
        stack[places[5 * k : 5 * k + 5]] = part
    return JointGrams(kinds), stack


EACH = pytest.mark.parametrize("make", [held, computed, factored, series, exponential, powers, joint])


@EACH
def test_sizes_and_single_matrices(make, rng):
    grams, stack = make(rng)
    assert (grams.n_terms, grams.n_rows) == stack.shape[:2]
    for i, K in enumerate(stack):
        assert_allclose(grams.term(i), K, rtol=1e-12, atol=1e-12)
        assert_allclose(grams.some_rows(i, slice(3, 9)), K[3:9], rtol=1e-12, atol=1e-12)


@EACH
def test_sums_are_weighted(make, rng):
    grams, stack = make(rng)
    beta = rng.uniform(0, 1, len(stack)) * rng.integers(0, 2, len(stack))
    assert_allclose(grams.combine(beta), sum(b * K for b, K in zip(beta, stack, strict=True)), atol=1e-11)
    assert_allclose(grams.combine(np.zeros(len(stack))), np.zeros((N, N)), atol=0)


@EACH
def test_a_sum_may_be_overwritten(make, rng):
    grams, stack = make(rng)
    for beta in (np.ones(len(stack)), np.eye(len(stack))[0]):
        grams.combine(beta)[:] = np.nan
    assert_allclose(grams.combine(np.ones(len(stack))), stack.sum(axis=0), rtol=1e-11, atol=1e-11)


@EACH
def test_a_sum_may_be_written_into_memory_that_is_there(make, rng):
    grams, stack = make(rng)
    memory = np.full((N, N), np.nan)
    assert grams.combine(np.ones(len(stack)), memory) is memory
    assert_allclose(memory, stack.sum(axis=0), rtol=1e-11, atol=1e-11)


def test_powers_of_many_rows_are_summed_up_in_blocks(rng):
    E = np.exp(-(euclidean_distances(rng.uniform(size=(300, 2))) ** 2))
    squarings = np.array([11, 0, 3, 4])  # some powers are far below the smallest number
    grams, beta = PowerGrams(E, squarings), rng.uniform(size=4)
    literal = sum(b * E ** (2.0**s) for b, s in zip(beta, squarings, strict=True))
    assert_allclose(grams.combine(beta), literal, rtol=1e-11)
    v = rng.normal(size=300) * rng.integers(0, 2, 300)
    assert_allclose(grams.quadratics(v), [v @ (E ** (2.0**s)) @ v for s in squarings], rtol=1e-9, atol=1e-9)


@EACH
@pytest.mark.parametrize("share", [1.0, 0.5, 0.0])
def test_quadratic_forms(make, rng, share):
    grams, stack = make(rng)
    v = rng.normal(size=N) * (rng.permutation(N) < share * N)
    assert_allclose(grams.quadratics(v), [v @ K @ v for K in stack], rtol=1e-10, atol=1e-10)


@EACH
def test_spreads_are_mean_squared_distances_from_the_mean(make, rng):
    grams, stack = make(rng)
    # that is half the mean squared distance of two rows
    pairs = [[K[i, i] + K[j, j] - 2 * K[i, j] for i in range(N) for j in range(N)] for K in stack]
    assert_allclose(grams.spreads(), np.mean(pairs, axis=1) / 2, rtol=1e-10, atol=1e-12)


@EACH
def test_products_with_a_matrix_and_a_vector(make, rng):
    grams, stack = make(rng)
    T = rng.normal(size=(N, N))
    T, v = T + T.T, rng.normal(size=N)
    assert_allclose(grams.products(T), [np.sum(K * T) for K in stack], rtol=1e-10, atol=1e-10)
    assert_allclose(grams.apply(v), [K @ v for K in stack], rtol=1e-10, atol=1e-10)


@EACH
@pytest.mark.parametrize("block", [1, 200, 2**22])
def test_centred_inner_products_of_all_matrices_by_blocks_of_any_size(make, rng, block, monkeypatch):
    monkeypatch.setattr(dense, "BLOCK", block)
    grams, stack = make(rng)
    H = np.eye(N) - 1.0 / N
    T = rng.normal(size=(N, N))
    T = H @ (T + T.T) @ H
    A, b = grams.centred_products(T)
    centred = [H @ K @ H for K in stack]
    assert_allclose(A, [[np.sum(K * L) for L in centred] for K in centred], rtol=1e-10, atol=1e-10)
    assert_allclose(b, [np.sum(K * T) for K in stack], rtol=1e-10, atol=1e-10)


def test_very_many_factors_leave_six_digits_of_inner_products(rng, monkeypatch):
    grams, _ = factored(rng)
    exact, _ = grams.centred_products(np.zeros((N, N)))
    monkeypatch.setattr(factored_module, "SETTINGS", factored_module.SETTINGS._replace(single_from=1))
    rough, _ = grams.centred_products(np.zeros((N, N)))
    assert np.any(rough != exact)
    assert_allclose(rough, exact, rtol=1e-5, atol=1e-6 * exact.max())


@EACH
def test_some_of_the_rows_taken_twice(make, rng):
    grams, stack = make(rng)
    rows, some = np.array([1, 4, 5, 9, 12]), np.array([4, 0, 2])
    part = grams.take(rows).take(some)
    chosen = rows[some]
    v = rng.normal(size=3)
    assert part.n_rows == 3
    for i, K in enumerate(stack):
        assert_allclose(part.term(i), K[np.ix_(chosen, chosen)], rtol=1e-12, atol=1e-12)
    assert_allclose(part.quadratics(v), [v @ K[np.ix_(chosen, chosen)] @ v for K in stack], atol=1e-10)


def test_a_matrix_that_is_not_there_is_an_error(rng):
    with pytest.raises(IndexError):
        joint(rng)[0].term(15)


def test_computed_matrices_are_computed_twice_for_all_blocks_together(rng, monkeypatch):
    monkeypatch.setattr(dense, "BLOCK", 3 * 5 * N)
    stack, entries = random_stack(rng), []

    def compute(i, rows, others):
        entries.append(len(rows) * len(others))
        return stack[i][np.ix_(rows, others)]

    ComputedGrams(compute, 5, N).centred_products(np.eye(N))
    assert sum(entries) == 2 * stack.size  # once for the means


# which way is taken


def kernels_of_each_column(n_columns, widths=(1.0, 2.0)):
    kernels = [RBF(w) for _ in range(n_columns) for w in widths]
    return kernels, [(j,) for j in range(n_columns) for _ in widths]


def literal_stack(kernels, columns, X):
    return np.stack([k(X if c is None else X[:, list(c)]) for k, c in zip(kernels, columns, strict=True)])


def expand(kernels, columns, X):
    return (
        Explicit(kernels, columns=columns)
        .expand(X, X[:0], tol=1e-5, max_rank=9, rng=np.random.RandomState(0))
        .grams
    )


def test_kernels_of_single_features_are_kept_by_factors(rng):
    X = rng.normal(size=(200, 3))
    kernels, columns = kernels_of_each_column(3)
    grams = expand(kernels, columns, X)
    assert isinstance(grams, FactoredGrams)
    assert grams.F.size < 0.2 * 6 * 200**2
    for i, K in enumerate(literal_stack(kernels, columns, X)):
        assert_allclose(grams.term(i), K, atol=1e-9)


def test_kernels_of_few_and_of_many_features_are_kept_each_in_its_way(rng):
    X = rng.normal(size=(120, 3))
    kernels, columns = kernels_of_each_column(2)
    kernels, columns = [RBF(0.7), *kernels, RBF([1.0, 2.0, 3.0])], [None, *columns, (0, 1, 2)]
    grams = expand(kernels, columns, X)
    assert [type(kind) for _, kind in grams.kinds] == [FactoredGrams, HeldGrams]
    stack = literal_stack(kernels, columns, X)
    for i, K in enumerate(stack):
        assert_allclose(grams.term(i), K, atol=1e-9)
    beta = rng.uniform(size=len(stack))
    assert_allclose(grams.combine(beta), np.tensordot(beta, stack, 1), atol=1e-8)


@pytest.mark.parametrize("unit", [1e-3, 0.9, 1.0, 1.1, 1e3])
def test_gaussian_kernels_in_ratios_of_two_are_powers_of_one_whatever_the_unit(unit, rng):
    X = unit * rng.normal(size=(70, 3))
    kernels = [RBF(unit * width) for width in (0.25, 16.0, 1.0, 2.0, 0.5)]
    grams = expand(kernels, None, X)
    assert isinstance(grams, PowerGrams)
    for i, kernel in enumerate(kernels):
        assert_allclose(grams.term(i), kernel(X), rtol=1e-9, atol=1e-12)


def test_kernels_of_very_different_widths_are_powers_of_several(rng):
    X = rng.normal(size=(70, 3))
    kernels = [RBF(2.0**k) for k in range(-8, 9, 2)]  # 32 squarings from the widest to the narrowest
    grams = expand(kernels, None, X)
    assert [len(places) for places, _ in grams.kinds] == [6, 3]
    for i, kernel in enumerate(kernels):
        assert_allclose(grams.term(i), kernel(X), rtol=1e-8, atol=1e-12)


def test_narrow_kernels_have_no_factors_and_stay_as_they_are(rng):
    X = rng.normal(size=(120, 1))
    assert isinstance(expand([RBF(1e-3)], [(0,)], X), HeldGrams)


def test_what_does_not_fit_is_computed_anew(rng, monkeypatch):
    monkeypatch.setattr(explicit, "HELD", 1000)
    X = rng.normal(size=(20, 3))
    kernels, columns = [RBF(0.5), RBF(1.0), RBF(2.0)], [None, (0, 1, 2), (1,)]
    grams = expand(kernels, columns, X)
    assert isinstance(grams, ComputedGrams)
    for i, K in enumerate(literal_stack(kernels, columns, X)):
        assert_allclose(grams.term(i), K, rtol=1e-12)
