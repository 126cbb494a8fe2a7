"""What every learner checks, and what it is as a transformer."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from sklearn.exceptions import NotFittedError

from mercer import BoostedKernel, Pairs
from mercer.kernels import Projected
from mercer.learners.base import KernelLearner
from stand_ins import ProgressBar

X = np.random.default_rng(0).normal(size=(6, 3))
Y = np.array(["b", "a", "b", "c", "a", "c"])
PAIRS = Pairs([(1, 0), (0, 1)], [(2, 3)])


class Columns(KernelLearner):
    """A learner that keeps the first columns, and what it was given."""

    def __init__(self, n_columns=2):
        self.n_columns = n_columns

    def _learn(self, known, context):
        self.known_ = known
        self.kernel_ = Projected(np.eye(known.X.shape[1])[:, : self.n_columns])


def test_labels_become_positions_in_the_sorted_classes():
    learner = Columns().fit(X, Y)
    assert_array_equal(learner.classes_, ["a", "b", "c"])
    assert_array_equal(learner.known_.label, [1, 0, 1, 2, 0, 2])
    assert learner.known_.label.dtype == np.intp
    assert_array_equal(learner.known_.X, X)
    assert learner.known_.pairs is None
    assert learner.known_.unlabelled is None


def test_pairs_are_checked_and_stand_alone():
    for pairs in (PAIRS, tuple(PAIRS)):
        learner = Columns().fit(X, pairs=pairs, unlabelled=X[:2].astype(np.float32))
        assert_array_equal(learner.known_.pairs.similar, [[0, 1]])
        assert_array_equal(learner.known_.pairs.dissimilar, [[2, 3]])
        assert learner.known_.label is None
        assert learner.known_.unlabelled.dtype == np.float64
        assert_allclose(learner.known_.unlabelled, X[:2], rtol=1e-6)
        assert not hasattr(learner, "classes_")


def test_a_fit_to_pairs_forgets_the_classes_of_an_earlier_one():
    assert not hasattr(Columns().fit(X, Y).fit(X, pairs=PAIRS), "classes_")


def test_the_features_are_those_of_the_kernel():
    learner = Columns()
    assert_array_equal(learner.fit(X, Y).transform(X), X[:, :2])
    assert_array_equal(learner.fit_transform(X, Y), X[:, :2])
    assert_array_equal(learner.fit_transform(X, pairs=PAIRS), X[:, :2])


def test_features_have_names_and_may_come_as_a_frame():
    learner = Columns().set_output(transform="pandas").fit(X, Y)
    assert list(learner.get_feature_names_out()) == ["columns0", "columns1"]
    frame = learner.transform(X)
    assert isinstance(frame, pd.DataFrame)
    assert list(frame.columns) == ["columns0", "columns1"]
    assert list(Columns(0).fit(X, Y).get_feature_names_out()) == []


def test_a_frame_is_taken_and_its_columns_are_remembered():
    frame = pd.DataFrame(X, columns=["u", "v", "w"])
    learner = Columns().fit(frame, Y)
    assert list(learner.feature_names_in_) == ["u", "v", "w"]
    assert_array_equal(learner.transform(frame), X[:, :2])
    with pytest.raises(ValueError, match="feature names"):
        learner.transform(frame[["w", "v", "u"]])


def test_progress_is_shown(capsys):
    Columns().set_callbacks(ProgressBar()).fit(X, Y)
    assert "Columns" in capsys.readouterr().out


def test_before_fit_there_is_nothing():
    with pytest.raises(NotFittedError):
        Columns().transform(X)


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        (
            {},
            ValueError,
            r"Columns requires y .*: give labels y, numbers target=, or pairs=Pairs\(similar, dissimilar\)",
        ),
        ({"y": Y[:4]}, ValueError, "inconsistent numbers of samples"),
        ({"y": np.ones(6)}, ValueError, "two or more classes, but y has only one class"),
        ({"y": np.linspace(0.1, 1, 6)}, ValueError, "continuous"),
        ({"y": [0, 1, np.nan, 0, 1, 0]}, ValueError, "NaN"),
        ({"pairs": [(0, 1)]}, TypeError, r"pairs must be Pairs\(similar, dissimilar\), not list"),
        ({"pairs": np.array([[0, 1]])}, TypeError, "not ndarray"),
        ({"pairs": Pairs([(0, 6)])}, ValueError, "names row 6, but X has rows 0 to 5"),
        ({"pairs": Pairs()}, ValueError, "there are no pairs"),
        ({"pairs": Pairs([(0, 1)], [(1, 0)])}, ValueError, "similar and as dissimilar"),
        ({"pairs": Pairs([0, 1])}, ValueError, r"of shape \(n_pairs, 2\)"),
        ({"y": Y, "unlabelled": X[:, :2]}, ValueError, "unlabelled has 2 features, X has 3"),
        ({"y": Y, "unlabelled": X * np.nan}, ValueError, "unlabelled contains NaN"),
        ({"y": Y, "unlabelled": X[0]}, ValueError, "Expected 2D array"),
        ({"y": Y, "unlabelled": X * 1e200}, ValueError, "too extreme to square"),
        ({"y": Y, "unlabelled": X[:0]}, ValueError, "0 sample"),
    ],
    ids=str,
)
def test_what_cannot_be_is_refused_with_a_reason(given, error, message):
    with pytest.raises(error, match=message):
        Columns().fit(X, **given)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_rows_that_are_not_finite_are_refused(bad):
    wrong = X.copy()
    wrong[2, 1] = bad
    for fit in (lambda: Columns().fit(wrong, Y), lambda: Columns().fit(wrong, pairs=PAIRS)):
        with pytest.raises(ValueError, match=r"NaN|infinity"):
            fit()
    with pytest.raises(ValueError, match=r"NaN|infinity"):
        Columns().fit(X, Y).transform(wrong)


def test_sparse_samples_are_as_good_as_dense_ones():
    expected = Columns().fit(X, Y).transform(X)
    assert_array_equal(Columns().fit(csr_array(X), Y).transform(csr_array(X)), expected)
    more = Columns()._check(X, Y, None, None, csr_array(X)).unlabelled
    assert_array_equal(more, X)


def test_other_shapes_are_refused():
    with pytest.raises(ValueError, match="expecting 3 features"):
        Columns().fit(X, Y).transform(X[:, :2])


def test_numbers_are_never_taken_for_classes_nor_classes_for_numbers():
    X = np.random.default_rng(0).normal(size=(20, 2))
    with pytest.raises(ValueError, match=r"no classes: give fit\(X, target=y\), or KernelRegressor\(Boosted"):
        BoostedKernel().fit(X, X[:, 0])
    with pytest.raises(ValueError, match="labels as y or numbers as target, not both"):
        BoostedKernel().fit(X, X[:, 0] > 0, target=X[:, 0])
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        BoostedKernel().fit(X, target=X[:5, 0])
    with pytest.raises(ValueError, match="The target holds 'a'"):
        BoostedKernel().fit(X, target=["a", "b"] * 10)
    with pytest.raises(ValueError, match="pairs are made of one target, but there are 2"):
        BoostedKernel().fit(X, target=X)


def test_given_pairs_count_and_not_the_numbers():
    X = np.random.default_rng(0).normal(size=(20, 2))
    pairs = Pairs([(0, 1), (2, 3)], [(0, 2), (1, 3)])
    alone = BoostedKernel(n_rounds=2).fit(X, pairs=pairs)
    assert BoostedKernel(n_rounds=2).fit(X, target=X[:, 0], pairs=pairs).kernel_ == alone.kernel_
