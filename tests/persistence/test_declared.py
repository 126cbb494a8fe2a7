"""A file can say only what is declared, and what it says fits together."""

import sys
import types

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.gaussian_process.kernels import RBF
from sklearn.svm import SVC

import mercer
from baseline_registry import BASELINES
from forgery import repack, save_unchecked, unpack, watching
from fuzz_persistence import fuzz
from mercer import kernels, machines, superkernels
from mercer.persistence import ModelFileError, objects
from mercer.persistence.declared import DECLARED
from mercer.persistence.objects import form_of, name_of

X = np.random.RandomState(0).normal(size=(40, 3))
y = (X[:, 0] > 0).astype(int)


@pytest.mark.parametrize("name", DECLARED)
def test_a_declaration_is_about_what_the_class_has(name):
    form = form_of(name)
    assert name_of(form.kind) == name
    if issubclass(form.kind, tuple):
        assert set(form.fields) == set(form.settings)
    else:
        # what loading calls are `__init__`, and nothing that a class has of its own to restore itself
        assert form.kind.__new__ is object.__new__
    folders = {"memory", "n_jobs", "verbose", "kw_args", "func", "callback"}
    assert not folders & set(form.fields)


@pytest.mark.parametrize("package", [mercer, kernels, superkernels])
def test_every_public_class_is_declared(package):
    abstract = {"Kernel", "FeatureKernel", "PairKernel", "QualityFunctional", "Expansion"}  # or never fitted
    public = {name for name in package.__all__ if isinstance(getattr(package, name), type)} - abstract
    assert {f"{package.__name__}.{name}" for name in public} <= set(DECLARED)


@pytest.mark.parametrize("estimator", BASELINES, ids=str)
def test_what_papers_compare_with_is_not_saved_since_the_package_does_not_have_it(tmp_path, estimator):
    with pytest.raises(TypeError, match=f"^{type(estimator).__name__} cannot be saved"):
        mercer.save(estimator, tmp_path / "model")
    assert not list(tmp_path.iterdir())


def svm(**fields):
    return {"is": "mercer.StumpSVC", **fields}


def mapped(base):
    return {"is": "mercer.kernels.Mapped", "base": base, "coef": {"array": 0}}


DEEP: dict = {"is": "mercer.kernels.Stump"}
for _ in range(70):
    DEEP = {"is": "sklearn.gaussian_process.kernels.Sum", "k1": DEEP, "k2": {"is": "mercer.kernels.Stump"}}
LAUGHS: list = [{"is": "mercer.kernels.Stump"}]
LAUGHS += [  # each of the one before, twice
    {"is": "sklearn.gaussian_process.kernels.Sum", "k1": {"again": k}, "k2": {"again": k}} for k in range(40)
]

# what stands in the place of an estimator, and how it is refused
ATTACKS = {
    "a function as a kernel": (mapped({"is": "numpy.multiply"}), "it holds 'numpy.multiply'"),
    "a name as a kernel": (mapped("multiply"), "base of a mercer.kernels.Mapped in it is not an object"),
    "an estimator as a kernel": (
        mapped(svm()),
        "base of a .*Mapped in it is a mercer.StumpSVC, which cannot",
    ),
    "a function as a series": (
        {"is": "mercer.kernels.Series", "base": {"is": "mercer.kernels.Stump"}, "function": "multiply"},
        "function of a .*Series in it is none of its options",
    ),
    "a transformer with arguments": (
        {"is": "sklearn.preprocessing.FunctionTransformer", "kw_args": {}},
        "it holds",
    ),
    "a union of many processes": ({"is": "sklearn.pipeline.FeatureUnion", "n_jobs": 24}, "it holds"),
    "a format of names": (
        {"is": "sklearn.compose.ColumnTransformer", "verbose_feature_names_out": "{}"},
        "it holds",
    ),
    "processes": (svm(n_jobs=24), "a field 'n_jobs', which mercer does not know"),
    "a folder that is unpickled": (
        {"is": "sklearn.pipeline.Pipeline", "steps": [], "memory": "folder"},
        "a field 'memory'",
    ),
    "a method": (svm(predict=1), "a field 'predict'"),
    "a class": (svm(__class__="x"), "a field '__class__'"),
    "a call": ({"is": "os.system", "content": "true"}, "it holds 'os.system'"),
    "a module of mercer's": ({"is": "mercer.cli.main"}, "it holds 'mercer.cli.main'"),
    "a class by where it is": ({"is": "mercer.machines.stump.StumpSVC"}, "it holds"),
    "a name for the terminal": ({"is": "\x1b[2J\x07" + "x" * 9999}, "it holds"),
    "no name": ({"is": 3}, "it holds"),
    "a part as a whole": ({"is": "mercer.parts.Units"}, "is a mercer.parts.Units, which cannot stand there"),
    "nothing": (None, "is not an object"),
    "itself": (svm(class_weight={"again": 0}), "is an object that is not there"),
    "what is not there": ({"again": -1}, "is an object that is not there"),
    "much within much": (DEEP, "nested more than 60 deep"),
    "lists within lists": (svm(class_weight=eval("[" * 80 + "]" * 80)), "nested more than 60 deep"),
    "few that are very many": (
        {"is": "mercer.superkernels.Explicit", "kernels": LAUGHS},
        "stand for very many",
    ),
    "an array that is not there": (svm(class_weight={"array": 1}), "is not an array"),
    "a key twice": (svm(class_weight={"map": [[1, 1], [True, 2]]}), "has a key twice"),
    "a list as a key": (svm(class_weight={"map": [[[], 1]]}), "is not a map"),
    "two kinds at once": (svm(class_weight={"map": [], "tuple": []}), "is not"),
    "half of what was learned": (svm(classes_={"objects": ["a", "b"]}), "has no "),
}


@pytest.mark.parametrize("attack", ATTACKS)
def test_what_is_not_declared_cannot_be_said(tmp_path, attack):
    root, match = ATTACKS[attack]
    mercer.save(mercer.StumpSVC(), tmp_path / "model")
    repack(tmp_path / "model", unpack(tmp_path / "model").metadata, root, [np.ones((3, 3))])
    with watching() as seen, pytest.raises(ModelFileError, match=match) as caught:
        mercer.load(tmp_path / "model")
    assert not seen
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 1000


def with_function(**changes):
    """Return a fitted model with other arrays in its first function."""
    model = mercer.StumpSVC().fit(X, y)
    each = model.machines_[0].each
    each[0] = each[0]._replace(**{name: change(each[0]) for name, change in changes.items()})
    return model


def units(**changes):
    return with_function(units=lambda f: f.units._replace(**changes))


def anchored(**changes):
    model = mercer.PerceptronSVC().fit(X, y)
    model.machines_[0] = model.machines_[0]._replace(**changes)
    return model


def mixture(**changes):
    kernel = mercer.KernelBoost(n_rounds=2, n_components=2, random_state=0).fit(X, y).kernel_
    return kernel.set_params(**{name: change(getattr(kernel, name)) for name, change in changes.items()})


def series(**changes):
    arrays = {"constants": np.array([1.0, 2.0]), "weights": np.array([1.0, 0.5]), "factor": 1.0}
    return kernels.Series(RBF(), "exp", **{**arrays, **changes})


def changed(model, **changes):
    vars(model).update(changes)
    return model


FUNCTION, TERMS = "mercer.parts.AdditiveFunction", "mercer.parts.Terms"
TAMPERED = {  # a model, and what is to be named
    "fewer values than knots": (
        lambda: with_function(values=lambda f: f.values[:, :1]),
        f"values of a {FUNCTION}",
    ),
    "values of fewer features": (
        lambda: with_function(values=lambda f: f.values[:1]),
        f"values of a {FUNCTION}",
    ),
    "more features than the rows have": (
        lambda: with_function(
            knots=lambda f: np.tile(f.knots, (9, 1)), values=lambda f: np.tile(f.values, (9, 1))
        ),
        f"units of a {FUNCTION}",
    ),
    "no knots": (
        lambda: with_function(knots=lambda f: f.knots[:, :0], values=lambda f: f.values[:, :0]),
        f"knots of a {FUNCTION}",
    ),
    "values that are not finite": (
        lambda: with_function(values=lambda f: np.full_like(f.values, np.nan)),
        f"values of a {FUNCTION}",
    ),
    "knots that are texts": (
        lambda: with_function(knots=lambda f: f.knots.astype("U9")),
        f"knots of a {FUNCTION}",
    ),
    "many intercepts": (lambda: with_function(intercept=lambda f: np.zeros(4)), f"intercept of a {FUNCTION}"),
    "many scales": (lambda: units(scale=np.ones((40, 999))), "scale of a mercer.parts.Units"),
    "a scale of zero": (lambda: units(scale=0.0), "scale of a mercer.parts.Units"),
    "offsets in two dimensions": (lambda: units(offset=np.zeros((40, 3))), "offset of a mercer.parts.Units"),
    "fewer coefficients than intercepts": (
        lambda: anchored(coef=np.ones((2, 1)), anchors=X),
        "coef of a mercer.parts.KernelFunction",
    ),
    "fewer functions than classes": (
        lambda: changed(mercer.StumpSVC().fit(X, y), classes_=np.arange(3)),
        "another number of functions",
    ),
    "fewer constants than weights": (
        lambda: series(constants=np.ones(1)),
        "weights of a mercer.kernels.Series",
    ),
    "weights that are not finite": (
        lambda: series(weights=np.array([np.inf, 1])),
        "weights of a mercer.kernels.Series",
    ),
    "fewer means": (lambda: mixture(means=lambda a: a[:, :1]), "means of a mercer.kernels.Mixture"),
    "factors of other columns": (
        lambda: mixture(factors=lambda a: a[..., :1]),
        "factors of a mercer.kernels.Mixture",
    ),
    "weights below zero": (lambda: mixture(alpha=lambda a: -a), "alpha of a mercer.kernels.Mixture"),
    "a column before the first": (
        lambda: kernels.StumpEnsemble(np.array([-9]), np.array([0.0]), 1.0),
        "features of a mercer.kernels.StumpEnsemble",
    ),
    "a column and a half": (
        lambda: kernels.StumpEnsemble(np.array([0.5]), np.array([0.0]), 1.0),
        "features of a mercer.kernels.StumpEnsemble",
    ),
    "a direction of one length": (
        lambda: kernels.Projected(np.ones(3)),
        "coef of a mercer.kernels.Projected",
    ),
    "a scaler of two lengths": (
        lambda: changed(mercer.ClippedScaler().fit(X), low_=np.zeros(2)),
        "low_ of a mercer.ClippedScaler",
    ),
}

IRIS = load_iris(return_X_y=True)
LIBSVM = {  # what an attacker does to the attributes of a fitted SVC
    "rows of support vectors, 200 times": lambda a: {"support_": np.tile(a["support_"], 200)},
    "all counts and rows, 200 times": lambda a: {
        "support_": np.tile(a["support_"], 200),
        "_n_support": 200 * a["_n_support"],
    },
    "counts of too many": lambda a: {"_n_support": 200 * a["_n_support"]},
    "counts below zero": lambda a: {"_n_support": a["_n_support"] + np.array([-(10**6), 10**6, 0], np.int32)},
    "counts of fewer classes": lambda a: {"_n_support": a["_n_support"][:2]},
    "counts in other numbers": lambda a: {"_n_support": a["_n_support"].astype(np.int64)},
    "rows beyond the last": lambda a: {"support_": a["support_"] + np.int32(999)},
    "fewer coefficients": lambda a: {"_dual_coef_": a["_dual_coef_"][:, :3].copy()},
    "coefficients of fewer classes": lambda a: {"_dual_coef_": a["_dual_coef_"][:1]},
    "coefficients in another order": lambda a: {"_dual_coef_": np.asfortranarray(a["_dual_coef_"])},
    "no intercepts": lambda a: {"_intercept_": np.zeros(0)},
    "one scale of probabilities": lambda a: {"_probA": np.zeros(1)},
    "scales of probabilities that differ": lambda a: {"_probA": np.zeros(3)},
    "fewer support vectors": lambda a: {"support_vectors_": a["support_vectors_"][:5]},
    "narrower support vectors": lambda a: {"support_vectors_": a["support_vectors_"][:, :1].copy()},
    "no support vectors": lambda a: {"support_vectors_": np.zeros((0, 0))},
    "another number of features": lambda a: {"n_features_in_": 10**6},
    "fewer classes": lambda a: {"classes_": a["classes_"][:2]},
    "a kernel matrix in the place of rows": lambda a: {"kernel": "precomputed"},
    "a kernel without rows": lambda a: {"kernel": kernels.Stump()},
    "a kernel that does not exist": lambda a: {"kernel": "quantum"},
    "another machine": lambda a: {"_impl": "nu_svr"},
    "sparse": lambda a: {"_sparse": True},
    "a shape that is none": lambda a: {"shape_fit_": (150,)},
}
TAMPERED |= {
    f"LIBSVM: {name}": (
        lambda tamper=tamper: changed(machine := SVC().fit(*IRIS), **tamper(vars(machine))),
        "sklearn.svm.SVC",
    )
    for name, tamper in LIBSVM.items()
}


@pytest.mark.parametrize(("make", "named"), TAMPERED.values(), ids=TAMPERED)
def test_what_does_not_fit_together_is_refused_by_name_when_loaded_and_when_saved(tmp_path, make, named):
    tampered = make()
    with pytest.raises(TypeError, match=f"cannot be saved: .*{named}"):
        mercer.save(tampered, tmp_path / "saved")
    assert not (tmp_path / "saved").exists()
    if "_impl" not in vars(tampered):
        save_unchecked(tampered, tmp_path / "bad")
        with pytest.raises(ModelFileError, match=named):
            mercer.load(tmp_path / "bad")


@pytest.fixture
def renamed(monkeypatch):
    """Move the modules of `PerceptronSVC`, and rename the classes there that are not public."""
    homes = ("mercer.machines.functions", "mercer.machines.perceptron")
    moved, names = types.ModuleType("mercer.moved"), {}
    for name, declaration in DECLARED.items():
        module, _, kind_name = declaration.place.rpartition(".")
        if module in homes:  # what a rename asks for: the new place, in the table
            kind = getattr(sys.modules[module], kind_name)
            names[kind], kind.__name__ = kind_name, f"New{kind_name}"
            monkeypatch.setitem(DECLARED, name, declaration._replace(place=f"mercer.moved.New{kind_name}"))
            setattr(moved, kind.__name__, kind)
    monkeypatch.setattr(machines, "PerceptronSVC", mercer.PerceptronSVC, raising=False)
    monkeypatch.setitem(sys.modules, moved.__name__, moved)
    for home in homes:
        monkeypatch.setitem(sys.modules, home, None)  # to import it fails
    objects.form_of.cache_clear()
    yield names
    objects.form_of.cache_clear()
    for kind, name in names.items():
        kind.__name__ = name


def test_a_file_is_loaded_after_private_modules_and_classes_were_renamed(tmp_path, request):
    model = mercer.PerceptronSVC(method="sliced", n_directions=4, random_state=0).fit(X, y)
    expected = model.decision_function(X)
    mercer.save(model, tmp_path / "before")
    assert len(request.getfixturevalue("renamed")) > 2
    np.testing.assert_array_equal(mercer.load(tmp_path / "before").decision_function(X), expected)
    mercer.save(model, tmp_path / "after")
    assert unpack(tmp_path / "after").root == unpack(tmp_path / "before").root


def test_mutants_of_valid_files_are_refused_or_compute():
    """A sample; `python tests/fuzz_persistence.py 20000` looks at more."""
    ends, faults = fuzz(120)
    assert not faults
    assert ends.keys() == {"computed", "refused"}
    assert min(ends.values()) > 20
