"""The published tables and figures, made again: protocol, published numbers, ours beside them.

A paper is a file that builds `Table` and `Figure` values; it joins the others by one line below.
"""

from . import ll05, ll05_figure2
from .experiment import Figure, Method, Split, Table

CATALOGUE: dict[str, Table | Figure] = {item.key: item for item in (*ll05.TABLES, ll05_figure2.FIGURE)}

__all__ = ["CATALOGUE", "Figure", "Method", "Split", "Table"]
