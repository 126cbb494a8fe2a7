"""PairwiseKernelSVC against KernelSVC on each pair of classes."""

from itertools import combinations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_iris
from sklearn.utils.estimator_checks import parametrize_with_checks

from mercer import BoostedKernel, KernelBoost, KernelSVC, Pairs
from mercer.svm import PairwiseKernelSVC
from mercer.svm.multiclass import combine_decisions

X, y = load_iris(return_X_y=True)
LEARNER = KernelBoost(n_rounds=4, n_starts=1, max_iter=5, random_state=0)


@parametrize_with_checks([PairwiseKernelSVC(KernelBoost(n_rounds=2, n_starts=1))])
def test_scikit_learns_contract(estimator, check):
    check(estimator)


def test_each_pair_of_classes_has_the_kernel_that_suits_it():
    names = np.array(["c", "a", "b"])[y]
    few = slice(0, None, 5)
    model = PairwiseKernelSVC(LEARNER, C=30.0).fit(X[few], names[few], unlabelled=X)
    learner = KernelBoost(**LEARNER.get_params()).fit(X[few], names[few], unlabelled=X)
    decisions = []
    for (a, b), machine in zip(combinations("abc", 2), model.machines_, strict=True):
        rows = np.isin(names[few], [a, b])
        kernel = learner.kernel_for(X[few][rows], names[few][rows])
        assert machine.kernel_ == kernel
        rival = KernelSVC(kernel, C=30.0).fit(X[few][rows], names[few][rows])
        decisions.append(rival.decision_function(X))
    assert_allclose(model.decision_function(X), combine_decisions(decisions, 3, "ovo"), atol=1e-9)
    assert model.score(X, names) > 0.9
    assert_array_equal(model.classes_, ["a", "b", "c"])


def test_two_classes_are_one_machine_and_pairs_arrive():
    rows, label = X[50:], y[50:]
    pairs = Pairs.from_labels(label)
    model = PairwiseKernelSVC(LEARNER, C=5.0, class_weight="balanced").fit(rows, label, pairs=pairs)
    kernel = KernelBoost(**LEARNER.get_params()).fit(rows, pairs=pairs).kernel_for(rows, label)
    rival = KernelSVC(kernel, C=5.0, class_weight="balanced").fit(rows, label)
    assert_allclose(model.decision_function(rows), rival.decision_function(rows), atol=1e-9)
    assert not hasattr(model.learner_, "classes_")


def test_a_learner_that_cannot_be_truncated_is_refused():
    with pytest.raises(TypeError, match="use KernelSVC"):
        PairwiseKernelSVC(BoostedKernel()).fit(X, y)
