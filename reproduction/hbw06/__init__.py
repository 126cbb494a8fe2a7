"""Hertz, Bar-Hillel & Weinshall, Learning a kernel function for small training samples, ICML 2006."""

from reproduction.harness import Figure, Table
from reproduction.hbw06 import figure2, figure3, figure4, table1, table2, table3, table4

ITEMS: tuple[Table | Figure, ...] = (
    table1.TABLE,
    figure2.FIGURE,
    table2.TABLE,
    table3.TABLE,
    figure3.TABLE,
    table4.TABLE,
    figure4.FIGURE,
)
