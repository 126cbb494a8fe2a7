"""The search among learners that are given pairs and no labels."""

import numpy as np
import pytest
from numpy.random import RandomState
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import BaseEstimator
from sklearn.gaussian_process.kernels import RBF, DotProduct
from sklearn.metrics import roc_auc_score

import mercer
from mercer import IdealizedKernel, KernelSearchCV, KernelSVC, Pairs
from mercer.kernels import Projected
from mercer.search import pair_search
from mercer.search.clock import Clock
from mercer.search.pair_search import PairResult, PairRows, honest_auc, pair_distances, race_pairs
from search.odd_classifiers import start_journal
from search.test_pair_folds import pairs_of

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
        JOURNAL.now += self.seconds
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


@EACH
def test_the_ranking_is_by_the_mean_auc_of_the_distances_of_pairs_held_back(pairs, monkeypatch):
    kept = []
    split = mercer.search.search.split_pairs
    monkeypatch.setattr(mercer.search.search, "split_pairs", lambda *a: kept.append(split(*a)) or kept[-1])
    search = search_among({"good": Column(0), "bad": Column(2), "plain": None}).fit(X, pairs=pairs)
    scaled = (X - X.mean(axis=0)) / X.std(axis=0)
    aucs = {}
    for name, columns in [("good", [0]), ("bad", [2]), ("plain", [0, 1, 2, 3])]:
        aucs[name] = []
        for _, test in kept[0]:
            judged = np.vstack([test.similar, test.dissimilar])
            difference = scaled[judged[:, 0]][:, columns] - scaled[judged[:, 1]][:, columns]
            truth = np.arange(len(judged)) < len(test.similar)
            aucs[name].append(roc_auc_score(truth, -np.sum(difference**2, axis=1)))
    table, root = search.leaderboard_, np.sqrt(len(kept[0]))
    for name, values in aucs.items():
        assert_allclose(table.loc[name, "auc"], np.mean(values))
        assert_allclose(table.loc[name, "std_error"], np.std(values, ddof=1) / root)
        gain = np.subtract(values, aucs["plain"])
        if name != "plain":
            noise = 1.96 * np.std(gain, ddof=1) / root
            found = table.loc[name, ["difference", "low", "high"]].astype(float)
            assert_allclose(found, [gain.mean(), gain.mean() - noise, gain.mean() + noise], atol=1e-12)
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
        assert_allclose(seen, (X - both.mean(axis=0)) / both.std(axis=0))
        assert_allclose(more, (unlabelled - both.mean(axis=0)) / both.std(axis=0))
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


def test_more_pairs_than_fit_at_once_give_the_same_distances():
    pairs = np.vstack(Pairs.from_labels(Y))
    assert len(pairs) > 3000
    expected = np.sum((X[pairs[:, 0]] - X[pairs[:, 1]]) ** 2, axis=1)
    assert_allclose(pair_distances(Projected(np.eye(4)), X, pairs), expected, rtol=1e-9)


def noise_results(rng, n_candidates=6, sizes=(40, 40)):
    truths = [np.arange(size) % 2 == 0 for size in sizes]
    return [
        PairResult(str(k), [rng.normal(size=n) for n in sizes], 0.0, "") for k in range(n_candidates)
    ], truths


def test_on_meaningless_similarities_the_honest_auc_is_one_half_where_the_best_is_not(rng):
    honest, best = [], []
    for seed in range(12):
        results, truths = noise_results(rng)
        honest.append(honest_auc(results, truths, RandomState(seed)))
        best.append(max(pair_search.judge_pairs(result, truths).auc for result in results))
    assert abs(np.mean(honest) - 0.5) < 2 * np.std(honest, ddof=1) / np.sqrt(12)
    assert np.mean(best) > 0.5 + 4 * np.std(best, ddof=1) / np.sqrt(12)


def test_the_honest_auc_is_chosen_on_pairs_drawn_and_judged_on_the_others(rng):
    results, truths = noise_results(rng, 3, (9, 14))
    draws, judged = RandomState(4), []
    for _ in range(pair_search.N_DRAWS):
        drawn = [draws.randint(len(truth), size=len(truth)) for truth in truths]
        left = [[k for k in range(len(t)) if k not in some] for t, some in zip(truths, drawn, strict=True)]

        def auc(result, chosen):
            parts = zip(truths, result.similarities, chosen, strict=True)
            return np.mean([roc_auc_score(t[some], s[some]) for t, s, some in parts])

        if all(len(set(t[k])) == 2 for chosen in (drawn, left) for t, k in zip(truths, chosen, strict=True)):
            scores = [auc(result, drawn) for result in results]
            judged.append(auc(results[int(np.argmax(scores))], left))
    assert 0 < len(judged) <= pair_search.N_DRAWS
    assert_allclose(honest_auc(results, truths, RandomState(4)), np.mean(judged))


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
    scaled = (X - X.mean(axis=0)) / X.std(axis=0)
    assert_allclose(plain.best_kernel_(X), scaled @ scaled.T, rtol=1e-9, atol=1e-9)
    assert search.rows_used_ == 90


def test_without_classes_there_is_nothing_to_predict_and_a_later_fit_forgets_the_earlier_one():
    search = search_among({"one": Column(0)}).fit(X, pairs=MANY)
    with pytest.raises(AttributeError, match="fitted to pairs, and knows no classes: use best_kernel_"):
        search.predict(X)
    assert not hasattr(search, "decision_function")
    search.set_params(candidates={"linear": KernelSVC()}).fit(X, Y)
    assert not hasattr(search, "auc_")
    assert search.score(X, Y) > 0.9
    search.set_params(candidates={"one": Column(0)}).fit(X, pairs=MANY)
    assert not hasattr(search, "error_")
    assert not hasattr(search, "classes_")


def test_who_fails_is_noted_and_if_all_do_the_reasons_are_told():
    some = {"bad": Column(1, error=ValueError("odd")), "good": Column(0)}
    search = search_among(some).fit(X, pairs=MANY)
    assert list(search.leaderboard_.index) == ["good", "bad"]
    assert search.leaderboard_.loc["bad", "note"] == "ValueError: odd"
    assert np.isnan(search.leaderboard_.loc["bad", "auc"])
    with pytest.raises(
        ValueError, match=r"no candidate could learn from these pairs \(bad: ValueError: odd\)"
    ):
        search_among({"bad": some["bad"]}).fit(X, pairs=MANY)


@pytest.mark.parametrize(
    ("candidates", "message"),
    [
        ([None], "map names to learners"),
        ({}, "map names to learners"),
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


def test_when_the_time_is_over_what_is_done_is_ranked(journal, monkeypatch):
    journal.replaces_time(monkeypatch)
    monkeypatch.setattr(pair_search, "time", journal)
    some = {"fair": Column(1, seconds=1.0), "good": Column(0, seconds=1.0), "late": Column(2, seconds=1.0)}
    search = search_among(some, budget=5.0).fit(X, pairs=MANY)  # three folds take three seconds
    assert list(search.leaderboard_.index) == ["good", "fair"]
    assert_array_equal(search.leaderboard_["fit_seconds"], 1.0)
    assert search.stopped_ == "budget"
    assert search_among(some, budget=1e-9).fit(X, pairs=MANY).best_name_ == "fair"
    assert search_among(some).fit(X, pairs=MANY).stopped_ is None


def test_an_interrupt_ranks_what_is_done_and_without_results_is_one():
    some = {"good": Column(0), "broken": Column(1, error=KeyboardInterrupt(), breaks_at=2), "late": Column(2)}
    search = search_among(some).fit(X, pairs=MANY)
    assert search.stopped_ == "interrupt"
    assert search.best_name_ == "good"
    with pytest.raises(KeyboardInterrupt):
        search_among({"broken": Column(1, error=KeyboardInterrupt())} | some).fit(X, pairs=MANY)


def test_a_report_may_stop_the_race():
    rows, seen = PairRows(X, MANY, None), []
    folds = [(MANY, FEW)]
    given = {"a": None, "b": None, "c": None}
    done, stopped = race_pairs(
        given, rows, folds, Clock(0.0, None), lambda r: seen.append(len(r)) or len(r) == 2
    )
    assert ([result.name for result in done], stopped, seen) == (["a", "b"], "callback", [1, 2])


def test_the_default_learners_all_learn_from_pairs_and_the_search_is_saved(tmp_path):
    search = KernelSearchCV(cv=2, random_state=0).fit(X, pairs=FEW, unlabelled=X[:20] + 0.1)
    assert set(search.leaderboard_.index) == {"plain", "superkernel", "boosted", "idealized", "kernelboost"}
    assert list(search.leaderboard_["note"]) == [""] * 5
    mercer.save(search, tmp_path / "search.mercer")
    loaded = mercer.load(tmp_path / "search.mercer")
    assert loaded.leaderboard_.equals(search.leaderboard_)
    assert_array_equal(loaded.best_kernel_(X), search.best_kernel_(X))
