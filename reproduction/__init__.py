"""The published tables and figures, reproduced: protocol, published numbers, ours beside them.

A paper is a folder whose files build `Table` and `Figure` values; its `ITEMS` join the others in
`catalogue`.
"""

from typing import TYPE_CHECKING

from mercer.lazy import open_when_asked

if TYPE_CHECKING:
    from reproduction.catalogue import CATALOGUE
    from reproduction.harness import Figure, Method, Picture, Split, Table

__all__ = ["CATALOGUE", "Figure", "Method", "Picture", "Split", "Table"]

_HOMES = {
    "CATALOGUE": "catalogue",
    "Figure": "harness",
    "Method": "harness",
    "Picture": "harness",
    "Split": "harness",
    "Table": "harness",
}

__getattr__, __dir__ = open_when_asked(__name__, _HOMES)
