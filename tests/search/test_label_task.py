"""A candidate on a fold: what it is shown, what it shares among settings, and what it predicts."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import BaseEstimator, clone
from sklearn.datasets import make_classification, make_moons
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process.kernels import RBF
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC, LinearSVC

from mercer import BoostedKernel, ClippedScaler, KernelSearchCV, KernelSVC, StumpSVC, Superkernel, TreeSVC
from mercer.search import Candidate, SearchWarning, sample_task
from mercer.search.decisions import decide
from mercer.search.label_task import LabelTask
from search.odd_classifiers import Sign, start_journal, two_blobs

X, Y = make_moons(60, noise=0.3, random_state=0)
TRAIN, TEST = np.arange(40), np.arange(40, 60)
ROWS = LabelTask(X * [1.0, 50.0] + [3.0, -20.0], Y, None)


class CountingLearner(BaseEstimator):
    """A learner of an RBF kernel that counts its fits, and keeps the rows without labels."""

    fits = 0
    unlabelled = None

    def __init__(self, base=None, C=1.0):
        self.base = base
        self.C = C

    @property
    def svm_C(self):
        return self.C

    def fit(self, X, y=None, *, pairs=None, unlabelled=None):
        CountingLearner.fits += 1
        CountingLearner.unlabelled = unlabelled
        self.kernel_ = RBF(1.0) if self.base is None else self.base
        return self


def wrong_of(model):
    """What a pipeline of scikit-learn's, fitted to the same rows, gets wrong."""
    fitted = make_pipeline(ClippedScaler(), model).fit(ROWS.X[TRAIN], Y[TRAIN])
    return fitted.predict(ROWS.X[TEST]) != Y[TEST]


def test_each_setting_is_a_pipeline_of_a_scaler_and_the_candidate():
    grid = {"C": [0.01, 1.0, 100.0], "gamma": [0.1, 10.0]}
    candidate = Candidate("rbf", SVC(), grid)
    outcome = ROWS.evaluate(candidate, candidate.settings(), TRAIN, TEST)
    expected = [wrong_of(SVC(**setting)) for setting in candidate.settings()]
    assert_array_equal(outcome.values[..., 0], np.transpose(expected))
    assert len({column.tobytes() for column in outcome.values[..., 0].T}) > 1
    assert outcome.failures == {}
    assert_array_equal(outcome.fit_seconds > 0, True)
    assert outcome.seconds >= (outcome.fit_seconds + outcome.predict_seconds).sum() > 0


@pytest.mark.parametrize("unlabelled", [None, X[:7] * 3.0 + 1.0], ids=["labelled", "unlabelled"])
def test_all_candidates_see_the_same_folds_scaled_by_their_training_part_alone(unlabelled):
    journal = start_journal()
    X, y = two_blobs(30)
    more = None if unlabelled is None else np.column_stack([unlabelled, unlabelled[:, :1]])
    some = {name: Sign(name) for name in "ab"}
    search = KernelSearchCV(some, cv=3, random_state=5).fit(X, y, unlabelled=more)
    folds = LabelTask(X, y).split(3, int(np.random.RandomState(5).randint(2**31 - 1)))
    for name in "ab":
        fits = [(X, y) for who, X, y in journal.fits if who == name]
        tests = [X for who, X in journal.predictions if who == name]
        for (seen, labels), tested, (train, test) in zip(fits, tests, folds, strict=False):
            known = X[train] if more is None else np.vstack([X[train], more])
            scaled = ClippedScaler().fit(known).transform(X)
            assert_allclose(seen, scaled[train])
            assert_allclose(tested, scaled[test])
            assert_array_equal(labels, y[train])
        assert len(tests) == 3
        assert len(fits) == 3 + (name == search.best_name_)
    known = X if more is None else np.vstack([X, more])
    assert_allclose(journal.fits[-1][1], ClippedScaler().fit(known).transform(X))  # the winner's


def test_settings_that_differ_in_C_alone_learn_the_kernel_once_and_predict_as_if_each_had_learned_it():
    candidate = Candidate(
        "boosted",
        KernelSVC(BoostedKernel(n_rounds=4, random_state=0), relative_C=True),
        {"C": [0.1, 1.0, 10.0], "learner__n_rounds": [1, 4]},
    )
    outcome = ROWS.evaluate(candidate, candidate.settings(), TRAIN, TEST)
    for k, setting in enumerate(candidate.settings()):
        model = KernelSVC(BoostedKernel(random_state=0), relative_C=True).set_params(**setting)
        assert_array_equal(outcome.values[:, k, 0], wrong_of(model))


@pytest.mark.parametrize(
    ("grid", "n_fits"),
    [
        ({"C": [0.1, 1.0, 10.0]}, 1),
        ({"C": [0.1, 1.0], "learner__base": [RBF(1.0), RBF(2.0)]}, 2),
        ({"C": [0.1, 1.0], "learner__base": [RBF(1.0001), RBF(1.0002)]}, 2),  # they print alike
        ({"C": [0.1, None]}, 2),  # None is the learner's own C
        ({"learner__C": [0.1, 1.0]}, 2),
        ({"tol": [1e-3, 1e-4]}, 2),
    ],
    ids=str,
)
def test_only_a_C_of_the_svm_shares_a_kernel(grid, n_fits):
    candidate = Candidate("counting", KernelSVC(CountingLearner(C=30.0)), grid)
    CountingLearner.fits = 0
    outcome = ROWS.evaluate(candidate, candidate.settings(), TRAIN, TEST)
    assert CountingLearner.fits == n_fits
    for k, setting in enumerate(candidate.settings()):
        assert_array_equal(
            outcome.values[:, k, 0], wrong_of(KernelSVC(CountingLearner(C=30.0)).set_params(**setting))
        )


def test_the_time_to_learn_a_shared_kernel_counts_for_each_setting_and_once_for_all_together(monkeypatch):
    journal = start_journal()
    journal.replaces_time(monkeypatch)

    class Slow(CountingLearner):
        def fit(self, *args, **kwargs):
            journal.now += 10.0
            return super().fit(*args, **kwargs)

    candidate = Candidate("slow", KernelSVC(Slow()), {"C": [0.1, 1.0, 10.0]})
    outcome = ROWS.evaluate(candidate, candidate.settings(), TRAIN, TEST)
    assert_array_equal(outcome.fit_seconds, 10.0)
    assert outcome.seconds == 10.0


def test_learners_get_the_unlabelled_rows_scaled_and_other_classifiers_do_not(rng):
    unlabelled = rng.normal(size=(15, 2)) * 9.0
    rows = replace(ROWS, unlabelled=unlabelled)
    scaler = ClippedScaler().fit(np.vstack([ROWS.X[TRAIN], unlabelled]))
    for grid in ({"C": [1.0]}, {}):
        CountingLearner.unlabelled = None
        candidate = Candidate("learner", KernelSVC(CountingLearner()), grid)
        assert rows.evaluate(candidate, candidate.settings(), TRAIN, TEST).failures == {}
        assert_allclose(CountingLearner.unlabelled, scaler.transform(unlabelled))
    for model in (StumpSVC(), SVC(), KernelSVC(), KernelSVC(RBF())):  # which would refuse them
        assert rows.evaluate(Candidate("other", model, {}), [{}], TRAIN, TEST).failures == {}


def test_a_refit_is_the_same_pipeline_on_all_rows():
    for model in (SVC(), KernelSVC(Superkernel())):
        scaler, fitted, _ = ROWS.fit(Candidate("svc", model, {}), {"C": 3.0})
        expected = make_pipeline(ClippedScaler(), clone(model).set_params(C=3.0)).fit(ROWS.X, Y)
        assert_allclose(
            fitted.decision_function(scaler.transform(ROWS.X)), expected.decision_function(ROWS.X), rtol=1e-10
        )


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (ValueError("odd rows"), "odd rows"),
        (MemoryError("2 TB"), "2 TB"),
        (MemoryError(), "MemoryError"),
        (KeyError("gamma"), "KeyError: 'gamma'"),
    ],
)
def test_a_failure_is_an_outcome_with_its_reason(error, reason):
    start_journal()
    outcome = ROWS.evaluate(Candidate("bad", Sign(error=error), {}), [{}], TRAIN, TEST)
    assert outcome.failures[0] == reason


def test_warnings_of_settings_are_not_shown():
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        ROWS.evaluate(Candidate("hasty", SVC(max_iter=1), {}), [{}], TRAIN, TEST)
    assert not seen


def test_the_winners_own_warning_is_shown_once():
    with pytest.warns(ConvergenceWarning) as seen:
        KernelSearchCV({"hasty": SVC(max_iter=1)}, cv=3, random_state=0).fit(X, Y)
    assert [warning.category for warning in seen if warning.category is not SearchWarning] == [
        ConvergenceWarning
    ]


@pytest.mark.parametrize(
    "model",
    [
        *(SVC(C=0.1), SVC(break_ties=True), SVC(decision_function_shape="ovo")),
        *(StumpSVC(C=0.01), KernelSVC(RBF()), KernelSVC(C=1e-9)),
    ],
    ids=str,
)
@pytest.mark.parametrize("n_classes", [2, 7])
def test_what_is_decided_is_what_is_predicted(model, n_classes, rng):
    # labels by chance: many votes are equal; and one row many times, where nothing is to be said
    X, y = rng.normal(size=(210, 4)), np.arange(210) % n_classes
    X[:70] = X[0]
    new = np.vstack([X, rng.normal(size=(300, 4))])
    fitted = clone(model).fit(X, y)
    assert_array_equal(decide(fitted, new, np.arange(n_classes))[0], fitted.predict(new))


def test_samples_are_scaled_once_a_fold_and_anew_for_the_next(monkeypatch):
    X, y = make_classification(60, 4, random_state=0)
    task, fits = LabelTask(X, y), []
    fit = LabelTask.fit_scaler
    monkeypatch.setattr(LabelTask, "fit_scaler", lambda self, *given: fits.append(1) or fit(self, *given))
    one, other = Candidate("svm", SVC(), {}), Candidate("linear", KernelSVC(), {})
    folds = task.split(3, 0)
    found = [[task.evaluate(each, [{}], *fold).values for each in (one, other)] for fold in folds]
    assert len(fits) == 3
    for fold, values in zip(folds, found, strict=True):
        fresh = LabelTask(X, y)
        assert_array_equal(fresh.evaluate(one, [{}], *fold).values, values[0])
        assert_array_equal(LabelTask(X, y).evaluate(other, [{}], *fold).values, values[1])


def test_the_last_digits_are_left_to_the_last_fit():
    X, y = make_classification(80, 4, flip_y=0.2, random_state=0)
    rows = np.arange(80)
    seen = []

    class Watched(TreeSVC):
        def fit(self, X, y, sample_weight=None):
            super().fit(X, y, sample_weight)
            seen.append(float(self.residual_[0]))
            return self

    task, candidate = LabelTask(X, y), Candidate("tree", Watched(), {})
    task.evaluate(candidate, [{}], rows[:60], rows[60:])
    task.fit(candidate, {})
    assert np.isnan(seen[0])
    assert seen[1] < 1e-9


def test_the_names_of_candidates_are_those_that_it_proposes():
    X, y = np.zeros((10, 2)), np.arange(10) % 2
    assert LabelTask.candidate_names == tuple(one.name for one in LabelTask(X, y).propose(0))


def test_some_candidates_of_few_samples_take_part_only_if_they_are_named():
    task = LabelTask(np.zeros((10, 2)), np.arange(10) % 2)
    names = [one.name for one in task.list_candidates(None, 0)]
    assert {"idealized", "tree-ranks"}.isdisjoint(names)
    assert [one.name for one in task.list_candidates(["tree-ranks", "idealized"], 0)] == [
        "tree-ranks",
        "idealized",
    ]
    many = LabelTask(np.zeros((1001, 2)), np.arange(1001) % 2)
    assert {"idealized", "tree-ranks"} <= {one.name for one in many.list_candidates(None, 0)}


@pytest.mark.parametrize(("n_train", "expected"), [(300, True), (1600, False)])
def test_products_of_few_samples_keep_to_one_thread_however_many_there_are(monkeypatch, n_train, expected):
    asked, rng = [], np.random.default_rng(0)
    task = LabelTask(rng.normal(size=(2000, 2)), np.arange(2000) % 2)
    one_thread = sample_task.one_thread
    monkeypatch.setattr(sample_task, "one_thread", lambda few: asked.append(few) or one_thread(few))
    candidate = Candidate("linear", LinearSVC(), {})
    task.evaluate(candidate, [{}], np.arange(n_train), np.arange(1900, 2000))
    task.part(0.5 if expected else 1.0, 0).fit(candidate, {})
    assert asked == [expected, expected]
