"""The search among learners that are given pairs and no labels."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import BaseEstimator
from sklearn.gaussian_process.kernels import RBF, DotProduct
from sklearn.metrics import roc_auc_score

import mercer
from mercer import ClippedScaler, IdealizedKernel, KernelSearchCV, KernelSVC, Pairs
from mercer.kernels import Projected
from mercer.search import pairs as pair_task
from mercer.search.pairs import many_components, neighbour_ranks, pair_distances
from search.odd_classifiers import start_journal
from search.test_pair_folds import pairs_of
from stand_ins import Stop

RNG = np.random.default_rng(0)
Y = np.arange(90) % 3
X = RNG.normal(size=(90, 4)) * [1.0, 1.0, 30.0, 30.0]
X[:, 0] += 6.0 * Y  # the first column tells, among three that do not
MANY, FEW = pairs_of(Y, 400, 400), pairs_of(Y, 25, 25)
EACH = pytest.mark.parametrize("pairs", [MANY, FEW, Pairs(MANY.similar)], ids=["many", "few", "similar only"])


class Column(BaseEstimator):
    """A learner that looks at one (scaled) column; it may take the journal's time, or raise."""

    def __init__(self, column=0, seconds=0.0, error=None, breaks_at=1):
        self.column = column
        self.seconds = seconds
        self.error = error
        self.breaks_at = breaks_at

    def fit(self, X, y=None, *, pairs=None, unlabelled=None):
        JOURNAL.fits.append((self.column, X, pairs, unlabelled))
        JOURNAL.time += self.seconds
        if self.error is not None and sum(c == self.column for c, *_ in JOURNAL.fits) >= self.breaks_at:
            raise self.error
        self.kernel_ = Projected(np.eye(X.shape[1])[:, [self.column]])
        return self


JOURNAL = start_journal()


@pytest.fixture(autouse=True)
def journal():
    return start_journal()


def search_among(learners, **options):
    return KernelSearchCV(learners, **({"cv": 3, "random_state": 0} | options))


def ranks_of(rows, pairs):
    """Return how many samples are nearer to either sample of a pair than the other one is, by counting."""
    D = np.sum((rows[:, None] - rows[None, :]) ** 2, axis=2)
    return np.array([np.sum(D[a] < D[a, b]) + np.sum(D[b] < D[a, b]) for a, b in pairs]) / len(rows)


@EACH
def test_the_ranking_is_by_the_mean_auc_of_the_distances_of_pairs_held_back(pairs, monkeypatch):
    kept = []
    split = pair_task.split_pairs
    monkeypatch.setattr(pair_task, "split_pairs", lambda *a: kept.append(split(*a)) or kept[-1])
    search = search_among({"good": Column(0), "bad": Column(2), "plain": None}).fit(X, pairs=pairs)
    scaled = ClippedScaler().fit_transform(X)
    aucs = {}
    for name, columns in [("good", [0]), ("bad", [2]), ("plain", [0, 1, 2, 3])]:
        aucs[name] = []
        for _, test in kept[0]:
            judged = np.vstack([test.similar, test.dissimilar])
            difference = scaled[judged[:, 0]][:, columns] - scaled[judged[:, 1]][:, columns]
            truth = np.arange(len(judged)) < len(test.similar)
            ways = np.sum(difference**2, axis=1), ranks_of(scaled[:, columns], judged)
            aucs[name].append(np.mean([roc_auc_score(truth, -way) for way in ways]))
    table = search.leaderboard_
    for name, values in aucs.items():  # but for the draws of the bootstrap
        assert_allclose(table.loc[name, "auc"], np.mean(values), atol=0.05)
    for name in ("good", "bad"):
        gain = np.mean(np.subtract(aucs[name], aucs["plain"]))
        assert table.loc[name, "low"] < gain < table.loc[name, "high"]
    assert np.isnan(table.loc["plain", "difference"])
    assert list(table.index) == sorted(aucs, key=lambda name: -np.mean(aucs[name]))
    assert search.best_name_ == "good"
    assert search.std_error_ == table.loc["good", "std_error"]
    assert 0.75 < search.auc_ <= 1.0


def test_learners_are_shown_the_pairs_of_a_fold_and_rows_that_a_scaler_has_scaled(journal):
    unlabelled = RNG.normal(size=(20, 4)) * 7.0
    search_among({"one": Column(0)}).fit(X, pairs=MANY, unlabelled=unlabelled)
    both = np.vstack([X, unlabelled])
    for _, seen, _, more in journal.fits:
        scaler = ClippedScaler().fit(both)
        assert_allclose(seen, scaler.transform(X))
        assert_allclose(more, scaler.transform(unlabelled))
    sizes = [len(pairs.similar) for _, _, pairs, _ in journal.fits]
    assert sizes[-1] == len(MANY.similar)  # the winner learns from all
    assert max(sizes[:-1]) < len(MANY.similar)


@pytest.mark.parametrize(
    "kernel", [RBF(2.0), DotProduct(1.0), Projected(np.diag([1.0, 2.0, 0.5, 1.0]))], ids=repr
)
def test_distances_are_those_in_feature_space(monkeypatch, kernel):
    pairs = np.vstack(MANY)
    values = pair_distances(kernel, X, pairs)
    for (a, b), value in zip(pairs[::37], values[::37], strict=True):
        K = kernel(X[[a, b]])
        assert_allclose(value, K[0, 0] - 2 * K[0, 1] + K[1, 1], rtol=1e-9, atol=1e-9)
    assert len(values) == len(pairs)
    rounding = pair_distances(RBF(), X * 1e-9, pairs)
    assert np.all(rounding >= 0)


def test_ranks_among_neighbours_are_counted_and_those_as_near_count_half():
    pairs = np.vstack(MANY)
    order = np.argsort(ranks_of(X, pairs), kind="stable")
    found = neighbour_ranks(Projected(np.eye(4)), X, pairs)
    assert_allclose(found, ranks_of(X, pairs) + 1 / len(X), atol=1e-12)  # each is as near as itself
    assert found[order[0]] < found[order[-1]]
    line = np.array([[0.0], [1.0], [1.0], [2.0]])
    # from 0: itself is nearer, two are at 1; from 1: two are at 0, two are at 1
    assert_allclose(
        neighbour_ranks(Projected(np.eye(1)), line, np.array([[0, 1]])), [(1 + 1) / 4 + (2 + 1) / 4]
    )


def test_more_pairs_than_fit_at_once_give_the_same_distances():
    pairs = np.vstack(Pairs.from_labels(Y))
    assert len(pairs) > 3000
    expected = np.sum((X[pairs[:, 0]] - X[pairs[:, 1]]) ** 2, axis=1)
    assert_allclose(pair_distances(Projected(np.eye(4)), X, pairs), expected, rtol=1e-9)


def test_on_pairs_at_random_the_reported_auc_stays_near_one_half():
    found = []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        rows = rng.normal(size=(60, 4))
        search = search_among({str(k): Column(k) for k in range(3)}, random_state=seed)
        found.append(search.fit(rows, pairs=pairs_of(rng.permutation(60) % 2, 300, 300, seed)).auc_)
    assert abs(np.mean(found) - 0.5) < 2.5 * np.std(found, ddof=1) / np.sqrt(6)


def test_the_kernel_that_was_found_is_for_rows_as_they_are():
    search = search_among({"idealized": IdealizedKernel(max_rank=5, random_state=0)}).fit(X, pairs=MANY)
    scaler, learner = search.best_estimator_
    assert_allclose(search.best_kernel_(X), learner.kernel_(scaler.transform(X)), rtol=1e-10, atol=1e-10)
    plain = search_among({"plain": None}).fit(X, pairs=MANY)
    scaled = ClippedScaler().fit_transform(X)
    assert_allclose(plain.best_kernel_(X), scaled @ scaled.T, rtol=1e-9, atol=1e-9)
    assert search.rows_used_ == 90


def test_without_classes_there_is_nothing_to_predict_and_a_later_fit_forgets_the_earlier_one():
    search = search_among({"one": Column(0)}).fit(X, pairs=MANY)
    with pytest.raises(AttributeError) as raised:
        search.predict(X)
    assert str(raised.value.__cause__) == "it was fitted to pairs, and knows no classes: use best_kernel_"
    for method in ("predict", "decision_function", "predict_proba"):
        assert not hasattr(search, method)
    search.set_params(candidates={"linear": KernelSVC()}).fit(X, Y)
    assert not hasattr(search, "auc_")
    assert search.score(X, Y) > 0.9
    search.set_params(candidates={"one": Column(0)}).fit(X, pairs=MANY)
    assert not hasattr(search, "error_")
    for name in ("classes_", "calibration_", "cv_results_", "best_index_", "predict_proba"):
        assert not hasattr(search, name)


def test_who_fails_is_noted_and_if_all_do_the_reasons_are_told():
    some = {"bad": Column(1, error=ValueError("odd")), "good": Column(0)}
    search = search_among(some).fit(X, pairs=MANY)
    assert list(search.leaderboard_.index) == ["good", "bad"]
    assert search.leaderboard_.loc["bad", "note"] == "odd"
    assert np.isnan(search.leaderboard_.loc["bad", "auc"])
    with pytest.raises(ValueError, match=r"no candidate could be fitted \(bad: odd\)"):
        search_among({"bad": some["bad"]}).fit(X, pairs=MANY)


@pytest.mark.parametrize(
    ("candidates", "message"),
    [
        ([None], "a candidate is a name"),
        ({}, "map names"),
        ({"a": RBF()}, "'a' must be a learner"),
        ({"a": IdealizedKernel}, "'a' must be a learner"),
        ({"a": KernelSVC()}, "'a' must be a learner"),
    ],
)
def test_candidates_that_cannot_be_are_refused_by_name(candidates, message):
    with pytest.raises(TypeError, match=message):
        search_among(candidates).fit(X, pairs=MANY)


def test_pairs_that_cannot_be_are_refused():
    with pytest.raises(ValueError, match="too few pairs"):
        search_among({"one": Column(0)}).fit(X, pairs=Pairs([(0, 3)], [(0, 1)]))
    with pytest.raises(ValueError, match="names row 90"):
        search_among({"one": Column(0)}).fit(X, pairs=Pairs([(0, 90)]))


def test_when_the_time_is_over_what_is_done_is_ranked(journal):
    some = {"fair": Column(1, seconds=1.0), "good": Column(0, seconds=1.0), "slow": Column(2, seconds=9.0)}
    search = search_among(some, budget=30.0).fit(X, pairs=MANY, clock=journal)
    table = search.leaderboard_
    assert search.best_name_ == "good"
    assert table.loc["slow", "folds"] < table.loc["good", "folds"] == 3
    assert table.loc["slow", "note"].startswith("time was up after")
    assert journal.time <= 30.0 + 1.0
    assert search_among(some, budget=1e-9).fit(X, pairs=MANY, clock=journal).best_name_ == "fair"
    assert search_among(some).fit(X, pairs=MANY).stopped_ is None


def test_an_interrupt_ranks_what_is_done_and_without_results_is_one():
    some = {"good": Column(0), "broken": Column(1, error=KeyboardInterrupt(), breaks_at=2), "late": Column(2)}
    search = search_among(some).fit(X, pairs=MANY)
    assert search.stopped_ == "interrupt"
    assert search.best_name_ == "good"
    with pytest.raises(KeyboardInterrupt):
        search_among({"broken": Column(1, error=KeyboardInterrupt())} | some).fit(X, pairs=MANY)


def test_a_callback_may_stop_the_race_and_learners_run_side_by_side():
    some = {name: Column(k) for k, name in enumerate("abc")}
    search = search_among(some).set_callbacks(Stop(2, "candidate")).fit(X, pairs=MANY)
    assert search.stopped_ == "callback"
    assert list(search.leaderboard_.loc[["a", "b", "c"], "folds"]) == [1, 1, 0]
    learners = ["plain", "boosted", "idealized"]
    one, two = (KernelSearchCV(learners, cv=2, random_state=0, n_jobs=n).fit(X, pairs=FEW) for n in (1, 2))
    kept = ["auc", "std_error", "difference", "folds"]
    assert one.leaderboard_[kept].sort_index().equals(two.leaderboard_[kept].sort_index())


def test_a_learner_may_have_a_grid():
    search = search_among({"one": (Column(), {"column": [2, 0, 1]}), "plain": None}).fit(X, pairs=MANY)
    assert search.best_settings_ == search.leaderboard_.loc["one", "settings"] == {"column": 0}
    assert search.best_estimator_[-1].column == 0
    with pytest.raises(ValueError, match="grid of candidate 'one' has unknown parameters"):
        search_among({"one": (Column(), {"depth": [1]})}).fit(X, pairs=MANY)


def test_the_default_learners_all_learn_from_pairs_and_the_search_is_saved(tmp_path):
    search = KernelSearchCV(cv=2, random_state=0).fit(X, pairs=FEW, unlabelled=X[:20] + 0.1)
    assert set(search.leaderboard_.index) == {"plain", "superkernel", "boosted", "idealized", "kernelboost"}
    assert list(search.leaderboard_["note"]) == [""] * 5
    mercer.save(search, tmp_path / "search.mercer")
    loaded = mercer.load(tmp_path / "search.mercer")
    assert loaded.leaderboard_.equals(search.leaderboard_)
    assert_array_equal(loaded.best_kernel_(X), search.best_kernel_(X))


def test_a_blend_has_twice_the_components_that_keep_dissimilar_samples_apart():
    triangle = Pairs(similar=[(0, 3)], dissimilar=[(0, 1), (1, 2), (3, 2)]).check(5)
    assert many_components(triangle, 5) == 6
    assert many_components(Pairs(similar=[(0, 1)]).check(5), 5) == 4
    contradiction = Pairs(similar=[(0, 1), (1, 2)], dissimilar=[(0, 2)]).check(5)
    assert many_components(contradiction, 5) is None
    clique = Pairs(dissimilar=[(i, j) for i in range(11) for j in range(i)]).check(11)
    assert many_components(clique, 11) is None
