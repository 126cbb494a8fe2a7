"""Lin & Li, Novel distance-based SVM kernels for infinite ensemble learning, 2005."""

from mercer.papers.harness.experiment import Figure, Table
from mercer.papers.ll05 import figure2, tables

ITEMS: tuple[Table | Figure, ...] = (
    *tables.TABLES,
    figure2.FIGURE,
)
