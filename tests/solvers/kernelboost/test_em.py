"""Constrained EM against scikit-learn's mixtures, repeated rows, and what EM promises."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import multivariate_normal
from sklearn.exceptions import ConvergenceWarning
from sklearn.mixture import GaussianMixture

from mercer.pairs import Pairs
from mercer.solvers.kernelboost.assignments import TooFewComponentsError, plan_assignments
from mercer.solvers.kernelboost.chunklets import Chunklets, chunk_labels, chunk_pairs
from mercer.solvers.kernelboost.em import (
    draw_start,
    effective_weights,
    expect,
    fit_mixture,
    maximize,
    run_em,
    state_problem,
)
from mercer.solvers.kernelboost.gaussians import (
    CollapseError,
    Gaussians,
    fit_gaussians,
    log_joint,
    log_prior,
)

EACH_KIND = pytest.mark.parametrize("kind", ["full", "tied", "diag"])
FREE = chunk_labels(np.empty(0, dtype=np.intp))  # no row is in a chunklet


def covariances_of(model):
    """Return Σ of each component: (M, d, d), (1, d, d) or, "diag", the variances (M, d)."""
    if model.factors.ndim == 2:
        return model.factors**-2.0
    inverse = np.linalg.inv(model.factors)
    return inverse.transpose(0, 2, 1) @ inverse


def clumps(rng, n=90, d=3, n_clumps=3):
    label = np.arange(n) % n_clumps
    return 3.0 * rng.normal(size=(n_clumps, d))[label] + rng.normal(size=(n, d)), label


def start(problem, seed=0):
    return draw_start(problem, np.random.RandomState(seed))


def assert_same_mixture(found, expected, **tol):
    for mine, theirs in zip(found, expected, strict=True):
        assert_allclose(mine, theirs, **tol)


def sklearn_after(X, model, kind, n_steps):
    precisions = np.linalg.inv(covariances_of(model)) if kind != "diag" else 1 / covariances_of(model)
    rival = GaussianMixture(
        len(model.means),
        covariance_type=kind,
        reg_covar=0.0,
        max_iter=n_steps,
        tol=0.0,
        weights_init=model.weights,
        means_init=model.means,
        precisions_init=precisions[0] if kind == "tied" else precisions,
    )
    with pytest.warns(ConvergenceWarning):
        rival.fit(X)
    return rival


@EACH_KIND
@pytest.mark.parametrize("n_steps", [1, 2, 7])
def test_without_constraints_each_step_is_that_of_scikit_learn(rng, kind, n_steps):
    X, _ = clumps(rng)
    problem = state_problem(X, FREE, 3, kind=kind)
    model = start(problem)
    rival = sklearn_after(X, model, kind, n_steps)
    found = run_em(problem, model, max_iter=n_steps, tol=0.0)
    assert found.n_iter == n_steps
    covariances = covariances_of(found.model)
    assert_allclose(found.model.weights, rival.weights_, atol=1e-8)
    assert_allclose(found.model.means, rival.means_, atol=1e-8)
    assert_allclose(covariances[0] if kind == "tied" else covariances, rival.covariances_, atol=1e-8)


@EACH_KIND
def test_log_joint_is_the_density_of_scipy(rng, kind):
    X, label = clumps(rng, 40)
    model = fit_gaussians(X, np.eye(3)[label], kind, 2.0)
    covariances = covariances_of(model)
    for j in range(3):
        C = covariances[min(j, len(covariances) - 1)]
        C = np.diag(C) if kind == "diag" else C
        expected = multivariate_normal(model.means[j], C).logpdf(X) + np.log(model.weights[j])
        assert_allclose(log_joint(X, model)[:, j], expected, rtol=1e-10)


@EACH_KIND
def test_the_m_step_is_the_formula_with_its_prior(rng, kind):
    X = rng.normal(size=(20, 2))
    R = rng.dirichlet(np.ones(3), size=20) * rng.uniform(0.5, 2.0, size=(20, 1))
    nu = 4.0
    model = fit_gaussians(X, R, kind, nu)
    N = R.sum(axis=0)
    means = [sum(R[i, j] * X[i] for i in range(20)) / N[j] for j in range(3)]
    S = [sum(R[i, j] * np.outer(X[i] - means[j], X[i] - means[j]) for i in range(20)) for j in range(3)]
    if kind == "tied":
        expected = (sum(S) + nu * np.eye(2)) / (N.sum() + nu)
        assert_allclose(covariances_of(model)[0], expected, rtol=1e-10)
    for j in range(3):
        assert_allclose(model.means[j], means[j], rtol=1e-10)
        expected = (S[j] + nu * np.eye(2)) / (N[j] + nu)
        if kind == "full":
            assert_allclose(covariances_of(model)[j], expected, rtol=1e-10)
        if kind == "diag":
            assert_allclose(covariances_of(model)[j], np.diag(expected), rtol=1e-10)


@EACH_KIND
def test_integer_weights_are_repeated_rows(rng, kind):
    X, _ = clumps(rng, 40)
    times = rng.integers(1, 4, size=40)
    options = {"kind": kind, "nu": 3.0}
    weighted = state_problem(X, FREE, 3, **options)._replace(weights=times.astype(float))
    repeated = state_problem(np.repeat(X, times, axis=0), FREE, 3, **options)
    model = start(weighted)
    one, other = (run_em(problem, model, max_iter=9, tol=0.0) for problem in (weighted, repeated))
    assert_same_mixture(one.model, other.model, rtol=1e-8, atol=1e-10)
    assert one.objective == pytest.approx(other.objective)


def test_integer_weights_of_chunklets_are_repeated_chunklets(rng):
    X, label = clumps(rng, 12)
    rows = np.arange(6)
    chunklets = chunk_labels(label[:6])
    weights = np.where(np.arange(12) < 6, 2.0, 1.0)
    again = Chunklets(
        np.concatenate([rows, 12 + rows]),
        np.concatenate([chunklets.number, 3 + chunklets.number]),
        np.concatenate([chunklets.apart, 3 + chunklets.apart]),
    )
    nu = 4.0
    weighted = state_problem(X, chunklets, 3, nu=nu)._replace(weights=weights)
    repeated = state_problem(np.vstack([X, X[:6]]), again, 3, nu=nu)
    model = start(weighted)
    one, other = (run_em(problem, model, max_iter=5, tol=0.0) for problem in (weighted, repeated))
    assert_same_mixture(one.model, other.model, rtol=1e-8, atol=1e-10)
    assert one.objective == pytest.approx(other.objective)


@EACH_KIND
@pytest.mark.parametrize("weights", ["uniform", "by unit"])
def test_the_objective_never_falls_if_what_is_constrained_together_weighs_the_same(rng, kind, weights):
    X, label = clumps(rng, 60)
    chunklets = chunk_labels(label[:15])  # all of them hang together
    w = np.ones(60) if weights == "uniform" else np.r_[np.full(15, 3.0), rng.uniform(0.1, 2.0, size=45)]
    problem = state_problem(X, chunklets, 3, kind=kind, nu=4.0)._replace(weights=w)
    model, objectives = start(problem), []
    for _ in range(25):
        found = expect(problem, model)
        objectives.append(found.log_likelihood + found.log_compliance + log_prior(model, problem.nu))
        model = maximize(problem, found.shares)
    assert np.diff(objectives).min() > -1e-9 * abs(objectives[-1])
    assert objectives[-1] > objectives[0] + 1.0


def test_the_objective_is_the_sum_over_allowed_assignments(rng):
    X = rng.normal(size=(5, 2))
    chunklets = chunk_pairs(Pairs([(0, 1)], [(1, 2), (2, 3)]).check(5), 5)  # {0, 1} – {2} – {3}; 4 is free
    problem = state_problem(X, chunklets, 2, nu=3.0)
    model = start(problem)
    L = log_joint(X, model)
    total, free = 0.0, np.exp(L[4]).sum()
    for a, b, c in np.ndindex(2, 2, 2):
        if a != b and b != c:
            total += np.exp(L[0, a] + L[1, a] + L[2, b] + L[3, c])
    found = expect(problem, model)
    assert found.log_likelihood == pytest.approx(np.log(np.exp(L).sum(axis=1)).sum())
    assert found.log_likelihood + found.log_compliance == pytest.approx(np.log(total * free))
    assert_allclose(found.shares[0], found.shares[1])
    assert_allclose(found.shares.sum(axis=1), 1.0)


def test_all_shares_respect_hard_constraints(rng):
    X, label = clumps(rng, 30)
    problem = state_problem(X, chunk_labels(label[:9]), 3, nu=4.0)
    shares = expect(problem, fit_mixture(problem, np.random.RandomState(0)).model).shares
    for k in range(3):
        assert_allclose(np.ptp(shares[:9][label[:9] == k], axis=0), 0.0, atol=1e-12)


def test_effective_weights_sum_to_the_effective_sample_size(rng):
    assert_allclose(effective_weights(np.full(7, 1e-9)), 1.0)
    few = np.r_[np.ones(4), np.full(96, 1e-12)]
    assert effective_weights(few).sum() == pytest.approx(4.0)
    w = rng.uniform(size=30)
    assert effective_weights(w).sum() == pytest.approx(w.sum() ** 2 / np.sum(w**2))
    assert np.ptp(effective_weights(w) / w) < 1e-12 * 30


def test_more_starts_find_no_worse_fit_and_constraints_count(rng):
    X, label = clumps(rng, 60, n_clumps=4)
    problem = state_problem(X, chunk_labels(label[:8]), 4, nu=4.0)
    scores = [
        fit_mixture(problem, np.random.RandomState(3), n_starts=n, max_iter=20).score for n in (1, 3, 9)
    ]
    assert scores == sorted(scores)


def test_of_equal_likelihood_the_fit_that_respects_the_constraints_has_the_better_score(rng):
    # two clumps along either axis: both ways to divide them are as likely, one is what the labels say
    X = np.concatenate([c + 0.1 * rng.normal(size=(50, 2)) for c in ([0, 0], [0, 4], [4, 0], [4, 4])])
    side = np.repeat([0, 0, 1, 1], 50)
    rows = np.array([0, 1, 50, 51, 100, 101, 150, 151])
    chunklets = Chunklets(rows, side[rows], np.array([[0, 1]]))
    problem = state_problem(X, chunklets, 2, nu=3.0)
    free = state_problem(X, FREE, 2, nu=3.0)
    right, wrong = (
        run_em(problem, run_em(free, _two(means), max_iter=50, tol=0.0).model, max_iter=0, tol=0.0)
        for means in ([[0.0, 2.0], [4.0, 2.0]], [[2.0, 0.0], [2.0, 4.0]])
    )
    assert right.objective - right.log_compliance == pytest.approx(
        wrong.objective - wrong.log_compliance, rel=0.05
    )
    assert right.log_compliance > -1e-6
    assert right.score > wrong.score + 1.0


def _two(means):
    return Gaussians(np.array([0.5, 0.5]), np.array(means), np.stack([np.eye(2)] * 2))


def test_seeds_are_rows_or_means_of_chunklets_and_none_is_drawn_twice(rng):
    X, label = clumps(rng, 12)
    problem = state_problem(X, chunk_labels(label[:6]), 9, nu=4.0)
    points = {tuple(X[:6][label[:6] == k].mean(axis=0).round(9)) for k in range(3)}
    points |= {tuple(row.round(9)) for row in X[6:]}
    seeds = start(problem).means
    assert {tuple(seed.round(9)) for seed in seeds} == points


def test_rows_of_no_weight_are_no_seeds(rng):
    X, _ = clumps(rng, 30)
    w = np.where(np.arange(30) < 5, 1.0, 0.0)
    problem = state_problem(X, FREE, 4, nu=4.0)._replace(weights=w)
    for seed in range(5):
        for mean in start(problem, seed).means:
            assert np.any(np.all(X[:5] == mean, axis=1))


@EACH_KIND
def test_duplicates_and_more_components_than_rows_do_no_harm(kind):
    X = np.repeat([[0.0, 1.0], [2.0, 3.0]], 3, axis=0)
    problem = state_problem(X, FREE, 8, kind=kind, nu=3.0)
    found = fit_mixture(problem, np.random.RandomState(0))
    assert np.all(np.isfinite(log_joint(X, found.model)))


def test_a_component_that_collapses_is_an_error_without_a_prior():
    X = np.repeat([[0.0, 1.0], [2.0, 3.0]], 3, axis=0)
    for kind in ("full", "diag"):
        with pytest.raises(CollapseError, match="its density is unbounded"):
            fit_gaussians(X, np.repeat(np.eye(2), 3, axis=0), kind, 0.0)


def test_too_few_components_are_an_error_that_says_how_many_are_needed(rng):
    label = np.arange(4)
    with pytest.raises(TooFewComponentsError, match="4 sets of similar rows are mutually dissimilar"):
        state_problem(rng.normal(size=(4, 2)), chunk_labels(label), 3)
    with pytest.raises(TooFewComponentsError, match="4 sets of similar rows are mutually dissimilar"):
        plan_assignments(chunk_labels(label), 3, max_steps=0)
    five = np.array([[0, 1], [1, 2], [2, 3], [3, 4], [0, 4]])  # an odd ring needs three
    with pytest.raises(TooFewComponentsError, match="need more"):
        plan_assignments(Chunklets(np.arange(5), np.arange(5), five), 2)


def test_the_same_seed_gives_the_same_fit(rng):
    X, label = clumps(rng, 30)
    problem = state_problem(X, chunk_labels(label[:6]), 3, nu=4.0)
    one, other = (fit_mixture(problem, np.random.RandomState(5), n_starts=2) for _ in range(2))
    for mine, theirs in zip(one.model, other.model, strict=True):
        assert_array_equal(mine, theirs)
