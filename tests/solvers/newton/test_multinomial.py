"""The multinomial log-loss against scikit-learn's logistic regression, and its own optimality conditions."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import softmax
from sklearn.datasets import load_iris
from sklearn.gaussian_process.kernels import RBF
from sklearn.linear_model import LogisticRegression

from mercer import KernelSVC
from mercer.solvers.newton import Axes, centre, solve_softmax_path


@pytest.fixture
def rows():
    X, y = load_iris(return_X_y=True)
    return X - X.mean(axis=0), y, np.random.default_rng(0).uniform(0.5, 2.0, size=len(y))


@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
def test_with_features_it_is_logistic_regression(rows, C):
    X, y, weight = rows
    (found,) = solve_softmax_path(Axes.of_features(X), y, weight, 3, [C], tol=1e-8)
    expected = LogisticRegression(C=C, tol=1e-10, max_iter=100_000).fit(X, y, sample_weight=weight)
    assert_allclose(softmax(X @ found.coef + found.bias, axis=1), expected.predict_proba(X), atol=1e-4)
    assert found.residual <= 1e-8


def test_at_the_minimum_the_rows_are_pulled_by_what_their_probabilities_lack(rows):
    X, y, weight = rows
    K, _ = centre(RBF()(X))
    (found,) = solve_softmax_path(Axes.of_gram(K), y, weight, 3, [2.0], tol=1e-8)
    P = softmax(K @ found.coef + found.bias, axis=1)
    assert_allclose(K @ found.coef, K @ (2.0 * weight[:, None] * (np.eye(3)[y] - P)), atol=1e-5)
    assert_allclose(weight @ (np.eye(3)[y] - P), 0.0, atol=1e-6)


def test_a_path_has_the_minimum_of_each_penalty_and_a_matrix_that_of_its_features(rows):
    X, y, weight = rows
    Cs = [0.1, 1.0, 10.0]
    path = list(solve_softmax_path(Axes.of_features(X), y, weight, 3, Cs, tol=1e-8))
    grams = list(solve_softmax_path(Axes.of_gram(X @ X.T), y, weight, 3, Cs, tol=1e-8))
    for C, along, gram in zip(Cs, path, grams, strict=True):
        (alone,) = solve_softmax_path(Axes.of_features(X), y, weight, 3, [C], tol=1e-8)
        assert along.objective == pytest.approx(alone.objective, rel=1e-6)
        assert_allclose(X @ along.coef, X @ (X.T @ gram.coef), atol=1e-3)


def test_predictions_are_the_most_probable_classes_of_the_softmax():
    X, y = load_iris(return_X_y=True)
    model = KernelSVC(RBF(), loss="log_loss").fit(X, y)
    assert_allclose(model.predict_proba(X), softmax(model.decision_function(X), axis=1), atol=1e-12)
    assert (model.predict(X) == model.classes_[model.predict_proba(X).argmax(axis=1)]).all()
    with pytest.raises(ValueError, match="multi_class='auto'"):
        KernelSVC(RBF(), multi_class="multinomial").fit(X, y)
