"""A file holds stable names, and is loaded after the modules of mercer have been renamed."""

import json
import sys
import types
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pytest

import mercer
from baseline_registry import BASELINES
from forgery import node, repack, unpack
from mercer import kernels, machines, superkernels
from mercer.persistence import ModelFileError, allowed_types, describe
from mercer.persistence.allowed_types import CLASSES, from_file, stable_name, to_file

OLD = Path(__file__).parent / "old" / "before_formats.mercer"


@pytest.mark.parametrize("name", CLASSES, ids=".".join)
def test_every_name_in_the_table_resolves_to_a_class_that_is_saved_under_it(name):
    place = from_file(name).name
    kind = getattr(sys.modules[place[0]], place[1])
    assert isinstance(kind, type)
    assert to_file((kind.__module__, kind.__name__)).name == name
    assert stable_name(kind) == ".".join(name)


@pytest.mark.parametrize("package", [mercer, kernels, superkernels])
def test_every_public_class_has_a_name_in_the_table(package):
    abstract = {"Kernel", "FeatureKernel", "PairKernel", "QualityFunctional", "Expansion"}  # or never fitted
    public = {name for name in package.__all__ if isinstance(getattr(package, name), type)} - abstract
    named = {name for module, name in CLASSES if module == package.__name__}
    assert public <= named


def test_a_file_from_before_there_were_formats_is_refused_politely():
    for read in (mercer.load, describe):
        with pytest.raises(ModelFileError) as caught:
            read(OLD)
        assert str(caught.value) == (
            f"{OLD} was not loaded: its format is 1, and mercer {version('mercer')} reads format 3: fit the "
            "estimator again and save it with this version."
        )


def fitted(rng):
    X = rng.normal(size=(40, 3))
    return mercer.PerceptronSVC(method="sliced", n_directions=4, random_state=0).fit(X, X[:, 0] > 0), X


def test_no_module_of_mercer_that_is_not_public_is_in_a_file(tmp_path, rng):
    model, _ = fitted(rng)
    mercer.save(model, tmp_path / "model")
    _, schema, _ = unpack(tmp_path / "model")
    modules = {module for module, _ in CLASSES} | {"builtins", "numpy"}
    found = []

    def keep(part):
        found.extend([part["__module__"]] if "__module__" in part else [])
        return part

    json.loads(json.dumps(schema), object_hook=keep)
    assert set(found) <= modules
    assert "mercer.parts" in found


@pytest.fixture
def renamed(monkeypatch):
    """Move the modules of `PerceptronSVC`, and rename the classes there that are not public."""
    homes = ("mercer.machines.functions", "mercer.machines.perceptron")
    moved = types.ModuleType("mercer.moved")
    kinds = {
        name: getattr(sys.modules[place[0]], place[1]) for name, place in CLASSES.items() if place[0] in homes
    }
    names = {kind: kind.__name__ for kind in kinds.values()}
    for stable, kind in kinds.items():  # what a rename asks for: the new place, in the table
        kind.__name__ = f"New{kind.__name__}"
        monkeypatch.setattr(kind, "__module__", moved.__name__)
        monkeypatch.setitem(CLASSES, stable, (moved.__name__, kind.__name__))
        setattr(moved, kind.__name__, kind)
    # which is public: its room says where it is, and no more is asked for
    monkeypatch.setattr(machines, "PerceptronSVC", mercer.PerceptronSVC, raising=False)
    monkeypatch.setattr(mercer.PerceptronSVC, "__module__", moved.__name__)
    monkeypatch.setitem(sys.modules, moved.__name__, moved)
    for home in homes:
        monkeypatch.setitem(sys.modules, home, None)  # to import it fails
    yield kinds
    for kind, name in names.items():
        kind.__name__ = name


def test_a_file_is_loaded_after_private_modules_and_classes_were_renamed(tmp_path, rng, request):
    model, X = fitted(rng)
    expected = model.decision_function(X)
    mercer.save(model, tmp_path / "before")
    assert len(request.getfixturevalue("renamed")) > 2
    np.testing.assert_array_equal(mercer.load(tmp_path / "before").decision_function(X), expected)
    mercer.save(model, tmp_path / "after")
    assert unpack(tmp_path / "after")[1:] == unpack(tmp_path / "before")[1:]
    np.testing.assert_array_equal(mercer.load(tmp_path / "after").decision_function(X), expected)


@pytest.mark.parametrize(
    "name",
    ["mercer.machines.stump.StumpSVC", "mercer.StumpSVM", "mercer.parts.Nothing", "sklearn.svm._classes.SVC"],
)
def test_an_unknown_class_is_refused_by_its_name_and_the_version(tmp_path, name):
    mercer.save(mercer.KernelSVC(), tmp_path / "model")
    metadata, schema, arrays = unpack(tmp_path / "model")
    schema["content"]["content"]["learner"] = node("ObjectNode", name)
    repack(tmp_path / "model", metadata, schema, arrays)
    said = rf"it holds '{name}', which mercer {version('mercer')} does not load: it reads estimators"
    with pytest.raises(ModelFileError, match=said):
        mercer.load(tmp_path / "model")


@pytest.mark.parametrize("estimator", BASELINES, ids=str)
def test_what_papers_compare_with_is_not_saved_since_the_package_does_not_have_it(tmp_path, estimator):
    with pytest.raises(TypeError, match=f"^{type(estimator).__name__} cannot be saved"):
        mercer.save(estimator, tmp_path / "model")
    assert not list(tmp_path.iterdir())


def test_a_class_in_the_place_of_a_tuple_is_refused(tmp_path):
    mercer.save(mercer.KernelSVC(), tmp_path / "model")
    metadata, schema, arrays = unpack(tmp_path / "model")
    for loader, name in (("TupleNode", "mercer.StumpSVC"), ("ObjectNode", "mercer.parts.Units")):
        schema["content"]["content"]["learner"] = node(loader, name, content=[])
        repack(tmp_path / "model", metadata, schema, arrays)
        with pytest.raises(ModelFileError, match=f"it holds '{name}'"):
            mercer.load(tmp_path / "model")


def test_names_that_are_not_public_are_not_those_of_modules():
    assert not {name for name in allowed_types.PARTS if ".parts." not in name}
