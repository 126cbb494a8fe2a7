import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.preprocessing import StandardScaler

import mercer
from mercer import ClippedScaler


def test_without_outliers_it_is_the_standard_scaler(rng):
    X = rng.uniform(size=(50, 3)) * [1.0, 100.0, 0.01]
    assert_allclose(ClippedScaler().fit_transform(X), StandardScaler().fit_transform(X), rtol=1e-12)


def test_fences_are_tukeys():
    X = np.array([0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 100.0])[:, None]
    scaler = ClippedScaler().fit(X)  # the quartiles are 1 and 5, the second and the sixth of eight values
    assert (scaler.low_[0], scaler.high_[0]) == (1 - 1.5 * 4, 5 + 1.5 * 4)
    clipped = np.array([0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 11.0])
    assert_allclose(scaler.transform(X)[:, 0], (clipped - clipped.mean()) / clipped.std())
    assert ClippedScaler(reach=3.0).fit(X).high_[0] == 5 + 3 * 4


def test_one_wild_value_hardly_moves_the_others(rng):
    X = rng.uniform(size=(200, 1))
    calm = ClippedScaler().fit_transform(X)
    X[0] = 55.0
    wild = ClippedScaler().fit_transform(X)
    assert np.abs(wild[1:] - calm[1:]).max() < 0.1
    assert np.abs(StandardScaler().fit_transform(X)[1:] - calm[1:]).max() > 1.0


def test_a_feature_that_is_mostly_zero_keeps_its_other_values():
    values = np.concatenate([np.zeros(80), np.linspace(1, 2, 19), [1000.0]])
    scaler = ClippedScaler().fit(values[:, None])
    assert scaler.low_[0] <= 0.0
    assert 2.0 < scaler.high_[0] < 4.0
    binary = np.array([0.0] * 90 + [1.0] * 10)[:, None]
    assert_array_equal(np.unique(ClippedScaler().fit(binary).transform(binary)).size, 2)


@pytest.mark.parametrize("times", [1, 3])
def test_weights_are_repeated_samples(rng, times):
    X = rng.standard_t(1, size=(40, 3))
    weight = rng.integers(1, 4, size=40)
    ours = ClippedScaler().fit(X, sample_weight=times * weight)
    expected = ClippedScaler().fit(np.repeat(X, times * weight, axis=0))
    for name in ("low_", "high_", "mean_", "scale_"):
        assert_allclose(getattr(ours, name), getattr(expected, name), rtol=1e-10)


def test_a_constant_feature_becomes_zero():
    assert_array_equal(ClippedScaler().fit_transform(np.full((5, 1), 7.0)), np.zeros((5, 1)))


def test_the_inverse_gives_back_what_was_not_clipped(rng):
    X = rng.normal(size=(100, 2))
    scaler = ClippedScaler().fit(X)
    clipped = np.clip(X, scaler.low_, scaler.high_)
    assert_allclose(scaler.inverse_transform(scaler.transform(X)), clipped, atol=1e-12)


def test_it_is_saved_and_loaded(rng, tmp_path):
    X = rng.standard_t(1, size=(40, 3))
    scaler = ClippedScaler().fit(X)
    mercer.save(scaler, tmp_path / "scaler")
    assert_array_equal(mercer.load(tmp_path / "scaler").transform(X), scaler.transform(X))
