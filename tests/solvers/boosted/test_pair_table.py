"""Both tables of pairs against the dense matrices of [CKS02, Fig. 1]."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer.losses import LOSSES
from mercer.solvers.boosted.pair_table import AllPairs, Balance, ListedPairs
from reference import PAIR_LOSSES, signs, slope

EACH_LOSS = pytest.mark.parametrize("loss", LOSSES)
BALANCES = [Balance(), Balance(0.7, 1.9)]
EACH_BALANCE = pytest.mark.parametrize("balance", BALANCES, ids=["even", "weighed"])
LABELS = [np.array([0, 1, 1, 0, 1, 0, 0]), np.array([2, 0, 1, 1, 2, 0, 3, 1, 1])]
EACH_LABEL = pytest.mark.parametrize("label", LABELS, ids=["two classes", "four classes"])


class Dense:
    """D, S, K and B = D ∘ S as whole matrices."""

    def __init__(self, S, D_0, loss):
        self.S, self.D_0, self.loss = S, D_0, loss
        self.K = np.zeros(S.shape)

    @property
    def D(self):
        return self.D_0 * -slope(PAIR_LOSSES[self.loss], self.S * self.K)

    def shifted(self, K_t):
        other = Dense(self.S, self.D_0, self.loss)
        other.K = self.K + K_t
        return other

    def mean_loss(self):
        return np.sum(self.D_0 * PAIR_LOSSES[self.loss](self.S * self.K)) / self.D_0.sum()

    def weigh(self, K_t):
        right, wrong = self.S * K_t > 0, self.S * K_t < 0
        return np.sum(self.D[right] * np.abs(K_t[right])), np.sum(self.D[wrong] * np.abs(K_t[wrong]))


def all_pairs(label, balance, loss):
    S = signs(label)
    dense = Dense(S, np.where(S > 0, balance.similar, balance.dissimilar), loss)
    return AllPairs(label, balance, LOSSES[loss]), dense


def some_pairs(rng, n_rows, loss):
    """Some of the pairs i ≤ j, a few of them twice, with weights of their own."""
    i, j = np.triu_indices(n_rows)
    chosen = np.append(rng.permutation(len(i))[: 2 * len(i) // 3], [0, 0, 1])
    rows = np.column_stack([i, j])[chosen]
    S = signs(rng.integers(0, 2, n_rows))
    weight = rng.uniform(0.5, 2, len(rows))
    D_0 = np.zeros((n_rows, n_rows))
    for (a, b), w in zip(rows, weight, strict=True):
        D_0[a, b] += w
        D_0[b, a] += w if a != b else 0.0
    table = ListedPairs(rows, S[rows[:, 0], rows[:, 1]], weight, n_rows, LOSSES[loss])
    return table, Dense(S, D_0, loss)


def assert_same(table, dense, rng):
    m = len(dense.S)
    v, G = rng.normal(size=m), rng.normal(size=(m, 2))
    assert_allclose(table.multiply(v), (dense.D * dense.S) @ v, rtol=1e-6, atol=1e-7)
    assert_allclose(table.weigh(G), dense.weigh(G @ G.T), rtol=1e-7)
    assert_allclose(table.loss, dense.mean_loss(), rtol=1e-12)
    assert_allclose(table.mass, dense.D.sum(), rtol=1e-8)
    for t in (0.0, 0.3):
        along = dense.shifted(t * G @ G.T)
        assert_allclose(table.slope(G, t), -np.sum(along.D * along.S * (G @ G.T)), rtol=1e-6)


@EACH_LOSS
@EACH_BALANCE
@EACH_LABEL
def test_all_pairs_are_the_dense_matrices_round_after_round(rng, label, balance, loss):
    table, dense = all_pairs(label, balance, loss)
    assert table.n_pairs == len(label) ** 2
    for n_directions in (1, 1, 3):
        assert_same(table, dense, rng)
        G = 0.6 * rng.normal(size=(len(label), n_directions))
        table.add(G)
        dense.K += G @ G.T
    assert_same(table, dense, rng)


@EACH_LOSS
@pytest.mark.parametrize("n_rows", [4, 9])
def test_listed_pairs_are_the_dense_matrices_round_after_round(rng, n_rows, loss):
    table, dense = some_pairs(rng, n_rows, loss)
    for n_directions in (1, 1, 3):
        assert_same(table, dense, rng)
        G = 0.6 * rng.normal(size=(n_rows, n_directions))
        table.add(G)
        dense.K += G @ G.T
    assert_same(table, dense, rng)


def test_a_pair_of_different_rows_counts_twice(rng):
    rows = np.array([[0, 0], [0, 1], [1, 2]])
    table = ListedPairs(rows, np.array([1.0, 1.0, -1.0]), np.ones(3), 3, LOSSES["log"])
    assert table.n_pairs == 5


@EACH_LOSS
@EACH_BALANCE
@EACH_LABEL
def test_all_pairs_and_the_list_of_all_pairs_agree(rng, label, balance, loss):
    m = len(label)
    rows = np.column_stack(np.triu_indices(m))
    sign = signs(label)[rows[:, 0], rows[:, 1]]
    weight = np.where(sign > 0, balance.similar, balance.dissimilar)
    listed = ListedPairs(rows, sign, weight, m, LOSSES[loss])
    whole = AllPairs(label, balance, LOSSES[loss])
    for _ in range(3):
        v, G = rng.normal(size=m), rng.normal(size=(m, 2))
        assert listed.n_pairs == whole.n_pairs
        assert_allclose(listed.multiply(v), whole.multiply(v), rtol=1e-11, atol=1e-12)
        assert_allclose(listed.weigh(G), whole.weigh(G), rtol=1e-11)
        assert_allclose([listed.loss, listed.mass], [whole.loss, whole.mass], rtol=1e-12)
        for table in (listed, whole):
            table.add(0.5 * G)


def test_the_logarithms_of_many_pairs_may_be_taken_together(rng):
    # the factors 1 + exp(−0) of a row's 1200 pairs have the product 2^1200, which is more than a double holds
    label = np.repeat([0, 1], 1200)
    table = AllPairs(label, Balance(), LOSSES["log"])
    assert_allclose(table.loss, np.log(2), rtol=1e-12)
    g = rng.normal(size=(2400, 1))
    table.add(g)
    assert_allclose(
        table.loss,
        np.mean(np.logaddexp(0, -np.where(label[:, None] == label, 1, -1) * (g @ g.T))),
        rtol=1e-12,
    )


@EACH_LOSS
def test_huge_kernel_values_overflow_in_neither_table(loss):
    label = np.array([0, 0, 1, 1])
    rows = np.column_stack(np.triu_indices(4))
    sign = signs(label)[rows[:, 0], rows[:, 1]]
    tables = (
        AllPairs(label, Balance(), LOSSES[loss]),
        ListedPairs(rows, sign, np.ones(10), 4, LOSSES[loss]),
    )
    right = 1e10 * np.array([[1.0], [1.0], [-1.0], [-1.0]])
    for table in tables:
        table.add(right)
        assert table.loss == table.mass == 0.0
        assert_allclose(table.multiply(np.ones(4)), np.zeros(4))


def test_the_log_loss_of_huge_wrong_values_is_their_size():
    label = np.array([0, 1])
    for table in (
        AllPairs(label, Balance(), LOSSES["log"]),
        ListedPairs(np.array([[0, 0], [0, 1], [1, 1]]), np.array([1.0, -1, 1]), np.ones(3), 2, LOSSES["log"]),
    ):
        table.add(np.full((2, 1), 1e100))
        assert_allclose(table.loss, 1e200 / 2, rtol=1e-12)  # two of four ordered pairs are wrong
        assert_allclose(table.mass, 2.0)
