"""What runs, stores, counts and shows the tables of the papers, which build what is exported here."""

from reproduction.harness.experiment import (
    Cell,
    Draws,
    Figure,
    Method,
    Number,
    Picture,
    Result,
    Table,
    by_column,
    png_canvas,
    published,
    seed_of,
)
from reproduction.harness.split import Split, customary_split, random_split

__all__ = [
    "Cell",
    "Draws",
    "Figure",
    "Method",
    "Number",
    "Picture",
    "Result",
    "Split",
    "Table",
    "by_column",
    "customary_split",
    "png_canvas",
    "published",
    "random_split",
    "seed_of",
]
