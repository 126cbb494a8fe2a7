"""Run the benchmarks named on the command line, or all of them."""

import importlib
import sys

NAMES = (
    *("agreement", "small", "single_fit", "growth", "boosting", "selection"),  # of stumps and perceptrons
    *("boosted_kernel", "idealized", "pairs_only", "superkernel", "many_kernels", "kernelboost"),  # learned
)


def main() -> None:
    """Print one line a figure: the ratio, what is wanted, and what lies behind it."""
    chosen = sys.argv[1:] or NAMES
    unknown = set(chosen) - set(NAMES)
    if unknown:
        sys.exit(f"No such benchmark: {', '.join(sorted(unknown))}. There are {', '.join(NAMES)}.")
    for name in chosen:
        importlib.import_module(f"benchmarks.{name}").main()


main()
