"""Groups and weights of samples: as arguments, through pipelines, and by scikit-learn's routing."""

import numpy as np
import pytest
import sklearn
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import make_classification
from sklearn.ensemble import StackingClassifier
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import (
    GroupKFold,
    LeaveOneGroupOut,
    RepeatedStratifiedKFold,
    cross_val_score,
    cross_validate,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from mercer import ClippedScaler, KernelSearchCV, KernelSVC, StumpSVC, TreeSVC
from search.odd_classifiers import Sign, start_journal, two_blobs

X, Y = make_classification(120, 4, flip_y=0.1, random_state=0)
GROUPS = np.arange(120) // 6
TWO = {"linear": KernelSVC(), "stump": (StumpSVC(), {"C": [0.01, 0.1]})}


def test_no_group_is_learned_from_and_tested_on():
    journal = start_journal()
    rows, y = two_blobs(60)
    rows[:, 1] = groups = np.arange(60) // 4
    KernelSearchCV({"sign": Sign("sign")}, cv=3, random_state=0).fit(rows, y, groups=groups)
    for (_, seen, _), (_, tested) in zip(journal.fits[:3], journal.predictions[:3], strict=True):
        first, second = len(np.unique(seen[:, 1])), len(np.unique(tested[:, 1]))
        assert first + second == 15  # as if each group were of one part


def test_samples_of_a_group_count_as_less_than_as_many_others():
    rng = np.random.default_rng(0)
    X = np.repeat(rng.normal(size=(30, 4)), 10, axis=0)  # each ten times
    y = np.repeat((X[::10, 0] + rng.normal(size=30) > 0).astype(int), 10)
    groups = np.repeat(np.arange(30), 10)
    model = {"linear": KernelSVC()}
    alone = KernelSearchCV(model, random_state=0).fit(X, y)
    together = KernelSearchCV(model, random_state=0).fit(X, y, groups=groups)
    assert alone.error_ < together.error_  # who was seen before is known by heart
    widths = [search.result_.measure.high - search.result_.measure.low for search in (alone, together)]
    assert widths[1] > 1.5 * widths[0]


def test_weights_are_as_good_as_samples_that_are_repeated(rng):
    weight = rng.integers(0, 4, size=120)
    parts = np.arange(120) % 3
    rows = np.repeat(np.arange(120), weight)
    clear = {"linear": KernelSVC(), "stump": (StumpSVC(), {"C": [1e-6]})}  # the winner is no matter of luck
    once = KernelSearchCV(clear, cv=list(LeaveOneGroupOut().split(X, Y, parts)), random_state=0)
    again = KernelSearchCV(
        clear, cv=list(LeaveOneGroupOut().split(X[rows], Y[rows], parts[rows])), random_state=0
    )
    once.fit(X, Y, sample_weight=weight)
    again.fit(X[rows], Y[rows])
    for name in ("split0_test_score", "mean_test_score"):
        assert_allclose(once.cv_results_[name], again.cv_results_[name], atol=1e-9)
    assert once.best_params_ == again.best_params_
    assert_allclose(once.decision_function(X), again.decision_function(X), rtol=0.1)


def test_who_takes_no_weights_is_named():
    start_journal()
    with pytest.raises(TypeError, match="candidate 'sign' takes no sample_weight"):
        KernelSearchCV({"sign": Sign("sign")}).fit(X, Y, sample_weight=np.ones(120))


def test_groups_and_weights_come_by_routing_and_through_a_pipeline():
    search = KernelSearchCV(TWO, cv=GroupKFold(3), random_state=0)
    given = {"groups": GROUPS, "sample_weight": np.ones(120)}
    direct = search.fit(X, Y, **given).result_
    pipe = make_pipeline(StandardScaler(), search)
    name = "kernelsearchcv"
    pipe.fit(X, Y, **{f"{name}__{key}": value for key, value in given.items()})
    assert pipe[-1].result_.measure == direct.measure
    with sklearn.config_context(enable_metadata_routing=True):
        search = KernelSearchCV(TWO, cv=GroupKFold(3), random_state=0)
        search.set_fit_request(groups=True, sample_weight=True).set_score_request(sample_weight=True)
        routed = make_pipeline(StandardScaler().set_fit_request(sample_weight=False), search).fit(
            X, Y, **given
        )
        assert routed[-1].result_.measure == direct.measure
        found = cross_validate(search, X, Y, cv=GroupKFold(2), params=given, return_estimator=True)
        assert all(hasattr(one, "best_estimator_") for one in found["estimator"])


@pytest.mark.parametrize("estimator", [StumpSVC, TreeSVC])
def test_the_choice_of_C_gets_its_groups(estimator):
    model = estimator("cv", Cs=[0.01, 1.0], cv=GroupKFold(4)).fit(X, Y, groups=GROUPS)
    listed = list(GroupKFold(4).split(X, Y, GROUPS))
    assert_array_equal(model.scores_, estimator("cv", Cs=[0.01, 1.0], cv=listed).fit(X, Y).scores_)
    with pytest.raises(ValueError, match="groups"):
        estimator("cv", cv=GroupKFold(4)).fit(X, Y)
    with pytest.raises(ValueError, match="inconsistent"):
        estimator("cv", cv=GroupKFold(4)).fit(X, Y, groups=GROUPS[:-1])
    with sklearn.config_context(enable_metadata_routing=True):
        routed = make_pipeline(
            StandardScaler(), estimator("cv", cv=GroupKFold(4)).set_fit_request(groups=True)
        )
        assert routed.fit(X, Y, groups=GROUPS)[-1].C_ > 0


def test_samples_may_be_tested_more_than_once():
    cv = RepeatedStratifiedKFold(n_splits=3, n_repeats=2, random_state=0)
    search = KernelSearchCV({"svc": (SVC(), {"C": [0.1, 1.0]})}, cv=cv, random_state=0).fit(X, Y)
    assert search.result_.measure[-2:] == (6, 120)
    assert len([name for name in search.cv_results_ if name.startswith("split")]) == 6


def test_without_a_refit_there_are_results_and_no_model():
    search = KernelSearchCV(TWO, cv=3, random_state=0).fit(X, Y)
    search.set_params(refit=False).fit(X, Y)
    assert search.best_params_ == search.cv_results_["params"][search.best_index_]
    for name in ("best_estimator_", "best_kernel_", "refit_seconds_", *METHODS):
        assert not hasattr(search, name)
    with pytest.raises(AttributeError) as raised:
        search.predict(X)
    assert str(raised.value.__cause__) == "no model was fitted: use refit=True"
    with pytest.raises(AttributeError, match="refit=True"):
        search.score(X, Y)


METHODS = ("predict", "decision_function", "predict_proba")


def test_a_search_that_is_not_fitted_has_the_methods_that_it_will_have():
    for method in METHODS:  # as of scikit-learn's searches: StackingClassifier asks before the fit
        assert hasattr(KernelSearchCV(TWO), method)
        assert not hasattr(KernelSearchCV(TWO, refit=False), method)
        with pytest.raises(NotFittedError):
            getattr(KernelSearchCV(TWO), method)(X)
    stack = StackingClassifier([("search", KernelSearchCV(TWO, cv=3, random_state=0))], cv=2).fit(X, Y)
    assert stack.stack_method_ == ["predict_proba"]


def test_folds_that_test_the_same_samples_are_kept_apart():
    some, others, tested = np.arange(10), np.arange(10, 20), np.arange(80, 120)
    folds = [(some, tested), (others, tested), (np.arange(80), tested)]
    search = KernelSearchCV({"svc": SVC()}, cv=folds, random_state=0).fit(X, Y)
    expected = cross_val_score(make_pipeline(ClippedScaler(), SVC()), X, Y, cv=folds)
    assert len(set(expected)) > 1  # or nothing would be seen
    found = [search.cv_results_[f"split{k}_test_score"][0] for k in range(3)]
    assert found == pytest.approx(list(expected))
    assert search.result_.measure[-2:] == (3, 40)


def test_pairs_take_no_groups_weights_or_splitters():
    from mercer import Pairs

    pairs = Pairs.from_labels(Y[:20])
    for name, value in {"groups": GROUPS[:20], "sample_weight": np.ones(20)}.items():
        with pytest.raises(ValueError, match=f"{name} is for labels"):
            KernelSearchCV().fit(X[:20], pairs=pairs, **{name: value})
    with pytest.raises(TypeError, match="cv must be a number of folds"):
        KernelSearchCV(cv=GroupKFold(2)).fit(X[:20], pairs=pairs)


def test_folds_count_by_the_weight_of_their_samples():
    rows, weight = np.arange(120), np.where(np.arange(120) < 40, 9.0, 1.0)
    folds = [(rows[40:], rows[:40]), (rows[:40], rows[40:])]
    search = KernelSearchCV({"one": SVC()}, cv=folds, random_state=0).fit(X, Y, sample_weight=weight)
    wrong = np.empty(120)
    for train, test in folds:
        model = make_pipeline(ClippedScaler(), SVC())
        model.fit(
            X[train], Y[train], clippedscaler__sample_weight=weight[train], svc__sample_weight=weight[train]
        )
        wrong[test] = model.predict(X[test]) != Y[test]
    assert abs(wrong[:40].mean() - wrong[40:].mean()) > 0.02  # or nothing would be seen
    assert search.error_ == pytest.approx(np.average(wrong, weights=weight), abs=2e-3)
    by_fold = [search.cv_results_[f"split{k}_test_score"][0] for k in range(2)]
    assert by_fold == pytest.approx([1.0 - wrong[:40].mean(), 1.0 - wrong[40:].mean()])
