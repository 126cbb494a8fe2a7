"""Run the benchmarks named on the command line, or all of them but the long ones."""

import ast
import importlib
import sys
from itertools import takewhile
from pathlib import Path

NAMES = (
    "cold",  # the first minute
    *("agreement", "small", "single_fit", "growth", "boosting", "selection"),  # of stumps and perceptrons
    *("cluster", "learned_cluster"),  # of processes, for stumps, and for a learned kernel
    *("boosted_kernel", "idealized", "pairs_only", "superkernel", "many_kernels", "kernelboost"),  # learned
    *("trees", "relevance"),  # all of them, and features
    "matching",  # of records
    "machines",  # of any kernel
    "regression",  # numbers
    *("scaling", "search"),  # before them, and among all of them
)
LONG = (
    "budget",
    "coverage",
    "tables",
    "small_tables",
    "numbers",
    "uci_numbers",
    "sizes",
    "gpu",
)  # an hour or more, or another machine; with options of their own
HELP = ("-h", "--help")


def main() -> None:
    """Print one line a figure: the ratio, what is wanted, and what lies behind it."""
    chosen = list(takewhile(lambda word: not word.startswith("-"), sys.argv[1:]))
    options = sys.argv[1 + len(chosen) :]
    if not chosen and set(HELP) & set(options):
        print(usage())
        return
    unknown = set(chosen) - {*NAMES, *LONG}
    if unknown:
        every = ", ".join(NAMES + LONG)
        sys.exit(f"No such benchmark: {', '.join(sorted(unknown))}. There are {every}.")
    if options and not (len(chosen) == 1 and chosen[0] in LONG):
        sys.exit(f"Options are for one of these alone: {', '.join(LONG)}.")
    for name in chosen or NAMES:
        module = importlib.import_module(f"benchmarks.{name}")
        module.main(options) if name in LONG else module.main()


def usage() -> str:
    """Return how to call it, and what there is to run."""
    longest = max(map(len, NAMES))
    lines = [f"  {name:{longest}}  {first_line(name)}" for name in NAMES + LONG]
    head = f"usage: python -m benchmarks [name …]    (without names: all but {', '.join(LONG)})"
    return "\n".join([head, "", *lines])


def first_line(name: str) -> str:
    """Return what a benchmark is, by its own words; it is not imported, which would take seconds."""
    here = Path(__file__).parent
    one, several = here / f"{name}.py", here / name / "__init__.py"
    path = one if one.exists() else several
    return (ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or "").partition("\n")[0]


main()
