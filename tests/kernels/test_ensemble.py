"""Finite random ensembles: what they converge to, and how fast."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from mercer.kernels import Perceptron, PerceptronEnsemble, Stump, StumpEnsemble

BOTH = pytest.mark.parametrize("kind", [Stump, Perceptron])


def deviation(kind, X, n_hypotheses):
    """The standard deviation of an entry: the mean of n votes ±Δ whose expectation is k."""
    exact = kind.spanning(X)
    return np.sqrt((exact.delta**2 - exact(X) ** 2) / n_hypotheses)


@BOTH
def test_the_ensemble_is_an_unbiased_estimate_of_the_kernel(rng, kind):
    X = rng.normal(loc=[0, 5, -5], size=(6, 3))
    n_draws, n_hypotheses = 100, 40
    mean = np.mean([kind.sample(X, n_hypotheses, random_state=seed)(X) for seed in range(n_draws)], axis=0)
    five_sigma = 5 * deviation(kind, X, n_draws * n_hypotheses)
    assert np.all(np.abs(mean - kind.spanning(X)(X)) <= five_sigma + 1e-12)


def test_perceptrons_that_are_drawn_scatter_as_independent_votes_do(rng):
    X = rng.normal(size=(5, 3))
    pairs = np.triu_indices(5, k=1)
    draws = [Perceptron.sample(X, 30, random_state=seed)(X)[pairs] for seed in range(400)]
    # a standard deviation estimated from 400 draws is itself known to 1 / √800
    assert_allclose(np.std(draws, axis=0), deviation(Perceptron, X, 30)[pairs], rtol=8 / np.sqrt(800))


@pytest.mark.parametrize(("kind", "rate"), [(Stump, 16), (Perceptron, 4)])
def test_sixteen_times_the_hypotheses_have_a_smaller_error(rng, kind, rate):
    # 1/√n for independent votes; 1/n for stumps, whose thresholds are stratified
    X = rng.normal(size=(12, 2))

    def error(n_hypotheses):
        draws = [kind.sample(X, n_hypotheses, random_state=seed)(X) for seed in range(10)]
        return np.sqrt(np.mean((np.array(draws) - kind.spanning(X)(X)) ** 2))

    assert rate / 1.5 < error(200) / error(3200) < rate * 1.5


def test_stratified_stumps_err_less_than_independent_ones_would(rng):
    X = rng.normal(size=(12, 2))
    error = np.abs(Stump.sample(X, 1000, random_state=0)(X) - Stump.spanning(X)(X))
    assert error.mean() < deviation(Stump, X, 1000).mean() / 4


def test_stumps_are_drawn_from_the_whole_box_and_from_nothing_else(rng):
    X = np.array([[0.0, 2.0, -3.0], [1.0, 2.0, 0.0]])
    stumps = Stump.sample(X, 4000, random_state=0)
    lower, upper = X.min(axis=0), X.max(axis=0)
    assert np.all(lower[stumps.features] <= stumps.thresholds)
    assert np.all(stumps.thresholds <= upper[stumps.features])
    # a feature's share of the stumps is its share of the widths: 1, 0 and 3
    assert_array_equal(np.bincount(stumps.features), [1000, 0, 3000])


def test_perceptrons_are_drawn_from_the_whole_ball_and_from_nothing_else():
    center, radius = np.array([3.0, -1.0]), 2.0
    perceptrons = Perceptron.sample(
        center + radius * np.array([[1.0, 0.0], [-1.0, 0.0]]), 4000, random_state=0
    )
    assert_allclose(np.linalg.norm(perceptrons.directions, axis=1), 1)
    distance = perceptrons.thresholds - perceptrons.directions @ center
    assert np.all(np.abs(distance) <= radius)
    # uniform numbers: the mean of the squares is a third, ± 5 / √(n · 45/4)
    assert_allclose(np.mean((distance / radius) ** 2), 1 / 3, atol=5 / np.sqrt(4000 * 45 / 4))
    assert_allclose(np.mean(distance / radius), 0, atol=5 / np.sqrt(4000 * 3))
    assert_allclose(perceptrons.directions.mean(axis=0), 0, atol=5 / np.sqrt(2 * 4000))


def test_features_are_the_votes_of_each_hypothesis(rng):
    X = rng.normal(size=(7, 2))
    stumps = StumpEnsemble(np.array([1, 0, 1]), np.array([0.0, 0.3, -0.2]), 0.5)
    expected = [[0.5 if x[d] >= a else -0.5 for d, a in ((1, 0.0), (0, 0.3), (1, -0.2))] for x in X]
    assert_array_equal(stumps.transform(X), expected)
    directions, thresholds = rng.normal(size=(4, 2)), rng.normal(size=4)
    expected = [[2 * np.sign(w @ x - a) for w, a in zip(directions, thresholds, strict=True)] for x in X]
    assert_array_equal(PerceptronEnsemble(directions, thresholds, 2.0).transform(X), expected)


@BOTH
def test_the_gram_matrix_is_the_inner_product_of_the_features(rng, kind):
    X, Z = rng.normal(size=(5, 3)), rng.normal(size=(4, 3))
    ensemble = kind.sample(X, 50, random_state=0)
    F, G = ensemble.transform(X), ensemble.transform(Z)
    expected = [[sum(f * g) for g in G] for f in F]
    assert_allclose(ensemble(X, Z), expected, atol=1e-12)
    assert_allclose(ensemble.diag(X), np.diag(ensemble(X)))
    assert_allclose(ensemble.diag(X), kind.spanning(X).delta)


@BOTH
def test_features_of_one_set_of_rows_are_made_once(rng, kind, monkeypatch):
    X = rng.normal(size=(5, 3)).astype(np.float32)
    ensemble, made = kind.sample(X, 10, random_state=0), []
    transform = type(ensemble).transform
    monkeypatch.setattr(
        type(ensemble), "transform", lambda self, X: made.append(len(X)) or transform(self, X)
    )
    ensemble(X)
    ensemble(X, X)
    assert made == [5, 5]
    ensemble(X, X[:2])
    assert made == [5, 5, 5, 2]


@BOTH
def test_a_seed_repeats_the_draws(rng, kind):
    X = rng.normal(size=(5, 3))
    assert kind.sample(X, 20, random_state=3) == kind.sample(X, 20, random_state=3)
    assert kind.sample(X, 20, random_state=3) != kind.sample(X, 20, random_state=4)
    assert kind.sample(X, 20, random_state=3) != kind.sample(X, 21, random_state=3)


@BOTH
def test_rows_that_all_coincide_have_an_ensemble_of_length_zero(kind):
    X = np.ones((3, 2))
    assert_array_equal(kind.sample(X, 5, random_state=0)(X), np.zeros((3, 3)))


@BOTH
def test_bad_arguments_are_refused(rng, kind):
    X = rng.normal(size=(5, 3))
    with pytest.raises(ValueError, match="n_hypotheses"):
        kind.sample(X, 0)
    with pytest.raises(TypeError, match="n_hypotheses"):
        kind.sample(X, 2.5)
    ensemble = kind.sample(X, 50, random_state=0)
    with pytest.raises(ValueError, match="NaN"):
        ensemble.transform(X * np.nan)
    with pytest.raises(ValueError, match=r"columns|mismatch"):
        ensemble.transform(X[:, :1])
