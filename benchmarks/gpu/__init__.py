"""The stump solver where the tensor lives: 10⁶ to 10⁸ rows on a GPU, floors beside times. Needs torch."""

from argparse import ArgumentParser
from collections.abc import Sequence


def main(options: Sequence[str] = ()) -> None:
    """Measure the numbers of rows that are named, or those that suit the device."""
    parser = ArgumentParser("python -m benchmarks gpu", description=__doc__)
    parser.add_argument("--rows", nargs="+", type=float, default=(), help="how many, for example 1e6 1e7")
    rows = parser.parse_args(options).rows
    try:
        from benchmarks.gpu import stump
    except ModuleNotFoundError as error:
        raise SystemExit(f"This benchmark needs {error.name}: pip install torch.") from error
    stump.main(tuple(int(n) for n in rows))
