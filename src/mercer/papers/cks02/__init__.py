"""Crammer, Keshet & Singer, Kernel design using boosting, NIPS 2002."""

from mercer.papers.cks02 import synthetic, ten_digits, usps
from mercer.papers.harness import Figure, Table

ITEMS: tuple[Table | Figure, ...] = (synthetic.TABLE, usps.TABLE, ten_digits.TABLE)
