"""The booster against Fig. 1 of [CKS02] with dense eigenvectors, and its step against the bound."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer.losses import LOSSES
from mercer.solvers.boosted.boost import boost_kernel, bound_step, search_step
from mercer.solvers.boosted.directions import Coordinates, Expansions
from mercer.solvers.boosted.pair_table import AllPairs, Balance
from reference import PAIR_LOSSES, boost, signs

EACH_LOSS = pytest.mark.parametrize("loss", LOSSES)


def problem(rng, n_rows=18, n_classes=2, rank=30):
    label = rng.permutation(np.arange(n_rows) % n_classes)
    F = rng.normal(size=(n_rows, rank)) / np.sqrt(rank)
    F[:, :n_classes] += np.eye(n_classes)[label]
    return F @ F.T, label


def fit(K, label, loss, balance=None, **options):
    table = AllPairs(label, balance or Balance(), LOSSES[loss])
    return boost_kernel(Expansions(K), table, **options), table


def gram_of(K, rounds):
    return sum(r.alpha * (K @ r.directions) @ (K @ r.directions).T for r in rounds)


@pytest.mark.parametrize("right", [1e-8, 0.3, 5.0, 1e12])
@pytest.mark.parametrize("ratio", [0.999, 0.5, 1e-3])
def test_the_step_minimises_its_bound(right, ratio):
    wrong = ratio * right
    alpha = bound_step(right, wrong, 10**6)

    def bound(a):
        return right * np.exp(-a) + wrong * np.exp(a)

    around = alpha + np.concatenate([-np.logspace(-3, 1, 30), np.logspace(-3, 1, 30)])
    assert alpha > 0
    assert np.all(bound(around) > bound(alpha))


def test_where_nothing_is_wrong_the_share_of_one_pair_is():
    assert_allclose(bound_step(3.0, 0.0, 100), np.log(100) / 2)
    assert_allclose(bound_step(3.0, 1e-30, 100), np.log(100) / 2)
    assert_allclose(bound_step(3.0, -1e-17, 100), np.log(100) / 2)  # rounding errors of a difference


@EACH_LOSS
@pytest.mark.parametrize("normalize", [True, False])
@pytest.mark.parametrize(("n_classes", "n_directions"), [(2, 1), (4, 1), (4, 3)])
def test_it_is_figure_1_with_dense_eigenvectors(rng, loss, normalize, n_classes, n_directions):
    K, label = problem(rng, n_classes=n_classes)
    options = {"n_rounds": 8, "n_directions": n_directions}
    step = "normalized" if normalize else "literal"
    balance = Balance(1.7, 0.6)
    rounds, table = fit(K, label, loss, balance, step=step, **options)
    S = signs(label)
    D_0 = np.where(S > 0, balance.similar, balance.dissimilar)
    coef, alphas, losses = boost(K, K, S, loss=loss, D_0=D_0, normalize=normalize, **options)
    expected = K @ coef @ coef.T @ K
    assert_allclose(gram_of(K, rounds), expected, atol=1e-8 * np.abs(expected).max())
    assert_allclose([r.alpha for r in rounds], alphas, rtol=1e-7)
    assert_allclose([r.loss for r in rounds], losses, rtol=1e-9)
    assert table.loss == rounds[-1].loss


@EACH_LOSS
def test_the_loss_is_that_of_the_kernel_that_is_returned(rng, loss):
    K, label = problem(rng, n_classes=3)
    rounds, _ = fit(K, label, loss, n_rounds=6, n_directions=2)
    for t, r in enumerate(rounds, 1):
        margin = signs(label) * gram_of(K, rounds[:t])
        assert_allclose(r.loss, PAIR_LOSSES[loss](margin).mean(), rtol=1e-9)


def test_directions_have_length_one_and_are_orthogonal_within_a_round(rng):
    K, label = problem(rng, n_classes=4)
    for r in fit(K, label, "log", n_rounds=5, n_directions=3)[0]:
        assert_allclose(r.directions.T @ K @ r.directions, np.eye(r.directions.shape[1]), atol=1e-9)


def test_a_normalized_step_does_not_depend_on_the_scale(rng):
    K, label = problem(rng)
    plain, scaled = (fit(c * K, label, "log", n_rounds=6)[0] for c in (1.0, 1e6))
    assert_allclose(gram_of(1e6 * K, scaled), gram_of(K, plain), rtol=1e-6, atol=1e-8)
    assert_allclose([1e6 * r.alpha for r in scaled], [r.alpha for r in plain], rtol=1e-7)


def test_both_spaces_give_the_same_kernel(rng):
    F = rng.normal(size=(25, 5))
    label = (F[:, 0] + F[:, 1] > 0).astype(np.intp)
    by_rows, _ = fit(F @ F.T, label, "exp", n_rounds=7)
    table = AllPairs(label, Balance(), LOSSES["exp"])
    by_columns = boost_kernel(Coordinates(F), table, n_rounds=7)
    expected = gram_of(F @ F.T, by_rows)
    found = sum(r.alpha * (F @ r.directions) @ (F @ r.directions).T for r in by_columns)
    assert_allclose(found, expected, atol=1e-9 * np.abs(expected).max())


def test_only_directions_of_positive_score_are_taken(rng):
    # before round one, two classes of equal weights make B of rank one: no second direction has a score
    K, label = problem(rng)
    (first,) = fit(K, label, "log", n_rounds=1, n_directions=3)[0]
    assert first.directions.shape[1] == 1


def test_it_stops_where_no_direction_has_a_positive_score():
    # rows that coincide but are of two classes: K_w is the same for all pairs, half of them wrong
    label = np.array([0, 1, 0, 1])
    table = AllPairs(label, Balance(), LOSSES["log"])
    assert boost_kernel(Coordinates(np.ones((4, 2))), table, n_rounds=5) == []
    assert boost_kernel(Coordinates(np.zeros((4, 0))), table, n_rounds=5) == []
    assert_allclose(table.loss, np.log(2))


def test_progress_is_told_after_each_round_and_may_stop(rng):
    K, label = problem(rng)
    seen = []
    rounds, _ = fit(K, label, "log", n_rounds=6, progress=seen.append)
    assert seen == [1, 2, 3, 4, 5, 6]
    stopped, table = fit(K, label, "log", n_rounds=6, progress=lambda t: t == 3)
    assert [r.alpha for r in stopped] == [r.alpha for r in rounds[:3]]
    assert table.loss == rounds[2].loss


def test_a_loss_that_overflows_is_no_result(rng):
    K, label = problem(rng, n_rows=18)
    label[0] = 1 - label[0]
    with pytest.raises(OverflowError, match=r"the loss overflows in round \d+$"):
        fit(1e5 * K, label, "exp", n_rounds=30, step="literal")


@EACH_LOSS
def test_a_search_ends_about_where_the_loss_is_least(rng, loss):
    _, label = problem(rng, n_rows=40, n_classes=4)
    G = 0.3 * rng.normal(size=(40, 2)) + np.eye(4)[label][:, :2]
    S = signs(label)

    def mean_loss(t):
        return PAIR_LOSSES[loss](S * t * (G @ G.T)).mean()

    table = AllPairs(label, Balance(), LOSSES[loss])
    right, wrong = table.weigh(G)
    alpha = search_step(table, G, 1e-6, right - wrong)
    tenth = abs(mean_loss(1e-6) - mean_loss(0.0)) / 1e-6 / 10
    for nearby in (0.9, 1.1):  # the loss is convex, and this flat where the search ends
        assert mean_loss(alpha) < mean_loss(nearby * alpha) + 0.1 * alpha * tenth
    assert mean_loss(alpha) < mean_loss(0.5 * alpha)
    assert mean_loss(alpha) < mean_loss(2 * alpha)


@EACH_LOSS
def test_searched_steps_lower_the_loss_more_than_the_bounds_steps(rng, loss):
    K, label = problem(rng, n_rows=40, n_classes=4)
    searched, _ = fit(K, label, loss, n_rounds=5, n_directions=3, step="search")
    bounded, _ = fit(K, label, loss, n_rounds=5, n_directions=3)
    assert searched[0].alpha > bounded[0].alpha
    assert searched[0].loss < bounded[0].loss
    assert np.all(np.diff([r.loss for r in searched]) < 0)
