"""Ong, Smola & Williamson, Superkernels, NIPS 2002."""

from mercer.papers.harness import Figure, Table
from mercer.papers.osw02 import table2

ITEMS: tuple[Table | Figure, ...] = table2.TABLES
