"""A mercer kernel in scikit-learn's estimators: on whole matrices, with the results of the Gram matrix."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.cluster import SpectralClustering
from sklearn.datasets import make_moons
from sklearn.decomposition import KernelPCA
from sklearn.gaussian_process import GaussianProcessClassifier, GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, DotProduct
from sklearn.kernel_approximation import Nystroem
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from mercer.kernels import Combination, Kernel, Perceptron, Series, Stump, Tree

X, y = make_moons(60, noise=0.2, random_state=0)
Z, _ = make_moons(25, noise=0.2, random_state=1)
ALL = np.vstack([X, Z])
KERNELS = [Stump.spanning(ALL), Perceptron.spanning(ALL), Perceptron.sample(ALL, 200, random_state=0)]
KERNELS += [
    Tree().fitted_to(X),
    Series(RBF(0.5), "geometric", np.array([0.6, 0.1]), np.array([2.0, 5.0])),
    Combination([RBF(0.5), DotProduct()], np.array([3.0, 0.5]), [None, (1,)]),
]
EACH = pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: type(kernel).__name__)


@pytest.fixture
def shapes(monkeypatch):
    """The shapes of the Gram matrices that any mercer kernel computes."""
    computed = []

    def watch(kind):
        gram = kind.gram

        def watched(self, X, Y):
            computed.append((len(X), len(Y)))
            return gram(self, X, Y)

        monkeypatch.setattr(kind, "gram", watched)

    for kernel in KERNELS:
        watch(type(kernel))
    return computed


@EACH
def test_pairwise_kernels(kernel, shapes):
    K = pairwise_kernels(X, Z, metric=kernel)
    assert shapes == [(60, 25)]
    assert_array_equal(K, kernel(X, Z))


@EACH
def test_svc(kernel, shapes):
    decision = SVC(kernel=kernel).fit(X, y).decision_function(Z)
    assert shapes == [(60, 60), (25, 60)]
    assert_allclose(decision, SVC(kernel="precomputed").fit(kernel(X), y).decision_function(kernel(Z, X)))


@EACH
def test_kernel_ridge(kernel, shapes):
    prediction = KernelRidge(kernel=kernel, alpha=0.1).fit(X, y).predict(Z)
    assert shapes == [(60, 60), (25, 60)]
    assert_allclose(prediction, kernel(Z, X) @ np.linalg.solve(kernel(X) + 0.1 * np.eye(60), y))


@EACH
def test_kernel_pca(kernel, shapes):
    projection = KernelPCA(2, kernel=kernel, eigen_solver="dense").fit(X).transform(Z)
    assert shapes == [(60, 60), (25, 60)]
    rival = KernelPCA(2, kernel="precomputed", eigen_solver="dense").fit(kernel(X)).transform(kernel(Z, X))
    assert_allclose(projection, rival, atol=1e-10)


@EACH
def test_spectral_clustering(kernel, shapes):
    affinity = kernel + 20.0  # a Laplacian wants an affinity that is not negative
    found = SpectralClustering(2, affinity=affinity, random_state=0).fit_predict(X)
    assert shapes == [(60, 60)]
    rival = SpectralClustering(2, affinity="precomputed", random_state=0).fit_predict(affinity(X))
    assert_array_equal(found, rival)


@EACH
def test_nystroem(kernel, shapes):
    features = Nystroem(kernel=kernel, n_components=60, random_state=0).fit(X).transform(Z)
    assert shapes == [(60, 60), (25, 60)]
    # with all rows for its basis Nystroem is exact on them
    basis = Nystroem(kernel=kernel, n_components=60, random_state=0).fit(X).transform(X)
    assert_allclose(basis @ basis.T, kernel(X), atol=1e-8)
    assert_allclose(features @ basis.T, kernel(Z, X) @ np.linalg.pinv(kernel(X)) @ kernel(X), atol=1e-6)


@EACH
@pytest.mark.parametrize("optimizer", [None, "fmin_l_bfgs_b"])
def test_gaussian_process_classifier(kernel, shapes, optimizer):
    model = GaussianProcessClassifier(kernel=kernel, optimizer=optimizer).fit(X, y)
    probability = model.predict_proba(Z)[:, 1]
    assert all(min(shape) > 1 for shape in shapes)
    assert len(shapes) <= 4
    # at the mode, f = K (y − σ(f)) [Rasmussen and Williams, (3.17)]; the mean at Z is K(Z, X) (y − σ(f))
    inner = model.base_estimator_
    f = kernel(X) @ (inner.y_train_ - inner.pi_)
    assert_allclose(1 / (1 + np.exp(-f)), inner.pi_, atol=1e-3)
    assert_array_equal(probability > 0.5, kernel(Z, X) @ (inner.y_train_ - inner.pi_) > 0)


@EACH
def test_gaussian_process_regressor_in_a_sum_with_a_tunable_constant(kernel):
    model = GaussianProcessRegressor(kernel=kernel, alpha=0.1, optimizer=None).fit(X, y)
    assert_allclose(model.predict(Z), kernel(Z, X) @ np.linalg.solve(kernel(X) + 0.1 * np.eye(60), y))
    tuned = GaussianProcessRegressor(kernel=2.0 * kernel, alpha=0.1).fit(X, y)
    assert tuned.log_marginal_likelihood_value_ >= model.log_marginal_likelihood_value_
    assert tuned.kernel_.k2 == kernel


def test_sums_and_products_stay_on_whole_matrices(shapes):
    kernel = Stump.spanning(ALL) + 0.5 * Perceptron.spanning(ALL)
    decision = SVC(kernel=kernel).fit(X, y).decision_function(Z)
    assert shapes == [(60, 60), (60, 60), (25, 60), (25, 60)]
    gram = kernel(X), kernel(Z, X)
    assert_allclose(decision, SVC(kernel="precomputed").fit(gram[0], y).decision_function(gram[1]))


def test_grid_search_over_kernels_and_their_parameters():
    grid = [{"kernel": [Stump(), Perceptron()]}, {"kernel": [Stump()], "kernel__delta": [0.0, 1.0]}]
    search = GridSearchCV(SVC(), grid, cv=3).fit(X, y)
    rivals = [SVC(kernel=kernel) for kernel in (Stump(), Perceptron(), Stump(0.0), Stump(1.0))]
    expected = [cross_val_score(rival, X, y, cv=3).mean() for rival in rivals]
    assert_allclose(search.cv_results_["mean_test_score"], expected)
    assert isinstance(search.best_estimator_.kernel, Kernel)


def test_a_fitted_pipeline_survives_pickling():
    pipeline = make_pipeline(StandardScaler(), SVC(kernel=Perceptron())).fit(X, y)
    restored = pickle.loads(pickle.dumps(pipeline))
    assert_array_equal(restored.decision_function(Z), pipeline.decision_function(Z))
