"""K v by sorting and by bins is K v by the Gram matrix."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import cdist

from mercer.solvers.newton.columns import bin_columns, choose_knots, code_columns, count_below
from mercer.solvers.newton.products import CodedColumns, make_operator


def product_by_gram(X, v, first=None):
    """Return K v for K = 2 Σ_d min(x_id, x_jd), with x measured from the first value of each feature."""
    Z = X - (X.min(axis=0) if first is None else first)
    return 2.0 * np.minimum(Z[:, None, :], Z[None, :, :]).sum(axis=2) @ v


def assert_same(actual, expected):
    assert_allclose(actual, expected, atol=1e-11 * (1 + np.abs(expected).max()))


def test_among_vectors_of_sum_zero_it_is_the_stump_kernel_up_to_a_constant(rng):
    X, v = rng.normal(size=(20, 3)), rng.normal(size=20)
    v -= v.mean()
    difference = code_columns(X).product(v) + cdist(X, X, "cityblock") @ v
    assert_allclose(difference, difference[0], atol=1e-12)


matrices = hnp.arrays(
    np.float64,
    st.tuples(st.integers(1, 12), st.integers(1, 9)),
    elements=st.sampled_from([-1.5, -0.25, 0.0, 0.5, 1.0, 3.0]) | st.floats(-10, 10, width=32),
)


@given(X=matrices, seed=st.integers(0, 2**32 - 1), balanced=st.booleans())
@settings(max_examples=100)
def test_columns_multiply_like_the_gram_matrix(X, seed, balanced):
    v = np.random.default_rng(seed).normal(size=len(X))
    v -= v.mean() * balanced
    assert_same(code_columns(X).product(v), product_by_gram(X, v))


@pytest.mark.parametrize("max_bins", [2, 7, 300, 1000])
def test_binned_columns_multiply_like_the_gram_matrix_of_the_bins_values(rng, max_bins):
    X = rng.normal(size=(400, 3))
    X[:, 1] = rng.integers(0, 5, size=400)  # fewer values than bins
    knots = [choose_knots(column, max_bins) for column in X.T]
    moved = np.column_stack(
        [k[np.abs(x[:, None] - k).argmin(axis=1)] for x, k in zip(X.T, knots, strict=True)]
    )
    v = rng.normal(size=400)
    first = np.array([k[0] for k in knots])
    assert_same(bin_columns(X, knots).product(v), product_by_gram(moved, v, first))


def test_enough_bins_change_nothing(rng):
    X = rng.normal(size=(50, 2))
    v = rng.normal(size=50)
    binned = bin_columns(X, [choose_knots(column, 50) for column in X.T])
    assert_same(binned.product(v), code_columns(X).product(v))


def test_more_values_than_a_byte_holds_multiply_like_the_gram_matrix(rng):
    X = rng.normal(size=(300, 5))
    v = rng.normal(size=300) * (rng.random(300) < 0.2)
    assert code_columns(X).code.itemsize > 1
    assert_same(code_columns(X).product(v), product_by_gram(X, v))


columns_of_all_kinds = hnp.arrays(
    np.float64,
    st.integers(1, 40),
    elements=st.sampled_from([-0.0, 0.0, 1.0, 1.0 + 2**-52, 5e-324, 1e30, -1e30])
    | st.floats(allow_nan=False, allow_infinity=False),
)


@given(columns_of_all_kinds)
@settings(max_examples=300)
def test_codes_are_the_places_among_the_distinct_values(column):
    distinct, place = np.unique(column, return_inverse=True)
    columns = code_columns(column[:, None])
    np.testing.assert_array_equal(columns.value[0], distinct)
    np.testing.assert_array_equal(columns.code[0], place)


@given(columns_of_all_kinds, columns_of_all_kinds, st.booleans())
@settings(max_examples=300)
def test_the_bounds_below_are_counted_as_numpy_does(column, bounds, some):
    bounds = np.sort(bounds) if some else np.empty(0)
    below = np.empty(len(column), dtype=np.uint32)
    count_below(column, bounds, below)
    np.testing.assert_array_equal(below, np.searchsorted(bounds, column))


@pytest.mark.parametrize("rows", [[0], [3, 4], [0, 2, 5, 6, 29], list(range(30))])
def test_some_rows_have_the_operator_of_their_gram_matrix(rng, rows):
    X = rng.integers(0, 9, size=(30, 3)) / 2.0
    v = rng.normal(size=len(rows))
    knots = [choose_knots(column, 256) for column in X.T]
    for columns in (code_columns(X), bin_columns(X, knots)):
        part = make_operator(np.ascontiguousarray(columns.code[:, rows]), columns.value)
        assert_same(part.product(v), product_by_gram(X[rows], v, columns.value[:, 0]))
        assert_same(
            columns.product_at(np.where(np.isin(np.arange(30), rows), 1.0, 0.0), np.array(rows)),
            product_by_gram(X[rows], np.ones(len(rows)), columns.value[:, 0]),
        )


@pytest.mark.parametrize("n_features", [1, 4, 7])
def test_rows_that_outnumber_the_values_are_kept_as_codes(rng, n_features):
    X = rng.integers(0, 5, size=(60, n_features)).astype(float)
    rows, v, columns = np.arange(3, 50), rng.normal(size=47), code_columns(X)
    part = make_operator(np.ascontiguousarray(columns.code[:, rows]), columns.value)
    assert isinstance(part, CodedColumns)
    assert_same(part.product(v), product_by_gram(X[rows], v, columns.value[:, 0]))


@pytest.mark.parametrize("n_values", [5, 1000])
def test_products_at_some_rows_are_those_entries_of_the_product(rng, n_values):
    X = rng.integers(0, n_values, size=(400, 6)).astype(float)
    v, rows = rng.normal(size=400), np.array([0, 7, 8, 300, 399])
    assert_allclose(code_columns(X).product_at(v, rows), code_columns(X).product(v)[rows])


def test_knots_are_bin_means_of_equally_many_rows(rng):
    column = rng.permutation(np.arange(12.0))
    assert_allclose(choose_knots(column, 3), [1.5, 5.5, 9.5])
    assert_allclose(choose_knots(column, 12), np.arange(12.0))


def test_a_column_of_mostly_one_value_keeps_its_other_values_apart():
    column = np.r_[np.zeros(95), [1.0, 2.0, 3.0, 4.0, 5.0]]
    knots = choose_knots(column, 4)
    assert knots[0] == 0.0
    assert len(knots) >= 2


def test_a_value_that_fills_a_bin_alone_is_a_knot_and_the_others_share_the_rest(rng):
    column = np.r_[np.zeros(980), rng.normal(5, 1, size=20)]  # 98 % zeros
    knots = choose_knots(rng.permutation(column), 16)
    assert len(knots) == 16
    assert knots[0] == 0.0


@pytest.mark.parametrize("n_bins", [2, 3, 4, 8, 16])
def test_the_last_digit_of_a_unit_does_not_decide_in_which_bin_a_value_is(n_bins):
    """Values on a grid are often midway between two knots; columns in another order have another unit."""
    for seed in range(12):
        rng = np.random.default_rng(seed)
        X = np.round(7.0 * rng.standard_normal((60, 4))) / 7.0
        X -= X.min(axis=0)
        codes = []
        for unit in (0.7, np.nextafter(0.7, 1.0), np.nextafter(0.7, 0.0), 1.3):
            knots = [choose_knots(column, n_bins) for column in (X / unit).T]
            codes.append(bin_columns(X, knots, lambda rows, unit=unit: rows / unit).code)
        for code in codes[1:]:
            assert_array_equal(code, codes[0])
