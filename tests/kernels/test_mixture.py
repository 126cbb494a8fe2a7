"""Mixture: probabilities of a common component, against scikit-learn's mixtures and the formula."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import multivariate_normal
from sklearn.base import clone
from sklearn.mixture import GaussianMixture
from sklearn.svm import SVC

from mercer.kernels import Mixture, mixture

EACH_SHAPE = pytest.mark.parametrize("shape", ["full", "tied", "diag"])


def some_mixture(rng, shape="full", T=3, M=4, d=2):
    heads = {"full": (T, M, d, d), "tied": (T, 1, d, d), "diag": (T, M, d)}
    factors = rng.normal(size=heads[shape]) + (2.0 if shape == "diag" else 2.0 * np.eye(d))
    return Mixture(rng.uniform(size=T), rng.normal(size=(T, M)), 2.0 * rng.normal(size=(T, M, d)), factors)


def literal(kernel, x, z):
    """Σ_t α_t Σ_j p_t(j|x) p_t(j|z), one pair and one component at a time."""

    def posterior(row, t):
        values = []
        for j, mean in enumerate(kernel.means[t]):
            P = kernel.factors[t][min(j, len(kernel.factors[t]) - 1)]
            P = np.diag(P) if P.ndim == 1 else P
            values.append(np.exp(kernel.offsets[t, j] - 0.5 * (row - mean) @ P @ P.T @ (row - mean)))
        return np.array(values) / np.sum(values)

    return sum(a * posterior(x, t) @ posterior(z, t) for t, a in enumerate(kernel.alpha))


@EACH_SHAPE
def test_it_is_the_sum_over_mixtures_and_components(rng, shape):
    kernel = some_mixture(rng, shape)
    X, new = rng.normal(size=(6, 2)), rng.normal(size=(4, 2))
    expected = [[literal(kernel, x, z) for z in new] for x in X]
    assert_allclose(kernel(X, new), expected, rtol=1e-10)


def test_its_posteriors_are_those_of_scikit_learns_mixtures(rng):
    X = np.vstack([rng.normal(size=(30, 3)), 3.0 + rng.normal(size=(30, 3))])
    gmm = GaussianMixture(3, random_state=0).fit(X)
    offsets = np.log(gmm.weights_) + np.log(np.linalg.det(gmm.precisions_cholesky_))
    kernel = Mixture(np.array([1.0]), offsets[None], gmm.means_[None], gmm.precisions_cholesky_[None])
    assert_allclose(kernel.transform(X), gmm.predict_proba(X), atol=1e-10)
    assert_allclose(kernel.covariances(0), gmm.covariances_, rtol=1e-8)


@EACH_SHAPE
def test_its_features_reproduce_it_and_it_is_psd_between_zero_and_the_sum_of_alpha(rng, shape):
    kernel = some_mixture(rng, shape)
    X, new = rng.normal(size=(9, 2)), rng.normal(size=(4, 2))
    assert kernel.transform(X).shape == (9, 12)
    assert_array_equal(kernel(X, new), kernel.transform(X) @ kernel.transform(new).T)
    K = kernel(X)
    assert_array_equal(K, K.T)
    assert np.linalg.eigvalsh(K).min() > -1e-12
    assert K.min() >= 0.0
    assert K.max() <= kernel.alpha.sum() * (1 + 1e-12)
    assert_allclose(kernel.diag(X), np.diag(K), rtol=1e-12)
    assert_allclose((kernel.transform(X) ** 2).sum(axis=1), np.diag(K), rtol=1e-12)


@EACH_SHAPE
def test_covariances_are_what_the_factors_are_made_of(rng, shape):
    kernel = some_mixture(rng, shape)
    x = rng.normal(size=2)
    for t in range(3):
        covariances = kernel.covariances(t)
        assert covariances.shape == (4, 2, 2)
        for j in range(4):
            P = kernel.factors[t][min(j, len(kernel.factors[t]) - 1)]
            P = np.diag(P) if P.ndim == 1 else P
            mean = kernel.means[t, j]
            expected = multivariate_normal(mean, covariances[j]).logpdf(x)
            found = np.log(abs(np.linalg.det(P))) - np.log(2 * np.pi) - 0.5 * np.sum(((x - mean) @ P) ** 2)
            assert found == pytest.approx(expected)


def test_rows_taken_in_blocks_are_the_same(rng, monkeypatch):
    kernel, X = some_mixture(rng), rng.normal(size=(50, 2))
    whole = kernel.transform(X)
    monkeypatch.setattr(mixture, "_BLOCK", 7 * 4 * 2)
    assert_allclose(kernel.transform(X), whole, rtol=1e-12, atol=1e-15)


def test_far_from_zero_and_from_all_components_it_keeps_its_digits(rng):
    kernel, X = some_mixture(rng), rng.normal(size=(5, 2))
    moved = Mixture(kernel.alpha, kernel.offsets, kernel.means + 1e6, kernel.factors)
    assert_allclose(moved(X + 1e6), kernel(X), rtol=1e-6)
    far = kernel.transform(1e8 * np.ones((1, 2)))  # all densities underflow
    assert_allclose((far.reshape(3, 4) / np.sqrt(kernel.alpha)[:, None]).sum(axis=1), 1.0)


def test_clones_and_pickles_are_equal_and_it_stands_in_scikit_learns_svm(rng):
    kernel, X = some_mixture(rng), rng.normal(size=(9, 2))
    for copy in (clone(kernel), pickle.loads(pickle.dumps(kernel))):
        assert copy == kernel
        assert_array_equal(copy(X), kernel(X))
    assert kernel != Mixture(2 * kernel.alpha, kernel.offsets, kernel.means, kernel.factors)
    assert not kernel.is_stationary()
    y = np.arange(9) % 2
    rival = SVC(kernel="precomputed").fit(kernel(X), y).decision_function(kernel(X))
    assert_allclose(SVC(kernel=kernel).fit(X, y).decision_function(X), rival)


def test_rows_of_another_width_are_refused(rng):
    with pytest.raises(ValueError, match="X has 3 columns, but the kernel was made for 2"):
        some_mixture(rng).transform(np.ones((4, 3)))
    with pytest.raises(ValueError, match="NaN"):
        some_mixture(rng).transform(np.full((4, 2), np.nan))
