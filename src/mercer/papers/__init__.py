"""The published tables and figures, reproduced: protocol, published numbers, ours beside them.

A paper is a folder whose files build `Table` and `Figure` values; its `ITEMS` join the others below.
"""

from mercer.papers import cks02, hbw06, kt03, ll05, osw02
from mercer.papers.harness import Figure, Method, Picture, Split, Table

_PAPERS = (ll05, cks02, kt03, osw02, hbw06)
CATALOGUE: dict[str, Table | Figure] = {item.key: item for paper in _PAPERS for item in paper.ITEMS}

__all__ = ["CATALOGUE", "Figure", "Method", "Picture", "Split", "Table"]
