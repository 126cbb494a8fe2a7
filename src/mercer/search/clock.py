"""How much time is left."""

import time
from typing import NamedTuple

import numpy as np


class Clock(NamedTuple):
    """When the search began, and how many seconds it may take."""

    start: float
    budget: float | None

    def left(self) -> float:
        """Return the seconds that are left; infinitely many without a budget."""
        if self.budget is None:
            return np.inf
        return self.start + self.budget - time.monotonic()
