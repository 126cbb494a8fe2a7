"""Kernel × loss × place: each cell has the minimum of a generic solver, or is refused by a sentence.

Every machine is a kernel, a loss, and rows somewhere. So is every test here: one oracle for a kernel and a
loss (`reference.Machine`), which all places and methods share.
"""

from functools import cache
from itertools import product
from typing import NamedTuple

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.spatial.distance import cdist
from sklearn.base import clone
from sklearn.gaussian_process.kernels import RBF, DotProduct, Matern
from sklearn.utils import check_random_state

from mercer import (
    BoostedKernel,
    IdealizedKernel,
    KernelBoost,
    KernelRegressor,
    KernelSVC,
    RelevanceKernel,
    StumpSVC,
    Superkernel,
)
from mercer.kernels import FeatureKernel, Kernel, Perceptron, Stump, Tree
from mercer.machines import feature_samples
from mercer.machines.additive_samples import draw_directions
from mercer.machines.functions import has_features
from mercer.solvers.newton import FeatureRows, Loss
from reference import Machine

RNG = np.random.default_rng(0)
N, N_NEW = 40, 15
ALL = RNG.normal(size=(N + N_NEW, 3))
X = ALL[:N]
SIGNAL = ALL[:, 0] + np.abs(ALL[:, 1]) + 0.3 * RNG.normal(size=len(ALL))
LABEL = np.where(SIGNAL > 0.8, 1, 0)
WEIGHT = RNG.uniform(0.5, 2.0, N)
CLASS_LOSSES = ("hinge", "log_loss", "squared_error")
NUMBER_LOSSES = ("squared_error", "absolute_error", "quantile", "epsilon_insensitive", "poisson")
FITS = [(True, loss) for loss in CLASS_LOSSES] + [(False, loss) for loss in NUMBER_LOSSES]
N_SLICES = 6
C = 0.7
METHODS = {
    "numpy": (
        "auto",
        "gram",
        "features",
        "landmarks",
        "table",
        "binned table",
        "sliced",
        "binned slices",
    ),
    "torch": ("auto", "gram", "features", "landmarks", "binned table", "binned slices"),
    "dask": ("features", "landmarks", "binned table", "binned slices"),
}


@cache
def kernel_of(name):
    """Return a kernel; that of a learner, learned from all rows and classes."""
    learners = {
        "BoostedKernel": BoostedKernel(n_rounds=3),
        "KernelBoost": KernelBoost(n_rounds=2, n_starts=1, random_state=0),
        "Superkernel": Superkernel(),
        "IdealizedKernel": IdealizedKernel(RBF(), C_dissimilar=1e3, psd="clip", random_state=0),
        "RelevanceKernel": RelevanceKernel(n_rounds=1, random_state=0),
    }
    if name in learners:
        return learners[name].fit(ALL, LABEL).kernel_
    return {
        "Stump": Stump(),
        "Perceptron": Perceptron(),
        "Tree": Tree(0.3),
        "RBF": RBF(1.5),
        "inner product": DotProduct(sigma_0=0.0),
        "RBF + Matern": RBF(1.5) + Matern(0.7),
    }[name]


KERNELS = (
    "Stump",
    "Perceptron",
    "Tree",
    "RBF",
    "inner product",
    "RBF + Matern",
    "BoostedKernel",
    "KernelBoost",
    "Superkernel",
    "IdealizedKernel",
    "RelevanceKernel",
)


def exists(kernel, method):
    """Return whether a kernel has the structure that a method needs."""
    if "table" in method:
        return kernel == "Stump"
    if "slice" in method:
        return kernel == "Perceptron"
    return method != "features" or has_features(kernel_of(kernel))


def numbers(loss):
    """Return targets, of counts for "poisson"."""
    return np.round(np.exp(0.5 * SIGNAL)) if loss == "poisson" else 7.0 * SIGNAL + 40.0


@cache
def oracle_of(kernel, loss, is_class, sliced):
    """Return what the generic solver finds, and the mean and the unit of the targets."""
    K, weight, mean, unit = kernel_of(kernel)(ALL), C * WEIGHT, 0.0, 1.0
    if sliced:
        seed = int(check_random_state(0).randint(2**31))
        projected = ALL @ draw_directions(3, N_SLICES, seed)
        K = -cdist(projected, projected, "cityblock")
    y = np.where(LABEL[:N] > 0, 1.0, -1.0)
    if not is_class:
        y, share = numbers(loss)[:N], WEIGHT / WEIGHT.sum()
        among = K[:N, :N]
        weight = weight / (share @ np.diag(among) - share @ among @ share)  # C is relative to the spread
        if loss != "poisson":
            mean = share @ y
            unit = np.sqrt(share @ (y - mean) ** 2)
            y = (y - mean) / unit
    return Machine(K, y, weight, loss), mean, unit


def machine_of(kernel, loss, is_class, method, tol=1e-7):
    """Return the estimator of a cell."""
    options = {"random_state": 0, "C": C, "loss": loss, "tol": tol}
    if method.startswith("binned"):
        options["max_bins"] = 256  # more than there are values: as exact as without
    options["method"] = {"binned table": "table", "binned slices": "sliced"}.get(method, method)
    if is_class:
        return FewSlicesSVC(kernel_of(kernel), **options)
    return FewSlicesRegressor(kernel_of(kernel), quantile=0.8, epsilon=0.3, **options)


class FewSlicesSVC(KernelSVC):
    """With as many slices as the oracle has."""

    def _how(self):
        return super()._how()._replace(n_directions=N_SLICES)


class FewSlicesRegressor(KernelRegressor):
    """With as many slices as the oracle has."""

    def _how(self):
        return super()._how()._replace(n_directions=N_SLICES)


def values_at(model, place, target, rows):
    """Fit somewhere, and return the decision values or predictions of all rows, as an array of NumPy."""
    answer = "decision_function" if hasattr(model, "decision_function") else "predict"
    if place == "numpy":
        return getattr(model.fit(X, target, sample_weight=WEIGHT), answer)(rows)
    if place == "dask":
        dask, da = pytest.importorskip("dask"), pytest.importorskip("dask.array")
        with dask.config.set(scheduler="synchronous"):
            lazy, t, weight = (da.from_array(a, chunks=(20, *a.shape[1:])) for a in (X, target, WEIGHT))
            model.fit(lazy, t, sample_weight=weight)
            return getattr(model, answer)(da.from_array(rows, chunks=(30, 3))).compute()
    pytest.importorskip("torch")
    from devices import dispatched, numpy, put

    with dispatched():
        model.fit(put(X, "cpu"), put(target, "cpu"), sample_weight=put(WEIGHT, "cpu"))
        return numpy(getattr(model, answer)(put(rows, "cpu")))


def cells():
    """Yield what exists. Landmarks of Dask are alike for all kernels: of most, some losses are enough."""
    for kernel, (is_class, loss), place in product(KERNELS, FITS, METHODS):
        for method in METHODS[place]:
            many = kernel == "RBF" or method != "landmarks" or loss in ("hinge", "squared_error")
            known = place != "torch" or kernel != "RBF + Matern"  # which is refused, as a test below says
            if exists(kernel, method) and (place != "dask" or many) and known:
                about = "classes" if is_class else "numbers"
                yield pytest.param(
                    kernel, is_class, loss, place, method, id=f"{kernel}-{loss} of {about}-{place}-{method}"
                )


@pytest.mark.parametrize(("kernel", "is_class", "loss", "place", "method"), list(cells()))
def test_each_cell_has_the_minimum_of_a_generic_solver(kernel, is_class, loss, place, method):
    # ten times the relative gap; features of Dask have single precision
    tol = 1e-4 if place == "dask" else 1e-7
    model = machine_of(kernel, loss, is_class, method, tol)
    oracle, mean, unit = oracle_of(kernel, loss, is_class, "slice" in method)
    values = values_at(model, place, LABEL[:N] if is_class else numbers(loss)[:N], ALL)
    values = np.log(values) if loss == "poisson" else (values - mean) / unit
    most = max(0.3 * tol, 3e-6 if method == "landmarks" else 0.0)  # which leave the smallest directions out
    assert oracle.objective(values) - oracle.minimum <= most * abs(oracle.minimum)
    assert_allclose(values, oracle.values, atol=np.sqrt(most) * np.ptp(oracle.values))


@pytest.mark.parametrize("place", METHODS)
@pytest.mark.parametrize(
    ("kernel", "method"),
    [(k, m) for k, m in product(KERNELS, ("features", "table", "sliced")) if not exists(k, m)],
)
def test_a_structure_that_a_kernel_does_not_have_is_refused_by_one_sentence(kernel, method, place):
    what = {"features": "no finite feature map", "table": "not additive", "sliced": "no slices"}[method]
    sentence = rf"{what}: method='{method}' is for .* use method='auto', 'gram' or 'landmarks'"
    for is_class, loss in ((True, "hinge"), (False, "squared_error")):
        model = machine_of(kernel, loss, is_class, method)
        with pytest.raises(ValueError, match=sentence):
            values_at(model, place, LABEL[:N] if is_class else numbers(loss)[:N], ALL)


@pytest.mark.parametrize(
    ("kernel", "method", "sentence"),
    [
        ("RBF", "gram", "computes no Gram matrix of Dask collections: set method='auto'"),
        ("Stump", "table", "needs bins for Dask collections: set max_bins, for example to 256"),
        ("Perceptron", "sliced", "needs bins for Dask collections: set max_bins, for example to 256"),
    ],
)
def test_what_dask_has_no_way_for_is_refused_by_a_sentence(kernel, method, sentence):
    for is_class, loss in ((True, "hinge"), (False, "squared_error")):
        with pytest.raises(ValueError, match=sentence):
            values_at(machine_of(kernel, loss, is_class, method), "dask", numbers(loss)[:N] > 45.0, ALL)


@pytest.mark.parametrize("method", ["auto", "gram", "landmarks"])
def test_a_kernel_that_knows_no_tensors_is_refused_by_a_sentence(method):
    for is_class, loss in ((True, "hinge"), (False, "squared_error")):
        model = machine_of("RBF + Matern", loss, is_class, method)
        with pytest.raises(TypeError, match=r"Matern.* takes arrays of NumPy, and no tensors: give X\.cpu"):
            values_at(model, "torch", LABEL[:N] if is_class else numbers(loss)[:N], ALL)


class SquaredHinge(Loss):
    """C max(0, 1 − y f)² for y = ±1: a loss is its values and its two derivatives."""

    def terms(self, xp, f, y, C):
        """Return ℓ, −ℓ′ and ℓ″ of each row."""
        short = xp.clip(1.0 - y * f, 0.0, None)
        return C * short**2, 2.0 * C * y * short, 2.0 * C * (short > 0.0)


class Huber(Loss):
    """C times the error's square / 2, and beyond one its size − ½."""

    def terms(self, xp, f, y, C):
        """Return ℓ, −ℓ′ and ℓ″ of each row."""
        e = xp.clip(y - f, -1.0, 1.0)
        return C * e * (y - f - 0.5 * e), C * e, C * (e == y - f)


@pytest.mark.parametrize("method", ["gram", "landmarks"])
def test_a_loss_of_ones_own_is_a_class_of_three_formulas(method):
    oracle = oracle_of("RBF", "squared_hinge", True, False)[0]
    values = values_at(machine_of("RBF", SquaredHinge(), True, method), "numpy", LABEL[:N], ALL)
    assert_allclose(values, oracle.values, atol=1e-4 * np.ptp(oracle.values))
    oracle, mean, unit = oracle_of("RBF", "huber", False, False)
    values = values_at(machine_of("RBF", Huber(), False, method), "numpy", numbers("huber")[:N], ALL)
    assert_allclose((values - mean) / unit, oracle.values, atol=1e-4 * np.ptp(oracle.values))


def test_a_machine_with_a_name_takes_a_loss_of_ones_own_too():
    oracle = oracle_of("Stump", "squared_hinge", True, False)[0]
    model = StumpSVC(C, loss=SquaredHinge(), tol=1e-7)
    assert_allclose(values_at(clone(model), "numpy", LABEL[:N], ALL), oracle.values, atol=1e-4)
    assert not hasattr(model, "predict_proba")


class Powers(FeatureKernel):
    """Inner products of x and a power of it: a kernel with features is how to compute these."""

    def __init__(self, exponent):
        self.exponent = exponent

    def transform(self, X):
        return np.hstack([X, X**self.exponent])


class Cauchy(Kernel):
    """1 / (1 + ‖x − x'‖² / σ²): any other kernel is its Gram matrix, and the diagonal of that."""

    def __init__(self, sigma):
        self.sigma = sigma

    def gram(self, X, Y):
        return 1.0 / (1.0 + cdist(X, Y, "sqeuclidean") / self.sigma**2)

    def diag(self, X):
        return np.ones(len(X))


@pytest.mark.parametrize("kernel", [Powers(3), Cauchy(2.0), Powers(3) + Cauchy(2.0)], ids=repr)
@pytest.mark.parametrize("loss", CLASS_LOSSES)
def test_a_kernel_of_ones_own_is_a_class_of_one_formula_or_two(kernel, loss):
    oracle = Machine(kernel(ALL), np.where(LABEL[:N] > 0, 1.0, -1.0), C * WEIGHT, loss)
    for method in ("auto", "gram", "landmarks", *(["features"] if has_features(kernel) else [])):
        model = KernelSVC(kernel, C=C, loss=loss, method=method, tol=1e-7)
        values = values_at(model, "numpy", LABEL[:N], ALL)
        assert_allclose(values, oracle.values, atol=1e-4 * np.ptp(oracle.values))


class Files(NamedTuple):
    """Features of rows in files, a part of the rows in each."""

    paths: list
    shape: tuple

    def parts(self):
        """Yield where a part begins and ends, and its features, read anew."""
        start = 0
        for path in self.paths:
            F = np.load(path)
            yield slice(start, start + len(F)), F
            start += len(F)


class FileRows(FeatureRows):
    """Rows whose features are in files: a place says how to gather, to scatter and to select."""

    folder = None

    @classmethod
    def of(cls, columns, y, weight):
        """Write the features, and prepare the rows."""
        paths = [cls.folder / f"{k}.npy" for k in range(3)]
        for path, part in zip(paths, np.array_split(columns, 3), strict=True):
            np.save(path, part)
        return super().of(Files(paths, columns.shape), y, weight)

    def gather(self, columns, coef):
        return np.concatenate([F @ coef for _, F in columns.parts()])

    def scatter(self, columns, v):
        return sum(F.T @ v[rows] for rows, F in columns.parts())

    def select(self, rows):
        return np.concatenate([F for _, F in self.columns.parts()])[rows]

    def moments(self):
        return sum(np.stack([F.sum(axis=0), (F**2).sum(axis=0)]) for _, F in self.columns.parts())


@pytest.mark.parametrize("kernel", ["RBF", "inner product", "Stump"])
@pytest.mark.parametrize(("is_class", "loss"), FITS)
def test_a_place_of_ones_own_is_a_class_of_rows(kernel, is_class, loss, tmp_path, monkeypatch):
    monkeypatch.setattr(feature_samples, "FeatureRows", FileRows)
    monkeypatch.setattr(FileRows, "folder", tmp_path)
    oracle, mean, unit = oracle_of(kernel, loss, is_class, False)
    method = "features" if has_features(kernel_of(kernel)) else "landmarks"
    model = machine_of(kernel, loss, is_class, method)
    values = values_at(model, "numpy", LABEL[:N] if is_class else numbers(loss)[:N], ALL)
    values = np.log(values) if loss == "poisson" else (values - mean) / unit
    assert len(list(tmp_path.iterdir())) == 3
    assert_allclose(values, oracle.values, atol=2e-3 * np.ptp(oracle.values))
