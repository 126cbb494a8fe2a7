"""Crammer, Keshet & Singer, Kernel design using boosting, NIPS 2002."""

from reproduction.cks02 import synthetic, ten_digits, usps
from reproduction.harness import Figure, Table

ITEMS: tuple[Table | Figure, ...] = (synthetic.TABLE, usps.TABLE, ten_digits.TABLE)
