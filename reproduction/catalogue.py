"""All tables and figures, by their keys."""

from reproduction import cks02, hbw06, kt03, ll05, osw02
from reproduction.harness import Figure, Table

_PAPERS = (ll05, cks02, kt03, osw02, hbw06)
CATALOGUE: dict[str, Table | Figure] = {item.key: item for paper in _PAPERS for item in paper.ITEMS}
