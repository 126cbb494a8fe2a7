"""The front that all SVMs share."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_iris

from mercer import KernelSVC, PerceptronSVC, StumpSVC
from mercer.kernels import Stump

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
