"""Damaged files: bytes that have changed, and archives that are in order but hold something else.

``python tests/fuzz_persistence.py 10000`` loads so many of them, and says what came of it.
"""

import json
import random
import resource
import signal
import sys
import tempfile
import time
import warnings
from collections import Counter
from pathlib import Path

import mercer
from forgery import repack, unpack, watching
from mercer.persistence import ModelFileError

LOADERS = [
    "JsonNode", "ListNode", "SetNode", "TupleNode", "DictNode", "NdArrayNode", "MaskedArrayNode",
    "DTypeNode", "RandomStateNode", "SliceNode", "TypeNode", "FunctionNode", "ObjectNode", "LossNode",
    "MethodNode", "PartialNode", "OperatorFuncNode", "BytesNode", "BytearrayNode", "CachedNode",
    "DefaultDictNode", "ConstructorFromReduceNode", "RandomGeneratorNode", "SparseMatrixNode", "TreeNode",
    "Nothing",
]  # fmt: skip
NAMES = [
    "os.system", "builtins.eval", "builtins.exec", "builtins.str", "builtins.list", "builtins.dict",
    "builtins.tuple", "builtins.set", "builtins.map", "builtins.slice", "builtins.object",
    "subprocess.Popen", "pickle.loads", "numpy.load", "numpy.ndarray", "numpy.void", "numpy.float64",
    "numpy.int64", "numpy.str_", "numpy.dtype", "numpy.log", "numpy.random.RandomState",
    "collections.OrderedDict", "functools.partial", "operator.methodcaller", "joblib.memory.Memory",
    "scipy.stats.norm", "antigravity.fly", "this.s", "__main__.X", "sklearn.svm._classes.SVC",
    "sklearn.pipeline.Pipeline", "sklearn.tree._tree.Tree", "sklearn.frozen._frozen.FrozenEstimator",
    "mercer.svm.stump.StumpSVC", "mercer.svm.additive.AdditiveFunction",
    "mercer.kernels.projected.Projected", "mercer.cli.main",
]  # fmt: skip
VALUES = (
    None,
    True,
    -1,
    0,
    2**70,
    1e308,
    "",
    "null",
    "NaN",
    "[[]]",
    "1" * 5000,
    [],
    {},
    [[]],
    {"a": 1},
    "\x00\ud800",
)


def nodes_of(schema):
    """Return all nodes of a schema, from the root on."""
    found, rest = [], [schema]
    while rest:
        part = rest.pop()
        if isinstance(part, dict) and "__loader__" in part:
            found.append(part)
        rest += part.values() if isinstance(part, dict) else part if isinstance(part, list) else ()
    return found


def damage_bytes(path, draw):
    """Change a few bytes of a file, cut it off, or take a piece out of it."""
    data = bytearray(path.read_bytes())
    where = draw.randrange(len(data))
    kind = draw.choice(["flip", "flip", "cut", "take out", "repeat"])
    if kind == "flip":
        for _ in range(draw.choice([1, 1, 2, 8])):
            data[draw.randrange(len(data))] ^= 1 << draw.randrange(8)
    elif kind == "cut":
        del data[where:]
    elif kind == "take out":
        del data[where : where + draw.randrange(1, 200)]
    else:
        data[where:where] = data[where : where + draw.randrange(1, 200)]
    path.write_bytes(bytes(data))


def damage_schema(path, draw):
    """Change what nodes of the schema say, in an archive that is in order."""
    notes, schema, arrays = unpack(path)
    for _ in range(draw.choice([1, 1, 2, 5])):
        nodes = nodes_of(schema)
        if not nodes:
            break
        node, other = draw.choice(nodes), draw.choice(nodes)
        kind = draw.choice(["loader", "name", "id", "delete", "value", "swap", "nest", "notes"])
        if kind == "loader":
            node["__loader__"] = draw.choice(LOADERS)
        elif kind == "name":
            node["__module__"], _, node["__class__"] = draw.choice(NAMES).rpartition(".")
        elif kind == "id":
            node["__id__"] = draw.choice([other.get("__id__"), 0, -1, 2**70, "1", None])
        elif kind == "delete":
            del node[draw.choice(list(node))]
        elif kind == "value":
            node[draw.choice(list(node))] = draw.choice(VALUES)
        elif kind == "swap":
            copy = json.loads(json.dumps(other))
            node.clear()
            node.update(copy)
        elif kind == "nest":
            inner = json.loads(json.dumps(node))
            for _ in range(draw.choice([1, 40, 90])):
                inner = {**_LIST, "__id__": draw.randrange(2**60), "content": [inner]}
            node.clear()
            node.update(inner)
        else:
            notes[draw.choice(list(notes))] = draw.choice(VALUES)
    repack(path, notes, schema, arrays)


def damage_arrays(path, draw):
    """Change headers and bytes of the arrays, in an archive that is in order."""
    notes, schema, arrays = unpack(path)
    name = draw.choice(list(arrays))
    data = bytearray(arrays[name])
    kind = draw.choice(["flip", "cut", "shape", "type", "drop"])
    if kind == "flip":
        data[draw.randrange(len(data))] ^= 1 << draw.randrange(8)
    elif kind == "cut":
        del data[draw.randrange(len(data)) :]
    elif kind == "shape":
        start = data.index(b"'shape': (") + 10
        data[start : start + 8] = draw.choice([b"9" * 8, b"0, 99999", b"-1, -1, ", b"(((((((("])
    elif kind == "type":
        start = data.index(b"'descr': '") + 10
        data[start : start + 3] = draw.choice([b"|O8", b"<U0", b"|V9", b"<f2", b"<c8", b">i4", b"<M8"])
    else:
        data = bytearray()
    arrays[name] = bytes(data)
    repack(path, notes, schema, arrays)


_LIST = {"__loader__": "ListNode", "__module__": "builtins", "__class__": "list"}
DAMAGES = [damage_bytes, damage_schema, damage_arrays]


def load_quickly(path, seconds=20):
    """Load a file, or say why not; one that hangs raises."""

    def give_up(*_):
        raise KeyboardInterrupt(f"{path} hangs")

    before = signal.signal(signal.SIGALRM, give_up)
    signal.alarm(seconds)
    try:
        mercer.load(path)
    except ModelFileError as error:
        return "damaged" if "damaged" in str(error) else "refused"
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
    return "loaded"


def fuzz(folder, files, n_files, seed=0):
    """Load damaged copies of files; return how each ended, what they did, and how long the longest took."""
    draw = random.Random(seed)
    target = Path(folder) / "broken.mercer"
    ends, slowest = Counter(), 0.0
    for content in files:  # so that what is imported once has been
        target.write_bytes(content)
        assert load_quickly(target) == "loaded"
    did = []
    for k in range(n_files):
        target.write_bytes(files[k % len(files)])
        damage = draw.choice(DAMAGES)
        damage(target, draw)
        start = time.perf_counter()
        with watching() as seen:
            ends[damage.__name__, load_quickly(target)] += 1
        slowest = max(slowest, time.perf_counter() - start)
        did += seen
    return ends, did, slowest


def sample_files(folder):
    """Return the bytes of some saved estimators."""
    from sklearn.datasets import load_iris
    from sklearn.model_selection import GridSearchCV
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import SVC

    X, y = load_iris(return_X_y=True)
    X, y = X[::4], y[::4]
    learner = mercer.IdealizedKernel(C_dissimilar=1e6)
    chosen = make_pipeline(StandardScaler(), mercer.KernelSVC(learner, class_weight={0: 2.0}))
    estimators = [
        mercer.StumpSVC().fit(X, y),
        GridSearchCV(SVC(kernel=mercer.kernels.Stump()), {"C": [0.1, 1.0]}, cv=2, scoring="accuracy").fit(
            X, y
        ),
        chosen.fit(X, y.astype(str).astype(object)),
    ]
    files = []
    for estimator in estimators:
        path = Path(folder) / "whole.mercer"
        mercer.save(estimator, path)
        files.append(path.read_bytes())
    return files


def main():
    """Load many damaged files."""
    warnings.simplefilter("ignore")
    n_files = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    with tempfile.TemporaryDirectory() as folder:
        files = sample_files(folder)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        ends, did, slowest = fuzz(folder, files, n_files, seed=int(sys.argv[2]) if len(sys.argv) > 2 else 0)
    more = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    for (damage, end), count in sorted(ends.items()):
        print(f"{damage:15} {end:8} {count}")  # noqa: T201
    print(f"ran: {did or 'nothing'}; slowest {slowest:.2f} s; {more:.0f} MB more memory")  # noqa: T201


if __name__ == "__main__":
    main()
