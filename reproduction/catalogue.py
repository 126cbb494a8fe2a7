"""All tables and figures, by their keys, and all claims."""

from reproduction import cks02, hbw06, kt03, ll05, osw02
from reproduction.cks02 import claims as of_cks02
from reproduction.harness import Figure, Table
from reproduction.harness.claims import Claim
from reproduction.hbw06 import claims as of_hbw06
from reproduction.kt03 import claims as of_kt03
from reproduction.ll05 import claims as of_ll05
from reproduction.osw02 import claims as of_osw02

_PAPERS = (ll05, cks02, kt03, osw02, hbw06)
CATALOGUE: dict[str, Table | Figure] = {item.key: item for paper in _PAPERS for item in paper.ITEMS}
CLAIMS: tuple[Claim, ...] = sum(
    (module.CLAIMS for module in (of_ll05, of_cks02, of_kt03, of_osw02, of_hbw06)), ()
)
