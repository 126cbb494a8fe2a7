"""What the report shows of held-out samples was not learned from them, and is counted right."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_iris
from sklearn.gaussian_process.kernels import RBF
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC

from mercer import BoostedKernel, ClippedScaler, KernelSearchCV, KernelSVC, PerceptronSVC, StumpSVC
from mercer.kernels import Perceptron, Rescaled, Stump
from mercer.report import held_out
from mercer.report.held_out import count_neighbours, hold_out, measure, nearest_rows, split_rows
from mercer.search.label_task import LabelTask

KINDS = {
    "svc": SVC(gamma=0.1),
    "boosted": KernelSVC(BoostedKernel(n_rounds=3), relative_C=True),
    "stump": StumpSVC(),
    "perceptron": PerceptronSVC(),
}


def searched(name, X, y):
    return KernelSearchCV({name: KINDS[name]}, cv=2, random_state=0).fit(X, y)


@pytest.fixture
def iris():
    X, y = load_iris(return_X_y=True)
    return LabelTask(X, y)


def test_a_split_has_every_row_once_and_three_tenths_of_each_class_held_out(rng):
    y = rng.permutation(np.repeat(["a", "b", "c"], [100, 50, 10]))
    learned, others = split_rows(y, 0)
    assert sorted([*learned, *others]) == list(range(160))
    assert [int((y[others] == name).sum()) for name in "abc"] == [30, 15, 3]


def test_a_class_of_one_row_is_learned_from_and_one_of_two_is_in_both_parts():
    y = np.array(["a", "b", "b", *"cccc"])
    learned, others = split_rows(y, 0)
    assert set(y[learned]) == {"a", "b", "c"}
    assert set(y[others]) == {"b", "c"}


@pytest.mark.parametrize("n_each", [2, 3])
def test_of_many_small_classes_each_is_in_both_parts(n_each):
    y = np.repeat(np.arange(30), n_each)
    for part in split_rows(y, 0):
        assert set(y[part]) == set(range(30))


def test_no_more_rows_are_looked_at_than_said(iris, monkeypatch):
    monkeypatch.setattr(held_out, "MOST_ROWS", 60)
    data = hold_out(searched("svc", iris.X, iris.y), iris, 0)
    assert len(data.learned_rows) + len(data.rows) == 60


def test_of_many_rows_those_looked_at_have_the_shares_of_the_classes_and_small_classes(iris, monkeypatch):
    monkeypatch.setattr(held_out, "MOST_ROWS", 60)
    y = np.repeat([0, 1, 2], [100, 45, 5])
    data = hold_out(searched("svc", iris.X, y), LabelTask(iris.X, y), 0)
    shares = np.bincount(y[np.concatenate([data.learned_rows, data.rows])])
    assert list(shares) == [40, 18, 2]
    assert set(data.y) == {0, 1, 2}


@pytest.mark.parametrize("name", KINDS)
def test_the_model_and_its_kernel_are_learned_from_the_other_rows_alone(iris, name):
    search = searched(name, iris.X, iris.y)
    data = hold_out(search, iris, 0)
    assert not set(data.rows) & set(data.learned_rows)
    assert_array_equal(data.X, iris.X[data.rows])
    assert_array_equal(data.y_learned, iris.y[data.learned_rows])
    X = iris.X.copy()
    X[data.rows] += 100.0  # what was held out may be anything
    again = hold_out(search, LabelTask(X, iris.y), 0)
    assert_array_equal(again.model.decision_function(iris.X), data.model.decision_function(iris.X))
    if name in ("svc", "boosted"):
        assert_array_equal(again.after(iris.X), data.after(iris.X))
    expected = RBF(np.sqrt(4 / 2))(ClippedScaler().fit(iris.X[data.learned_rows]).transform(data.X))
    assert_allclose(data.before(data.X), expected)


def test_the_kernel_before_has_the_usual_width(iris):
    data = hold_out(searched("svc", iris.X, iris.y), iris, 0)
    Z = data.model[0].transform(data.X)
    assert_allclose(data.before(data.X), rbf_kernel(Z, gamma=1 / 4))  # gamma="scale" on standardised columns


@pytest.mark.parametrize(("name", "kind"), [("stump", Stump), ("perceptron", Perceptron)])
def test_distance_kernels_are_shown_positive_semi_definite(iris, name, kind):
    data = hold_out(searched(name, iris.X, iris.y), iris, 0)
    assert isinstance(data.after, Rescaled)
    assert isinstance(data.after.base, kind)
    values = np.linalg.eigvalsh(data.after(data.X))
    assert values.min() > -1e-9 * values.max()


def test_unlabelled_rows_take_part_as_they_did_in_the_search(iris):
    more = iris.X + 50.0
    data = hold_out(searched("svc", iris.X, iris.y), LabelTask(iris.X, iris.y, more), 0)
    seen = np.vstack([iris.X[data.learned_rows], more])
    assert_allclose(data.model[0].mean_, ClippedScaler().fit(seen).mean_)


def test_rows_without_a_second_of_their_class_cannot_be_held_out(iris):
    search = searched("svc", iris.X, iris.y)
    with pytest.raises(ValueError, match="single sample"):
        hold_out(search, LabelTask(iris.X[:4], np.arange(4)), 0)


@pytest.mark.parametrize("kernel", [RBF(), Stump(3.0)])
def test_the_nearest_rows_are_those_of_least_distance_in_feature_space(kernel, rng):
    X, others = rng.normal(size=(6, 2)), rng.normal(size=(20, 2))
    for x, found in zip(X, nearest_rows(kernel, X, others, 4), strict=True):
        both = [kernel(np.vstack([x, z])) for z in others]
        distances = [K[0, 0] - 2 * K[0, 1] + K[1, 1] for K in both]
        assert list(found) == list(np.argsort(distances)[:4])


def test_nearest_rows_of_a_kernel_that_is_not_constant_on_its_diagonal_take_lengths_into_account():
    kernel = Rescaled(RBF() * 1.0, np.zeros(1), np.ones(1))
    assert nearest_rows(kernel, np.array([[0.0]]), np.array([[2.0], [1.0]]), 1)[0, 0] == 1
    from sklearn.gaussian_process.kernels import DotProduct

    far, near = [10.0], [1.0]  # far has the larger inner product with 2, near the smaller distance
    assert nearest_rows(DotProduct(0.0), np.array([[2.0]]), np.array([far, near]), 1)[0, 0] == 1


def test_a_kernel_that_is_the_ideal_one_gets_full_marks(iris):
    data = hold_out(searched("svc", iris.X, iris.y), iris, 0)
    codes = np.eye(3)
    coded = data._replace(X=codes[data.y], X_learned=codes[data.y_learned])
    assert_allclose(measure(RBF(1e-3), coded), 1.0)


@pytest.mark.parametrize(("n_first", "expected"), [(2, 1), (3, 2), (6, 4), (9, 5), (1, 5)])
def test_no_more_neighbours_count_than_the_smallest_class_that_is_looked_at_has(iris, n_first, expected):
    """Of 2, 3, 6, 9 rows of a class 1, 2, 4, 6 are learned from; of a single one none is looked at."""
    some = np.concatenate([np.flatnonzero(iris.y == 0)[:n_first], np.flatnonzero(iris.y > 0)])
    rows = replace(iris, X=iris.X[some], y=iris.y[some])
    assert count_neighbours(hold_out(searched("svc", iris.X, iris.y), rows, 0)) == expected


def test_the_figures_are_what_they_are_called(iris):
    data = hold_out(searched("boosted", iris.X, iris.y), iris, 0)
    K, Y = data.after(data.X), (data.y[:, None] == data.y).astype(float)
    n = len(K)
    H = np.eye(n) - 1.0 / n

    def cosine(A, B):
        return (A * B).sum() / np.sqrt((A * A).sum() * (B * B).sum())

    figures = measure(data.after, data)
    assert_allclose(figures.alignment, cosine(H @ K @ H, H @ Y @ H))
    near = nearest_rows(data.after, data.X, data.X_learned, 5)
    expected = np.mean(
        [[data.y_learned[j] == label for j in js] for label, js in zip(data.y, near, strict=True)]
    )
    assert figures.neighbours == pytest.approx(expected)
