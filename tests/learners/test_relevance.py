"""RelevanceKernel: the right features, from classes and numbers, whatever their units and companions."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import make_friedman1
from sklearn.gaussian_process.kernels import RBF

from mercer import KernelRegressor, KernelSVC, Pairs, RelevanceKernel
from mercer.kernels import Perceptron, Rescaled, Tree
from mercer.learners import relevance
from mercer.learners.base import TrainingData
from mercer.learners.relevance import BASES, SETTINGS, Rounds, make_targets, share_of_useless
from mercer.solvers.relevance import fit_ridge

EACH_BASE = pytest.mark.parametrize("base", BASES)


def rows(n=300, n_useless=15, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2 + n_useless))
    return X, X[:, 0] + X[:, 1] ** 2 - 1.0


def known(label):
    return TrainingData(X=None, label=np.asarray(label, dtype=np.intp), pairs=None, unlabelled=None)


@EACH_BASE
def test_it_finds_the_features_that_matter(base):
    X, f = rows()
    learner = RelevanceKernel(base, random_state=0).fit(X, f > 0)
    assert np.all(learner.relevance_[:2] > 3 * learner.relevance_[2:].max())
    assert learner.relevance_.max() == 1.0
    assert learner.loss_[learner.n_rounds_] == learner.loss_.min() < 0.8 * learner.loss_[0]


@EACH_BASE
def test_numbers_are_targets_too(base):
    X, f = rows()
    learner = RelevanceKernel(base, random_state=0).fit(X, target=f)
    assert np.all(learner.relevance_[:2] > 3 * learner.relevance_[2:].max())
    assert learner.fit(X, f > 0).classes_.tolist() == [False, True]
    assert not hasattr(learner.fit(X, target=f), "classes_")


def test_whole_numbers_are_classes_as_y_and_numbers_as_target():
    X, f = rows()
    counts = np.round(3.0 * f).astype(int)
    learner = RelevanceKernel(random_state=0).fit(X, target=counts)
    assert not hasattr(learner, "classes_")
    assert_array_equal(learner.relevance_, clone(learner).fit(X, target=counts.astype(float)).relevance_)
    assert len(learner.fit(X, counts).classes_) == len(np.unique(counts))


def test_several_targets_share_the_weights_whatever_their_units():
    X, f = rows()
    learner = RelevanceKernel(random_state=0).fit(X, target=np.column_stack([1e-6 * f, 1e6 * X[:, 4]]))
    assert learner.relevance_[[0, 1, 4]].min() > 3 * np.delete(learner.relevance_, [0, 1, 4]).max()


def test_a_constant_target_leaves_all_features_as_they_are():
    X, _ = rows(60, 3)
    assert_array_equal(RelevanceKernel(random_state=0).fit(X, target=np.full(60, 7.3)).relevance_, 1.0)


@pytest.mark.parametrize("seed", range(3))
def test_a_regressor_with_it_finds_friedmans_features_and_beats_the_plain_tree_kernel(seed):
    X, y = make_friedman1(300, n_features=20, noise=1.0, random_state=seed)
    new, truth = make_friedman1(1000, n_features=20, random_state=seed + 50)
    plain = KernelRegressor(Tree()).fit(X, y)
    learned = KernelRegressor(RelevanceKernel(random_state=0)).fit(X, y)
    relevance = learned.learner_.relevance_
    assert relevance[:5].min() > 2 * relevance[5:].max()
    assert 1.0 - learned.score(new, truth) < 0.7 * (1.0 - plain.score(new, truth))


def test_three_classes_share_the_weights():
    X, _ = rows()
    y = np.digitize(X[:, 0], [-0.5, 0.5]) * 10
    learner = RelevanceKernel(random_state=0).fit(X, y)
    assert learner.classes_.tolist() == [0, 10, 20]
    assert learner.relevance_[0] > 3 * learner.relevance_[1:].max()


def test_a_feature_that_acts_only_together_with_another_comes_back():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 22))
    y = X[:, 0] + 2.0 * np.sign(X[:, 0]) * X[:, 1] > 0  # the second has no effect of its own
    learner = RelevanceKernel(random_state=0).fit(X, y)
    assert np.all(learner.relevance_[:2] > 2 * learner.relevance_[2:].max())


def test_among_many_useless_features_those_are_found_that_act_only_together(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 60))
    y = X[:, 0] * X[:, 1] + X[:, 2] + X[:, 3] > 0
    learner = RelevanceKernel(random_state=0).fit(X, y)
    assert set(np.argsort(learner.relevance_)[-4:]) == {0, 1, 2, 3}
    monkeypatch.setattr(relevance, "SETTINGS", relevance.SETTINGS._replace(most_in_pairs=10))
    blind = RelevanceKernel(random_state=0).fit(X, y)
    assert blind.loss_.min() > 1.2 * learner.loss_.min()


@EACH_BASE
def test_the_units_of_features_do_not_matter(base):
    X, f = rows(150, 5)
    units = np.array([1e3, 1e-3, 7.0, 1.0, 1.0, 1.0, 1.0])
    one = RelevanceKernel(base, n_rounds=2, random_state=0).fit(X, f > 0)
    other = RelevanceKernel(base, n_rounds=2, random_state=0).fit(X * units, f > 0)
    assert_allclose(one.relevance_, other.relevance_, atol=1e-4)
    assert_allclose(one.kernel_(X), other.kernel_(X * units), atol=1e-3)


@EACH_BASE
def test_its_kernel_is_the_base_on_weighted_features(base):
    X, f = rows(80, 3)
    learner = RelevanceKernel(base, n_rounds=2, random_state=0).fit(X, f > 0)
    kernel = learner.kernel_
    assert isinstance(kernel, Rescaled)
    Z = X * learner.relevance_ / X.std(axis=0)
    used = learner.relevance_ > 0
    ratio = (Z / (X / kernel.scale))[:, used]
    assert_allclose(ratio, ratio[0, 0])  # the unit: the median distance
    assert_allclose(kernel(X), kernel.base(Z / ratio[0, 0]), atol=1e-6)
    order = 1 if base == "tree" else 2
    distance = np.linalg.norm(Z[:, None] - Z[None, :], ord=order, axis=2)[np.triu_indices(80, 1)]
    assert_allclose(np.median(distance), ratio[0, 0])
    assert type(kernel.base) is {"tree": Tree, "perceptron": Perceptron, "rbf": RBF}[base]


@EACH_BASE
def test_its_kernel_is_positive_semi_definite(base):
    X, f = rows(60, 3)
    K = RelevanceKernel(base, n_rounds=1, random_state=0).fit(X, f > 0).kernel_(X)
    assert np.linalg.eigvalsh(K).min() > -1e-9 * np.trace(K)


def test_inner_products_of_its_features_are_the_kernel():
    X, f = rows(60, 3)
    learner = RelevanceKernel(n_rounds=1, random_state=0).fit(X, f > 0)
    F = learner.transform(X)
    assert_allclose(F @ F.T, learner.kernel_(X), atol=1e-8)
    assert learner.get_feature_names_out().shape == (F.shape[1],)


def test_the_losses_are_those_of_ridge_regression():
    X, f = rows(100, 4)
    learner = RelevanceKernel(n_rounds=2, random_state=0).fit(X, f > 0)
    T = make_targets(known(f > 0))
    first = Tree().fitted_to(X / X.std(axis=0))(X / X.std(axis=0))
    assert_allclose(learner.loss_[0], fit_ridge(first, T, SETTINGS.penalties).loss)
    best = fit_ridge(learner.kernel_(X), T, [learner.penalty_])
    assert_allclose(best.loss, learner.loss_[learner.n_rounds_], rtol=1e-6)


def test_targets_have_mean_zero_and_mean_square_one(rng):
    numbers = TrainingData(X=None, label=None, pairs=None, unlabelled=None, target=rng.normal(3, 9, (50, 2)))
    for data in (known(rng.integers(0, 2, 50)), known(rng.integers(0, 4, 50)), numbers):
        T = make_targets(data)
        assert_allclose(T.mean(axis=0), 0.0, atol=1e-12)
        assert_allclose(np.mean(T**2), 1.0)
    assert make_targets(known([0, 1, 1])).shape == (3, 1)
    assert make_targets(known([0, 1, 2])).shape == (3, 3)


def test_rows_without_labels_join_the_average(monkeypatch):
    X, f = rows(100, 4)
    points = []
    run = Rounds.run
    monkeypatch.setattr(Rounds, "run", lambda self, *args: points.append(self.points) or run(self, *args))
    RelevanceKernel(n_rounds=1, random_state=0).fit(X[:60], f[:60] > 0, unlabelled=X[60:])
    assert_allclose(points[0], (X - X[:60].mean(axis=0)) / X[:60].std(axis=0))


def test_of_many_rows_some_decide():
    X, f = rows(200, 4)
    learner = RelevanceKernel(n_rounds=1, max_rows=50, random_state=0).fit(X, f > 0)
    assert learner.span_.rows.shape == (50, 6)
    again = RelevanceKernel(n_rounds=1, max_rows=50, random_state=0).fit(X, f > 0)
    assert_array_equal(again.relevance_, learner.relevance_)


def test_constant_columns_have_no_relevance():
    X, f = rows(80, 2)
    X = np.column_stack([X, np.full(80, 0.1)])
    assert RelevanceKernel(n_rounds=2, random_state=0).fit(X, f > 0).relevance_[-1] == 0.0
    with pytest.raises(ValueError, match="constant"):
        RelevanceKernel().fit(np.ones((10, 2)), np.arange(10) % 2)


def test_it_stops_when_rounds_are_in_vain(rng):
    X, y = rng.normal(size=(60, 3)), np.arange(60) % 2
    learner = RelevanceKernel(n_rounds=50, random_state=0).fit(X, y)
    assert len(learner.loss_) <= learner.n_rounds_ + SETTINGS.patience + 1


def test_an_svm_with_it_does_nearly_as_well_as_one_that_knows_the_features():
    X, f = rows(900, 40)
    y, train, test = f > 0, slice(0, 300), slice(300, 900)
    known = KernelSVC(Tree(), C=4.0).fit(X[train, :2], y[train]).score(X[test, :2], y[test])
    blind = KernelSVC(Tree(), C=4.0).fit(X[train], y[train]).score(X[test], y[test])
    model = KernelSVC(RelevanceKernel(random_state=0)).fit(X[train], y[train])
    found = model.score(X[test], y[test])
    assert blind < known - 0.08
    assert found > known - 0.05


def test_pairs_are_not_enough():
    X, _ = rows(20, 1)
    with pytest.raises(ValueError, match="not from pairs"):
        RelevanceKernel().fit(X, pairs=Pairs([(0, 1)], [(2, 3)]))


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"base": "linear"}, "base must be one of"),
        ({"n_rounds": 0}, "n_rounds must be at least 1"),
        ({"max_rows": 3}, "max_rows must be at least 4"),
    ],
)
def test_wrong_parameters_are_named(wrong, message):
    with pytest.raises(ValueError, match=message):
        RelevanceKernel(**wrong).fit(*rows(20, 1))


def test_the_share_of_useless_features_is_twice_that_of_products_below_zero():
    assert share_of_useless(np.array([5.0, 4.0, 1.0, -1.0])) == 0.5
    assert share_of_useless(np.array([3.0, -1.0, -2.0])) == 1.0
    rng = np.random.default_rng(0)
    slopes = np.append(rng.normal(size=4000), np.full(1000, 9.0))
    assert abs(share_of_useless(slopes) - 0.8) < 0.06


def test_of_very_many_useless_features_hardly_any_seems_to_be_of_use(monkeypatch):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(300, 104))
    y = X[:, 0] * X[:, 1] + X[:, 2] + X[:, 3] > 0

    def n_kept():
        weight = RelevanceKernel(random_state=0).fit(X, y).relevance_
        return np.count_nonzero(weight[2:4]), np.count_nonzero(weight[4:])

    useful, useless = n_kept()
    assert useful == 2
    assert useless <= 5
    monkeypatch.setattr(relevance, "SETTINGS", SETTINGS._replace(price=0.0))
    assert n_kept()[1] > 3 * useless


@pytest.mark.parametrize("offset", [1e6, 1e9])
def test_features_far_from_zero_keep_their_weights(offset):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 6))
    y = X[:, 2] > 0
    expected = RelevanceKernel(n_rounds=2, random_state=0).fit(X, y).relevance_
    X[:, 2] += offset
    found = RelevanceKernel(n_rounds=2, random_state=0).fit(X, y).relevance_
    assert_allclose(found, expected, atol=0.02)


def test_a_rare_class_is_among_the_rows_that_decide():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 4))
    y = X[:, 1] > np.sort(X[:, 1])[-16]
    learner = RelevanceKernel(n_rounds=1, max_rows=100, random_state=0).fit(X, y)
    assert np.argmax(learner.relevance_) == 1
    assert 100 < len(learner.span_.rows) <= 110
