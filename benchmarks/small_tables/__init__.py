"""KernelSearchCV on 65 small public tables, beside the stored scores of fourteen rivals on the same folds."""

import argparse
from collections.abc import Sequence
from pathlib import Path


def main(arguments: Sequence[str] = ()) -> None:
    """Run what has not been run yet, and print what all says together."""
    from benchmarks.small_tables import sources

    parser = argparse.ArgumentParser(prog="python -m benchmarks small_tables", description=__doc__)
    parser.add_argument("--side", choices=sources.SIDES, default="report", help="which tables (report)")
    parser.add_argument("--tables", nargs="+", help="some of them only")
    parser.add_argument("--folds", nargs="+", type=int, default=[0], help="of 0 1 2 3 (0)")
    parser.add_argument("--budget", type=float, default=15.0, help="seconds of CPU time of each fit (15)")
    parser.add_argument("--label", default="search", help="what this version of the search is called")
    parser.add_argument("--against", nargs="+", default=[], help="labels to compare with, table by table")
    parser.add_argument("--candidates", nargs="+", help="names of candidates (those of the search)")
    parser.add_argument("--kept", action="store_true", help="run nothing: print what was kept")
    parser.add_argument("--folder", type=Path, default=Path("tables-cells"), help="where cells are kept")
    parser.add_argument("--page", type=Path, help="a file for the page of docs")
    chosen = parser.parse_args(arguments)
    if not sources.is_at_hand():
        parser.exit(1, "There is no data: set MERCER_DATA to a folder that has small_tables.\n")
    from benchmarks.small_tables import cells, page, summary  # which takes seconds

    names = chosen.tables or sources.names(chosen.side)
    path = chosen.folder / f"small-{chosen.label}.csv"
    if not chosen.kept:
        cells.run(path, names, chosen.folds, chosen.budget, chosen.candidates)
    kept = {label: cells.read(chosen.folder / f"small-{label}.csv") for label in chosen.against}
    print(summary.describe(cells.read(path), kept, names, chosen.folds, chosen.budget))
    if chosen.page:
        own, *others = (
            summary.chosen(one, names, chosen.folds, chosen.budget)
            for one in (cells.read(path), *kept.values())
        )
        versions = dict(zip(kept, others, strict=True))
        chosen.page.write_text(
            page.write_page(own, versions, chosen.side, chosen.folds, chosen.budget), encoding="utf-8"
        )
