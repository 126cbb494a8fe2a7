"""A file whose fitted arrays do not fit together is refused: compiled code would read beyond them."""

import json

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF

import mercer
from forgery import repack, save_unchecked, unpack
from fuzz_persistence import fuzz_state_watched
from mercer import kernels
from mercer.persistence import ModelFileError
from mercer.persistence.allowed_types import CLASSES
from mercer.persistence.fitted_state import FIELDS, check_state

X = np.random.RandomState(0).normal(size=(40, 3))
y = (X[:, 0] > 0).astype(int)


def with_function(model, change):
    """Change the fields of the first decision function of an SVM."""
    function = model.machines_[0]
    function.each[0] = change(function.each[0])
    return model


def with_machine(model, change):
    """Change the fields of the function of all problems."""
    model.machines_[0] = change(model.machines_[0])
    return model


def stump():
    return mercer.StumpSVC().fit(X, y)


def sliced():
    return mercer.PerceptronSVC(method="sliced", n_directions=4, random_state=0).fit(X, y)


def exact():
    return mercer.PerceptronSVC().fit(X, y)


def mixture(**changes):
    kernel = mercer.KernelBoost(n_rounds=2, n_components=2, random_state=0).fit(X, y).kernel_
    return kernel.set_params(**{name: change(getattr(kernel, name)) for name, change in changes.items()})


def series(**changes):
    arrays = {"constants": np.array([1.0, 2.0]), "weights": np.array([1.0, 0.5]), "factor": 1.0}
    return kernels.Series(RBF(), "exp", **{**arrays, **changes})


def units(**changes):
    return lambda f: f._replace(units=f.units._replace(**changes))


# a tampered model, and the array that is to be named
TAMPERED = {
    "fewer values than knots": (
        lambda: with_function(stump(), lambda f: f._replace(values=f.values[:, :1])),
        "values of a mercer.parts.AdditiveFunction",
    ),
    "values of fewer features": (
        lambda: with_function(stump(), lambda f: f._replace(values=f.values[:1])),
        "values of a mercer.parts.AdditiveFunction",
    ),
    "more features than the rows have": (
        lambda: with_function(
            stump(), lambda f: f._replace(knots=np.tile(f.knots, (99, 1)), values=np.tile(f.values, (99, 1)))
        ),
        "units.offset of a mercer.parts.AdditiveFunction",
    ),
    "no knots": (
        lambda: with_function(stump(), lambda f: f._replace(knots=f.knots[:, :0], values=f.values[:, :0])),
        "knots of a mercer.parts.AdditiveFunction",
    ),
    "values that are not finite": (
        lambda: with_function(stump(), lambda f: f._replace(values=np.full_like(f.values, np.nan))),
        "values of a mercer.parts.AdditiveFunction",
    ),
    "knots that are texts": (
        lambda: with_function(stump(), lambda f: f._replace(knots=f.knots.astype("U9"))),
        "knots of a mercer.parts.AdditiveFunction",
    ),
    "an intercept for each row": (
        lambda: with_function(stump(), lambda f: f._replace(intercept=np.zeros(40))),
        "intercept of a mercer.parts.AdditiveFunction",
    ),
    "a scale for each feature": (
        lambda: with_function(stump(), units(scale=np.ones((40, 999)))),
        "scale of a mercer.parts.Units",
    ),
    "a scale of zero": (lambda: with_function(stump(), units(scale=0.0)), "scale of a mercer.parts.Units"),
    "offsets in two dimensions": (
        lambda: with_function(stump(), units(offset=np.zeros((40, 3)))),
        "units.offset of a mercer.parts.AdditiveFunction",
    ),
    "fewer directions than functions": (
        lambda: with_machine(sliced(), lambda f: f._replace(directions=f.directions[:, :2])),
        "units.offset of a mercer.parts.AdditiveFunction",
    ),
    "fewer coefficients than support vectors": (
        lambda: with_machine(exact(), lambda f: f._replace(coef=f.coef[:1])),
        "coef of a mercer.parts.KernelFunction",
    ),
    "fewer constants than weights": (
        lambda: series(constants=np.ones(1)),
        "weights of a mercer.kernels.Series",
    ),
    "weights that are indices of nothing": (
        lambda: series(weights=np.array([np.inf, 1.0])),
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
}


@pytest.mark.parametrize(("make", "named"), TAMPERED.values(), ids=TAMPERED)
def test_arrays_that_do_not_fit_together_are_refused_by_name_when_loaded_and_when_saved(
    tmp_path, make, named
):
    tampered = make()
    save_unchecked(tampered, tmp_path / "bad")
    with pytest.raises(ModelFileError, match=named):
        mercer.load(tmp_path / "bad")
    with pytest.raises(TypeError, match=f"cannot be saved: {named}"):
        mercer.save(tampered, tmp_path / "saved")
    assert not (tmp_path / "saved").exists()


def test_an_attribute_in_the_place_of_a_method_is_refused(tmp_path):
    mercer.save(mercer.StumpSVC(), tmp_path / "model")
    metadata, schema, arrays = unpack(tmp_path / "model")
    attributes = schema["content"]
    attributes["content"]["predict"] = attributes["content"]["C"]
    attributes["key_types"]["content"].append(attributes["key_types"]["content"][0])
    repack(tmp_path / "model", metadata, schema, arrays)
    with pytest.raises(ModelFileError, match="something else than its method predict"):
        mercer.load(tmp_path / "model")


def test_what_is_fitted_or_not_yet_is_accepted():
    for model in (stump(), sliced(), exact(), mercer.StumpSVC(), mixture(), series()):
        check_state(model)
    check_state(series(constants=[1.0, 2.0], weights=[1, 2]))  # as users may write them


def test_what_is_declared_are_names_of_classes():
    assert {tuple(name.rsplit(".", 1)) for name in FIELDS} <= set(CLASSES)


def test_compiled_code_reads_nothing_beyond_arrays_of_tampered_files():
    """A sample; see `fuzz_persistence` for how to run thousands."""
    done = fuzz_state_watched(n_files=130)
    assert done.returncode == 0, done.stderr
    ends = json.loads(done.stdout)
    assert ends.keys() == {"computed", "refused"}
    assert min(ends.values()) > 30
