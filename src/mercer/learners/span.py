"""Features of a kernel that has none of its own: coordinates in the span of some rows."""

from functools import cached_property
from typing import Any

from mercer._typing import Array
from mercer.kernels import Kernel
from mercer.learners.base_kernel import psd_advice
from mercer.limits import check_gram_fits
from mercer.solvers.cholesky import Factor, factor_gram


class SpanFeatures:
    """Coordinates in the span of some rows in the feature space of a kernel.

    For these rows themselves the inner products of the coordinates are the kernel; for two new rows they are
    what it is between their projections. The factor, O(n³) at worst, is computed when it is first needed.
    """

    def __init__(self, kernel: Kernel, rows: Array) -> None:
        self.kernel = kernel
        self.rows = rows

    @cached_property
    def factor(self) -> Factor:
        """The landmarks that span the rows, with their Cholesky factor."""
        check_gram_fits(len(self.rows), "Use the kernel itself (kernel_), or fewer rows.")
        with psd_advice("the learned kernel"):
            return factor_gram(self.kernel.gram(self.rows, self.rows))

    def transform(self, X: Array) -> Array:
        """Return the coordinates of rows."""
        return self.factor.coordinates(self.kernel.gram(X, self.rows[self.factor.landmarks]))

    def __getstate__(self) -> dict[str, Any]:
        return {"kernel": self.kernel, "rows": self.rows}
