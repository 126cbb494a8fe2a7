"""The front that all SVMs share."""

from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import softmax
from sklearn.base import clone
from sklearn.datasets import load_iris, make_classification
from sklearn.gaussian_process.kernels import RBF
from sklearn.metrics import log_loss

from mercer import KernelSVC, PerceptronSVC, StumpSVC
from mercer.kernels import Stump
from mercer.machines.classifier import FACTORS, LAPSES
from mercer.machines.labels import LabelledSamples

X, y = load_iris(return_X_y=True)
NAMES = np.array(["c", "a", "b"])[y]
EACH = pytest.mark.parametrize(
    "model",
    [
        StumpSVC(),
        StumpSVC(multi_class="ovr"),
        StumpSVC("cv", Cs=2, cv=2),
        PerceptronSVC(),
        PerceptronSVC("cv", Cs=2, cv=2),
        KernelSVC(Stump()),
        KernelSVC(),
    ],
    ids=repr,
)


@EACH
def test_a_class_without_weight_is_left_out(model):
    kept = NAMES != "c"
    weighted = clone(model).fit(X, NAMES, sample_weight=kept)
    by_class = clone(model).set_params(class_weight={"c": 0.0}).fit(X, NAMES)
    expected = clone(model).fit(X[kept], NAMES[kept])
    for found in (weighted, by_class):
        assert_array_equal(found.classes_, ["a", "b"])
        assert_array_equal(found.predict(X[kept]), expected.predict(X[kept]))


@EACH
def test_one_class_of_positive_weight_is_too_few(model):
    with pytest.raises(ValueError, match=r"two classes .* only one class: .*a"):
        clone(model).fit(X, NAMES, sample_weight=NAMES == "a")
    with pytest.raises(ValueError, match=r"two classes .* only one class"):
        clone(model).fit(X, np.zeros(150))
    with pytest.raises(ValueError, match="no class"):
        clone(model).set_params(class_weight=dict.fromkeys("abc", 0.0)).fit(X, NAMES)


@EACH
def test_weights_of_the_wrong_length_or_sign_are_refused(model):
    with pytest.raises(ValueError, match=r"\(9,\)"):
        clone(model).fit(X, y, sample_weight=np.ones(9))
    with pytest.raises(ValueError, match="Negative values"):
        clone(model).fit(X, y, sample_weight=-np.ones(150))


def test_a_training_part_may_hold_rows_twice():
    twice = np.r_[0:75, 0:75]  # as many as there are rows, but not all of them
    rows = np.random.RandomState(0).permutation(150)
    folds = [(rows[twice], rows[75:])]
    found = StumpSVC("cv", Cs=[1.0], cv=folds).fit(X, y).scores_[0, 0]
    alone = StumpSVC(C=1.0).fit(X[rows[twice]], y[rows[twice]])
    assert_allclose(found, alone.score(X[rows[75:]], y[rows[75:]]))


@pytest.mark.parametrize("n_classes", [2, 3])
def test_where_labels_are_drawn_by_lot_probabilities_say_so(n_classes):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1200, 2))
    y = np.digitize(X[:, 0] + X[:, 1] ** 2, np.linspace(0.0, 2.0, n_classes + 1)[1:-1])
    lots = np.where(rng.random(1200) < 0.15, rng.integers(0, n_classes, 1200), y)
    model = KernelSVC(RBF(1.0), C="cv", loss="log_loss").fit(X[:400], lots[:400])
    p = model.predict_proba(X[400:])
    assert_allclose(p.sum(axis=1), 1.0)
    assert np.array_equal(model.predict(X[400:]), p.argmax(axis=1))
    assert 0.02 <= model._lapse <= 0.1
    assert p.min() >= model._lapse / n_classes
    loss = log_loss(lots[400:], p)
    model._lapse = 0.0
    assert loss < log_loss(lots[400:], model.predict_proba(X[400:]))


def test_the_score_of_each_factor_and_lapse_is_the_log_loss_of_its_probabilities():
    rng = np.random.default_rng(0)
    X, y, weight = rng.normal(size=(60, 2)), rng.integers(0, 3, 60), rng.uniform(0.5, 2.0, 60)
    model = KernelSVC(RBF(1.0), loss="log_loss").fit(X, y)
    values = model._values(X)
    scores = model._log_likelihoods(values, LabelledSamples(X, y, y, weight, weight))
    for score, (factor, lapse) in zip(scores, product(FACTORS, LAPSES), strict=True):
        p = (1.0 - lapse) * softmax(factor * values, axis=1) + lapse / 3
        assert_allclose(-score, log_loss(y, p, sample_weight=weight))


def test_machines_that_are_read_have_no_lots():
    X, y = make_classification(200, flip_y=0.3, random_state=0)
    for model in (KernelSVC(C="cv", loss="log_loss"), StumpSVC("cv", loss="log_loss")):
        p = model.fit(X, y).predict_proba(X)[:, 1]
        assert_allclose(np.log(p / (1.0 - p)), model.decision_function(X), atol=1e-8)
