"""What is saved is loaded as it was; a file says what is in it; a failed save leaves nothing behind."""

import os
import subprocess
import sys
import warnings
from importlib.metadata import version

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone, is_regressor
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, DotProduct, Matern, Sum
from sklearn.linear_model import RidgeCV
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.pipeline import make_pipeline, make_union
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    RobustScaler,
    StandardScaler,
)
from sklearn.svm import SVC, SVR

import mercer
from forgery import repack, unpack
from mercer import kernels
from mercer.persistence import describe, model_file, objects
from registry import ESTIMATORS

X, y = make_classification(n_samples=60, n_features=5, n_informative=4, n_redundant=0, random_state=0)
X[:, 0] = np.round(X[:, 0])
NAMES = np.array(["no", "yes"], dtype=object)[y]
METHODS = ("decision_function", "predict_proba", "predict", "transform", "kernel_", "__call__")


def rows_for(estimator):
    return X @ X.T if getattr(estimator, "kernel", None) == "precomputed" else X


def outputs(estimator):
    """Return all that an estimator or kernel computes of the rows."""
    rows = rows_for(estimator)
    found = {name: getattr(estimator, name, None) for name in METHODS}
    return {name: np.asarray(method(rows)) for name, method in found.items() if method is not None}


def assert_same(first, second):
    assert first
    assert first.keys() == second.keys()
    for name, values in first.items():
        assert values.dtype == second[name].dtype
        assert_array_equal(values, second[name])


def around_mercer():
    """Return estimators of scikit-learn with mercer's in them, and with what users put beside them."""
    learner = mercer.BoostedKernel(n_rounds=2)
    return [
        make_pipeline(StandardScaler(), mercer.KernelSVC(learner)),
        make_pipeline(RobustScaler(), mercer.KernelSVC(class_weight={False: 1.0, True: 2.0})),
        make_pipeline(MinMaxScaler(), MaxAbsScaler(), learner, SVC(kernel=RBF(2.0))),
        mercer.StumpSVC("cv", Cs=2, cv=StratifiedKFold(2, shuffle=True, random_state=0)),
        make_pipeline(mercer.ClippedScaler(), RidgeCV(np.logspace(-1, 1, 3))),
        make_pipeline(SVC(kernel=2.0 * kernels.Perceptron() + Matern(nu=2.5) * DotProduct())),
        SVC(class_weight="balanced", random_state=3),
    ]


def fitted():
    every = [
        clone(estimator).fit(rows_for(estimator), X[:, 1] if is_regressor(estimator) else y)
        for estimator in ESTIMATORS
    ]
    return every + [estimator.fit(X, (y == 1).astype(int)) for estimator in around_mercer()]


def values():
    """Return kernels: fixed, sampled, summed, and each that a learner leaves."""
    fixed = [kernels.Stump(), kernels.Stump(delta=2.5), kernels.Perceptron.spanning(X)]
    fixed += [kernels.Series(RBF(), "exp", np.array([1.0, 2.0]), np.array([1.0, 0.5]))]
    fixed += [kernels.Combination([RBF(), kernels.Stump()], np.array([2.0, 1.0]), [(0, 2), None])]
    fixed += [kernels.Tree(0.5)]
    fixed += [kernels.Rescaled(RBF(), X.mean(axis=0), X.std(axis=0))]
    fixed += [kernels.Forest([0, 0, 0], [0.0, 0.0, 0.0], [1, 1, 2], [2, 1, 2], [0], X.shape[1])]
    fixed += [kernels.Ranked.spanning(X, kernels.Tree(0.5))]
    fixed += [kernels.Mapped(RBF(), np.linspace(-1.0, 1.0, 10).reshape(5, 2))]
    sampled = [kind.sample(X, 9, random_state=0) for kind in (kernels.Stump, kernels.Perceptron)]
    learned = [
        estimator.kernel_
        for estimator in fitted()
        if isinstance(estimator, mercer.learners.base.KernelLearner)
    ]
    return [*fixed, *sampled, *learned, 2.0 * kernels.Stump() + learned[0] * RBF(np.array([1.0, 2, 3, 4, 5]))]


def test_every_estimator_gives_the_same_bits_when_it_is_loaded(tmp_path):
    for estimator in fitted():
        mercer.save(estimator, tmp_path / "model")
        loaded = mercer.load(tmp_path / "model")
        assert type(loaded) is type(estimator)
        assert vars(loaded).keys() == vars(estimator).keys()
        assert repr(loaded) == repr(estimator)
        assert_same(outputs(estimator), outputs(loaded))


def test_every_kernel_gives_the_same_bits_when_it_is_loaded(tmp_path):
    seen = set()
    for kernel in values():
        mercer.save(kernel, tmp_path / "kernel")
        loaded = mercer.load(tmp_path / "kernel")
        assert loaded == kernel
        assert_same(outputs(kernel), outputs(loaded))
        seen.add(type(kernel).__name__)
    assert seen >= set(kernels.__all__) - {"Kernel", "FeatureKernel"}


READ_ALL = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from persistence_outputs import mercer, np, outputs
for path in sorted(Path(sys.argv[2]).glob("*.mercer")):
    loaded = outputs(mercer.load(path))
    expected = np.load(path.with_suffix(".npz"), allow_pickle=False)
    assert set(expected) == set(loaded) != set(), path
    assert all(np.array_equal(expected[name], loaded[name]) for name in expected), path
    print(path)
"""


def test_a_fresh_process_loads_every_estimator_and_gets_the_same_bits(tmp_path):
    everything = fitted()
    for k, estimator in enumerate(everything):
        mercer.save(estimator, tmp_path / f"{k}.mercer")
        np.savez(tmp_path / f"{k}.npz", **outputs(estimator))
    script = READ_ALL.replace("persistence_outputs", __name__.rpartition(".")[2])
    folder = os.path.dirname(__file__)
    paths = os.pathsep.join([os.path.dirname(folder), *filter(None, [os.environ.get("PYTHONPATH")])])
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", script, folder, str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": paths},
    )
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) == len(everything)


def test_an_estimator_that_is_not_fitted_keeps_its_parameters(tmp_path):
    for estimator in ESTIMATORS + around_mercer():
        mercer.save(estimator, tmp_path / "model")
        assert repr(mercer.load(tmp_path / "model")) == repr(estimator)


def test_how_this_machine_shall_work_is_not_saved(tmp_path):
    mercer.save(mercer.StumpSVC(n_jobs=24).fit(X, y), tmp_path / "model")
    assert mercer.load(tmp_path / "model").n_jobs is None


def test_arrays_keep_their_types_orders_and_shapes(tmp_path):
    arrays = [
        np.arange(6.0).reshape(2, 3, order="F"),
        np.arange(6, dtype="<i2"),
        np.zeros((0, 3)),
        np.array(7),
    ]
    arrays += [
        np.array(["ä", ""]),
        np.array([], dtype="U1"),
        np.array([True]),
        np.array(["a", None], dtype=object),
    ]
    for array in arrays:
        mercer.save(mercer.StumpSVC(class_weight=array), tmp_path / "model")
        loaded = mercer.load(tmp_path / "model").class_weight
        assert loaded.dtype == array.dtype
        assert_array_equal(loaded, array)
        assert loaded.flags.f_contiguous == array.flags.f_contiguous
        assert loaded.flags.aligned
        assert loaded.flags.writeable


@pytest.mark.parametrize("keys", [(True, False), (0, 1), ("a", "b"), ("1", 1), (0.1, -0.0), (None,)])
def test_dictionaries_keep_the_types_of_their_keys(tmp_path, keys):
    weights = {key: float(k) for k, key in enumerate(keys)}
    mercer.save(mercer.StumpSVC(class_weight=weights), tmp_path / "model")
    loaded = mercer.load(tmp_path / "model").class_weight
    assert loaded == weights
    assert [type(key) for key in loaded] == [type(key) for key in weights]


def test_a_matrix_that_joblib_has_mapped_into_memory_is_loaded_as_an_array(tmp_path):
    mapped = np.memmap(tmp_path / "map", dtype=np.float64, mode="w+", shape=(2, 2))
    mercer.save(kernels.Projected(mapped, RBF(), mapped), tmp_path / "kernel")
    assert type(mercer.load(tmp_path / "kernel").coef) is np.ndarray


def test_two_names_of_one_object_are_one_object_again(tmp_path):
    estimator = mercer.KernelSVC(mercer.BoostedKernel(n_rounds=2)).fit(X, y)
    mercer.save(estimator, tmp_path / "model")
    loaded = mercer.load(tmp_path / "model")
    assert loaded.kernel_ is loaded.learner_.kernel_


def test_the_same_estimator_gives_the_same_file(tmp_path):
    estimator = mercer.StumpSVC().fit(X, y)
    contents = []
    for name in ("first", "second"):
        mercer.save(estimator, tmp_path / name)
        contents.append((tmp_path / name).read_bytes()[400:])  # before, there is the time
        estimator = mercer.load(tmp_path / name)
    assert contents[0] == contents[1]


def test_a_file_says_what_is_in_it_without_loading_it(tmp_path, monkeypatch):
    about = {"error": 0.25, "columns": ["a", "b"], "<b>": None}
    mercer.save(mercer.StumpSVC(C=2.0, class_weight={0: 2}).fit(X, y), tmp_path / "model", about=about)
    monkeypatch.setattr(model_file, "Reader", None)
    said = describe(tmp_path / "model")
    assert said.class_name == "mercer.StumpSVC"
    assert said.about == about
    assert said.settings["C"] == 2.0
    assert said.settings["class_weight"] == "{0: 2}"
    assert said.versions["scikit-learn"] == version("scikit-learn")
    assert said.saved.endswith("+00:00")


@pytest.mark.parametrize("library", ["scikit-learn", "mercer"])
def test_another_minor_version_gives_one_warning_and_the_same_bits(tmp_path, library):
    estimator = around_mercer()[0].fit(X, y)
    mercer.save(estimator, tmp_path / "model")
    metadata, root, arrays = unpack(tmp_path / "model")
    metadata["versions"][library] = "0.0.7"
    repack(tmp_path / "model", metadata, root, arrays)
    with pytest.warns(UserWarning, match=rf"{library} 0\.0\.7 \(here: ") as caught:
        loaded = mercer.load(tmp_path / "model")
    assert len(caught) == 1
    assert caught[0].filename == __file__
    assert_same(outputs(estimator), outputs(loaded))


def test_a_correction_of_a_library_gives_no_warning(tmp_path):
    mercer.save(make_pipeline(StandardScaler()), tmp_path / "model")
    metadata, root, arrays = unpack(tmp_path / "model")
    metadata["versions"]["scikit-learn"] = ".".join([*version("scikit-learn").split(".")[:2], "99"])
    repack(tmp_path / "model", metadata, root, arrays)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        loaded = mercer.load(tmp_path / "model")
    assert isinstance(loaded[0], StandardScaler)


class Own(mercer.StumpSVC):
    """A class that mercer does not know."""


def holding_itself():
    estimator = mercer.StumpSVC()
    estimator.class_weight = [estimator]
    return estimator


def with_more():
    estimator = mercer.StumpSVC()
    estimator.mine_ = 1
    return estimator


@pytest.mark.parametrize(
    ("estimator", "named"),
    [
        (Own(), "Own"),
        (make_pipeline(FunctionTransformer(np.negative)), "FunctionTransformer.*skops.io"),
        (make_union(StandardScaler()), "FeatureUnion"),
        (make_pipeline(RandomForestClassifier(2).fit(X, y)), "Forest"),
        (make_pipeline(SVR()), "SVR"),
        (GridSearchCV(mercer.StumpSVC(), {}), "GridSearchCV"),
        (mercer.StumpSVC(class_weight={"a"}), "builtins.set.*as class_weight of a mercer.StumpSVC"),
        (mercer.StumpSVC(class_weight=np.ma.array([1.0], mask=[True])), "MaskedArray"),
        (mercer.StumpSVC(class_weight=np.array(["2024-01-01"], dtype="M8[D]")), "datetime64"),
        (mercer.StumpSVC(scoring=np.mean), "as scoring of a mercer.StumpSVC"),
        (make_pipeline(StandardScaler(), memory="cache"), "sklearn.pipeline.Pipeline in it has memory="),
        (mercer.StumpSVC(class_weight={(1, 2): 3}), "tuple.*as a key in class_weight"),
        (mercer.StumpSVC(random_state=np.random.default_rng(0)), "Generator"),
        (SVC(kernel=np.multiply), "ufunc.*as kernel"),
        (kernels.Mapped(np.multiply, np.ones((2, 2))), "ufunc.*as base of a mercer.kernels.Mapped"),
        (with_more(), "a mercer.StumpSVC in it has mine_=1"),
        (holding_itself(), "contains itself"),
        (mercer.StumpSVC, "an estimator or a kernel"),
        ({"a": 1}, "an estimator or a kernel"),
    ],
)  # fmt: skip
def test_what_would_not_load_is_not_saved_and_named(tmp_path, estimator, named):
    (tmp_path / "model").write_text("old")
    with pytest.raises(TypeError, match=named):
        mercer.save(estimator, tmp_path / "model")
    assert [path.read_text() for path in tmp_path.iterdir()] == ["old"]


def test_what_is_said_about_an_estimator_must_be_json(tmp_path):
    with pytest.raises(TypeError, match="about= must be a dictionary that JSON can hold"):
        mercer.save(mercer.StumpSVC(), tmp_path / "model", about={"a": X})
    assert not list(tmp_path.iterdir())


def test_kernels_may_be_nested_as_deeply_as_a_file_may_be(tmp_path):
    def nest(kernel, times):
        return nest(Sum(kernel, ConstantKernel(1.0)), times - 1) if times else kernel

    most = objects.DEEPEST - 2  # the bounds of a constant are a level of their own
    mercer.save(nest(kernels.Stump(), most), tmp_path / "kernel")
    assert_array_equal(mercer.load(tmp_path / "kernel")(X), nest(kernels.Stump(), most)(X))
    with pytest.raises(TypeError, match="nested"):
        mercer.save(nest(kernels.Stump(), most + 1), tmp_path / "kernel")


@pytest.mark.parametrize("call", ["fsync", "replace", "chmod"])
def test_an_interrupted_save_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch, call):
    path = tmp_path / "model"
    mercer.save(mercer.StumpSVC(C=1.0), path)
    before = path.read_bytes()

    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, call, interrupt)
    with pytest.raises(KeyboardInterrupt):
        mercer.save(mercer.StumpSVC(C=2.0), path)
    assert [file.name for file in tmp_path.iterdir()] == ["model"]
    assert path.read_bytes() == before


def test_a_new_file_has_the_rights_of_any_new_file_and_an_old_one_keeps_its_own(tmp_path):
    (tmp_path / "plain").write_text("")
    path = tmp_path / "model"
    mercer.save(mercer.StumpSVC(), path)
    assert path.stat().st_mode == (tmp_path / "plain").stat().st_mode
    path.chmod(0o640)
    (tmp_path / "link").symlink_to(path)
    mercer.save(mercer.StumpSVC(C=2.0), tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert path.stat().st_mode & 0o777 == 0o640
    assert mercer.load(path).C == 2.0
