import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.exceptions import ConvergenceWarning

from mercer import Pairs
from reproduction.baselines import XingMetric
from reproduction.baselines.xing import maximize_distances


def metric(learner):
    A = learner.kernel_.coef
    return A @ A.T


def differences(X, rows):
    return np.array([X[i] - X[j] for i, j in rows])


def squares(X, rows, A):
    """The squared distances of pairs in the metric A."""
    return np.array([d @ A @ d for d in differences(X, rows)])


def value(X, pairs, A):
    return np.sqrt(squares(X, pairs.dissimilar, A)).sum()


def constraint(X, pairs, A, ridge):
    S, D = pairs.similar, pairs.dissimilar
    return squares(X, S, A).sum() + ridge * len(S) / len(D) * squares(X, D, A).sum()


def problem(seed, n=12, p=3):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p)) @ rng.normal(size=(p, p))
    y = rng.permutation(np.arange(n) % 3)
    return X, y, Pairs.from_labels(y).check(n)


@pytest.mark.parametrize("ridge", [0.0, 0.1])
@pytest.mark.parametrize("seed", range(5))
def test_it_is_the_optimum_of_the_convex_program(seed, ridge):
    cp = pytest.importorskip("cvxpy")
    X, y, pairs = problem(seed)
    A = cp.Variable((3, 3), PSD=True)
    S, D = differences(X, pairs.similar), differences(X, pairs.dissimilar)
    M = S.T @ S + ridge * len(S) / len(D) * D.T @ D
    distances = cp.hstack([cp.sqrt(cp.trace(np.outer(d, d) @ A)) for d in D])
    expected = cp.Problem(cp.Maximize(cp.sum(distances)), [cp.trace(M @ A) <= 1])
    expected.solve(solver="CLARABEL")
    learner = XingMetric(ridge=ridge, tol=1e-9).fit(X, y)
    assert learner.objective_ == pytest.approx(expected.value, rel=1e-6)
    assert_allclose(metric(learner), A.value, atol=1e-3 * np.abs(A.value).max())


@pytest.mark.parametrize("ridge", [0.0, 1e-3])
def test_the_constraint_is_met_with_equality_and_the_objective_is_the_sum_of_distances(ridge):
    X, y, pairs = problem(7, n=20, p=5)
    learner = XingMetric(ridge=ridge).fit(X, y)
    assert constraint(X, pairs, metric(learner), ridge) == pytest.approx(1, rel=1e-9)
    assert value(X, pairs, metric(learner)) == pytest.approx(learner.objective_, rel=1e-9)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_no_other_matrix_is_better_than_the_gap_allows(rng):
    X, y, pairs = problem(8, n=15, p=4)
    for max_iter in (1, 3, 100):
        with_gap = XingMetric(max_iter=max_iter, tol=1e-12).fit(X, y)
        best = XingMetric(tol=1e-10).fit(X, y)
        assert best.objective_ <= with_gap.objective_ + with_gap.gap_ + 1e-9
        for _ in range(20):
            L = rng.normal(size=(4, 4)) / 10 + best.kernel_.coef @ np.linalg.qr(rng.normal(size=(4, 4)))[0]
            A = L @ L.T
            A /= constraint(X, pairs, A, 1e-3)
            assert value(X, pairs, A) <= best.objective_ * (1 + 1e-9)


def test_every_step_goes_up(rng):
    E = rng.normal(size=(40, 4)) * [1, 2, 3, 10]
    values = [maximize_distances(E, tol=1e-15, max_iter=steps).value for steps in range(8)]
    assert np.all(np.diff(values) >= -1e-12 * values[-1])
    assert values[-1] > values[0]


def test_one_dimension_has_the_answer_of_a_pocket_calculator():
    X, pairs = np.array([[0.0], [1.0], [4.0]]), Pairs([(0, 1)], [(0, 2), (1, 2)])
    assert_allclose(metric(XingMetric(ridge=0).fit(X, pairs=pairs)), 1)  # A · 1² = 1
    # A (1 + ρ ½ (16 + 9)) = 1
    assert_allclose(metric(XingMetric(ridge=0.08).fit(X, pairs=pairs)), 0.5)


def test_features_of_any_scale_give_the_same_distances():
    X, y, _ = problem(9, n=20, p=4)
    scaled = X * [1e-3, 1, 1e3, 1e5]
    D, D_scaled = (XingMetric().fit(Z, y).kernel_.squared_distance(Z, Z) for Z in (X, scaled))
    assert_allclose(D_scaled, D, atol=1e-5 * D.max())


def test_without_a_ridge_too_few_similar_pairs_are_refused():
    X, _, _ = problem(10, n=8, p=5)
    pairs = Pairs([(0, 1), (2, 3)], [(0, 2), (4, 5), (6, 7)])
    with pytest.raises(ValueError, match="no bound"):
        XingMetric(ridge=0).fit(X, pairs=pairs)
    assert np.isfinite(XingMetric().fit(X, pairs=pairs).objective_)


def test_more_features_than_rows_work():
    X, y, _ = problem(11, n=10, p=30)
    learner = XingMetric().fit(X, y)
    D = learner.kernel_.squared_distance(X, X)
    same = y[:, None] == y
    assert D[same].max() < D[~same].min()


def test_similar_pairs_alone_are_enough_and_the_guesses_depend_on_the_seed():
    X, _, _ = problem(12, n=30, p=3)
    pairs = Pairs([(0, 1), (2, 3), (4, 5), (6, 7)])
    first, again, other = (metric(XingMetric(random_state=seed).fit(X, pairs=pairs)) for seed in (0, 0, 1))
    assert_allclose(first, again)
    assert not np.allclose(first, other)


def test_stopping_early_says_so():
    X, y, _ = problem(13, n=20, p=4)
    with pytest.warns(ConvergenceWarning, match="after 1 iterations"):
        XingMetric(max_iter=1, tol=1e-12).fit(X, y)


def test_bad_input_says_what_to_do():
    X = np.array([[0.0], [1.0], [1.0]])
    with pytest.raises(ValueError, match="list some similar pairs"):
        XingMetric().fit(X, pairs=Pairs([(1, 1)], [(0, 2)]))
    with pytest.raises(ValueError, match="nothing to move apart"):
        XingMetric().fit(X, pairs=Pairs([(0, 1)], [(1, 2)]))
    for wrong in ({"ridge": -1.0}, {"tol": 0.0}, {"max_iter": 0}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            XingMetric(**wrong).fit(X, [0, 0, 1])
