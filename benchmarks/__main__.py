"""Run the benchmarks named on the command line, or all of them."""

import ast
import importlib
import sys
from pathlib import Path

NAMES = (
    "cold",  # the first minute
    *("agreement", "small", "single_fit", "growth", "boosting", "selection"),  # of stumps and perceptrons
    *("boosted_kernel", "idealized", "pairs_only", "superkernel", "many_kernels", "kernelboost"),  # learned
    "search",  # among all of them
)
HELP = ("-h", "--help")


def main() -> None:
    """Print one line a figure: the ratio, what is wanted, and what lies behind it."""
    chosen = sys.argv[1:] or NAMES
    if set(HELP) & set(chosen):
        print(usage())
        return
    unknown = set(chosen) - set(NAMES)
    if unknown:
        sys.exit(f"No such benchmark: {', '.join(sorted(unknown))}. There are {', '.join(NAMES)}.")
    for name in chosen:
        importlib.import_module(f"benchmarks.{name}").main()


def usage() -> str:
    """Return how to call it, and what there is to run."""
    longest = max(map(len, NAMES))
    lines = [f"  {name:{longest}}  {first_line(name)}" for name in NAMES]
    return "\n".join(["usage: python -m benchmarks [name …]    (without names: all of them)", "", *lines])


def first_line(name: str) -> str:
    """Return what a benchmark is, by its own words; it is not imported, which would take seconds."""
    source = (Path(__file__).parent / f"{name}.py").read_text(encoding="utf-8")
    return (ast.get_docstring(ast.parse(source)) or "").partition("\n")[0]


main()
