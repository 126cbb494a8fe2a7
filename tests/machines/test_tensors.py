"""SVMs on tensors are those on NumPy arrays, and stay where the tensors are."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import clone, config_context
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process.kernels import RBF, DotProduct
from sklearn.metrics import log_loss
from sklearn.model_selection import GroupKFold

import mercer
from devices import DEVICES, EACH_TENSOR, dispatched, numpy, put, torch
from mercer import KernelSVC, PerceptronSVC, StumpSVC, TreeSVC
from mercer.datasets import threenorm
from mercer.kernels import Perceptron, Projected, Stump

MODELS = [
    StumpSVC(C=0.02, max_bins=16, tol=1e-4),
    StumpSVC(C=0.02, max_bins=16, loss="log_loss", tol=1e-4),
    StumpSVC(C=0.02),  # exact: by way of NumPy
    StumpSVC("cv", Cs=[0.002, 0.02], cv=3, max_bins=16, tol=1e-4),
    PerceptronSVC(C=0.1, method="sliced", n_directions=24, max_bins=16, tol=1e-4, random_state=0),
    PerceptronSVC("cv", Cs=[0.01, 0.1], cv=3, method="sliced", n_directions=12, random_state=0),
    PerceptronSVC(C=0.1, method="gram"),
    PerceptronSVC("cv", Cs=[0.01, 0.1], cv=3, method="gram"),
    KernelSVC(Stump(), C=0.02),
    KernelSVC(RBF(2.0) + 0.1 * DotProduct(), C=0.5, relative_C=True),
    KernelSVC(C=0.01),
]
EACH_MODEL = pytest.mark.parametrize("model", MODELS, ids=lambda model: str(model)[:40])


@pytest.fixture(autouse=True)
def dispatch():
    with dispatched():
        yield


def fitted_arrays(model):
    names = ("support_", "dual_coef_", "intercept_", "objective_", "residual_", "n_iter_", "Cs_", "scores_")
    return {name: getattr(model, name) for name in ("classes_", *names) if hasattr(model, name)}


@EACH_MODEL
@pytest.mark.parametrize("device", DEVICES)
def test_a_fit_to_tensors_is_that_to_arrays(model, device):
    X, y = threenorm(1200, n_features=4, random_state=0)
    X_new, _ = threenorm(3000, n_features=4, random_state=1)
    expected = clone(model).fit(X, y)
    found = clone(model).fit(put(X, device), put(y, device))
    f, g = expected.decision_function(X_new), numpy(found.decision_function(put(X_new, device)))
    assert np.mean(np.sign(f) == np.sign(g)) >= 0.997
    assert_allclose(g, f, atol=0.03 * np.ptp(f))
    if hasattr(model, "method"):
        assert_allclose(numpy(found.objective_), expected.objective_, rtol=1e-3)
    for name, of_numpy in fitted_arrays(expected).items():
        array = getattr(found, name)
        assert numpy(array).dtype == of_numpy.dtype, name
        if device != "numpy":
            assert isinstance(array, torch.Tensor), name
            assert array.device.type == device, name
    predicted = found.predict(put(X_new, device))
    assert_array_equal(numpy(predicted), np.where(g > 0, 1, -1))
    assert found.score(put(X, device), put(y, device)) == pytest.approx(expected.score(X, y), abs=0.01)


@pytest.mark.parametrize("scheme", ["ovo", "ovr"])
@pytest.mark.parametrize("loss", ["hinge", "log_loss"])
@EACH_TENSOR
def test_several_classes_are_those_of_numpy(device, loss, scheme):
    X, y = load_iris(return_X_y=True)
    model = StumpSVC(C=0.3, max_bins=32, loss=loss, multi_class=scheme, class_weight="balanced", tol=1e-5)
    weight = np.random.default_rng(0).uniform(0.2, 2.0, len(y))
    expected = clone(model).fit(X, y, weight)
    found = clone(model).fit(put(X, device), put(y, device), put(weight, device))
    assert_allclose(numpy(found.decision_function(put(X, device))), expected.decision_function(X), atol=0.1)
    assert np.mean(numpy(found.predict(put(X, device))) == expected.predict(X)) >= 0.99
    if loss == "log_loss":
        p = numpy(found.predict_proba(put(X, device)))
        assert_allclose(p, expected.predict_proba(X), atol=0.01)
        assert log_loss(y, p) < 0.7
    shapes = [shape for shapes in found.shape_functions_ for shape in shapes]
    assert len(shapes) == 12
    assert all(isinstance(shape.knots, torch.Tensor) for shape in shapes)


@EACH_TENSOR
def test_labels_may_be_of_any_kind_and_anywhere(device):
    X, y = threenorm(300, n_features=3, random_state=0)
    T, model = put(X, device), StumpSVC(C=0.05, max_bins=8)
    numbers = numpy(model.fit(T, put(y, device)).predict(T))
    for labels in (put(y > 0, device), y > 0, list(y > 0), put(y > 0, "cpu", torch.uint8)):
        predicted = model.fit(T, labels).predict(T)
        assert isinstance(predicted, torch.Tensor)
        assert predicted.device == T.device
        assert_array_equal(numpy(predicted), numbers > 0)
    texts = model.fit(T, np.where(y > 0, "yes", "no"), sample_weight=list(np.ones(300))).predict(T)
    assert_array_equal(texts == "yes", numbers > 0)


@pytest.mark.parametrize("kind", ["float16", "float32", "float64", "int32", "int64", "uint8", "bool"])
@EACH_TENSOR
def test_samples_may_be_of_any_kind(device, kind):
    X, y = threenorm(300, n_features=3, random_state=0)
    T = put(np.round(X * 3) + 10, device).to(getattr(torch, kind))
    exact = T.double().cpu().numpy()
    found = StumpSVC(C=0.05, max_bins=64, tol=1e-5).fit(T, put(y, device))
    expected = StumpSVC(C=0.05, max_bins=64, tol=1e-5).fit(exact, y)
    assert found.decision_function(T).dtype == torch.float64
    f = expected.decision_function(exact)
    assert_allclose(numpy(found.decision_function(T)), f, atol=0.01 * (np.ptp(f) + 0.1))


@EACH_TENSOR
def test_weights_count_as_repeated_samples_and_zero_as_none(device):
    X, y = threenorm(200, n_features=3, random_state=0)
    weight = np.arange(200) % 3
    T, t = put(X, device), put(y, device)
    model = StumpSVC(C=0.05, max_bins=256, tol=1e-6)
    weighted = clone(model).fit(T, t, put(weight, device))
    repeated = clone(model).fit(put(np.repeat(X, weight, axis=0), device), put(np.repeat(y, weight), device))
    assert_allclose(numpy(weighted.objective_), numpy(repeated.objective_), rtol=1e-4)
    assert not set(numpy(weighted.support_)) & set(np.flatnonzero(weight == 0))
    three = put(np.where(np.arange(200) < 20, 5, y), device)  # a class of no weight is no class
    left = clone(model).fit(T, three, put(np.where(np.arange(200) < 20, 0.0, 1.0), device))
    assert_array_equal(numpy(left.classes_), [-1, 1])


@EACH_TENSOR
def test_class_weights_multiply_c(device):
    X, y = threenorm(200, n_features=3, random_state=0)
    T, t = put(X, device), put(y, device)
    by_class = StumpSVC(C=0.05, max_bins=8, class_weight={-1: 3.0, 1: 0.5}).fit(T, t)
    by_row = StumpSVC(C=0.05, max_bins=8).fit(T, t, put(np.where(y > 0, 0.5, 3.0), device))
    decisions = (numpy(model.decision_function(T)) for model in (by_class, by_row))
    assert_allclose(*decisions, atol=1e-9)  # a GPU adds up in any order


@EACH_TENSOR
def test_the_folds_and_scores_are_those_of_numpy(device):
    X, y = threenorm(600, n_features=4, random_state=0)
    groups, weight = np.arange(600) // 20, np.random.default_rng(0).uniform(0.0, 2.0, 600)
    model = StumpSVC("cv", Cs=[1e-4, 0.01], cv=GroupKFold(3), max_bins=16, scoring="balanced_accuracy")
    expected = clone(model).fit(X, y, weight, groups)
    found = clone(model).fit(put(X, device), put(y, device), put(weight, device), put(groups, device))
    assert_allclose(numpy(found.scores_), expected.scores_, atol=0.02)
    assert found.C_ == expected.C_
    threads = clone(model).set_params(n_jobs=2)
    threads.fit(put(X, device), put(y, device), put(weight, device), groups)
    assert_allclose(numpy(threads.scores_), numpy(found.scores_), atol=0.02)  # a GPU adds up in any order


@pytest.mark.parametrize(
    "model",
    [
        StumpSVC(C=0.01, max_bins=16),
        StumpSVC(C=0.01, max_bins=16, loss="log_loss", class_weight="balanced"),
        StumpSVC(C=0.01, max_bins=16, multi_class="ovr"),
        StumpSVC("cv", Cs=[0.001, 0.01], cv=[(np.arange(600), np.arange(600, 1200))], max_bins=16),
        PerceptronSVC(C=0.1, method="sliced", n_directions=12, random_state=0),
        PerceptronSVC(C=0.1, method="gram"),
        KernelSVC(Stump(), C=0.02, method="gram"),
        KernelSVC(C=0.01),
    ],
    ids=lambda model: str(model)[:40],
)
def test_no_samples_leave_the_device(model, monkeypatch):
    X, y = threenorm(1200, n_features=4, random_state=0)
    T, t, moved = put(X, "cpu"), put(np.where(X[:, 0] > 1, 3, y), "cpu"), []
    for name in ("cpu", "numpy", "tolist", "__array__", "__dlpack__", "to", "item", "cuda"):
        monkeypatch.setattr(torch.Tensor, name, counted(getattr(torch.Tensor, name), name, moved))
    model.fit(T, t).predict(T)
    allowed = (1200,) if isinstance(model, StumpSVC) else ()  # labels, once, for scikit-learn's splitter
    assert [m for m in moved if np.prod(m[1]) >= 400 and m[1] != allowed] == []


def counted(method, name, moved):
    def call(tensor, *arguments, **options):
        places = [*arguments, *options.values()]
        if name != "to" or any(isinstance(place, str | torch.device) for place in places):
            moved.append((name, tuple(tensor.shape)))
        return method(tensor, *arguments, **options)

    return call


def test_a_model_moves_as_scikit_learn_moves_it():
    from sklearn.utils._array_api import move_estimator_to

    X, y = threenorm(300, n_features=3, random_state=0)
    for model in (StumpSVC(C=0.05, max_bins=8), *MODELS[4:]):
        T = put(X, "cpu")
        there = clone(model).fit(T, put(y, "cpu"))
        here = move_estimator_to(there, np, "cpu")
        assert isinstance(here.predict(X), np.ndarray)
        assert_allclose(here.decision_function(X), numpy(there.decision_function(T)), atol=1e-9)
        import sklearn.externals.array_api_compat.torch as xp

        again = move_estimator_to(here, xp, "cpu")
        assert_allclose(numpy(again.decision_function(T)), here.decision_function(X), atol=1e-9)


@EACH_TENSOR
def test_a_saved_model_is_one_of_numpy(device, tmp_path):
    X, y = threenorm(300, n_features=3, random_state=0)
    T = put(X, device)
    for model in (StumpSVC(C=0.05, max_bins=8), *MODELS[4:]):
        fitted = clone(model).fit(T, put(y, device))
        mercer.save(fitted, tmp_path / "model.mercer")
        assert isinstance(fitted.n_iter_, torch.Tensor)  # which saving leaves as it is
        loaded = mercer.load(tmp_path / "model.mercer")
        assert_allclose(loaded.decision_function(X), numpy(fitted.decision_function(T)), atol=1e-9)
        assert_array_equal(loaded.predict(X), numpy(fitted.predict(T)))
        pickled = pickle.loads(pickle.dumps(fitted))
        assert_array_equal(numpy(pickled.predict(T)), loaded.predict(X))


def test_bad_input_is_named():
    X, y = threenorm(300, n_features=3, random_state=0)
    T, t, model = put(X, "cpu"), put(y, "cpu"), StumpSVC(max_bins=8)
    for bad in (np.nan, np.inf):
        spoilt = T.clone()
        spoilt[7, 1] = bad
        with pytest.raises(ValueError, match=r"NaN|infinity"):
            model.fit(spoilt, t)
    with pytest.raises(ValueError, match="only one class: 1"):
        model.fit(T, torch.ones(300, dtype=torch.int64))
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        model.fit(T, t[:-1])
    with pytest.raises(ValueError, match="Unknown label type"):
        model.fit(T, T[:, 0])
    with pytest.raises(ValueError, match="Negative values"):
        model.fit(T, t, sample_weight=-torch.ones(300))
    for one in (model, StumpSVC()):
        with pytest.raises(ValueError, match="Complex data not supported: StumpSVC takes real numbers"):
            one.fit(T + 1j, t)
        with pytest.raises(TypeError, match=r"StumpSVC takes dense tensors: give X\.to_dense\(\)"):
            one.fit(T.to_sparse(), t)
    with pytest.raises(ValueError, match="class_weight"):
        StumpSVC(max_bins=8, class_weight={-1: 1.0, 7: 2.0}).fit(T, t)


def test_an_exact_table_of_tensors_is_solved_by_way_of_numpy():
    X, y = threenorm(300, n_features=3, random_state=0)
    y = np.where(X[:, 0] > 1, 3, y)
    T, t, model = put(X, "cpu"), put(y, "cpu"), KernelSVC(Stump(), C=0.02)
    expected = clone(model).fit(X, y).decision_function(X)
    assert_allclose(numpy(model.fit(T, t).decision_function(T)), expected, atol=2e-3 * np.ptp(expected))


def test_trees_take_tensors():
    X, y = threenorm(300, n_features=3, random_state=0)
    T, t = put(X, "cpu"), put(y, "cpu")
    for model in (TreeSVC(), TreeSVC(loss="log_loss", ranks=True)):
        expected = clone(model).fit(X, y).decision_function(X)
        assert_allclose(numpy(model.fit(T, t).decision_function(T)), expected, atol=2e-3 * np.ptp(expected))


@pytest.mark.parametrize("model", [StumpSVC(max_bins=8), StumpSVC(), PerceptronSVC(random_state=0)], ids=str)
def test_gradients_of_samples_and_weights_are_left_out(model):
    X, y = threenorm(120, n_features=3, random_state=0)
    T, t, weight = put(X, "cpu"), put(y, "cpu"), torch.linspace(0.5, 1.5, 120, dtype=torch.float64)
    expected = numpy(clone(model).fit(T, t, weight).decision_function(T))
    T.requires_grad_()
    fitted = clone(model).fit(T, t, weight.requires_grad_())
    f = fitted.decision_function(T)
    assert not f.requires_grad
    assert_allclose(numpy(f), expected, atol=1e-12)


def test_many_exact_samples_are_not_moved_unasked(monkeypatch):
    monkeypatch.setattr("mercer.machines.places.MOST_EXACT", 299)
    X, y = threenorm(300, n_features=3, random_state=0)
    with pytest.raises(ValueError, match="Set max_bins, for example to 256"):
        StumpSVC().fit(put(X, "cpu"), put(y, "cpu"))


def test_samples_of_another_library_than_the_fit_are_refused():
    X, y = threenorm(300, n_features=3, random_state=0)
    T, t = put(X, "cpu"), put(y, "cpu")
    for model in (StumpSVC(max_bins=8, loss="log_loss"), StumpSVC(loss="log_loss")):
        there, here = clone(model).fit(T, t), clone(model).fit(X, y)
        for method in ("predict", "decision_function", "predict_proba"):
            with pytest.raises(ValueError, match=rf"StumpSVC\.{method}\(\) must use the same namespace"):
                getattr(there, method)(X)
            with pytest.raises(ValueError, match="must use the same namespace"):
                getattr(here, method)(T)
            with (
                config_context(array_api_dispatch=False),
                pytest.raises(ValueError, match=f"call {method} within.*array_api_dispatch=True"),
            ):
                getattr(there, method)(T)


def test_without_dispatch_a_tensor_is_an_array():
    X, y = threenorm(300, n_features=3, random_state=0)
    with config_context(array_api_dispatch=False):
        model = StumpSVC(max_bins=8).fit(put(X, "cpu"), put(y, "cpu"))
        assert isinstance(model.predict(put(X, "cpu")), np.ndarray)
        assert isinstance(model.intercept_, np.ndarray)


@pytest.mark.parametrize(
    "X",
    [
        np.ones((40, 3)),
        np.repeat([[0.0, 1.0, 1.0], [1.0, 1.0, 0.0]], 20, axis=0),
        np.c_[np.linspace(1e8, 1e8 + 1, 40), np.ones(40)],
        np.random.default_rng(0).normal(size=(40, 60)),
    ],
    ids=["constant", "two values", "far from zero", "more features than bins"],
)
@EACH_TENSOR
def test_degenerate_samples_are_as_with_numpy(device, X):
    y = np.arange(40) // 20
    expected = StumpSVC(C=1.0, max_bins=8, tol=1e-5).fit(X, y)
    found = StumpSVC(C=1.0, max_bins=8, tol=1e-5).fit(put(X, device), put(y, device))
    f = expected.decision_function(X)
    assert_allclose(numpy(found.decision_function(put(X, device))), f, atol=0.02)


@EACH_MODEL
@EACH_TENSOR
def test_scikit_learns_checks_of_tensors(model, device):
    from sklearn.utils.estimator_checks import check_array_api_input

    check_array_api_input("", model, "torch", device, "float32", check_sample_weight=True)


def test_the_namespace_of_labels_does_not_matter():
    from sklearn.utils.estimator_checks import NamespaceAndDevice, check_array_api_mixed_inputs

    for X, other in (("torch", "numpy"), ("numpy", "torch")):
        places = (NamespaceAndDevice(name, "cpu" if name == "torch" else None) for name in (X, other))
        check_array_api_mixed_inputs("", StumpSVC(), *places)


@pytest.mark.parametrize("scheme", ["ovo", "ovr"])
@EACH_TENSOR
def test_exact_perceptrons_of_several_classes_are_libsvms(device, scheme):
    X, y = load_iris(return_X_y=True)
    weight = np.random.default_rng(0).uniform(0.0, 2.0, len(y))
    model = PerceptronSVC(C=0.3, method="gram", multi_class=scheme, class_weight="balanced", tol=1e-5)
    expected = clone(model).fit(X, y, weight)
    found = clone(model).fit(put(X, device), put(y, device), put(weight, device))
    assert_allclose(numpy(found.objective_), expected.objective_, rtol=1e-6)
    assert_allclose(numpy(found.decision_function(put(X, device))), expected.decision_function(X), atol=1e-3)
    assert float(found.residual_.max()) <= 1e-5


@EACH_TENSOR
def test_folds_that_share_a_gram_matrix_have_the_scores_of_each_alone(device):
    X, y = load_iris(return_X_y=True)
    y, weight = (
        np.where(np.arange(150) % 11 == 0, 2 - y, y),
        np.random.default_rng(0).uniform(0.0, 2.0, len(y)),
    )
    weight[:20] = 0.0
    model = PerceptronSVC("cv", Cs=[1e-3, 0.1, 5.0], cv=GroupKFold(3), method="gram", tol=1e-5)
    expected = clone(model).fit(X, y, weight, np.arange(150) % 10)
    found = clone(model).fit(put(X, device), put(y, device), put(weight, device), np.arange(150) % 10)
    assert_allclose(numpy(found.scores_), expected.scores_, atol=1e-9)
    assert found.C_ == expected.C_
    assert_allclose(numpy(found.decision_function(put(X, device))), expected.decision_function(X), atol=1e-3)


@pytest.mark.parametrize("kind", ["float32", "float64"])
@pytest.mark.parametrize("method", ["gram", "features"])
@EACH_TENSOR
def test_a_kernel_svm_is_that_of_numpy_by_either_road(device, method, kind):
    X, y = load_iris(return_X_y=True)
    X, names = X.astype(kind).astype(float), np.array(["a", "b", "c"])[y]
    kernel = Projected(np.random.default_rng(0).normal(size=(4, 3)))
    model = KernelSVC(kernel, C=2.0, method=method, relative_C=True, class_weight="balanced", tol=1e-5)
    weight = np.where(X[:, 0] > 6.0, 5.0, 1.0)  # the spread is that of weighted samples
    expected = clone(model).fit(X, names, sample_weight=weight)
    T = put(X.astype(kind), device)
    found = clone(model).fit(T, names, sample_weight=put(weight, device))
    assert_allclose(numpy(found.decision_function(T)), expected.decision_function(X), atol=2e-3)
    assert np.mean(found.predict(T) == expected.predict(X)) > 0.99


@EACH_TENSOR
def test_single_precision_predicts_as_double_precision_does(device):
    X, y = threenorm(800, n_features=20, random_state=0)
    X_new, _ = threenorm(4000, n_features=20, random_state=1)
    expected = PerceptronSVC(C=0.5, method="gram").fit(X, y).predict(X_new)
    found = PerceptronSVC(C=0.5, method="gram").fit(put(X, device, torch.float32), put(y, device))
    assert np.mean(numpy(found.predict(put(X_new, device, torch.float32))) == expected) >= 0.998


@EACH_TENSOR
def test_a_gram_matrix_that_does_not_fit_is_refused(device):
    X = torch.zeros((1, 2), device=device, dtype=torch.float32).expand(3_000_000, 2)
    with pytest.raises(MemoryError, match=r"needs 144000\.0 GB.*method='landmarks'"):
        PerceptronSVC(method="gram").fit(X, torch.arange(3_000_000, device=device) % 2)


def test_an_svm_that_stops_early_says_so():
    X, y = threenorm(300, n_features=3, random_state=0)
    for model in (PerceptronSVC(method="gram", max_iter=2), KernelSVC(Perceptron(), max_iter=2)):
        with pytest.warns(ConvergenceWarning, match="stopped after 2"):
            model.fit(put(X, "cpu"), put(y, "cpu"))


@EACH_TENSOR
def test_samples_too_far_apart_are_refused(device):
    X, y = threenorm(100, n_features=3, random_state=0)
    with pytest.raises(ValueError, match="scale the features"):
        PerceptronSVC(method="gram").fit(put(1e160 * X, device), put(y, device))
