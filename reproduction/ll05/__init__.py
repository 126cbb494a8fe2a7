"""Lin & Li, Novel distance-based SVM kernels for infinite ensemble learning, 2005."""

from reproduction.harness import Figure, Table
from reproduction.ll05 import figure2, tables1_2

ITEMS: tuple[Table | Figure, ...] = (*tables1_2.TABLES, tables1_2.LP_TABLE, figure2.FIGURE)
