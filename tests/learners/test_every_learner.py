"""What holds for each learner, whatever it learns."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.gaussian_process.kernels import RBF

from mercer import BoostedKernel, IdealizedKernel, KernelBoost, RelevanceKernel, Superkernel
from mercer.superkernels import ARD, Alignment, GaussianHarmonic, Harmonic, Risk

EACH_LEARNER = pytest.mark.parametrize(
    "learner",
    [
        BoostedKernel(n_rounds=3, loss="exp", step="search", balance=True, max_pairs=99),
        BoostedKernel(RBF(0.8), n_rounds=3),
        IdealizedKernel(C_similar=1e5, C_dissimilar=1e6, n_neighbors=3, radius=None, psd="clip", max_rank=9),
        IdealizedKernel(RBF(0.8), C_similar=1e5, C_dissimilar=1e6, nu=0.2),
        KernelBoost(n_rounds=3, n_components=3, covariance_type="diag", dissolve=True, normalize=False),
        RelevanceKernel("rbf", n_rounds=2, max_rows=30),
        Superkernel(quality=Risk(C=10.0), penalty=1e-2),
        Superkernel(GaussianHarmonic(2.0)),
        Superkernel(ARD(Harmonic(RBF(2.0), 0.9)), quality=Alignment(), penalty=1e-3),
    ],
    ids=[
        "boosted-linear",
        "boosted-rbf",
        "idealized-linear",
        "idealized-rbf",
        "kernelboost",
        "relevance",
        "widths",
        "harmonic",
        "ard",
    ],
)


def two_classes(n_rows=40):
    rng = np.random.default_rng(0)
    y = rng.permutation(np.arange(n_rows) % 2)
    return rng.normal(size=(n_rows, 4)) + 1.5 * y[:, None], y


@EACH_LEARNER
def test_clones_and_pickles_are_the_same(learner):
    assert clone(learner).get_params() == learner.get_params()
    X, y = two_classes()
    fitted = clone(learner).set_params(random_state=0).fit(X, y)
    copy = pickle.loads(pickle.dumps(fitted))
    assert copy.kernel_ == fitted.kernel_
    assert_array_equal(copy.transform(X), fitted.transform(X))


@pytest.mark.parametrize("kind", [BoostedKernel, IdealizedKernel])
def test_the_base_kernel_is_neither_changed_nor_kept(kind):
    X, y = two_classes()
    base = RBF(0.8)
    learner = kind(base).fit(X, y)
    assert learner.base is base
    assert learner.kernel_.base is not base
    assert learner.kernel_.base == base
