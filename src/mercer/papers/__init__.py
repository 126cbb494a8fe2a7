"""The published tables and figures, made again: protocol, published numbers, ours beside them.

A paper is a file that builds `Table` and `Figure` values; it joins the others by one line below.
"""

from . import (
    cks02_digits,
    cks02_synthetic,
    cks02_usps,
    hbw06_digits,
    hbw06_faces,
    hbw06_synthetic,
    hbw06_uci,
    kt03_classification,
    kt03_clustering,
    ll05,
    ll05_figure2,
    osw02,
)
from .experiment import Figure, Method, Picture, Split, Table

_ITEMS: tuple[Table | Figure, ...] = (
    *ll05.TABLES,
    ll05_figure2.FIGURE,
    cks02_synthetic.TABLE,
    cks02_usps.TABLE,
    cks02_digits.TABLE,
    *kt03_classification.TABLES,
    kt03_clustering.TABLE,
    kt03_clustering.FIGURE,
    *osw02.TABLES,
    hbw06_synthetic.TABLE,
    hbw06_synthetic.FIGURE,
    hbw06_uci.TABLE,
    *hbw06_digits.TABLES,
    hbw06_faces.TABLE,
    hbw06_faces.FIGURE,
)
CATALOGUE: dict[str, Table | Figure] = {item.key: item for item in _ITEMS}

__all__ = ["CATALOGUE", "Figure", "Method", "Picture", "Split", "Table"]
