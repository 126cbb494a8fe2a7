"""Files whose grammar is in order and whose content is not: each is refused, or computes with what it holds.

``python tests/fuzz_persistence.py 20000`` makes so many out of one model of each kind: other numbers, texts,
classes and places of arrays; parts left out, repeated, taken from other models; arrays of other shapes, types
and values; and bytes that are changed anywhere, with checksums made good. Each is loaded and, if it is not
refused, asked for all that it can compute, in processes in which numba looks at each index, and in which
memory that is not in use holds other bytes in each of two runs: what differs has been read where nothing was
written. Nothing may crash, take 2 s of a processor or start a process, and loading may not allocate more than
four times what the file's arrays take, and 72 bytes for each value that is none (`container.MOST_VALUES`).
"""

import hashlib
import json
import math
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
import tracemalloc
import warnings
import zlib
from collections import Counter
from pathlib import Path

import numpy as np

import mercer
from forgery import unpack, watching
from mercer.persistence import ModelFileError, container
from mercer.persistence.declared import DECLARED
from mercer.persistence.fields import Text

NUMBERS = [
    -1,
    0,
    1,
    2,
    7,
    1000,
    2**31,
    2**62,
    2**70,
    0.5,
    -0.5,
    1e300,
    -1e300,
    5e-324,
    math.nan,
    math.inf,
    True,
    None,
]
TEXTS = [
    "",
    "no such",
    "x" * 10**5,
    "{0:90000000}",
    "\x1b[2J\u202e",
    "\ud800",
    "1" * 5000,
    "landmarks",
    "sliced",
    "exp",
]
FIELDS = [field for one in DECLARED.values() for field in one.fields.values() if isinstance(field, Text)]
TEXTS += sorted({option for field in FIELDS for option in field.options})
NAMES = [
    *DECLARED,
    "os.system",
    "numpy.multiply",
    "sklearn.svm.NuSVC",
    "mercer.cli.main",
    "builtins.eval",
    "",
]
TYPES = ["<f4", "<f8", "<i4", "<i8", "|u1", "|b1", "<U3"]
METHODS = (
    "decision_function",
    "predict_proba",
    "predict",
    "predict_interval",
    "transform",
    "__call__",
    "diag",
)
BEYOND = "index is out of bounds"  # what numba says; NumPy, which always looks, says which index
SLOW, COPIES, SMALL = 2.0, 4, 2**21  # seconds of a processor; of the arrays; bytes that need no arrays
VALUE = 72  # bytes of one that is no array, of which a file may have `container.MOST_VALUES`
MOST_MEMORY = 2**20  # KB more than with no file, for what is computed


def put_number(array, draw):
    """Put one number into some places of an array."""
    array = array.copy()
    if array.dtype.kind in "biuf":
        value = np.array(draw.choice([n for n in NUMBERS if n is not None and abs(n) != 2**70]))
        array[
            np.random.RandomState(draw.randrange(2**31)).rand(*array.shape) < draw.choice([0.1, 0.5, 1])
        ] = value.astype(array.dtype)
    return array


ARRAY_CHANGES = [
    lambda array, draw: array[..., :-1] if array.ndim else array,
    lambda array, draw: array[1:] if array.ndim else array[None],
    lambda array, draw: array[:0] if array.ndim else array,
    lambda array, draw: array[..., :1] if array.ndim else array[None, None],
    lambda array, draw: np.repeat(np.atleast_1d(array), draw.choice([2, 99]), draw.choice([0, -1])),
    lambda array, draw: array.T,
    lambda array, draw: array.ravel(),
    lambda array, draw: array[None],
    lambda array, draw: np.asfortranarray(array),
    lambda array, draw: array.ravel()[::-1].reshape(array.shape),
    lambda array, draw: array.astype(draw.choice(TYPES)) if array.dtype.kind != "U" else array,
    lambda array, draw: -array if array.dtype.kind in "if" else array,
    put_number, put_number, put_number,
]  # fmt: skip


def places_of(root):
    """Return all (container, key) of what is in a structure."""
    found, rest = [], [root]
    while rest:
        part = rest.pop()
        keys = list(part) if isinstance(part, dict) else range(len(part)) if isinstance(part, list) else ()
        found += [(part, key) for key in keys]
        rest += [part[key] for key in keys]
    return found


def change_structure(root, others, n_arrays, draw):
    """Change what stands in one place of a structure."""
    holder, key = draw.choice(places_of(root))
    value = holder[key]
    kind = draw.choice(
        ["like", "like", "like", "like", "swap", "foreign", "drop", "repeat", "nest", "number", "key"]
    )
    if kind == "like" and isinstance(value, str):
        holder[key] = draw.choice(NAMES if key == "is" else TEXTS)
    elif kind == "like" and isinstance(value, dict) and "array" in value:
        value["array"] = draw.randrange(-1, n_arrays + 1)
    elif kind == "like" and isinstance(value, dict) and "again" in value:
        value["again"] = draw.randrange(-1, 40)
    elif kind in ("like", "number"):
        holder[key] = draw.choice(NUMBERS)
    elif kind in ("swap", "foreign"):
        other, place = draw.choice(places_of(root if kind == "swap" else draw.choice(others)))
        holder[key] = json.loads(json.dumps(other[place]))
    elif kind == "drop":
        del holder[key]
    elif kind == "repeat" and isinstance(value, list):
        holder[key] = json.loads(json.dumps(value * draw.choice([2, 3, 500])))
    elif kind == "nest":
        for _ in range(draw.choice([1, 3, 100])):
            value = draw.choice([[value], {"tuple": [value]}, {"map": [["a", value]]}])
        holder[key] = value
    elif isinstance(holder, dict):
        holder[draw.choice(["memory", "n_jobs", "predict", "__class__", "tuple", "map", "array", "x_"])] = (
            value
        )


def mutant(content, others, draw):
    """Return the bytes of a file with a few changes."""
    root, arrays = json.loads(json.dumps(content.root)), list(content.arrays)
    for _ in range(draw.choice([1, 1, 2, 4])):
        if draw.random() < 0.5 or not arrays:
            change_structure(root, others, len(arrays), draw)
        else:
            k = draw.randrange(len(arrays))
            with np.errstate(all="ignore"):
                arrays[k] = draw.choice(ARRAY_CHANGES)(arrays[k], draw)
    data = bytearray(container.pack(content.metadata, root, arrays))
    if draw.random() < 0.1:
        for _ in range(draw.choice([1, 3])):
            data[draw.randrange(len(data))] ^= 1 << draw.randrange(8)
        data = bytearray(make_good(bytes(data)))
    return bytes(data)


def make_good(data):
    """Return a file with the checksums of what is in it, as far as it says how long that is."""
    start = len(container.FIRST_LINE % container.FORMAT)
    after = start + container.HEAD.size
    if len(data) < after:
        return data
    lengths = container.HEAD.unpack(data[start:after])[:3]
    middle, end = after + lengths[0], after + sum(lengths[:2])
    sums = (zlib.crc32(part) for part in (data[after:middle], data[middle:end], data[end:]))
    return data[:start] + container.HEAD.pack(*lengths, *sums) + data[after:]


def compute(estimator, rows):
    """Compute all that a loaded estimator can; return what came of it, and whether an index was beyond."""
    jobs = {name: lambda name=name: getattr(estimator, name)(rows) for name in METHODS}
    jobs["shapes"] = lambda: estimator.shape_functions_
    jobs["matches"] = lambda: estimator.match_proba(rows, rows)
    jobs["distances"] = lambda: estimator.squared_distance(rows, rows)
    said, beyond = hashlib.sha256(), False
    for name, job in jobs.items():
        try:
            found = job()
            said.update(repr(found).encode() if name == "shapes" else np.asarray(found).tobytes())
        except Exception as error:
            beyond = beyond or str(error) == BEYOND
            said.update(type(error).__name__.encode())
    return said.hexdigest()[:12], beyond


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
    """Save a model of each kind; those named t… are of a table."""
    from sklearn.gaussian_process.kernels import RBF
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import SVC

    from mercer.search.trees import BoostingClassifier, ForestClassifier

    X, y, table = sample_rows()
    two = y < 2
    ard = mercer.superkernels.ARD(mercer.superkernels.GaussianHarmonic())
    boost = mercer.KernelBoost(n_rounds=2, random_state=0).fit(X, y)
    blended = mercer.BlendedKernel(mercer.KernelBoost(n_rounds=1, random_state=0))
    combined = mercer.kernels.Combination(
        [RBF(), mercer.kernels.Stump()], np.array([2.0, 1.0]), [(0, 2), None]
    )
    estimators = [
        mercer.StumpSVC().fit(X, y),
        mercer.StumpSVC(max_bins=4).fit(X[two], y[two].astype(str)),
        mercer.PerceptronSVC(method="sliced", n_directions=6, max_bins=4, random_state=0).fit(X[two], y[two]),
        mercer.PerceptronSVC().fit(X[two], y[two]),
        mercer.KernelSVC(mercer.Superkernel(ard, random_state=0), method="gram").fit(X[two], y[two]),
        mercer.kernels.Series(RBF(), "exp", np.array([1.0, 2.0]), np.array([1.0, 0.5])),
        boost,
        boost.kernel_,
        mercer.kernels.Stump.sample(X, 9, random_state=0),
        mercer.kernels.Perceptron.sample(X, 9, random_state=0),
        mercer.kernels.Ranked.spanning(X, mercer.kernels.Rescaled(combined, X.mean(axis=0), X.std(axis=0))),
        2.0 * mercer.kernels.Mapped(RBF(), np.ones((4, 2))) + RBF(np.ones(4)) ** 2.0,
        make_pipeline(StandardScaler(), mercer.KernelSVC(mercer.BoostedKernel(RBF(), n_rounds=2))).fit(X, y),
        make_pipeline(SVC(kernel=mercer.kernels.Perceptron())).fit(X, y),
        mercer.TreeSVC(ranks=True).fit(X, y),
        mercer.TreeSVC(method="landmarks", n_landmarks=8, random_state=0).fit(X[two], y[two]),
        mercer.KernelSVC(mercer.RelevanceKernel(n_rounds=1, random_state=0)).fit(X, y),
        mercer.KernelSVC(mercer.IdealizedKernel(max_rank=2, random_state=0)).fit(X, y),
        mercer.KernelSVC(blended).fit(X[two], y[two]),
        mercer.KernelSearchCV(["stump", "linear", "RBF-SVM"], cv=2, random_state=0).fit(X, y),
        mercer.StumpRegressor("cv", Cs=2, loss="quantile", random_state=0).fit(X, y),
        mercer.PerceptronRegressor(method="sliced", n_directions=6, random_state=0).fit(X, y),
        mercer.TreeRegressor(random_state=0).fit(X, y),
        mercer.KernelRegressor(RBF(), loss="epsilon_insensitive").fit(X, y),
        make_pipeline(ForestClassifier(3, random_state=0)).fit(X, y),
        make_pipeline(BoostingClassifier(2, max_leaf_nodes=4, random_state=0)).fit(X, y),
        ForestClassifier(3, random_state=0).fit(X, y).kernel_,
    ]  # fmt: skip
    names = [
        f"a{chr(97 + letter)} {last}" for letter, last in enumerate(["berg", "busch", "cerny", "dorn"] * 6)
    ]
    records = table[["category", "price"]].assign(name=np.resize(names, len(table)))
    matcher = mercer.PairMatcher(random_state=0).fit(
        records, pairs=mercer.Pairs([(i, i + 24) for i in range(6)], [(i, i + 1) for i in range(12)])
    )
    of_tables = [
        make_pipeline(mercer.TableEncoder(), mercer.ClippedScaler(), mercer.StumpSVC()).fit(table, y),
        mercer.KernelSearchRegressor(["stump", "linear"], cv=2, random_state=0).fit(table, X[:, 3]),
        matcher,
    ]
    for letter, some in (("n", estimators), ("t", of_tables)):
        for k, estimator in enumerate(some):
            mercer.save(estimator, Path(folder) / f"{letter}{k:02}.mercer")
    records.to_pickle(Path(folder) / "records.pkl")


def look(data, target, rows, faults):
    """Load a file, and compute with it if it is not refused; return what came of it, and note faults."""
    target.write_bytes(data)
    start, said = time.process_time(), "refused"
    tracemalloc.reset_peak()
    before = tracemalloc.get_traced_memory()[0]
    try:
        with watching() as did:
            estimator = mercer.load(target)
    except ModelFileError:
        estimator = None
    more = tracemalloc.get_traced_memory()[1] - before
    middle = time.process_time()
    if estimator is not None:
        with watching() as then, np.errstate(all="ignore"):
            said, beyond = compute(estimator, rows)
        did += [one for one in then if not one.startswith("pickle.find_class")]  # numba reads its own cache
        faults += ["beyond"] if beyond else []
    seconds = middle - start, time.process_time() - middle
    faults += [
        f"{kind} {took:.1f} s" for kind, took in zip(("load", "use"), seconds, strict=True) if took > SLOW
    ]
    most = COPIES * len(data) + SMALL + VALUE * min(container.count_values(data), container.MOST_VALUES)
    faults += [f"allocates {more}"] if more > most else []
    faults += [f"did {one}" for one in did]
    return said


def work(folder, seed, first, last):
    """Look at some mutants; print what came of each, and the faults."""
    warnings.simplefilter("ignore")
    paths = sorted(Path(folder).glob("*.mercer"))
    contents = [unpack(path) for path in paths]
    X, _, table = sample_rows()
    import pandas as pd

    table["name"] = pd.read_pickle(Path(folder) / "records.pkl")["name"]
    tracemalloc.start()
    target, ends, faults = Path(folder) / f"broken{os.getpid()}", [], {}
    before = None
    for k in range(-len(paths), last - first):
        which = k % len(paths)
        rows = table if paths[which].name.startswith("t") else X
        others = [one.root for one in contents]
        draw = random.Random(f"{seed} {first + k}")
        data = paths[which].read_bytes() if k < 0 else mutant(contents[which], others, draw)
        found = []
        end = look(data, target, rows, found)
        if k < 0:  # all as they are: what is imported and compiled once has been
            assert end != "refused", paths[which]
            continue
        before = before or resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        if resource.getrusage(resource.RUSAGE_SELF).ru_maxrss > before + MOST_MEMORY:
            found, before = [*found, "takes memory to compute"], None
        ends.append(end)
        if found:
            faults[first + k] = [paths[which].name, *found]
            (Path(tempfile.gettempdir()) / f"fault{first + k}.mercer").write_bytes(data)
    target.unlink()
    print(json.dumps([ends, faults]))  # noqa: T201


def fuzz(n_files, seed=0, at_a_time=2500):
    """Look at mutants in processes of two kinds of poisoned memory; return how they ended, and the faults."""
    ends, faults = Counter(), {}
    with tempfile.TemporaryDirectory() as folder:
        save_samples(folder)
        tests = os.pathsep.join([os.path.dirname(__file__), *filter(None, [os.environ.get("PYTHONPATH")])])
        for first in range(0, n_files, at_a_time):
            last, said = min(first + at_a_time, n_files), []
            for poison in ("85", "170"):
                watched = {"NUMBA_BOUNDSCHECK": "1", "NUMBA_CACHE_DIR": folder, "MALLOC_PERTURB_": poison}
                env = {
                    **os.environ,
                    **watched,
                    "PYTHONMALLOC": "malloc",
                    "PYTHONPATH": tests,
                    "OMP_NUM_THREADS": "1",
                }
                command = [sys.executable, __file__, "work", folder, str(seed), str(first), str(last)]
                done = subprocess.run(command, capture_output=True, text=True, check=False, env=env)
                if done.returncode:
                    faults[f"{first} to {last}"] = [f"exit status {done.returncode}", done.stderr[-2000:]]
                    break
                found = json.loads(done.stdout.splitlines()[-1])
                said.append(found[0])
                faults |= found[1]
            else:
                odd = [first + k for k, (one, two) in enumerate(zip(*said, strict=True)) if one != two]
                faults |= {str(k): ["differs with what is in memory that nobody wrote"] for k in odd}
                ends.update("refused" if end == "refused" else "computed" for end in said[0])
    return ends, faults


if __name__ == "__main__":
    if sys.argv[1:2] == ["work"]:
        work(sys.argv[2], *map(int, sys.argv[3:]))
    else:
        total, wrong = fuzz(*map(int, sys.argv[1:]))
        print(dict(total), f"{len(wrong)} faults", json.dumps(wrong, indent=1), sep="\n")  # noqa: T201
