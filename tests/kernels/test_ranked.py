"""Ranked is a kernel of what share of some rows has less."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.gaussian_process.kernels import RBF, DotProduct
from sklearn.preprocessing import QuantileTransformer

from mercer.kernels import Ranked, Tree

X = np.random.default_rng(0).lognormal(size=(41, 3))
Z = np.random.default_rng(1).lognormal(size=(7, 3))


def test_ranks_are_those_of_sklearn_s_quantile_transformer():
    theirs = QuantileTransformer(n_quantiles=len(X)).fit(X)
    kernel = Ranked.spanning(X, RBF())
    assert_allclose(kernel.ranks(Z), theirs.transform(Z), atol=1e-9)
    assert_allclose(kernel(X, Z), RBF()(theirs.transform(X), theirs.transform(Z)), atol=1e-9)


def test_of_many_rows_a_rank_is_the_share_of_those_with_less():
    many = np.random.default_rng(2).lognormal(size=(5000, 1))
    shares = np.mean(many < Z[:, :1].T, axis=0)
    assert_allclose(Ranked.spanning(many, RBF()).ranks(Z[:, :1])[:, 0], shares, atol=0.005)


def test_equal_values_share_the_middle_of_their_ranks():
    column = np.repeat([0.0, 1.0, 2.0], [20, 50, 30])[:, None]
    ranks = Ranked.spanning(column, RBF()).ranks(np.array([[0.0], [1.0], [2.0], [-1.0], [3.0]]))[:, 0]
    assert_allclose(ranks[:3], [0.1, 0.45, 0.85], atol=0.015)
    assert_array_equal(ranks[3:], [0.0, 1.0])


def test_monotone_changes_of_a_column_do_not_matter():
    one, other = Ranked.spanning(X, Tree(2.0)), Ranked.spanning(np.log(X), Tree(2.0))
    assert_allclose(one(X), other(np.log(X)), atol=1e-9)


def test_it_is_a_kernel_as_any_other():
    kernel = Ranked.spanning(X, DotProduct(1.0))
    assert clone(kernel) == kernel
    assert_array_equal(clone(kernel)(X), kernel(X))
    assert_array_equal(kernel(X), kernel(X).T)
    assert_allclose(kernel.diag(X), np.diag(kernel(X)))
    assert_allclose(kernel.with_base(RBF())(X, Z), RBF()(kernel.ranks(X), kernel.ranks(Z)))


def test_one_row_and_constant_columns_have_ranks():
    assert_allclose(Ranked.spanning([[3.0, 1.0]], RBF())([[3.0, 1.0]], [[5.0, 1.0]]), np.exp(-0.125))


def test_rows_with_other_columns_are_refused():
    with pytest.raises(ValueError, match="X has 2 columns, but the kernel was made for 3"):
        Ranked.spanning(X, RBF())(X[:, :2])
