"""What runs, stores, compares and shows the tables of the papers.

A paper's folder builds the values exported here; the command line calls the rest by module:
`selection` (what to run), `reproduce` (run it), `printer` (print it).
"""

from reproduction.harness.comparison import Verdict, judge, mean_with_error
from reproduction.harness.experiment import (
    Figure,
    Method,
    Number,
    Picture,
    Table,
    png_canvas,
    published,
    seed_of,
)
from reproduction.harness.split import Split, customary_split, random_split
from reproduction.harness.store import Result, by_column

__all__ = [
    "Figure",
    "Method",
    "Number",
    "Picture",
    "Result",
    "Split",
    "Table",
    "Verdict",
    "by_column",
    "customary_split",
    "judge",
    "mean_with_error",
    "png_canvas",
    "published",
    "random_split",
    "seed_of",
]
