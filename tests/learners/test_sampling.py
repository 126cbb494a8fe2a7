"""Of many rows a learner sees a sample: which rows these are, and that it learns from nothing else."""

import inspect

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import BaseEstimator, clone
from sklearn.datasets import make_friedman1
from sklearn.gaussian_process.kernels import RBF

import mercer.learners
from mercer import (
    BlendedKernel,
    BoostedKernel,
    IdealizedKernel,
    KernelBoost,
    KernelSVC,
    Pairs,
    RelevanceKernel,
    Superkernel,
)
from mercer.learners.sampling import FEW, draw_by_class, draw_with_pairs
from mercer.machines.problems import How
from mercer.machines.rows_of import choose_method
from mercer.solvers.newton import HINGE
from mercer.superkernels import Alignment

pytestmark = pytest.mark.filterwarnings("ignore:γ is zero")  # which is no matter here

FROM_LABELS = {
    "boosted": BoostedKernel(n_rounds=3),
    "boosted-rbf": BoostedKernel(RBF(2.0), n_rounds=3),
    "idealized": IdealizedKernel(),
    "idealized-rbf": IdealizedKernel(RBF(2.0), max_rank=9),
    "kernelboost": KernelBoost(n_rounds=3),
    "relevance": RelevanceKernel(n_rounds=2),
    "superkernel": Superkernel(),
    "blended": BlendedKernel(KernelBoost(n_rounds=2, random_state=0)),
}
FROM_PAIRS = {
    name: learner for name, learner in FROM_LABELS.items() if name not in ("relevance", "superkernel")
} | {"superkernel": Superkernel(quality=Alignment())}
EACH = pytest.mark.parametrize("learner", FROM_LABELS.values(), ids=FROM_LABELS.keys())
EACH_OF_PAIRS = pytest.mark.parametrize("learner", FROM_PAIRS.values(), ids=FROM_PAIRS.keys())


def two_classes(n=90):
    rng = np.random.default_rng(0)
    y = rng.permutation(np.arange(n) % 3 == 0)
    return rng.normal(size=(n, 4)) + 1.5 * y[:, None], y


def some_pairs(n_rows):
    """Return pairs of few of the rows, of two groups."""
    rows = np.random.default_rng(1).permutation(n_rows)[:20].reshape(2, 10)
    similar = np.concatenate([np.column_stack([group[:-1], group[1:]]) for group in rows])
    return Pairs(similar, rows.T)


def prepared(learner, max_rows):
    return clone(learner).set_params(random_state=0, max_rows=max_rows)


@EACH
def test_a_learner_learns_from_the_sampled_rows_alone(learner):
    X, y = two_classes()
    many = prepared(learner, 45).fit(X, y)
    rows = many.sampled_rows_
    assert len(rows) == 45
    assert np.all(np.diff(rows) > 0)
    few = prepared(learner, 45).fit(X[rows], y[rows])
    assert few.sampled_rows_ is None
    assert many.kernel_ == few.kernel_
    assert_array_equal(many.transform(X), few.transform(X))
    if hasattr(BaseEstimator, "_html_repr"):  # as of scikit-learn 1.7
        assert "Learned from a sample of 45 rows." in many._html_repr()
        assert "sample of" not in few._html_repr()


@EACH
def test_up_to_max_rows_nothing_depends_on_it(learner):
    X, y = two_classes()
    assert prepared(learner, 90).fit(X, y).kernel_ == prepared(learner, 10**6).fit(X, y).kernel_


@EACH_OF_PAIRS
def test_all_listed_pairs_are_learned_from(learner):
    X, _ = two_classes()
    pairs = some_pairs(len(X))
    many = prepared(learner, 30).fit(X, pairs=pairs)
    rows = many.sampled_rows_
    assert len(rows) == 30
    assert np.isin(pairs.rows(), rows).all()
    of_sample = Pairs(*(np.searchsorted(rows, kind) for kind in pairs))
    assert many.kernel_ == prepared(learner, 30).fit(X[rows], pairs=of_sample).kernel_


@EACH
def test_one_name_and_the_same_words_for_all_learners(learner):
    parameters = inspect.signature(type(learner)).parameters
    text = inspect.getdoc(type(learner))
    default = parameters["max_rows"].default
    words = (
        f"max_rows : int, default={default} With more rows, a sample of this size is used: drawn by class, "
        "at least ten of each, with all rows that `pairs` mention."
    )
    assert words in " ".join(text.split())
    assert "sampled_rows_ : array of shape (n_sampled,) or None" in text
    with pytest.raises(ValueError, match="max_rows must be at least 4"):
        clone(learner).set_params(max_rows=3).fit(*two_classes())


def test_every_learner_is_looked_at_here():
    assert {type(learner).__name__ for learner in FROM_LABELS.values()} == set(mercer.learners.__all__)


@EACH
def test_a_machine_of_many_rows_computes_no_gram_matrix_of_a_learned_kernel(learner):
    kernel = prepared(learner, 45).fit(*two_classes()).kernel_
    assert choose_method(kernel, How("auto"), HINGE, (30_000, 4), 2) in ("features", "landmarks")


@pytest.mark.parametrize("name", ["boosted-rbf", "superkernel"])
def test_the_machine_is_fitted_to_all_rows(name):
    X, y = two_classes()
    model = KernelSVC(prepared(FROM_LABELS[name], 45)).fit(X, y)
    assert len(model.learner_.sampled_rows_) == 45
    expected = KernelSVC(model.kernel_, C=model.C_).fit(X, y)
    assert_array_equal(model.decision_function(X), expected.decision_function(X))


@pytest.mark.parametrize("kind", [KernelBoost, BoostedKernel])
def test_numbers_are_sampled_before_they_make_pairs(kind):
    X, _ = two_classes()
    target = X[:, 0] ** 2
    many = kind(n_rounds=2, max_rows=40, random_state=0).fit(X, target=target)
    rows = many.sampled_rows_
    assert len(rows) == 40
    few = kind(n_rounds=2, max_rows=40, random_state=0).fit(X[rows], target=target[rows])
    assert many.kernel_ == few.kernel_


def test_pairs_of_a_sample_are_named_by_the_rows_that_fit_was_given():
    X, y = two_classes()
    learner = IdealizedKernel(max_rows=45, random_state=0).fit(X, y)
    assert np.isin(learner.pairs_, learner.sampled_rows_).all()
    assert_array_equal(y[learner.pairs_[:, 0]] != y[learner.pairs_[:, 1]], learner.dissimilar_)


def test_unlabelled_rows_are_sampled_too_unless_the_method_takes_any_number():
    X, y = two_classes()
    more = np.random.default_rng(2).normal(size=(60, 4))
    spanned = BoostedKernel(RBF(2.0), n_rounds=2, max_rows=30, random_state=0).fit(X, y, unlabelled=more)
    assert len(spanned.kernel_.landmarks) == 30
    mixtures = KernelBoost(n_rounds=2, max_rows=45, random_state=0).fit(X, y, unlabelled=more)
    rows = mixtures.sampled_rows_
    few = KernelBoost(n_rounds=2, random_state=0).fit(X[rows], y[rows], unlabelled=more)
    assert_allclose(mixtures.alphas_, few.alphas_, rtol=1e-12)


@pytest.mark.parametrize("most", [40, 100, 333])
def test_each_class_has_its_share_and_rare_ones_ten(rng, most):
    label = np.repeat(np.arange(5), [700, 200, 80, 15, 5])
    for _ in range(20):
        rows = draw_by_class(label, most, rng)
        size = np.bincount(label[rows])
        assert len(np.unique(rows)) == len(rows)
        assert_array_equal(np.sort(rows), rows)
        quota = np.array([0.7, 0.2, 0.08, 0.015, 0.005]) * most
        least = np.minimum([700, 200, 80, 15, 5], FEW)
        assert np.all(np.abs(size - quota)[size > least] < 1.0)
        assert np.all(size >= least)


def test_each_row_of_a_class_is_as_likely_as_another(rng):
    label = np.repeat([0, 1], [30, 60])
    counts = np.zeros(90)
    for _ in range(3000):
        counts[draw_by_class(label, 45, rng)] += 1
    assert_allclose(counts / 3000, 0.5, atol=0.05)  # five standard deviations


def test_rows_in_pairs_stay_even_if_they_are_more_than_there_is_room_for(rng):
    pairs = Pairs([(0, 5), (5, 9)], [(2, 9)]).check(12)
    assert_array_equal(draw_with_pairs(pairs, 12, 3, rng), [0, 2, 5, 9])
    rows = draw_with_pairs(pairs, 12, 6, rng)
    assert len(rows) == 6
    assert np.isin([0, 2, 5, 9], rows).all()


def test_coordinates_of_many_rows_are_computed_in_blocks(monkeypatch):
    X, y = make_friedman1(100, n_features=5, random_state=0)
    learner = Superkernel(random_state=0).fit(X[:60], y[:60] > 14)
    at_once, sizes, gram = learner.transform(X), [], type(learner.kernel_).gram
    monkeypatch.setattr("mercer.learners.superkernel.BLOCK", 30)
    monkeypatch.setattr(
        type(learner.kernel_), "gram", lambda self, X, Z: sizes.append(len(X)) or gram(self, X, Z)
    )
    assert_allclose(learner.transform(X), at_once, rtol=1e-9, atol=1e-12)
    assert sizes == [30, 30, 30, 10]


def test_what_a_sample_costs_is_the_alignment_on_other_rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 30))
    label, noise = X[:, 0] > 0, rng.integers(2, size=300)
    assert RelevanceKernel(random_state=0).fit(X, label).sample_alignment_ is None
    learner = RelevanceKernel(max_rows=60, random_state=0)
    own, other = learner.fit(X, label).sample_alignment_
    assert min(own, other) > 0.1
    sampled = np.zeros(300, dtype=bool)
    sampled[learner.sampled_rows_] = True
    for rows, found in ((sampled, own), (~sampled, other)):
        K, L = learner.kernel_(X[rows]), (label[rows][:, None] == label[rows]).astype(float)
        H = np.eye(len(K)) - 1.0 / len(K)
        K, L = H @ K @ H, H @ L @ H
        assert_allclose(found, (K * L).sum() / np.sqrt((K**2).sum() * (L**2).sum()), rtol=1e-9)
    own, other = learner.fit(X, noise).sample_alignment_
    assert own > other + 0.03  # what was learned was noise
    own, other = learner.fit(X, target=2.0 * X[:, 0] + 5.0).sample_alignment_
    assert min(own, other) > 0.1
