"""`StumpSVC` where the tensor lives: 10⁶ to 10⁸ rows on a GPU, floors beside times. Needs torch."""

import subprocess
import sys
from argparse import ArgumentParser
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parents[2]


def main(options: Sequence[str] = ()) -> None:
    """Measure the numbers of rows that are named, or those that suit the device."""
    parser = ArgumentParser("python -m benchmarks gpu", description=__doc__)
    parser.add_argument("--rows", nargs="+", type=float, default=(), help="how many, for example 1e6 1e7")
    parser.add_argument("--tests", action="store_true", help="run the tests of tensors first, by pytest")
    chosen = parser.parse_args(options)
    try:
        from benchmarks.gpu import stump
    except ModuleNotFoundError as error:
        raise SystemExit(f"This benchmark needs {error.name}: pip install torch.") from error
    if chosen.tests:
        run_tests()
    stump.main(tuple(int(n) for n in chosen.rows))


def run_tests() -> None:
    """Run the tests of tensors, on the GPU as well where there is one."""
    files = [
        ROOT / "tests" / name for name in ("svm/test_tensors.py", "solvers/stump_svm/test_torch_rows.py")
    ]
    subprocess.run([sys.executable, "-m", "pytest", "-q", *files], check=False, cwd=ROOT)
