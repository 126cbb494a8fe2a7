"""Superkernel on kernels and features of very different sizes: each case went wrong once."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import make_classification
from sklearn.gaussian_process.kernels import RBF, DotProduct, WhiteKernel

from mercer import KernelSVC, Superkernel
from mercer.superkernels import ARD, Alignment, Explicit, Harmonic, Risk, Widths
from mercer.superkernels.power_series import one_of_each_bin


def some_rows(n=200):
    return make_classification(n, 4, n_informative=4, n_redundant=0, random_state=0)


@pytest.mark.parametrize(
    "kernels",
    [[RBF(2.0**k) for k in range(-10, 16)], [RBF(10.0), DotProduct(1.0) ** 3], [RBF(1.0), RBF(1e4)]],
    ids=["widths over eight orders", "a large polynomial", "a nearly constant one"],
)
def test_kernels_of_unequal_size_are_weighed_to_the_end(kernels):
    X, y = some_rows()
    learner = Superkernel(Explicit(kernels)).fit(3 * X, y)
    assert learner.gap_ <= learner.tol


def test_the_unit_of_a_kernel_does_not_matter():
    X, y = some_rows()
    plain = Superkernel(Explicit([RBF(1.0), RBF(2.0), RBF(0.5)])).fit(X, y)
    scaled = Superkernel(Explicit([1e12 * RBF(1.0), RBF(2.0), RBF(0.5)])).fit(X, y)
    assert_allclose(scaled.objective_[-1], plain.objective_[-1], rtol=2e-4)


def test_the_units_and_the_origin_of_features_do_not_matter():
    X, y = some_rows()
    plain = Superkernel().fit(X, y).objective_[-1]
    units = np.array([1e6, 1e-6, 1.0, 3.0])
    assert_allclose(Superkernel().fit(X * units, y).objective_[-1], plain, rtol=2e-4)
    assert_allclose(Superkernel().fit(X + 1e6, y).objective_[-1], plain, rtol=2e-4)


def test_the_usual_distance_is_not_that_of_duplicates():
    rng = np.random.RandomState(5)
    Z = rng.randn(2, 7)[(rng.rand(300) < 0.2).astype(int)]
    width = Widths().fitted_to(Z).kernels[2].length_scale / Z.std(axis=0)
    assert np.all((width > 1.0) & (width < 20.0))


def test_the_largest_value_is_always_among_the_candidates():
    values = np.zeros((3000, 2))
    values[2999, 1] = 1.0
    assert 1.0 in one_of_each_bin(values, 16)


def test_very_many_features_do_not_make_a_product_vanish():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(20, 900)), np.arange(20) % 2
    kernel = Superkernel(ARD(Harmonic(RBF(100.0))), max_rank=3, random_state=0).fit(X, y).kernel_
    assert np.all(np.diag(kernel(X)) > 0)


def test_narrow_kernels_are_no_powers_of_very_wide_ones():
    X, _ = some_rows(60)
    kernels = [RBF(1.0), RBF(2.0**26)]
    grams = Explicit(kernels).expand(X, X[:0], tol=1e-5, max_rank=5, rng=np.random.RandomState(0)).grams
    assert_allclose(grams.term(0), kernels[0](X), rtol=1e-9, atol=1e-9)


def test_nearly_constant_kernels_can_be_aligned():
    X, y = some_rows()
    assert Superkernel(Explicit([RBF(1e4), RBF(3e4)]), quality=Alignment()).fit(X, y).gap_ <= 1e-6


def test_noise_is_no_kernel_to_weigh():
    X, y = some_rows()
    with pytest.raises(ValueError, match="leave the WhiteKernel out"):
        Superkernel(Explicit([RBF(1.0) + WhiteKernel(1.0)])).fit(X, y)


def test_columns_may_be_a_mask():
    mask = np.array([True, False, False, True])
    assert Explicit([RBF()], columns=[mask]).list_terms()[0].columns == (0, 3)
    with pytest.raises(ValueError, match="numbers of columns"):
        Explicit([RBF()], columns=[(1.7,)]).list_terms()


def test_later_changes_of_the_rows_do_not_change_the_features():
    X, y = some_rows()
    mine = X.copy()
    learner = Superkernel().fit(mine, y)
    mine[:] = 0.0
    assert_allclose(learner.transform(X) @ learner.transform(X).T, learner.kernel_(X), atol=1e-8)


def test_an_svm_takes_the_c_that_a_kernel_was_learned_for_and_no_other():
    X, y = some_rows()
    learned = KernelSVC(Superkernel(quality=Risk(C=7.0))).fit(X, y)
    same = KernelSVC(learned.kernel_, C=7.0).fit(X, y)
    assert_allclose(learned.decision_function(X), same.decision_function(X), atol=1e-6)
    aligned = KernelSVC(Superkernel(quality=Alignment())).fit(X, y)
    same = KernelSVC(aligned.kernel_, C=1.0).fit(X, y)
    assert_allclose(aligned.decision_function(X), same.decision_function(X), atol=1e-6)


def test_a_risk_that_lacks_digits_says_so():
    X, y = some_rows()
    with pytest.warns(UserWarning, match="relative gap"):
        Risk(C=1e9)(RBF(5.0)(X), y)
