"""Kwok & Tsang, Learning with idealized kernels, ICML 2003."""

from reproduction.harness import Figure, Table
from reproduction.kt03 import figure1, table3, tables2_4

ITEMS: tuple[Table | Figure, ...] = (*tables2_4.TABLES, tables2_4.LATER, table3.TABLE, figure1.FIGURE)
