"""Laws that every machine obeys, on drawn tables; HYPOTHESIS=explore draws others."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone, is_classifier
from sklearn.gaussian_process.kernels import RBF
from sklearn.svm import SVC

import mercer
from mercer import (
    KernelRegressor,
    KernelSVC,
    PerceptronRegressor,
    PerceptronSVC,
    StumpRegressor,
    StumpSVC,
    TreeRegressor,
    TreeSVC,
)

TIGHT = {"C": 1.0, "tol": 1e-7}
MACHINES = [
    StumpSVC(**TIGHT),
    StumpSVC(**TIGHT, loss="log_loss"),
    StumpSVC(**TIGHT, max_bins=4),
    PerceptronSVC(**TIGHT, loss="log_loss"),
    TreeSVC(**TIGHT, loss="squared_error"),
    KernelSVC(RBF(1.0), **TIGHT, loss="log_loss"),
    StumpRegressor(**TIGHT),
    StumpRegressor(**TIGHT, max_bins=4),
    PerceptronRegressor(**TIGHT, loss="epsilon_insensitive"),
    TreeRegressor(**TIGHT),
    KernelRegressor(RBF(1.0), **TIGHT),
]
ALL = pytest.mark.parametrize("machine", MACHINES, ids=lambda machine: repr(machine).replace("\n", ""))
SEEDS = st.integers(0, 2**32 - 1)
few = settings(max_examples=8, deadline=None)
NEAR = 2e-3  # of decision values and standardised targets: three times what tol leaves at most


def draw(seed, machine):
    """Draw a table; of two classes for the hinge, whose votes of several leap where a decision is zero."""
    n_classes, rng = 2 if getattr(machine, "loss", "") == "hinge" else 3, np.random.default_rng(seed)
    n, d = int(rng.integers(12, 30)), int(rng.integers(1, 5))
    X = np.round(rng.standard_normal((n, d)), 1)
    X[:, 0] += 0.01 * np.arange(n)  # no column is constant
    label = np.append(np.arange(n_classes), rng.integers(0, n_classes, n - n_classes))
    return X, label, X.sum(axis=1) + rng.standard_normal(n), rng


def fit(machine, X, label, number, weight=None):
    y = label if is_classifier(machine) else number
    return clone(machine).fit(X, y, sample_weight=weight)


def values(model, X):
    return model.decision_function(X) if is_classifier(model) else model.predict(X)


@ALL
@few
@given(seed=SEEDS)
def test_the_order_of_samples_and_features_does_not_matter(machine, seed):
    X, label, number, rng = draw(seed, machine)
    rows, columns = rng.permutation(len(X)), rng.permutation(X.shape[1])
    usual = values(fit(machine, X, label, number), X)
    other = values(fit(machine, X[rows][:, columns], label[rows], number[rows]), X[:, columns])
    assert_allclose(other, usual, atol=NEAR)


@ALL
@few
@given(seed=SEEDS)
def test_a_sample_that_is_there_twice_is_one_of_weight_two(machine, seed):
    if getattr(machine, "max_bins", None) is not None or isinstance(machine, TreeSVC | TreeRegressor):
        pytest.skip("bins, and the median distance, are those of the samples as they are")
    X, label, number, rng = draw(seed, machine)
    times = rng.integers(1, 3, len(X))
    weighted = fit(machine, X, label, number, times.astype(float))
    repeated = fit(machine, *(np.repeat(part, times, axis=0) for part in (X, label, number)))
    assert_allclose(values(repeated, X), values(weighted, X), atol=NEAR)


@ALL
@few
@given(seed=SEEDS)
def test_a_sample_of_weight_zero_is_one_that_is_not_there(machine, seed):
    X, label, number, rng = draw(seed, machine)
    weight = np.append(np.ones(3), rng.integers(0, 2, len(X) - 3))
    kept = weight > 0
    left_out = fit(machine, X[kept], label[kept], number[kept])
    assert_allclose(values(fit(machine, X, label, number, weight), X), values(left_out, X), atol=NEAR)


@ALL
@few
@given(seed=SEEDS)
def test_other_names_of_the_classes_or_units_of_the_targets_change_nothing_else(machine, seed):
    X, label, number, _ = draw(seed, machine)
    names = np.array(["apple", "pear", "quince"])  # in the same order
    usual, other = (fit(machine, X, *targets) for targets in ((label, number), (names[label], 8.0 * number)))
    if is_classifier(machine):
        assert_array_equal(other.predict(X), names[usual.predict(X)])
        assert_array_equal(values(other, X), values(usual, X))
    elif machine.loss == "squared_error":  # eight times is exact, and ε is in units of the target
        assert_allclose(values(other, X), 8.0 * values(usual, X), atol=8 * NEAR)


@ALL
@few
@given(seed=SEEDS)
def test_a_sample_is_predicted_alone_as_among_others(machine, seed):
    X, label, number, _ = draw(seed, machine)
    model = fit(machine, X, label, number)
    alone = np.concatenate([values(model, row[None, :]) for row in X])
    assert_allclose(alone, values(model, X), rtol=1e-9, atol=1e-9)


@ALL
@few
@given(seed=SEEDS)
def test_once_more_on_two_threads_or_from_a_file_it_is_the_same(machine, seed, tmp_path_factory):
    X, label, number, _ = draw(seed, machine)
    model = fit(machine, X, label, number)
    expected = values(model, X)
    assert_array_equal(values(fit(machine, X, label, number), X), expected)
    assert_array_equal(values(fit(clone(machine).set_params(n_jobs=2), X, label, number), X), expected)
    path = tmp_path_factory.mktemp("law") / "model"
    mercer.save(model, path)
    assert_array_equal(values(mercer.load(path), X), expected)


@few
@given(seed=SEEDS)
def test_with_the_hinge_it_is_the_problem_of_libsvm(seed):
    ours = KernelSVC(RBF(1.0), C=1.0, tol=1e-6)
    X, label, _, _ = draw(seed, ours)
    ours.fit(X, label)
    theirs = SVC(kernel="rbf", gamma=0.5, C=1.0, tol=1e-6).fit(X, label)
    assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-3)
