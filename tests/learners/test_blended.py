"""A learned kernel with a share of the plain one."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone

from mercer import BlendedKernel, IdealizedKernel, KernelBoost, Pairs


def some_data(rng, n=60):
    y = np.arange(n) % 3
    return 3.0 * np.eye(3, 5)[y] + rng.normal(size=(n, 5)), y


@pytest.mark.parametrize("share", [0.3, 2.0])
def test_the_plain_kernel_is_added_with_its_share_of_the_variance(rng, share):
    X, y = some_data(rng)
    learner = KernelBoost(n_rounds=3, random_state=0)
    blended = BlendedKernel(learner, share=share).fit(X, y)
    F = clone(learner).fit(X, y).transform(X)
    expected = F @ F.T + share * (F.var(axis=0).sum() / X.var(axis=0).sum()) * (X @ X.T)
    assert_allclose(blended.kernel_(X), expected, rtol=1e-9)
    assert_allclose(blended.transform(X) @ blended.transform(X).T, expected, rtol=1e-9)
    assert blended.transform(X).shape[1] == len(blended.get_feature_names_out())


def test_samples_that_the_learner_cannot_tell_apart_are_as_near_as_in_the_plain_metric(rng):
    X, y = some_data(rng)
    X[y > 0, 0] += 1e3  # so far away that all mixtures are certain
    pairs = Pairs.from_labels(y > 0)
    learned = BlendedKernel(KernelBoost(n_rounds=2, random_state=0)).fit(X, pairs=pairs)
    same = X[y == 0]
    assert_allclose(np.ptp(learned.learner_.transform(same), axis=0), 0.0, atol=1e-5)
    near = np.argsort(np.linalg.norm(learned.transform(same) - learned.transform(same[:1]), axis=1))
    assert_allclose(near, np.argsort(np.linalg.norm(same - same[0], axis=1)))


def test_a_share_must_be_positive_and_none_is_kernelboost(rng):
    X, y = some_data(rng)
    with pytest.raises(ValueError, match="share"):
        BlendedKernel(IdealizedKernel(), share=-1.0).fit(X, y)
    assert isinstance(BlendedKernel().fit(X, y).learner_, KernelBoost)
