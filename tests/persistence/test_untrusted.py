"""An untrusted file is refused by the name of what is in it, and runs nothing."""

import copy
import importlib
import io
import pickle

import joblib
import numpy as np
import pytest
import scipy.stats
import skops.io
from sklearn.preprocessing import FunctionTransformer

import mercer
from forgery import dictionary, forge, node, repack, sequence, text, types, unpack, watching
from mercer.persistence import ModelFileError, allowed_types
from mercer.persistence.archive import SCHEMA, pack


def attacks(command):
    """Return nodes that would run a command, each with the name by which it has to be refused."""
    system = node("FunctionNode", "os.system")
    say = sequence(text(command), kind="tuple")
    run = dictionary(sequence(system), {command: text(1)})
    nothing = dictionary(sequence(), {})
    partial = {"func": system, "args": say, "kwds": nothing, "namespace": text(None)}
    return {
        "calls a function": (node("ConstructorFromReduceNode", "os.system", content=say), "os.system"),
        "makes a process": (node("ConstructorFromReduceNode", "subprocess.Popen", content=say), "Popen"),
        "evaluates": (node("ConstructorFromReduceNode", "builtins.eval", content=say), "builtins.eval"),
        "a key's type that is a function": (run, "os.system"),
        "a key's type that is dangerous": (
            dictionary(types("subprocess.Popen"), {command: text(1)}),
            "Popen",
        ),
        "a key's type that is no key": (
            dictionary(types("sklearn.model_selection._split.KFold"), {"3": text(1)}),
            "KFold",
        ),
        "a list that is a function": (node("ListNode", "os.system", content=[]), "os.system"),
        "a set that is a function": (node("SetNode", "os.system", content=[]), "os.system"),
        "a tuple that is a function": (node("TupleNode", "os.system", content=[]), "os.system"),
        "a dictionary that is a function": (dictionary(sequence(), {}, "os.getcwd"), "os.getcwd"),
        "a number that is a function": (
            node("NdArrayNode", "os.system", type="numpy", file="1.npy"),
            "os.system",
        ),
        "a random state that is a function": (node("RandomStateNode", "os.fork", content=nothing), "os.fork"),
        "a loss that is a function": (
            node("LossNode", "os.system", __reduce__={"args": say}, content=nothing),
            "os.system",
        ),
        "an object of a dangerous type": (node("ObjectNode", "subprocess.Popen", content=nothing), "Popen"),
        "an estimator from another module": (
            node("ObjectNode", "antigravity.X", content=nothing),
            "antigravity",
        ),
        "a module of mercer's that acts": (
            node("ObjectNode", "mercer.cli.typer", content=nothing),
            "mercer.cli",
        ),
        "a name that mercer imports": (
            node("ObjectNode", "mercer.machines.dual.partial", content=nothing),
            "partial",
        ),
        "a function as a value": (system, "os.system"),
        "a function that loads": (node("FunctionNode", "numpy.load"), "numpy.load"),
        "a function behind NumPy": (
            node("FunctionNode", "numpy.testing.os.system"),
            "numpy.testing.os.system",
        ),
        "a type as a value": (node("TypeNode", "subprocess.Popen"), "subprocess.Popen"),
        "a partial function": (
            node("PartialNode", "functools.partial", content=partial),
            "functools.partial",
        ),
        "a method caller": (
            node("OperatorFuncNode", "operator.methodcaller", attrs=say),
            "operator.methodcaller",
        ),
        "a method": (
            node("MethodNode", "mercer.machines.stump.StumpSVC", content={"func": "fit"}),
            "MethodNode",
        ),
        "a factory of a dictionary": (
            node(
                "DefaultDictNode",
                "collections.defaultdict",
                content={"main": nothing, "default_factory": system},
            ),
            "defaultdict",
        ),
        "bytes": (node("BytesNode", "builtins.bytes", file="1.npy"), "builtins.bytes"),
        "a sparse matrix": (
            node("SparseMatrixNode", "scipy.sparse._csr.csr_matrix", type="scipy"),
            "csr_matrix",
        ),
        "a tree": (node("TreeNode", "sklearn.tree._tree.Tree", content=nothing), "sklearn.tree._tree.Tree"),
        "a generator": (node("RandomGeneratorNode", "numpy.random.Generator", content={}), "Generator"),
        "a node of a node": (node("CachedNode", "builtins.str"), "CachedNode"),
        "a node without a loader": (node("Surprise", "builtins.str"), "Surprise"),
        "memory that unpickles": (
            node(
                "ObjectNode",
                "sklearn.pipeline.Pipeline",
                content=dictionary(types("builtins.str"), {"memory": text("folder")}),
            ),
            "memory",
        ),
        "an attribute that is Python's": (
            node(
                "ObjectNode",
                "sklearn.pipeline.Pipeline",
                content=dictionary(types("builtins.str"), {"__class__": text(1)}),
            ),
            "__class__",
        ),
        "allocates": (node("NdArrayNode", "numpy.void", type="numpy", file="1.npy"), "numpy.void"),
    }


@pytest.mark.parametrize("attack", attacks(""))
def test_an_attack_is_refused_by_name_and_does_nothing(tmp_path, attack):
    marker = tmp_path / "it ran"
    value, named = attacks(f"touch '{marker}'")[attack]
    data = io.BytesIO()
    np.save(data, np.array(f"touch '{marker}'"))
    forge(tmp_path / "model", value, {"1.npy": data.getvalue()})
    with (
        watching() as seen,
        pytest.raises(ModelFileError, match=rf"model was not loaded: it holds '[^']*{named}"),
    ):
        mercer.load(tmp_path / "model")
    assert not seen
    assert not marker.exists()


@pytest.mark.parametrize("attack", ["calls a function", "a key's type that is a function"])
def test_the_same_attacks_run_where_nobody_looks(tmp_path, attack):
    # the control of the test above: skops, told to trust the name, does run them
    marker = tmp_path / "it ran"
    schema = forge(tmp_path / "model", attacks(f"touch '{marker}'")[attack][0])
    trusted = ["os.system", "mercer.StumpSVC"]
    skops.io.loads(pack({SCHEMA: schema}, {}), trusted=trusted)
    assert marker.exists()


def test_a_node_cannot_borrow_the_place_of_another_by_its_id(tmp_path):
    # skops takes the first node of an id for all of them: a list of names becomes a list of types to call
    marker = tmp_path / "it ran"
    kinds = types("builtins.str")
    functions = {**sequence(node("ConstructorFromReduceNode", "os.system")), "__id__": kinds["__id__"]}
    for first, second in ([functions, kinds], [kinds, functions]):
        command = dictionary(copy.deepcopy(second), {f"touch '{marker}'": text(1)})
        forge(tmp_path / "model", sequence(copy.deepcopy(first), command))
        if first is functions:
            with pytest.raises(ModelFileError, match=r"os\.system"):
                mercer.load(tmp_path / "model")
        else:  # what stands second is never looked at
            assert isinstance(mercer.load(tmp_path / "model").class_weight[0][0], type)
        assert not marker.exists()


def test_the_keys_of_a_dictionary_are_made_by_types_alone_even_if_their_list_was_met_before(tmp_path):
    numbers = sequence(node("FunctionNode", "numpy.exp"))
    weights = dictionary({**types("builtins.float"), "__id__": numbers["__id__"]}, {"1.0": text(1)})
    forge(tmp_path / "model", sequence(numbers, weights))
    with pytest.raises(ModelFileError, match=r"numpy\.exp in the place of a TypeNode"):
        mercer.load(tmp_path / "model")


def test_an_array_of_objects_is_not_unpickled(tmp_path):
    class Evil:
        def __reduce__(self):
            return (exec, ("raise SystemExit('it ran')",))

    data = io.BytesIO()
    np.save(data, np.array([Evil()]), allow_pickle=True)
    forge(
        tmp_path / "model",
        node("NdArrayNode", "numpy.ndarray", type="numpy", file="1.npy"),
        {"1.npy": data.getvalue()},
    )
    with (
        watching() as seen,
        pytest.raises(ModelFileError, match="an array whose header mercer does not read"),
    ):
        mercer.load(tmp_path / "model")
    assert not seen


@pytest.mark.parametrize(
    "data", [pickle.dumps([1]), b"", b"PK\x05\x06" + bytes(18), b"target,a\n1,2\n", bytes(1000)], ids=range(5)
)
def test_files_of_other_kinds_are_refused(tmp_path, data):
    (tmp_path / "model").write_bytes(data)
    with watching() as seen, pytest.raises(ModelFileError, match=r"not a file of mercer\.save"):
        mercer.load(tmp_path / "model")
    assert not seen


def test_an_older_protocol_of_skops_with_its_older_checks_is_refused(tmp_path):
    mercer.save(mercer.StumpSVC(), tmp_path / "model")
    metadata, schema, arrays = unpack(tmp_path / "model")
    for protocol in (0, 1, 3, True, "2", None):
        repack(tmp_path / "model", metadata, {**schema, "protocol": protocol}, arrays)
        with pytest.raises(ModelFileError, match="another protocol"):
            mercer.load(tmp_path / "model")


def test_something_else_than_an_estimator_or_than_the_metadata_say_is_refused(tmp_path):
    mercer.save(mercer.StumpSVC(), tmp_path / "model")
    metadata, schema, arrays = unpack(tmp_path / "model")
    repack(tmp_path / "model", {**metadata, "class": "mercer.KernelSVC"}, schema, arrays)
    with pytest.raises(ModelFileError, match="something else than it says"):
        mercer.load(tmp_path / "model")
    repack(tmp_path / "model", metadata, {**sequence(), "protocol": 2}, arrays)
    with pytest.raises(ModelFileError, match=r"builtins\.list in the place of an estimator"):
        mercer.load(tmp_path / "model")


def test_an_untrusted_text_cannot_reach_the_terminal(tmp_path):
    forge(tmp_path / "model", node("ObjectNode", "\x1b[2J\x07.Evil" + "x" * 9999))
    with pytest.raises(ModelFileError) as caught:
        mercer.load(tmp_path / "model")
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 1000


DANGEROUS = [
    "os:system", "builtins:eval", "subprocess:Popen", "joblib.memory:Memory", "builtins:map",
    "scipy.stats._distn_infrastructure:rv_continuous_frozen", "scipy.stats._continuous_distns:norm_gen",
    "sklearn.tree._tree:Tree", "sklearn.neighbors._kd_tree:KDTree", "sklearn.utils:Bunch.fromkeys",
    "sklearn.utils._testing:TempMemmap", "sklearn.datasets._base:load_files", "numpy:load", "numpy:memmap",
    "numpy:fromfile", "numpy:frompyfunc", "numpy:vectorize", "numpy:void", "mercer.cli:main",
    "reproduction.harness.store:Store", "mercer.persistence.archive:ZipFile", "mercer.machines.dual:Parallel",
    "mercer.machines.dual:partial", "mercer.machines:StumpSVC", "functools:partial",
    "operator:methodcaller", "types:FunctionType", "types:CodeType",
]  # fmt: skip


@pytest.mark.parametrize("dangerous", DANGEROUS)
def test_nothing_dangerous_is_known_in_any_role(dangerous):
    name = tuple(dangerous.split(":"))
    roles = [allowed_types.from_file, allowed_types.to_file, allowed_types.find_function]
    assert not any(role(name) for role in roles)
    assert name not in allowed_types.VALUE_TYPES | allowed_types.NUMPY_SCALARS | allowed_types.KEY_TYPES


def test_known_classes_restore_themselves_in_no_way_of_their_own():
    # what skops calls to restore an object are __new__ and __setstate__
    harmless = {"BaseEstimator", "Kernel", "object"}
    for module, name in allowed_types.CLASSES.values():
        kind = getattr(importlib.import_module(module), name)
        if issubclass(kind, tuple):
            continue  # a NamedTuple is made of its fields
        for method in ("__new__", "__setstate__"):
            owner = next((base for base in kind.__mro__ if method in vars(base)), object)
            assert owner.__name__ in harmless, f"{module}.{name}.{method}: is it harmless?"


def test_functions_that_are_known_are_those_of_numbers():
    assert allowed_types.find_function(("numpy", "log1p")) == ("numpy", "log1p")
    assert allowed_types.find_function(("numpy._core.umath", "log1p")) == ("numpy", "log1p")
    assert allowed_types.find_function(("scipy.special._ufuncs", "expit")) == ("scipy.special", "expit")
    assert allowed_types.find_function(("sklearn.metrics._classification", "accuracy_score")) is None


def test_what_attackers_would_save_honestly_is_not_saved(tmp_path):
    for value in (joblib.Memory(None), scipy.stats.norm(), FunctionTransformer(eval), pickle.loads):
        with pytest.raises(TypeError, match="cannot be saved"):
            mercer.save(mercer.StumpSVC(class_weight=value), tmp_path / "model")
    assert not list(tmp_path.iterdir())
