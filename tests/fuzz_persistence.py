"""Damaged files: bytes that have changed, and archives that are in order but hold something else.

``python tests/fuzz_persistence.py 10000`` loads 10 000 of them, and says what came of it.
``python tests/fuzz_persistence.py 10000 0 state`` (random seed 0) loads files that are in order but for the
shapes, types and values of arrays and numbers, and computes with those that are not refused, while numba
looks out for indices beyond the end of an array.
"""

import io
import json
import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from collections import Counter
from pathlib import Path

import numpy as np

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
    "sklearn.svm.SVC", "sklearn.pipeline.Pipeline", "sklearn.tree._tree.Tree", "mercer.parts.Nothing",
    "mercer.machines.stump.StumpSVC", "mercer.StumpSVC", "mercer.parts.AdditiveFunction",
    "mercer.parts.Units",
    "mercer.kernels.Projected", "mercer.cli.main",
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
    metadata, schema, arrays = unpack(path)
    for _ in range(draw.choice([1, 1, 2, 5])):
        nodes = nodes_of(schema)
        if not nodes:
            break
        node, other = draw.choice(nodes), draw.choice(nodes)
        kind = draw.choice(["loader", "name", "id", "delete", "value", "swap", "nest", "metadata"])
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
            metadata[draw.choice(list(metadata))] = draw.choice(VALUES)
    repack(path, metadata, schema, arrays)


def damage_arrays(path, draw):
    """Change headers and bytes of the arrays, in an archive that is in order."""
    metadata, schema, arrays = unpack(path)
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
    repack(path, metadata, schema, arrays)


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
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import SVC

    X, y = load_iris(return_X_y=True)
    X, y = X[::4], y[::4]
    learner = mercer.IdealizedKernel(C_dissimilar=1e6)
    chosen = make_pipeline(StandardScaler(), mercer.KernelSVC(learner, class_weight={0: 2.0}))
    estimators = [
        mercer.StumpSVC().fit(X, y),
        make_pipeline(StandardScaler(), SVC(kernel=mercer.kernels.Stump())).fit(X, y),
        chosen.fit(X, y.astype(str).astype(object)),
    ]
    files = []
    for estimator in estimators:
        path = Path(folder) / "whole.mercer"
        mercer.save(estimator, path)
        files.append(path.read_bytes())
    return files


def damage_state(path, draw):
    """Change shapes, types and values of arrays, and numbers, and nothing else."""
    metadata, schema, arrays = unpack(path)
    numbers = [node for node in nodes_of(schema) if node["__loader__"] == "JsonNode"]
    numbers = [node for node in numbers if isinstance(json.loads(node["content"]), int | float)]
    for _ in range(draw.choice([1, 1, 2, 4])):
        if numbers and draw.random() < 0.25:
            draw.choice(numbers)["content"] = json.dumps(draw.choice(NUMBERS))
        elif arrays:
            name = draw.choice(list(arrays))
            array = np.load(
                io.BytesIO(arrays[name] if draw.random() < 0.9 else draw.choice(list(arrays.values())))
            )
            buffer = io.BytesIO()
            np.save(buffer, draw.choice(ARRAY_CHANGES)(array, draw))
            arrays[name] = buffer.getvalue()
    repack(path, metadata, schema, arrays)


NUMBERS = [-1, 0, 1, 2, 7, 1000, 2**31, 2**62, 0.5, -0.5, 1e300, float("nan"), float("inf"), True, None]
TYPES = ["<f4", "<f8", ">f8", "<i4", "<i8", "<u1", "?", "<c16", "<U3"]


def put_number(array, draw):
    """Put one number into some places of an array."""
    array = array.copy()
    with np.errstate(all="ignore"):
        value = np.array(draw.choice([n for n in NUMBERS if n is not None])).astype(array.dtype)
    array[np.random.RandomState(draw.randrange(2**31)).rand(*array.shape) < draw.choice([0.1, 0.5, 1.0])] = (
        value
    )
    return array


ARRAY_CHANGES = [
    lambda array, draw: array[..., :-1] if array.ndim else array,
    lambda array, draw: array[1:] if array.ndim else array[None],
    lambda array, draw: array[:0] if array.ndim else array,
    lambda array, draw: array[..., :1] if array.ndim else array[None, None],
    lambda array, draw: np.repeat(array, draw.choice([2, 3, 500]), axis=draw.randrange(max(array.ndim, 1))),
    lambda array, draw: np.tile(array, draw.choice([2, 50])),
    lambda array, draw: array.T,
    lambda array, draw: array.ravel(),
    lambda array, draw: array[None],
    lambda array, draw: np.asfortranarray(array),
    lambda array, draw: array.ravel()[::-1].reshape(array.shape),
    lambda array, draw: array.astype(draw.choice(TYPES)) if array.dtype.kind != "U" else array,
    put_number,
    put_number,
]
METHODS = (
    *("decision_function", "predict_proba", "predict", "predict_interval", "transform"),
    *("__call__", "diag"),
)
MOST_MEMORY = 2**20  # KB more than with no file: what small files may take
BEYOND = "index is out of bounds"  # what numba says; NumPy, which always looks, says which index


def compute(estimator, rows):
    """Compute all that a loaded estimator can, and return whether an index was beyond the end of an array."""
    jobs = {name: lambda name=name: getattr(estimator, name)(rows) for name in METHODS}
    jobs["shapes"] = lambda: estimator.shape_functions_
    jobs["distances"] = lambda: estimator.squared_distance(rows, rows)
    jobs["stages"] = lambda: list(estimator.staged_predict(rows))
    for job in jobs.values():
        try:
            job()
        except Exception as error:
            if str(error) == BEYOND:
                return True
    return False


def sample_rows():
    """Return rows with their classes, and a table."""
    import pandas as pd
    from sklearn.datasets import load_iris

    X, y = load_iris(return_X_y=True)
    X, y = X[::5], y[::5]
    table = pd.DataFrame({"number": X[:, 0], "category": np.resize(list("abcdaab"), len(X))})
    table["day"] = pd.date_range("2024-01-01", periods=len(X), freq="17D").strftime("%d.%m.%Y")
    table["price"] = [f"{1000 * size:,.1f}" for size in X[:, 1]]
    words = ["very long and narrow", "quite short and broad", "narrow but very short"]
    table["note"] = [f"{words[k % 3]} {k}" for k in range(len(X))]
    return X, y, table


def save_samples(folder):
    """Save estimators whose arrays compiled code reads; the last two are of a table."""
    from sklearn.compose import make_column_transformer
    from sklearn.gaussian_process.kernels import RBF
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler
    from sklearn.svm import SVC

    X, y, table = sample_rows()
    two = y < 2
    one_hot = OneHotEncoder(handle_unknown="infrequent_if_exist", max_categories=3, sparse_output=False)
    encode = make_column_transformer((SimpleImputer(), ["number"]), (one_hot, ["category"]))
    ard = mercer.superkernels.ARD(mercer.superkernels.GaussianHarmonic())
    boost = mercer.KernelBoost(n_rounds=2, random_state=0).fit(X, y)
    estimators = [
        mercer.StumpSVC().fit(X, y),
        mercer.StumpSVC(max_bins=4).fit(X[two], y[two]),
        mercer.PerceptronSVC(method="sliced", n_directions=6, max_bins=4, random_state=0).fit(X[two], y[two]),
        mercer.PerceptronSVC().fit(X[two], y[two]),
        mercer.KernelSVC(mercer.Superkernel(ard, random_state=0), method="gram").fit(X[two], y[two]),
        mercer.kernels.Series(RBF(), "exp", np.array([1.0, 2.0]), np.array([1.0, 0.5])),
        boost,
        boost.kernel_,
        mercer.kernels.Stump.sample(X, 9, random_state=0),
        make_pipeline(StandardScaler(), mercer.KernelSVC(mercer.BoostedKernel(RBF(), n_rounds=2))).fit(X, y),
        SVC().fit(X, y),
        mercer.TreeSVC().fit(X, y),
        mercer.TreeSVC(method="landmarks", n_landmarks=8, random_state=0).fit(X[two], y[two]),
        mercer.KernelSVC(mercer.RelevanceKernel(n_rounds=1, random_state=0)).fit(X, y),
        mercer.KernelSVC(mercer.IdealizedKernel(max_rank=2, random_state=0)).fit(X, y),
        mercer.KernelSVC(mercer.BlendedKernel(mercer.KernelBoost(n_rounds=1, random_state=0))).fit(
            X[two], y[two]
        ),
        mercer.KernelSearchCV(["stump", "linear", "RBF-SVM"], cv=2, random_state=0).fit(X, y).model_,
        mercer.StumpRegressor("cv", Cs=2, loss="quantile", random_state=0).fit(X, y),
        mercer.PerceptronRegressor(method="sliced", n_directions=6, random_state=0).fit(X, y),
        mercer.PerceptronRegressor("cv", random_state=0).fit(X, y),
        mercer.TreeRegressor(random_state=0).fit(X, y),
        mercer.KernelRegressor(RBF(), loss="epsilon_insensitive").fit(X, y),
        make_pipeline(encode, mercer.StumpSVC()).fit(table, y),
        make_pipeline(mercer.TableEncoder(), mercer.ClippedScaler(), mercer.StumpSVC()).fit(table, y),
    ]
    for k, estimator in enumerate(estimators):
        mercer.save(estimator, Path(folder) / f"{k:02}.mercer")


def fuzz_state(folder, n_files, seed=0):
    """Load damaged copies of the files in a folder and compute with them; return how each ended."""
    draw, ends = random.Random(seed), Counter()
    contents = [path.read_bytes() for path in sorted(Path(folder).glob("*.mercer"))]
    X, _, table = sample_rows()
    samples = [(content, X) for content in contents[:-2]] + [(content, table) for content in contents[-2:]]
    target = Path(folder) / "broken"
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for k in range(-len(samples), n_files):
        content, rows = samples[k % len(samples)]
        target.write_bytes(content)
        if k >= 0:  # at first all as they are
            damage_state(target, draw)
        try:
            with np.errstate(all="ignore"):
                ends["beyond" if compute(mercer.load(target), rows) else "computed"] += 1
        except ModelFileError as error:
            ends["damaged" if "damaged" in str(error) else "refused"] += 1
        if resource.getrusage(resource.RUSAGE_SELF).ru_maxrss > before + MOST_MEMORY:
            ends["memory"] += 1
        if ends["beyond"] or ends["memory"]:
            (Path(tempfile.gettempdir()) / "beyond.mercer").write_bytes(target.read_bytes())
            break
    return ends


def fuzz_state_watched(n_files, seed=0):
    """Run `fuzz_state` in a process in which numba looks at every index; it prints how they ended."""
    with tempfile.TemporaryDirectory() as folder:
        save_samples(folder)
        command = [sys.executable, __file__, str(n_files), str(seed), folder]
        tests = os.pathsep.join([os.path.dirname(__file__), *filter(None, [os.environ.get("PYTHONPATH")])])
        env = {**os.environ, "NUMBA_BOUNDSCHECK": "1", "NUMBA_CACHE_DIR": folder, "PYTHONPATH": tests}
        return subprocess.run(command, capture_output=True, text=True, check=False, env=env)


def main():
    """Load many damaged files."""
    warnings.simplefilter("ignore")
    n_files = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    if sys.argv[3:] == ["state"]:
        done = fuzz_state_watched(n_files, int(sys.argv[2]))
        print(f"{done.stdout}{done.stderr}exit status {done.returncode}")  # noqa: T201
        return
    if sys.argv[3:]:
        print(json.dumps(fuzz_state(sys.argv[3], n_files, int(sys.argv[2]))))  # noqa: T201
        return
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
