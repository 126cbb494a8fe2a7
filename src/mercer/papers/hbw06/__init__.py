"""Hertz, Bar-Hillel & Weinshall, Learning a kernel function for small training samples, ICML 2006."""

from mercer.papers.harness.experiment import Figure, Table
from mercer.papers.hbw06 import table1, table2, table3, table4

ITEMS: tuple[Table | Figure, ...] = (
    table1.TABLE,
    table1.FIGURE,
    table2.TABLE,
    *table3.TABLES,
    table4.TABLE,
    table4.FIGURE,
)
