"""Probabilities: the likeliest ones of their form, and true to samples that were not seen."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize
from sklearn.calibration import _SigmoidCalibration
from sklearn.datasets import make_classification
from sklearn.metrics import brier_score_loss, log_loss
from sklearn.svm import SVC

import mercer
from mercer import KernelSearchCV, StumpSVC
from mercer.search.calibration import fit_calibration


def draw(rng, n, n_classes, slope=2.0, offsets=0.0):
    """Return decision values and classes that are drawn by softmax(slope × decisions + offsets)."""
    D = rng.normal(size=(n, n_classes))
    logits = slope * D + offsets
    chances = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    truth = np.array([rng.choice(n_classes, p=p) for p in chances])
    return (D[:, 1] - D[:, 0] if n_classes == 2 else D), truth


def test_of_two_classes_it_is_the_sigmoid_of_platt_as_scikit_learn_fits_it(rng):
    f, truth = draw(rng, 500, 2, offsets=[0.0, 1.5])
    ours = fit_calibration(f, truth)
    theirs = _SigmoidCalibration().fit(f, truth)
    assert_allclose(ours(f)[:, 1], theirs.predict(f), atol=2e-3)


@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_slope_and_offsets_are_found_again(rng, n_classes):
    offsets = np.linspace(-1.0, 1.0, n_classes)
    found = fit_calibration(*draw(rng, 20000, n_classes, 2.0, offsets))
    assert_allclose(found.slope, 2.0, rtol=0.1)
    assert_allclose(found.offsets, offsets, atol=0.15)
    assert_allclose(found(np.zeros((1, n_classes)) if n_classes > 2 else np.zeros(1)).sum(), 1.0)


def test_no_other_slope_and_offsets_are_likelier(rng):
    D, truth = draw(rng, 300, 3, 1.0, [0.0, 1.0, 2.0])
    weight = rng.uniform(0.5, 2.0, size=300)
    found = fit_calibration(D, truth, weight)
    counts = np.bincount(truth, weight)[truth]
    targets = np.where(
        truth[:, None] == np.arange(3), ((counts + 1) / (counts + 2))[:, None], (0.5 / (counts + 2))[:, None]
    )

    def loss(p):
        logits = p[0] * D + np.array([0.0, p[1], p[2]])
        logs = logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))
        return -np.sum(weight[:, None] * targets * logs)

    best = minimize(loss, [1.0, 0.0, 0.0], method="Nelder-Mead", options={"xatol": 1e-7, "fatol": 1e-9})
    ours = [found.slope, *(found.offsets[1:] - found.offsets[0])]
    assert_allclose(ours, best.x, atol=1e-4)


def test_without_need_there_are_no_offsets_and_the_largest_decision_is_the_most_probable(rng):
    D, truth = draw(rng, 200, 3)
    found = fit_calibration(D, truth)
    assert found.offsets.tolist() == [0.0, 0.0, 0.0]
    assert np.array_equal(np.argmax(found(D), axis=1), np.argmax(D, axis=1))


def test_decisions_that_say_the_contrary_say_nothing_and_units_do_not_matter(rng):
    f, truth = draw(rng, 300, 2)
    assert fit_calibration(-f, truth).slope == 0.0
    assert_allclose(fit_calibration(1e6 * f, truth).slope * 1e6, fit_calibration(f, truth).slope)
    apart = fit_calibration(np.array([-1.0, -1.0, 1.0, 1.0]), np.array([0, 0, 1, 1]))
    assert 0.7 < apart(np.array([1.0]))[0, 1] < 0.8  # of two samples of a class, Platt's target is 3/4
    assert fit_calibration(np.zeros(4), np.array([0, 0, 1, 1]))(np.zeros(1))[0, 0] == 0.5


@pytest.mark.parametrize("n_classes", [2, 3])
def test_probabilities_of_a_search_are_calibrated_on_new_samples(n_classes, tmp_path):
    X, y = make_classification(
        2400, 6, n_informative=4, n_classes=n_classes, flip_y=0.2, class_sep=0.8, random_state=0
    )
    search = KernelSearchCV(
        {"svc": (SVC(), {"C": [0.3, 3.0]}), "stump": StumpSVC(C=0.01)}, cv=3, random_state=0
    )
    search.fit(X[:400], y[:400])
    chances, truth = search.predict_proba(X[400:]), y[400:]
    assert chances.shape == (2000, n_classes)
    assert_allclose(chances.sum(axis=1), 1.0)
    # among samples that are given a chance of about p, the share p is of the class: to three standard errors
    for c in range(n_classes):
        places = np.digitize(chances[:, c], [0.2, 0.4, 0.6, 0.8])
        for k in np.unique(places):
            mine = places == k
            if mine.sum() >= 50:
                p = chances[mine, c].mean()
                assert abs(np.mean(truth[mine] == c) - p) < 0.06 + 3 * np.sqrt(p * (1 - p) / mine.sum())
    priors = np.bincount(y[:400]) / 400
    assert log_loss(truth, chances) < 0.9 * log_loss(truth, np.tile(priors, (2000, 1)))
    if n_classes == 2:
        assert brier_score_loss(truth, chances[:, 1]) < 0.25
    mercer.save(search, tmp_path / "search.mercer")
    assert_allclose(mercer.load(tmp_path / "search.mercer").predict_proba(X[:9]), search.predict_proba(X[:9]))


def test_who_has_no_decision_values_has_probabilities_all_the_same(rng):
    from sklearn.tree import DecisionTreeClassifier

    X = rng.normal(size=(200, 2))
    y = (X[:, 0] > 0).astype(int)
    search = KernelSearchCV({"tree": DecisionTreeClassifier(max_depth=1)}, cv=2, random_state=0).fit(X, y)
    chances = search.predict_proba(np.array([[-2.0, 0.0], [2.0, 0.0]]))
    assert chances[0, 0] > 0.9
    assert chances[1, 1] > 0.9
