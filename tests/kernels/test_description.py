"""A kernel in words says what is in it, and never how its arrays look."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.datasets import load_wine
from sklearn.gaussian_process import kernels as sk_kernels
from sklearn.gaussian_process.kernels import RBF, DotProduct

from mercer import BoostedKernel, IdealizedKernel, KernelBoost, Superkernel
from mercer.kernels import (
    Combination,
    Forest,
    Mapped,
    Mixture,
    Perceptron,
    Projected,
    Ranked,
    Rescaled,
    Series,
    Stump,
    Tree,
)
from mercer.kernels.description import LONGEST, describe_kernel

RBF_2 = "RBF of width 2"
INNER = "inner product of two rows"


def mixture(n_mixtures, n_components, n_columns):
    shape = (n_mixtures, n_components)
    factors = np.tile(np.eye(n_columns), (*shape, 1, 1))
    return Mixture(np.ones(n_mixtures), np.zeros(shape), np.zeros((*shape, n_columns)), factors)


CASES = [
    (None, "unknown"),
    (mixture(30, 3, 13), "30 Gaussian mixtures of 3 components on 13 columns"),
    (mixture(1, 2, 1), "1 Gaussian mixture of 2 components on 1 column"),
    (Projected(np.ones((4, 13))), "learned linear map of 4 columns to 13 features"),
    (Projected(np.eye(3)), INNER),
    (
        Projected(np.ones((9, 1)), RBF(2.0), np.ones((9, 4))),
        f"learned linear map of the similarity to 9 rows ({RBF_2}) to 1 feature",
    ),
    (Combination([RBF(k) for k in (1.0, 2.0, 3.0)], [1.0, 0.0, 2.0]), "weighted sum of 2 RBF kernels"),
    (
        Combination([RBF(), DotProduct(), RBF(3.0)], np.ones(3)),
        "weighted sum of 3 kernels (2 RBF, 1 DotProduct)",
    ),
    (Combination([RBF(1.0), RBF(2.0)], [0.0, 1.0]), RBF_2),
    (Series(RBF(2.0), "exp", np.ones(3), np.ones(3)), f"sum of 3 exp series of: {RBF_2}"),
    (
        Series(RBF(2.0), "cosh", np.ones((2, 4)), np.array([1.0, 0.0]), by_feature=True),
        f"cosh series of: {RBF_2}, column by column",
    ),
    (Rescaled(RBF(2.0), np.zeros(2), np.ones(2)), f"{RBF_2}, on rescaled columns"),
    (Ranked.spanning(np.eye(2), RBF(2.0)), f"{RBF_2}, on ranks"),
    (Ranked.spanning(np.eye(2), Rescaled(RBF(2.0), np.zeros(2), np.ones(2))), f"{RBF_2}, on ranks"),
    (
        Forest([0, 0, 0], [0.0, 0.0, 0.0], [1, 1, 2], [2, 1, 2], [0], 1),
        "the share of 1 tree in which two rows come to the same leaf",
    ),
    (Mapped(RBF(2.0), np.eye(3, 2)), f"{RBF_2}, after a linear map of 3 columns"),
    (Stump(), "all decision stumps at once (city-block distance)"),
    (Perceptron(), "all perceptrons at once (Euclidean distance)"),
    (Tree(), "all decision trees at once (exponential of the city-block distance)"),
    (Tree(0.5), "all decision trees at once (exponential of the city-block distance of width 2)"),
    (Stump.sample(np.eye(2), 7, random_state=0), "7 random decision stumps"),
    (Perceptron.sample(np.eye(2), 1, random_state=0), "1 random perceptron"),
    (DotProduct(0.0), INNER),
    (DotProduct(2.0), f"{INNER}, plus 4"),
    (RBF([1.0, 2.0]), "RBF with a width for each of 2 columns"),
    (RBF([2.0]), RBF_2),
    (sk_kernels.Matern(2.0), "Matern(length_scale=2, nu=1.5)"),  # which derives from RBF
    (RBF(2.0) + DotProduct(1.0), "RBF(length_scale=2) + DotProduct(sigma_0=1)"),
]


@pytest.mark.parametrize(
    ("kernel", "words"), CASES, ids=lambda value: value if isinstance(value, str) else ""
)
def test_each_kind_of_kernel_has_its_words(kernel, words):
    assert describe_kernel(kernel) == words


def test_a_kernel_that_is_not_known_is_cut_if_it_is_long():
    words = describe_kernel(sk_kernels.Matern(np.ones(500)))
    assert words.startswith("Matern(length_scale=[1, 1")
    assert words.endswith("…")
    assert len(words) == LONGEST


@pytest.mark.parametrize(
    "learner",
    [
        BoostedKernel(n_rounds=3),
        BoostedKernel(n_rounds=3, base=RBF(2.0)),
        IdealizedKernel(max_rank=5),
        KernelBoost(n_rounds=2, random_state=0),
        Superkernel(),
    ],
    ids=repr,
)
def test_what_learners_leave_is_described_without_arrays_and_stays_as_it_was(learner):
    X, y = load_wine(return_X_y=True)
    Z = (X[::3] - X.mean(axis=0)) / X.std(axis=0)
    kernel = learner.fit(Z, y[::3]).kernel_
    before = kernel(Z)
    words = describe_kernel(kernel)
    assert not set("[]{}=") & set(words)
    assert len(words) <= LONGEST
    assert_array_equal(kernel(Z), before)
