"""Ong, Smola & Williamson, Superkernels, NIPS 2002."""

from reproduction.harness import Figure, Table
from reproduction.osw02 import table2

ITEMS: tuple[Table | Figure, ...] = table2.TABLES
