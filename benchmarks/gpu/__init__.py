"""The stump solver where the tensor lives: 10⁶ to 10⁸ rows on a GPU, floors beside times. Needs torch."""

from collections.abc import Sequence


def main(sizes: Sequence[str] = ()) -> None:
    """Measure the numbers of rows that are named, or those that suit the device."""
    try:
        from benchmarks.gpu import stump
    except ModuleNotFoundError as error:
        raise SystemExit(f"This benchmark needs {error.name}: pip install torch.") from error
    stump.main(tuple(int(float(size)) for size in sizes))
