"""Lin & Li, Novel distance-based SVM kernels for infinite ensemble learning, 2005."""

from mercer.papers.harness import Figure, Table
from mercer.papers.ll05 import figure2, tables1_2

ITEMS: tuple[Table | Figure, ...] = (*tables1_2.TABLES, figure2.FIGURE)
