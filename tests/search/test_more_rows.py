"""The comparison goes on with more samples, and with as many for each."""

import numpy as np
import pytest

from mercer import KernelSearchCV
from mercer.search import Candidate
from mercer.search.more_rows import FEW, LAST, TIMES
from search.odd_classifiers import Sign, start_journal, two_blobs

X, Y = two_blobs(12000)


@pytest.fixture
def journal(monkeypatch):
    journal = start_journal()
    journal.replaces_time(monkeypatch)
    return journal


class Learner(Sign):
    """A classifier that errs the less, the more rows it was fitted to; it is best where C is as large."""

    def fit(self, X, y):
        super().fit(X, y)
        self.share_ = self.wrong * np.sqrt(1000 / len(X)) * (1 + abs(np.log(self.C * 1000 / len(X))) / 3)
        return self

    def predict(self, X):
        said = self.classes_[(X[:, 0] > 0).astype(int)]
        turned = np.random.default_rng(0).uniform(size=len(X)) < self.share_  # the same rows for all
        return np.where(turned, self.classes_.sum() - said, said)


def learner(name, wrong, seconds, growth=2.0, power=None, **grid):
    """Return a candidate that takes so many seconds of 1000 rows."""
    power = growth if power is None else power
    model = Learner(name, wrong, seconds=seconds / 1000**power, power=power)
    return Candidate(name, model, grid, growth=growth)


def search(models, budget, **options):
    candidates = {model.name: model for model in models}
    options = {"max_rows": 1250, "blend": False, "random_state": 0} | options
    return KernelSearchCV(candidates, budget=budget, **options).fit(X, Y)


def sizes(journal, name):
    return [len(X) for who, X, _ in journal.fits if who == name]


def test_a_quick_one_does_not_win_by_more_samples_than_others_had(journal):
    # of 1000 samples each, the slow one is better; the quick one is better than that of all samples
    slow, quick = learner("slow", 0.10, 0.2), learner("quick", 0.13, 0.001, growth=1.0)
    found = search([slow, quick], 60.0)
    assert found.best_name_ == "slow"
    assert max(sizes(journal, "quick")) == max(sizes(journal, "slow")[:-1]) > 2000
    assert journal.now <= 60.0


def test_who_can_have_few_samples_in_the_end_is_judged_by_few(journal):
    slow, quick = learner("slow", 0.10, 4.0), learner("quick", 0.13, 0.001, growth=1.0)
    found = search([slow, quick], 60.0)  # of which the last fit of the slow one may take 24 s: 2400 samples
    assert found.best_name_ == "quick"
    assert max(sizes(journal, "slow")) < 1000 * np.sqrt(LAST * 60.0 / 4.0) + 1
    assert found.result_.n_trained == 11750


def test_the_slowest_is_left_behind_if_the_others_could_not_go_on_with_it(journal):
    models = [learner("a", 0.10, 0.05), learner("b", 0.101, 0.05), learner("slow", 0.102, 1.2)]
    found = search(models, 30.0)
    assert found.best_name_ == "a"
    assert max(sizes(journal, "slow")) <= 1000
    assert sizes(journal, "a")[-2] == max(sizes(journal, "b")) > 3000
    assert journal.now <= 30.0


def test_who_falls_behind_on_the_way_does_not_go_on(journal):
    class Slower(Learner):
        def fit(self, X, y):
            super().fit(X, y)
            self.share_ = self.wrong
            return self

    stays = Candidate("stays", Slower("stays", 0.10, seconds=5e-5, power=1.0), {}, growth=1.0)
    found = search([learner("learns", 0.10, 0.05, growth=1.0), stays], 60.0)
    assert found.best_name_ == "learns"
    first = int(TIMES * 1000)
    assert sizes(journal, "stays").count(first) == 5
    assert max(sizes(journal, "stays")) == first
    assert found.result_.n_trained == 11750


def test_there_is_a_step_between_only_if_it_takes_a_small_part_of_the_time(journal):
    models = [learner(name, 0.10, 0.3, growth=1.0) for name in "ab"]
    for budget, between in ((30.0, 0), (200.0, 1)):  # it takes 7 s at least
        journal = start_journal()
        search(models, budget, refit=False)
        steps = sorted({size for size in sizes(journal, "a") if size > 1000})
        assert steps[0] > TIMES * 1000 if not between else steps == [TIMES * 1000, 11750]


def test_the_settings_move_with_the_samples(journal):
    grid = [1.0, 2.0, 4.0, 8.0, 16.0]
    found = search([learner("a", 0.3, 0.001, C=grid), learner("b", 0.35, 0.001, C=grid)], 60.0)
    assert found.best_settings_["C"] >= 4.0  # the best of 1000 samples is 1
    assert found.result_.n_trained == 11750


def test_with_what_time_is_left_neighbours_are_scored_with_as_many_samples(journal):
    grid = [1.0, 2.0, 4.0, 8.0, 16.0]
    # foretold to take too long for more than the best setting of each
    models = [learner(name, wrong, 0.1, 2.0, power=1.0, C=grid) for name, wrong in (("a", 0.3), ("b", 0.31))]
    found = search(models, 60.0)
    n_last = max(sizes(journal, "a")[:-1])
    assert found.result_.n_trained == n_last > 3000
    assert sizes(journal, "a").count(n_last) > 5
    assert found.best_settings_["C"] > 1.0
    assert journal.now <= 60.0


def test_all_samples_of_the_folds_are_tested_however_few_are_learned_from(journal):
    slow = learner("slow", 0.1, 1.0)
    found = search([slow, learner("other", 0.1, 1.0)], 20.0, max_rows=4000, refit=False)
    assert max(sizes(journal, "slow")[2:]) < 2000
    assert found.result_.measure.n_samples in (4000, 2400)  # of five folds or of three


def test_nobody_has_more_samples_than_its_last_fit_may_have(journal):
    small = learner("small", 0.1, 0.01)._replace(most_rows=3000)
    search([small, learner("a", 0.1, 0.01)], 60.0)
    assert max(sizes(journal, "small")) == 3000
    assert max(sizes(journal, "a")) == 12000


def test_without_a_budget_there_is_one_step_for_all_whatever_their_time(journal):
    models = [learner("slow", 0.10, 100.0), learner("quick", 0.101, 0.1, growth=1.0, C=[1.0, 2.0])]
    found = search(models, None, refit=False)
    for name in ("slow", "quick"):
        assert sizes(journal, name)[-5:] == [4000] * 5
        assert max(sizes(journal, name)) == 4000
    assert found.result_.n_trained == 4000


def test_candidates_that_fail_with_more_samples_keep_what_they_had(journal):
    broken = Sign("broken", error=ValueError("too many"), error_above=1000)
    models = [Candidate("broken", broken, {}, growth=1.0), learner("a", 0.1, 0.01)]
    found = search(models, 60.0, refit=False)
    assert max(sizes(journal, "broken")) > 1000
    assert found.best_name_ == "broken"
    assert found.leaderboard_.loc["broken", "folds"] == 5
    assert sizes(journal, "broken").count(max(sizes(journal, "broken"))) <= 5  # and are not tried again


def test_a_setting_that_fails_with_more_samples_leaves_the_others_theirs(journal):
    class Picky(Learner):
        def fit(self, X, y):
            if self.C == 4.0 and len(X) > 1000:
                raise ValueError("too many")
            return super().fit(X, y)

    picky = Candidate(
        "picky", Picky("picky", 0.1, seconds=1e-8, power=1.0), {"C": [1.0, 2.0, 4.0]}, growth=1.0
    )
    found = search([picky], 60.0, refit=False)
    assert found.result_.n_trained > 4000
    assert found.best_settings_["C"] == 2.0


def test_fits_that_are_slower_by_chance_do_not_make_the_last_one_smaller(journal):
    class Uneven(Learner):
        def fit(self, X, y):
            journal.now += 1e-4 * len(journal.fits) * self.seconds * len(X)  # each a little slower
            return super().fit(X, y)

    def rows_used(kind):
        start_journal()
        grid, candidates = {"C": [1.0, 2.0, 4.0]}, {}
        for name in "ab":
            model = kind(name, 0.3, seconds=0.2 / 1000, power=1.0)
            candidates[name] = Candidate(name, model, grid, growth=1.5)
        options = {"budget": 40.0, "max_rows": 1250, "blend": False, "random_state": 0}
        return KernelSearchCV(candidates, **options).fit(*two_blobs(30000)).rows_used_

    assert rows_used(Uneven) == pytest.approx(rows_used(Learner), rel=0.1)


def test_without_a_budget_the_best_few_go_on(journal):
    models = [learner(str(k), 0.10 + 0.001 * k, 0.1) for k in range(FEW + 2)]
    search(models, None, refit=False)
    assert [max(sizes(journal, str(k))) for k in range(FEW + 2)] == [4000] * FEW + [1000] * 2


def test_of_many_samples_a_thousand_of_each_fold_are_tested(journal):
    models = [learner("slow", 0.1, 1.0), learner("other", 0.1, 1.0)]
    found = search(models, 20.0, max_rows=12000, refit=False)
    assert max(sizes(journal, "slow")[2:]) < 2000
    assert found.result_.measure.n_samples in (5000, 3000)
