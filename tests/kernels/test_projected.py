"""Projected: the inner product of projections, against sums over landmarks."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.gaussian_process.kernels import RBF, DotProduct
from sklearn.svm import SVC

from mercer.kernels import Projected, projected


@pytest.fixture
def shapes(rng):
    """Rows, new rows, landmarks, and coefficients on the landmarks and on the columns."""
    return (rng.normal(size=s) for s in [(7, 3), (4, 3), (5, 3), (5, 2), (3, 2)])


def literal(x, z, landmarks, coef, base):
    """Σ_t Σ_rs A_rt A_st κ(x, z_r) κ(z, z_s)."""
    total = 0.0
    for t in range(coef.shape[1]):
        for r, first in enumerate(landmarks):
            for s, second in enumerate(landmarks):
                total += coef[r, t] * coef[s, t] * base([x], [first])[0, 0] * base([z], [second])[0, 0]
    return total


def test_it_is_the_sum_over_directions_and_landmarks(shapes):
    X, new, landmarks, coef, _ = shapes
    kernel = Projected(coef, RBF(1.2), landmarks)
    expected = [[literal(x, z, landmarks, coef, RBF(1.2)) for z in new] for x in X]
    assert_allclose(kernel(X, new), expected, rtol=1e-12)


def test_without_a_base_the_directions_are_vectors_of_the_input_space(shapes):
    X, new, _, _, coef = shapes
    expected = [[sum((x @ w) * (z @ w) for w in coef.T) for z in new] for x in X]
    assert_allclose(Projected(coef)(X, new), expected, rtol=1e-12)


def test_the_inner_product_as_base_gives_the_same_as_none(shapes):
    X, _, landmarks, coef, _ = shapes
    plain = Projected(landmarks.T @ coef)
    assert_allclose(Projected(coef, DotProduct(0.0), landmarks)(X), plain(X), rtol=1e-12)


@pytest.mark.parametrize("with_base", [True, False])
def test_its_features_reproduce_it_and_it_is_psd_and_symmetric(shapes, with_base):
    X, new, landmarks, coef, plain = shapes
    kernel = Projected(coef, RBF(), landmarks) if with_base else Projected(plain)
    assert kernel.transform(X).shape == (7, 2)
    assert_array_equal(kernel(X, new), kernel.transform(X) @ kernel.transform(new).T)
    K = kernel(X)
    assert_array_equal(K, K.T)
    assert np.linalg.eigvalsh(K).min() > -1e-12 * np.abs(K).max()
    assert_allclose(kernel.diag(X), np.diag(K), rtol=1e-12)


def test_clones_and_pickles_are_equal(shapes):
    X, _, landmarks, coef, _ = shapes
    kernel = Projected(coef, RBF(0.5), landmarks)
    for copy in (clone(kernel), pickle.loads(pickle.dumps(kernel))):
        assert copy == kernel
        assert_array_equal(copy(X), kernel(X))
    assert kernel != Projected(coef, RBF(0.6), landmarks)
    assert kernel != Projected(coef, RBF(0.5), landmarks + 1)
    assert kernel != Projected(-coef, RBF(0.5), landmarks)
    assert not kernel.is_stationary()


def test_a_kernel_without_directions_is_zero(shapes):
    X, new, landmarks, _, _ = shapes
    for kernel in (Projected(np.zeros((3, 0))), Projected(np.zeros((5, 0)), RBF(), landmarks)):
        assert kernel.transform(X).shape == (7, 0)
        assert_array_equal(kernel(X, new), np.zeros((7, 4)))


def test_it_stands_in_scikit_learns_svm(shapes):
    X, new, landmarks, coef, _ = shapes
    y = [0, 1, 0, 1, 0, 1, 1]
    kernel = Projected(coef, RBF(), landmarks)
    rival = SVC(kernel="precomputed").fit(kernel(X), y).decision_function(kernel(new, X))
    assert_allclose(SVC(kernel=kernel).fit(X, y).decision_function(new), rival)


@pytest.mark.parametrize("base", [None, RBF()])
def test_rows_of_another_width_are_refused(shapes, base):
    _, _, landmarks, coef, plain = shapes
    kernel = Projected(plain) if base is None else Projected(coef, base, landmarks)
    with pytest.raises(ValueError, match="X has 2 columns, but the kernel was made for 3"):
        kernel.transform(np.ones((4, 2)))
    with pytest.raises(ValueError, match="NaN"):
        kernel.transform(np.full((4, 3), np.nan))


def test_of_many_rows_the_values_of_the_base_are_held_some_at_a_time(shapes, monkeypatch):
    X, _, landmarks, coef, _ = shapes
    whole, sizes = Projected(coef, RBF(), landmarks).transform(X), []
    monkeypatch.setattr(projected, "BLOCK", 10)  # two rows of five landmarks
    compute = projected.gram_of
    monkeypatch.setattr(projected, "gram_of", lambda *args: sizes.append(len(args[1])) or compute(*args))
    assert_allclose(Projected(coef, RBF(), landmarks).transform(X), whole, rtol=1e-12)
    assert sizes == [2, 2, 2, 1]
