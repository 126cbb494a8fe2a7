"""Data, pairs and penalties of the experiments of [KT03]."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.gaussian_process.kernels import RBF
from sklearn.metrics.pairwise import pairwise_distances
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline

from kt03_draw import small_draw
from mercer import IdealizedKernel, Pairs, datasets
from reproduction.kt03 import data, learning
from reproduction.kt03.data import draw_similar, draw_split
from reproduction.kt03.learning import (
    Learning,
    learn_for_clusters,
    learn_for_neighbours,
    split_pairs,
)


@pytest.fixture
def cheap(monkeypatch):
    """Let two penalties be tried, not four."""
    monkeypatch.setattr(learning, "PENALTIES", (1e3, 1e1))


def groups_of(n, pairs):
    """What the pairs connect, by relabelling one pair at a time."""
    group = list(range(n))
    for i, j in pairs:
        group = [group[i] if g == group[j] else g for g in group]
    return group


@pytest.mark.parametrize(("row", "sizes"), [("toy-linear", (60, 40)), ("wine-rbf", (119, 59))])
def test_a_split_has_the_papers_numbers_of_rows_and_every_row_once(row, sizes, monkeypatch):
    monkeypatch.delenv("MERCER_DATA", raising=False)
    draw = draw_split(row, 1)
    assert (len(draw.train.y), len(draw.test.y)) == sizes
    rows = np.vstack([draw.train.X, draw.test.X])
    if row.startswith("wine"):
        assert_array_equal(np.sort(rows, axis=0), np.sort(datasets.load("wine").X, axis=0))
    assert not np.array_equal(draw.train.X, draw_split(row, 2).train.X)
    assert_array_equal(draw.train.X, draw_split(row, 1).train.X)


def test_coordinates_have_the_kernels_inner_products_and_its_width_is_that_of_the_training_rows():
    plain, rbf = draw_split("toy-linear", 3), draw_split("toy-rbf", 3)
    assert_allclose(plain.train.Z @ plain.test.Z.T, plain.train.X @ plain.test.X.T)
    distance = [
        np.sum((a - b) ** 2) for i, a in enumerate(rbf.train.X) for b in rbf.train.X[:i]
    ]  # of all pairs
    D = pairwise_distances(rbf.train.X, rbf.test.X) ** 2
    assert_allclose(rbf.train.Z @ rbf.test.Z.T, np.exp(-D / np.mean(distance)), atol=1e-8)


def test_data_are_prepared_as_the_docstring_says(monkeypatch, rng):
    X, y = rng.lognormal(size=(6, 4)), np.arange(6) % 2
    monkeypatch.setattr(datasets, "load", lambda name: datasets.Dataset(name, X, y, ("a", "b"), "here"))
    stream = np.random.RandomState(0)
    assert_array_equal(data.load_rows("soybean", stream)[0], X)
    assert_array_equal(data.load_rows("wine", stream)[0], X)
    lymphoma = data.load_rows("lymphoma", stream)[0]
    assert_allclose(lymphoma, (X - X.mean(axis=0)) / X.std(axis=0))
    L = np.log(X)
    L = (L - L.mean(axis=1)[:, None]) / L.std(axis=1)[:, None]
    assert_allclose(data.load_rows("colon", stream)[0], (L - L.mean(axis=0)) / L.std(axis=0))


@pytest.mark.parametrize("seed", range(5))
def test_similar_pairs_are_of_one_class_and_just_enough_for_seventy_percent(seed):
    rng = np.random.RandomState(seed)
    y = rng.randint(3, size=40)
    pairs = draw_similar(y, rng)
    assert (y[pairs[:, 0]] == y[pairs[:, 1]]).all()
    assert len({tuple(sorted(pair)) for pair in pairs.tolist()}) == len(pairs)
    assert len(set(groups_of(40, pairs))) == 28
    assert len(set(groups_of(40, pairs[:-1]))) == 29


def test_no_pair_is_learned_from_and_judged_on_at_once():
    y = np.arange(12) % 2
    pairs = Pairs.from_labels(y)
    judged = []
    for kept, left in split_pairs(pairs, 12, np.random.RandomState(0)):
        for kind in (0, 1):
            known, new = ({tuple(pair) for pair in part[kind].tolist()} for part in (kept, left))
            assert known | new == {tuple(pair) for pair in pairs[kind].tolist()}
            assert not known & new
        judged.append(left.similar)
    assert_array_equal(np.unique(np.concatenate(judged), axis=0), np.unique(pairs.similar, axis=0))


def test_without_dissimilar_pairs_the_learner_draws_its_own_and_unknown_pairs_judge_it():
    similar = np.array([(0, 1), (1, 2), (3, 4), (5, 6)])
    group = groups_of(9, similar)
    for kept, left in split_pairs(Pairs(similar), 9, np.random.RandomState(0)):
        assert len(kept.dissimilar) == 0
        assert all(group[i] != group[j] for i, j in left.dissimilar)
        assert len(left.dissimilar)


def test_all_pairs_of_labels_are_the_labels(cheap):
    Z, y = small_draw().train.Z, small_draw().train.y
    by_labels, by_pairs = (
        Learning("exact", "auto", 0).learner(1e3).set_params(n_neighbors=None).fit(Z, **given)
        for given in ({"y": y}, {"pairs": Pairs.from_labels(y)})
    )
    assert_allclose(by_labels.kernel_(Z), by_pairs.kernel_(Z), rtol=1e-6, atol=1e-9)


def test_learning_from_coordinates_is_learning_with_the_base_kernel():
    draw = draw_split("toy-rbf", 5)
    X, Z, y = draw.train.X, draw.train.Z, draw.train.y
    base = data.rbf_of(X)
    assert isinstance(base, RBF)
    settings = {"C_similar": 1e3, "C_dissimilar": 1e4, "tol": 1e-8}
    of_rows = IdealizedKernel(base, **settings).fit(X, y).kernel_(draw.test.X)
    of_coordinates = IdealizedKernel(**settings).fit(Z, y).kernel_(draw.test.Z)
    assert_allclose(of_coordinates, of_rows, atol=1e-3 * np.abs(of_rows).max())


@pytest.mark.parametrize("psd", ["exact", "clip"])
@pytest.mark.parametrize("row", ["toy-linear", "toy-rbf"])
def test_the_penalty_is_that_of_a_grid_search(cheap, psd, row):
    train = draw_split(row, 0).train
    grid = [
        {"idealizedkernel__C_similar": [C], "idealizedkernel__C_dissimilar": [10 * C]}
        for C in learning.PENALTIES
    ]
    pipeline = make_pipeline(Learning(psd, "auto", 0).learner(1.0), KNeighborsClassifier(1))
    search = GridSearchCV(pipeline, grid, cv=StratifiedKFold(3, shuffle=True, random_state=4))
    with pytest.warns(match="γ is zero"):
        search.fit(train.Z, train.y)
    learned = learn_for_neighbours(train.Z, train.y, Pairs.from_labels(train.y), Learning(psd, "median", 4))
    assert learned.C_similar == search.best_params_["idealizedkernel__C_similar"]
    assert learned.C_dissimilar == 10 * learned.C_similar
    assert learned.psd == psd


def test_a_penalty_is_judged_on_rows_that_no_pair_was_learned_from(monkeypatch):
    draw, judged = small_draw(), []

    def note(metric, Z, y, Z_test, y_test):
        judged.append((metric.pairs_.max(), Z, y, Z_test, y_test))
        return 0.0

    monkeypatch.setattr(learning, "PENALTIES", (1e3,))
    monkeypatch.setattr(learning, "MOST", 1e3)
    monkeypatch.setattr(learning, "neighbour_error", note)
    train = draw.train
    with pytest.warns(UserWarning, match=r"end of the grid, 1e\+03"):
        learn_for_neighbours(train.Z, train.y, Pairs.from_labels(train.y), Learning("exact", "median", 0))
    assert len(judged) == 3
    for last, Z, y, Z_left, y_left in judged:
        assert last < len(Z)
        rows, labels = np.vstack([Z, Z_left]), np.concatenate([y, y_left])
        order, expected = np.lexsort(rows.T), np.lexsort(train.Z.T)
        assert_array_equal(rows[order], train.Z[expected])  # every row once
        assert_array_equal(labels[order], train.y[expected])


def test_of_equal_penalties_the_default_is_taken():
    assert learning.best_penalty(lambda C: 0.0) == IdealizedKernel().C_similar
    assert learning.best_penalty(lambda C: abs(C - 1e5)) == 1e5


@pytest.mark.parametrize("best", [1e-1, 1e9, 1e13])
def test_the_grid_of_penalties_grows_until_its_best_is_inside(best):
    tried = []

    def loss(C):
        tried.append(C)
        return abs(np.log(C / best))

    assert learning.best_penalty(loss) == pytest.approx(best)
    assert min(tried) < best < max(tried)


@pytest.mark.parametrize(("sign", "end"), [(-1, 1e15), (1, 1e-3)])
def test_where_the_grid_cannot_grow_on_its_end_is_reported(sign, end):
    with pytest.warns(UserWarning, match=f"end of the grid, {end:.0e}".replace("+", r"\+")):
        assert learning.best_penalty(lambda C: sign * C) == pytest.approx(end)


def test_for_clusters_the_penalty_is_that_of_the_best_auc(monkeypatch):
    draw = small_draw()
    monkeypatch.setattr(learning, "auc", lambda metric, Z, left: -abs(metric.C_similar - 1e5))
    pairs = Pairs(draw.similar, Pairs.from_labels(draw.train.y).dissimilar)
    assert learn_for_clusters(draw.train.Z, pairs, Learning("exact", "auto", 0)).C_similar == 1e5


def test_the_auc_is_of_distances_in_the_learned_metric():
    draw = small_draw()
    metric = Learning("exact", "auto", 0).learner(1e3).fit(draw.train.Z, draw.train.y)
    pairs = Pairs(np.array([(0, 2), (1, 3)]), np.array([(0, 1), (2, 3), (4, 5)]))
    D = metric.kernel_.squared_distance(draw.train.Z, draw.train.Z)
    wins = [D[i, j] < D[k, m] for i, j in pairs.similar for k, m in pairs.dissimilar]
    assert learning.auc(metric, draw.train.Z, pairs) == pytest.approx(np.mean(wins))
