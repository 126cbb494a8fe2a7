"""Trees as arrays say what scikit-learn's say, and can be saved."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import make_classification
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)

from mercer import KernelSearchCV, load, save
from mercer.kernels import Forest
from mercer.search.trees import (
    BoostingClassifier,
    BoostingRegressor,
    ForestClassifier,
    ForestRegressor,
)


def draw(n_classes):
    X, y = make_classification(
        150, 6, n_informative=4, n_redundant=0, n_classes=n_classes, n_clusters_per_class=1, random_state=0
    )
    X, weight = X.astype(np.float32).astype(np.float64), 0.5 + np.arange(150) % 3
    return X[:100], np.array(list("pqrs"))[y[:100]], weight[:100], X[100:]


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("balance", [None, "balanced"])
def test_boosted_trees_say_what_those_of_scikit_learn_say(n_classes, balance):
    X, y, weight, new = draw(n_classes)
    given = {"learning_rate": 0.2, "max_leaf_nodes": 5, "class_weight": balance, "random_state": 0}
    ours = BoostingClassifier(8, **given).fit(X, y, weight)
    theirs = HistGradientBoostingClassifier(max_iter=8, early_stopping=False, **given).fit(X, y, weight)
    assert_allclose(ours.decision_function(new), theirs.decision_function(new), atol=1e-6)
    assert_array_equal(ours.predict(new), theirs.predict(new))


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("random_splits", [True, False])
def test_a_forest_says_the_logarithms_of_its_shares(n_classes, random_splits):
    X, y, weight, new = draw(n_classes)
    ours = ForestClassifier(20, random_splits, 3, random_state=0).fit(X, y, weight)
    kind, tried = (ExtraTreesClassifier, 0.5) if random_splits else (RandomForestClassifier, "sqrt")
    theirs = kind(20, min_samples_leaf=3, max_features=tried, random_state=0).fit(X, y, weight)
    shares = (20.0 * theirs.predict_proba(new) + 1.0 / n_classes) / 21.0
    logs = np.log(shares)
    expected = logs[:, 1] - logs[:, 0] if n_classes == 2 else logs
    assert_allclose(ours.decision_function(new), expected, atol=1e-5)


@pytest.mark.parametrize("unit", [1.0, 1e12])
def test_numbers_are_those_of_scikit_learn(unit):
    X, _, weight, new = draw(2)
    y = unit * (3.0 + X[:, 0] * X[:, 1])
    boosting = HistGradientBoostingRegressor(max_iter=7, max_leaf_nodes=6, early_stopping=False)
    ours = BoostingRegressor(7, max_leaf_nodes=6).fit(X, y, weight)
    theirs = boosting.fit(X, (y - y.mean()) / y.std(), weight)
    assert_allclose((ours.predict(new) - y.mean()) / y.std(), theirs.predict(new), atol=1e-6)
    for random_splits, kind, tried in (
        (True, ExtraTreesRegressor, 1.0),
        (False, RandomForestRegressor, 1 / 3),
    ):
        forest = ForestRegressor(9, random_splits, 2, random_state=0).fit(X, y, weight)
        other = kind(9, min_samples_leaf=2, max_features=tried, random_state=0).fit(X, y, weight)
        assert_allclose(forest.predict(new), other.predict(new), rtol=1e-12)


def test_many_rows_are_taken_block_by_block(monkeypatch):
    X, y, _, new = draw(4)
    forest = ForestClassifier(7, random_state=0).fit(X, y)
    whole = forest.decision_function(new)
    monkeypatch.setattr("mercer.search.trees.BLOCK", 21)
    assert_array_equal(forest.decision_function(new), whole)


@pytest.mark.parametrize("kind", [ForestClassifier, BoostingClassifier])
def test_a_search_among_trees_is_loaded_as_it_was_saved(kind, tmp_path):
    X, y, _, new = draw(4)
    search = KernelSearchCV({"trees": kind(5, random_state=0)}, cv=2, random_state=0).fit(X, y)
    save(search, tmp_path / "trees.mercer")
    assert_array_equal(load(tmp_path / "trees.mercer").predict_proba(new), search.predict_proba(new))


@pytest.mark.parametrize("name", ["low", "high", "feature", "roots"])
def test_trees_that_lead_elsewhere_are_refused(name, tmp_path):
    X, y, _, new = draw(4)
    kernel = ForestClassifier(2, random_state=0).fit(X, y).kernel_
    below, beyond = (
        Forest(**{**kernel.get_params(), name: sign * 10**6 + getattr(kernel, name)}) for sign in (-1, 1)
    )
    for wrong in (below, beyond):
        with pytest.raises(TypeError, match=f"{name} of a mercer.kernels.Forest"):
            save(wrong, tmp_path / "trees.mercer")
    with pytest.raises(IndexError):  # of NumPy, which reads nothing there
        beyond.leaves(new)
