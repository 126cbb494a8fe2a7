"""A search's result: one value, the same after a journey through JSON, and true to what was fitted."""

import json

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import make_classification
from sklearn.svm import SVC

from mercer import KernelSearchCV, KernelSVC, Pairs, StumpSVC
from mercer.commands.outputs import as_json
from mercer.search import SearchResult, default_candidates
from mercer.search.pairs import PairTask
from mercer.search.result import FINISHED
from mercer.search.task import LabelTask

SOME = {
    "linear": (KernelSVC(), {"C": [0.01, 0.1, 1.0]}),
    "stump": (StumpSVC(), {"C": [2.0**-10, 2.0**-7, 2.0**-4]}),
    "RBF-SVM": (SVC(), {"C": [0.5, 4.0, 32.0], "gamma": [0.05, 0.2]}),
}


def noisy(seed, n=60):
    return make_classification(n, 5, n_informative=2, flip_y=0.2, random_state=seed)


@pytest.mark.parametrize("seed", range(30))
def test_the_leaderboard_shows_the_setting_that_was_fitted(seed):
    search = KernelSearchCV(SOME, cv=4, random_state=seed).fit(*noisy(seed))
    line = search.result_.candidate(search.best_name_)
    assert line.settings == search.best_settings_
    assert line.settings.items() <= search.best_estimator_[-1].get_params().items()
    assert line.status == FINISHED


def test_the_result_is_the_same_after_json():
    X, y = noisy(0)
    for fitted in (
        KernelSearchCV(SOME, cv=3, random_state=0).fit(X, y),
        KernelSearchCV(["plain", "boosted"], cv=2, random_state=0).fit(X, pairs=Pairs.from_labels(y)),
    ):
        result = fitted.result_
        again = SearchResult.from_dict(json.loads(json.dumps(as_json(result.as_dict()), allow_nan=False)))
        assert again.as_table().equals(result.as_table())
        assert repr(again) == repr(result)


def test_candidates_are_ranked_best_first_and_the_winner_is_one_of_them():
    result = KernelSearchCV(SOME, cv=3, random_state=0).fit(*noisy(1)).result_
    values = [one.measure.value for one in result.candidates]
    assert_array_equal(values, np.sort(values))
    assert result.winner in result.names()
    assert result.listed == ("linear", "stump", "RBF-SVM")
    assert result.reference == "RBF-SVM"
    assert result.measure.low <= result.measure.value <= result.measure.high
    assert result.n_fitted == 60


def test_the_names_of_proposed_candidates_are_those_that_a_task_says():
    assert tuple(one.name for one in default_candidates(100, 3, 0)) == LabelTask.names
    assert {one.name for one in default_candidates(100, 3, 0, unlabelled=True)} == set(LabelTask.names)
    pairs = PairTask(np.zeros((3, 1)), Pairs([(0, 1)], [(0, 2)]).check(3))
    assert tuple(one.name for one in pairs.candidates(None, 0)) == PairTask.names


def test_a_search_that_was_fitted_to_labels_has_no_auc_and_one_to_pairs_no_error():
    X, y = noisy(0)
    search = KernelSearchCV({"stump": StumpSVC()}, cv=2, random_state=0)
    assert not hasattr(search.fit(X, y), "auc_")
    search = KernelSearchCV(["plain", "boosted"], cv=2, random_state=0).fit(X, pairs=Pairs.from_labels(y))
    assert not hasattr(search, "error_")
    assert not hasattr(search, "classes_")


class Bare(ClassifierMixin, BaseEstimator):
    """A classifier that says nothing of its classes, and fails on many samples if it is told to."""

    def __init__(self, most=10**9):
        self.most = most

    def fit(self, X, y):
        if len(X) > self.most:
            raise RuntimeError("too many")
        self.labels_ = np.unique(y)
        return self

    def predict(self, X):
        return self.labels_[(X[:, 0] > 0).astype(int)]


def test_classes_are_known_whatever_the_winner_says():
    X, y = noisy(0)
    assert_array_equal(KernelSearchCV({"bare": Bare()}, cv=2, random_state=0).fit(X, y).classes_, [0, 1])


def test_a_last_fit_that_fails_leaves_the_result_of_the_fit_before():
    X, y = noisy(0)
    search = KernelSearchCV({"stump": StumpSVC()}, cv=2, random_state=0).fit(X, y)
    before = search.result_
    with pytest.raises(RuntimeError, match="too many"):
        search.set_params(candidates={"bare": Bare(most=30)}).fit(X, y)
    assert search.result_ is before
    assert search.best_name_ == "stump"


def test_while_it_runs_nothing_is_selected():
    class Look:
        def setup(self, estimator, context):
            pass

        teardown = on_fit_task_begin = lambda self, estimator, context, **_: None

        def on_fit_task_end(self, estimator, context, **_):
            if context.task_name == "candidate":
                assert not hasattr(estimator, "best_name_")
                assert not hasattr(estimator, "error_")
                assert set(estimator.leaderboard_.index) == {"stump", "always 0"}
                seen.append(estimator.result_.winner)

    seen = []
    X, y = noisy(0)
    search = KernelSearchCV({"stump": StumpSVC()}, cv=2, random_state=0).set_callbacks(Look()).fit(X, y)
    assert seen == [None, None]
    assert search.best_name_ == "stump"


def test_the_winner_of_pairs_is_fitted_to_what_was_searched_on(rng):
    X = rng.normal(size=(3000, 3))
    pairs = Pairs(rng.integers(3000, size=(40, 2)), rng.integers(3000, size=(40, 2)))
    pairs = Pairs(*(kind[kind[:, 0] != kind[:, 1]] for kind in pairs))
    search = KernelSearchCV(["plain", "boosted"], cv=2, random_state=0).fit(X, pairs=pairs)
    assert search.rows_used_ <= 1000 + len(np.unique(np.vstack(pairs)))
