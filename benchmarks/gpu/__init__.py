"""Machines where the tensor lives, on a GPU: stumps of 10⁸ rows, exact SVMs of 60 000. Needs torch."""

import subprocess
import sys
from argparse import ArgumentParser
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parents[2]


def main(options: Sequence[str] = ()) -> None:
    """Measure the numbers of rows that are named, or those that suit the device."""
    parser = ArgumentParser("python -m benchmarks gpu", description=__doc__)
    parser.add_argument("--rows", nargs="+", type=float, default=(), help="of stumps, for example 1e6 1e7")
    parser.add_argument("--only", choices=("stump", "exact", "learners"), help="a part")
    parser.add_argument("--tests", action="store_true", help="run the tests of tensors first, by pytest")
    chosen = parser.parse_args(options)
    try:
        from benchmarks.gpu import exact, learners, stump
    except ModuleNotFoundError as error:
        raise SystemExit(f"This benchmark needs {error.name}: pip install torch.") from error
    if chosen.tests:
        run_tests()
    if chosen.only in (None, "exact"):
        exact.main()
    if chosen.only in (None, "learners"):
        learners.main()
    if chosen.only in (None, "stump"):
        stump.main(tuple(int(n) for n in chosen.rows))


def run_tests() -> None:
    """Run the tests of tensors, on the GPU as well where there is one."""
    tests = ROOT / "tests"
    of_solvers = ("newton/test_torch_tables.py", "boosted/test_tiled_pairs.py")
    files = [*sorted(tests.rglob("test_*tensors.py")), *(tests / "solvers" / name for name in of_solvers)]
    subprocess.run([sys.executable, "-m", "pytest", "-q", *files], check=False, cwd=ROOT)
