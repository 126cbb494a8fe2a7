"""The published tables and figures, made again: protocol, published numbers, ours beside them.

A paper is a folder whose files build `Table` and `Figure` values; its `ITEMS` join the others below.
"""

from mercer.papers import cks02, hbw06, kt03, ll05, osw02
from mercer.papers.harness.experiment import Figure, Method, Picture, Split, Table

_ITEMS: tuple[Table | Figure, ...] = (*ll05.ITEMS, *cks02.ITEMS, *kt03.ITEMS, *osw02.ITEMS, *hbw06.ITEMS)
CATALOGUE: dict[str, Table | Figure] = {item.key: item for item in _ITEMS}

__all__ = ["CATALOGUE", "Figure", "Method", "Picture", "Split", "Table"]
