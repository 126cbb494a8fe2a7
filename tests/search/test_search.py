"""KernelSearchCV as a classifier: what it takes, what it leaves, and what it refuses."""

import joblib
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_iris, make_moons
from sklearn.exceptions import NotFittedError
from sklearn.gaussian_process.kernels import RBF, Matern
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures
from sklearn.svm import SVC

import mercer
from mercer import (
    BoostedKernel,
    KernelSearchCV,
    KernelSVC,
    PerceptronSVC,
    StumpRegressor,
    StumpSVC,
    load,
    save,
)
from mercer.kernels import Rescaled
from mercer.learners.base import KernelLearner
from mercer.search import Candidate, default_candidates
from mercer.search.task import LabelTask
from search.odd_classifiers import Sign, start_journal, two_blobs
from stand_ins import PATIENCE

MOONS = make_moons(80, noise=0.25, random_state=0)
IRIS = load_iris(return_X_y=True)
THREE = {
    "linear": (KernelSVC(), {"C": [0.1, 1.0]}),
    "stump": StumpSVC(C=0.1),
    "rbf": Candidate("of another name", SVC(), {"C": [1.0, 10.0], "gamma": [0.5, 2.0]}, growth=2.0),
}


def search_among(candidates=THREE, **options):
    return KernelSearchCV(candidates, **({"cv": 3, "random_state": 0} | options))


def results(search):
    """What a search found, without the times and the order of equals."""
    lines = sorted(search.result_.candidates)
    figures = [[part for k, part in enumerate(line) if k not in (4, 5)] for line in lines]
    return repr((figures, search.best_name_, search.best_settings_, search.error_, search.std_error_))


def test_candidates_are_named_estimators_with_or_without_a_grid():
    search = search_among().fit(*MOONS)
    assert set(search.leaderboard_.index) == {"linear", "stump", "rbf", "always 0"}
    assert search.leaderboard_.loc["stump", "settings"] == {}
    assert search.best_name_ == "rbf"  # what moons are made for
    assert set(search.best_settings_) == {"C", "gamma"}
    assert search.best_estimator_[-1].get_params()["gamma"] == search.best_settings_["gamma"]
    assert_array_equal(search.classes_, [0, 1])


@pytest.mark.parametrize(
    ("candidates", "error", "message"),
    [
        ([StumpSVC()], TypeError, "a candidate is a name"),
        ({}, TypeError, "map names"),
        ({"a": StumpSVC}, TypeError, "candidate 'a' must be a classifier"),
        ({"a": RBF()}, TypeError, "candidate 'a' must be a classifier"),
        ({"a": StumpRegressor()}, TypeError, "candidate 'a' must be a classifier"),
        ({"a": Candidate("a", BoostedKernel(), {})}, TypeError, "must be a classifier"),
        ({"a": (StumpSVC(), [1.0])}, TypeError, "grid of candidate 'a' must map"),
        ({"a": (StumpSVC(), {"gamma": [1.0]})}, ValueError, r"unknown parameters: \['gamma'\]"),
        ({"a": Candidate("a", SVC(), {"D": [1.0]})}, ValueError, r"unknown parameters: \['D'\]"),
    ],
)
def test_candidates_that_cannot_be_are_refused_by_name(candidates, error, message):
    with pytest.raises(error, match=message):
        search_among(candidates).fit(*MOONS)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"cv": 1}, ValueError, "cv must be at least 2"),
        ({"cv": 2.5}, TypeError, "cv must be a whole number"),
        ({"max_rows": 5}, ValueError, "max_rows must be at least 10"),
        ({"budget": 0.0}, ValueError, "budget must be positive"),
        ({"budget": "a minute"}, TypeError, "budget must be a number"),
        ({"scoring": ["f1", "accuracy"]}, TypeError, "scoring must be the name of one score"),
        ({"scoring": {"f1": "f1"}}, TypeError, "scoring must be the name of one score"),
        ({"scoring": lambda *_: np.nan}, ValueError, "gives no number for a fold that tests"),
    ],
)
def test_parameters_that_cannot_be_are_refused(options, error, message):
    with pytest.raises(error, match=message):
        search_among(**options).fit(*MOONS)


def test_rows_and_labels_that_cannot_be_are_refused(rng):
    X, y = MOONS
    with pytest.raises(ValueError, match="y holds one class: 1"):
        search_among().fit(X, np.ones(80, dtype=int))
    with pytest.raises(ValueError, match="unlabelled has 3 features, X has 2"):
        search_among().fit(X, y, unlabelled=rng.normal(size=(5, 3)))
    with pytest.raises(ValueError, match="not both"):
        search_among().fit(X, y, pairs=mercer.Pairs([(0, 1)]))
    with pytest.raises(ValueError, match="requires y"):
        search_among().fit(X)
    with pytest.raises(ValueError, match="too few to hold some out"):
        search_among(budget=9.0).fit(X[:2], [0, 1])
    with pytest.raises(ValueError, match="continuous"):
        search_among().fit(X, rng.normal(size=80))
    with pytest.raises(NotFittedError):
        search_among().predict(X)
    assert not hasattr(search_among(), "leaderboard_")


def test_a_candidate_that_fails_is_noted_and_the_others_go_on():
    start_journal()
    late = Sign("late", error=ValueError("only twice"), breaks_at=3)
    some = {"bad": Sign(error=ValueError("odd rows")), "late": late, "good": Sign("good", wrong=0.1)}
    search = search_among(some, cv=4).fit(*two_blobs())
    assert search.best_name_ == "good"
    table = search.leaderboard_
    assert list(table.loc[["bad", "late", "good"], "note"]) == [
        "odd rows",
        "only twice",
        "",
    ]
    assert list(table.loc[["bad", "late", "good"], "folds"]) == [0, 2, 4]
    with pytest.raises(ValueError, match=r"no candidate could be fitted.*\(bad: odd rows\)"):
        search_among({"bad": some["bad"]}).fit(*two_blobs())


def test_the_same_seed_gives_the_same_result_on_one_processor_on_two_and_in_threads():
    one = search_among(random_state=3).fit(*MOONS)
    assert results(search_among(random_state=3).fit(*MOONS)) == results(one)
    assert results(search_among(random_state=3, n_jobs=2).fit(*MOONS)) == results(one)
    with joblib.parallel_config(backend="threading", n_jobs=2):
        threads = search_among(random_state=3).fit(*MOONS)
    assert results(threads) == results(one)
    assert_array_equal(threads.decision_function(MOONS[0]), one.decision_function(MOONS[0]))
    assert results(search_among(random_state=4).fit(*MOONS)) != results(one)


def test_threads_leave_the_filters_of_warnings_as_they_were():
    import warnings

    before = list(warnings.filters)
    many = {f"hasty {k}": (SVC(max_iter=1), {"C": [0.1, 1.0]}) for k in range(6)} | {"svc": SVC()}
    with joblib.parallel_config(backend="threading", n_jobs=2):
        for seed in range(3):
            search_among(many, random_state=seed).fit(*MOONS)
    assert warnings.filters == before


def test_classes_may_be_many_and_words_and_one_may_have_a_single_row():
    X, y = IRIS
    words = np.array(["setosa", "versicolor", "virginica"])[y]
    search = search_among().fit(X, words)
    assert_array_equal(search.classes_, np.unique(words))
    assert search.score(X, words) > 0.9
    assert search.decision_function(X).shape == (150, 3)
    assert results(search).replace("'setosa'", "0").replace('"', "'") == results(search_among().fit(X, y))
    words[0] = "one of its kind"
    lonely = search_among().fit(X, words)
    assert len(lonely.classes_) == 4
    assert lonely.error_ >= 1 / 150 / 2  # nobody learns it


@pytest.mark.parametrize(
    "model",
    [
        SVC(C=3.0, gamma=0.7),
        SVC(kernel="linear", C=0.5),
        SVC(kernel=Matern(2.0)),
        StumpSVC(C=0.3, tol=1e-6),
        PerceptronSVC(C=0.3),
        KernelSVC(C=0.2),
        KernelSVC(RBF(0.8), C=2.0, tol=1e-6),
        KernelSVC(BoostedKernel(n_rounds=3, random_state=0), C=0.5, tol=1e-6),
    ],
    ids=lambda model: f"{type(model).__name__}({getattr(model, 'kernel', getattr(model, 'learner', ''))})",
)
def test_an_svm_on_the_kernel_that_was_found_decides_as_the_winner_does(model):
    X, y = MOONS[0] * [1.0, 30.0] + 5.0, MOONS[1]
    search = search_among({"it": model}, cv=2).fit(X, y)
    assert isinstance(search.best_kernel_, Rescaled)
    K = search.best_kernel_(X)
    svc = SVC(kernel="precomputed", C=model.C, tol=1e-6).fit(K - K.mean(), y)
    assert_allclose(
        svc.decision_function(K - K.mean()), search.best_estimator_.decision_function(X), atol=5e-3
    )


def test_a_winner_with_a_C_of_its_own_choice_has_a_kernel_and_a_stranger_has_none():
    stump = search_among({"it": mercer.StumpSVC("cv", Cs=2, cv=2)}, cv=2).fit(*MOONS)
    assert isinstance(stump.best_kernel_.base, mercer.kernels.Stump)
    perceptron = search_among({"it": mercer.PerceptronSVC("cv", Cs=2, cv=2)}, cv=2).fit(*MOONS)
    assert isinstance(perceptron.best_kernel_.base, mercer.kernels.Perceptron)
    for stranger in (LogisticRegression(), SVC(kernel="poly")):
        assert search_among({"it": stranger}, cv=2).fit(*MOONS).best_kernel_ is None


def test_it_is_cloned_tuned_and_put_into_pipelines_as_any_classifier():
    X, y = MOONS
    search = search_among({"linear": KernelSVC()}, cv=2)
    assert clone(search).get_params()["cv"] == 2
    assert not hasattr(clone(search.fit(X, y)), "best_name_")
    grid = GridSearchCV(search, {"cv": [2, 3]}, cv=2).fit(X, y)
    assert isinstance(grid.best_estimator_, KernelSearchCV)
    squares = make_pipeline(PolynomialFeatures(3, include_bias=False), clone(search))
    assert cross_val_score(squares, X, y, cv=2).mean() > cross_val_score(search, X, y, cv=2).mean()


def test_a_search_and_its_winner_are_saved_and_loaded(tmp_path):
    X, y = MOONS
    for candidates in (THREE, {"boosted": KernelSVC(BoostedKernel(n_rounds=2))}):
        search = search_among(candidates).fit(X, y)
        mercer.save(search, tmp_path / "search.mercer")
        loaded = mercer.load(tmp_path / "search.mercer")
        assert_array_equal(loaded.decision_function(X), search.decision_function(X))
        assert results(loaded) == results(search)
        assert loaded.leaderboard_.equals(search.leaderboard_)
        assert_array_equal(loaded.best_kernel_(X), search.best_kernel_(X))
        for part in (search.best_estimator_, search):
            mercer.save(part, tmp_path / "part.mercer")
            assert_array_equal(mercer.load(tmp_path / "part.mercer").predict(X), part.predict(X))


def test_the_defaults_are_a_linear_and_an_rbf_svm_and_every_learner():
    names = {candidate.name: candidate for candidate in default_candidates(100, 4, 0)}
    assert {"linear", "RBF-SVM", "stump", "perceptron", "tree-svm"} <= set(names)
    learners = {type(candidate.estimator.get_params().get("learner")) for candidate in names.values()}
    assert {kind for kind in learners if issubclass(kind, KernelLearner)} == {
        mercer.BoostedKernel,
        mercer.KernelBoost,
        mercer.IdealizedKernel,
        mercer.RelevanceKernel,
        mercer.Superkernel,
    }
    for n_rows in (100, 5000):
        for candidate in default_candidates(n_rows, 4, 0):
            for setting in candidate.settings():
                clone(candidate.estimator).set_params(**setting)


def test_the_defaults_find_a_kernel_for_moons(rng):
    X, y = MOONS
    unlabelled = make_moons(40, noise=0.25, random_state=5)[0]
    search = KernelSearchCV(cv=2, random_state=0).fit(X, y, unlabelled=unlabelled)
    assert not search.leaderboard_["note"].str.contains("Error").any()
    assert search.error_ < 0.2
    assert np.isnan(search.leaderboard_.loc["RBF-SVM", "difference"])
    assert search.leaderboard_["difference"].notna().sum() == len(search.result_.listed) - 1


def test_a_cluster_of_dask_gets_the_samples_once_and_finds_the_same(monkeypatch):
    distributed = pytest.importorskip("distributed")
    import dask

    X, y = MOONS
    sent, pickled, scatter = [], [], distributed.Client.scatter
    noted = {
        "scatter": lambda self, data, **how: sent.append(data) or scatter(self, data, **how),
        "__getstate__": lambda task: pickled.append(task) or vars(task),
    }
    monkeypatch.setattr(distributed.Client, "scatter", noted["scatter"])
    monkeypatch.setattr(LabelTask, "__getstate__", noted["__getstate__"], raising=False)
    quiet = {"dashboard_address": ":0", "processes": False, "n_workers": 2, "threads_per_worker": 1}
    patient = {  # a machine that is busy with other things is slow, and no worker is dead for that
        "distributed.scheduler.worker-ttl": None,
        "distributed.comm.timeouts": {"connect": PATIENCE, "tcp": PATIENCE},
        "distributed.scheduler.work-stealing": False,
    }
    with (
        dask.config.set(patient),
        distributed.LocalCluster(**quiet) as cluster,
        distributed.Client(cluster, timeout=PATIENCE),
    ):
        with joblib.parallel_config(backend="dask", wait_for_workers_timeout=PATIENCE):
            spread = search_among(n_jobs=2).fit(X, y)
        assert "evaluate" in str(cluster.scheduler.task_prefixes)  # the work was done there
    assert sum(isinstance(data, LabelTask) for data in sent) == 1
    assert not pickled  # with a call: workers that are threads of this process get what is scattered as it is
    assert results(spread) == results(search_among().fit(X, y))


def test_some_of_the_defaults_are_taken_by_their_names_in_that_order():
    search = KernelSearchCV(["stump", "linear"], cv=2, random_state=0).fit(*MOONS)
    assert search.result_.listed == ("stump", "linear")
    assert sorted(search.result_.names()) == ["always 0", "linear", "stump"]
    assert search.best_name_ == "stump"
    for wrong in (["stump", "wood"], []):
        with pytest.raises(ValueError, match="there are tree-svm, tree-logistic, tree-ranks"):
            KernelSearchCV(wrong).fit(*MOONS)


@pytest.mark.parametrize("model", [StumpSVC(), PerceptronSVC()], ids=str)
def test_the_best_kernel_is_positive_definite_on_the_rows(model):
    X, y = MOONS
    kernel = search_among({"one": model}).fit(X, y).best_kernel_
    values = np.linalg.eigvalsh(kernel(X))
    assert values[0] >= -1e-9 * values[-1]


def test_arrays_with_gaps_and_tables_of_pyarrow_are_taken_as_they_are(rng, tmp_path):
    pa = pytest.importorskip("pyarrow")
    X = rng.normal(size=(120, 3))
    y = (X[:, 0] > 0).astype(int)
    X[rng.random(X.shape) < 0.1] = np.nan
    search = KernelSearchCV(["stump", "linear"], cv=3, random_state=0).fit(X, y)
    assert search.error_ < 0.25
    save(search, tmp_path / "gaps.mercer")
    assert_array_equal(load(tmp_path / "gaps.mercer").predict_proba(X), search.predict_proba(X))
    with pytest.raises(ValueError, match="NaN"):
        KernelSearchCV(["linear"], encoder=None).fit(X, y)
    table = pa.table({"a": X[:, 0], "kind": np.where(y, "x", "z")})
    found = KernelSearchCV(["stump", "linear"], cv=3, random_state=0).fit(table, pa.array(y))
    assert_array_equal(found.predict(table), found.predict(table.to_pandas()))
    assert found.error_ < 0.05
