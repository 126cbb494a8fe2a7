"""KernelSVC with a kernel for each pair of classes, against KernelSVC on each of these pairs alone."""

from itertools import combinations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_iris
from sklearn.gaussian_process.kernels import RBF
from sklearn.utils.estimator_checks import parametrize_with_checks

from mercer import BoostedKernel, KernelBoost, KernelSVC, Pairs
from mercer.machines.multiclass import score_classes

X, y = load_iris(return_X_y=True)
LEARNER = KernelBoost(n_rounds=4, n_starts=1, max_iter=5, random_state=0)


@parametrize_with_checks(
    [KernelSVC(KernelBoost(n_rounds=2, n_starts=1), kernel_per_class_pair=True)],
    expected_failed_checks=lambda svm: {
        f"check_sample_weight_equivalence_on_{kind}_data": "the learner does not see the weights"
        for kind in ("dense", "sparse")
    },
)
def test_scikit_learns_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("class_weight", [None, "balanced", {"a": 3.0}], ids=str)
@pytest.mark.parametrize("relative_C", [False, True])
def test_each_pair_of_classes_has_the_kernel_and_the_weights_that_suit_it(class_weight, relative_C):
    names = np.array(["c", "a", "b"])[y]
    few = np.r_[0:150:5, 1:50:5]  # so that the classes differ in size
    options = {"C": 30.0, "relative_C": relative_C}
    model = KernelSVC(LEARNER, kernel_per_class_pair=True, class_weight=class_weight, **options)
    model.fit(X[few], names[few], unlabelled=X)
    learner = KernelBoost(**LEARNER.get_params()).fit(X[few], names[few], unlabelled=X)
    assert model.kernel_ == learner.kernel_
    decisions = []
    for (a, b), svms in zip(combinations("abc", 2), model.machines_, strict=True):
        rows = np.isin(names[few], [a, b])
        kernel = learner.kernel_for(X[few][rows], names[few][rows])
        assert svms.kernel == kernel
        own = class_weight if class_weight == "balanced" or a == "a" else None
        rival = KernelSVC(kernel, class_weight=own, **options).fit(X[few][rows], names[few][rows])
        decisions.append(rival.decision_function(X))
    expected = score_classes(np.column_stack(decisions), 3, "ovo")
    assert_allclose(model.decision_function(X), expected, atol=1e-9)
    assert model.score(X, names) > 0.7
    assert_array_equal(model.classes_, ["a", "b", "c"])
    assert model.n_iter_.shape == (3,)


def test_two_classes_are_one_svm_and_pairs_arrive():
    rows, label = X[50:], y[50:]
    pairs = Pairs.from_labels(label)
    model = KernelSVC(LEARNER, C=5.0, class_weight="balanced", kernel_per_class_pair=True)
    model.fit(rows, label, pairs=pairs)
    kernel = KernelBoost(**LEARNER.get_params()).fit(rows, pairs=pairs).kernel_for(rows, label)
    rival = KernelSVC(kernel, C=5.0, class_weight="balanced").fit(rows, label)
    assert_allclose(model.decision_function(rows), rival.decision_function(rows), atol=1e-9)
    assert not hasattr(model.learner_, "classes_")


def test_weights_of_samples_reach_the_svm_of_each_pair(rng):
    weight = rng.uniform(0.2, 2.0, size=len(X))
    learner = KernelBoost(**LEARNER.get_params()).fit(X, y)
    for class_weight in (None, "balanced"):
        model = KernelSVC(LEARNER, kernel_per_class_pair=True, class_weight=class_weight)
        model.fit(X, y, sample_weight=weight)
        for (a, b), svms in zip(combinations(range(3), 2), model.machines_, strict=True):
            rows = np.isin(y, [a, b])
            rival = KernelSVC(learner.kernel_for(X[rows], y[rows]), class_weight=class_weight)
            rival.fit(X[rows], y[rows], sample_weight=weight[rows])
            assert_allclose(svms(X)[:, 0], rival.decision_function(X), atol=1e-9)


@pytest.mark.parametrize("learner", [BoostedKernel(), RBF(), None], ids=repr)
def test_a_learner_without_kernels_for_labels_is_refused(learner):
    with pytest.raises(TypeError, match="needs a learner with kernel_for"):
        KernelSVC(learner, kernel_per_class_pair=True).fit(X, y)
