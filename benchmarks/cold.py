"""The first minute: CPU seconds of first uses with nothing compiled, over those with all compiled."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.measure import report

WANTED = {"first StumpSVC": "≤ 10", "KernelSearchCV on wine": "≤ 25", "mercer learn": "≤ 30"}
DATA = """
import numpy as np
from sklearn.datasets import load_wine
X, y = load_wine(return_X_y=True)
rng = np.random.default_rng(0)
many = rng.normal(size=(5000, 6)); many[:, 1] = rng.integers(0, 5, 5000); two = (many[:, 0] > 0).astype(int)
"""
PROGRAMS = {
    "first StumpSVC": "from mercer import StumpSVC; StumpSVC().fit(X, y).predict(X)",
    "StumpSVC of other kinds of columns": """
from mercer import StumpSVC
for bins in (None, 64, 1000):
    for kind in (np.float64, np.float32, np.int64):
        StumpSVC(max_bins=bins).fit(many.astype(kind), two).predict(many.astype(kind))
""",
    "PerceptronSVC": "from mercer import PerceptronSVC; PerceptronSVC('cv').fit(X, y)",
    "BoostedKernel": "from mercer import BoostedKernel; BoostedKernel().fit(X, y)",
    "IdealizedKernel": "from mercer import IdealizedKernel; IdealizedKernel().fit(X, y)",
    "KernelBoost": "from mercer import KernelBoost; KernelBoost().fit(X, y)",
    "Superkernel": "from mercer import Superkernel; Superkernel().fit(X, y)",
    "KernelSearchCV on wine": "from mercer import KernelSearchCV; KernelSearchCV(random_state=0).fit(X, y)",
}
RECORD = """
from numba.core import event
with event.install_recorder("numba:compile") as recorder:
{program}
ends = [(when, one) for when, one in recorder.buffer]
open_, spent = [], {{}}
for when, one in ends:  # compilations nest: the time of what is called within is its own
    if one.is_start:
        open_.append([when, 0.0])
    else:
        begin, inner = open_.pop()
        name = one.data["dispatcher"].py_func.__qualname__
        spent[name] = spent.get(name, 0.0) + when - begin - inner
        if open_:
            open_[-1][1] += when - begin
print("; ".join(f"{{k}} {{v:.1f}}" for k, v in sorted(spent.items(), key=lambda p: -p[1])[:6]))
"""


def cpu_of(command: list[str], cache: str, folder: str) -> tuple[float, str]:
    """Run a process; return the CPU seconds of it and its children, and what it printed last."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": cache, "PYTHONWARNINGS": "ignore"}
    before = os.times()
    done = subprocess.run(command, env=environment, cwd=folder, capture_output=True, text=True, check=True)
    after = os.times()
    seconds = after.children_user + after.children_system - before.children_user - before.children_system
    return seconds, (done.stdout.strip().splitlines() or [""])[-1]


def python(program: str) -> list[str]:
    """Return the command that runs a program with the data at hand, and says what was compiled."""
    indented = "\n".join(f"    {line}" for line in (DATA + program).splitlines())
    return [sys.executable, "-c", RECORD.format(program=indented)]


def import_seconds(program: str, folder: str) -> tuple[float, str]:
    """Return the least CPU seconds that an import takes more than scikit-learn's SVMs, and both."""
    ours, theirs = (
        min(cpu_of([sys.executable, "-c", one], folder, folder)[0] for _ in range(5))
        for one in (program, "import sklearn.svm")
    )
    return ours - theirs, f"{ours:.2f} s and {theirs:.2f} s"


def measure(name: str, command: list[str], folder: str) -> None:
    """Print CPU seconds with nothing compiled less those with all compiled."""
    cache = tempfile.mkdtemp(dir=folder)
    cold, spent = cpu_of(command, cache, folder)
    warm, _ = cpu_of(command, cache, folder)
    detail = f"{cold:.1f} s and {warm:.1f} s; {spent}"
    report(f"CPU seconds of compilation: {name}", cold - warm, WANTED.get(name, ""), detail)


def main() -> None:
    """Each in processes of its own, with a cache of its own."""
    with tempfile.TemporaryDirectory() as folder:
        for program in ("import mercer", "from mercer import *"):
            extra, detail = import_seconds(program, folder)
            report(f"{program} over import sklearn.svm, CPU seconds", extra, "≤ 0.2", detail)
        for name, program in PROGRAMS.items():
            measure(name, python(program), folder)
        mercer = [sys.executable, "-m", "mercer"]
        learn = [*mercer, "learn", "--budget", "10", "--jobs", "1", "--model", "m.mercer"]
        measure("mercer learn", learn, folder)
        write_rows(Path(folder) / "rows.csv")
        predict = [*mercer, "predict", "m.mercer", "rows.csv"]
        cache = tempfile.mkdtemp(dir=folder)
        first, *others = (cpu_of(predict, cache, folder)[0] for _ in range(4))
        report("mercer predict on 100 rows, CPU seconds", min(others), "≤ 2.5", f"{first:.2f} s cold")


def write_rows(path: Path) -> None:
    """Write a table for `mercer predict`."""
    from sklearn.datasets import load_breast_cancer

    load_breast_cancer(as_frame=True).data[:100].to_csv(path, index=False)
