"""How many samples the last fit may have: as many as there is time for, even if it takes more than foretold.

A fit to many times the samples that a candidate was timed on may take far longer than a power of their number
says: labels that are wrong make an SVM's steps many, and memory that is used for the first time costs as much
as the work in it.
"""

from typing import NamedTuple

import numpy as np

SAFE = 0.8  # of the time that is left, for a fit whose time is foretold
DOUBT = 0.3  # so much larger, as a share of it, the power may be with which time grows
STEEPEST = 3.0  # power of the number of samples that is believed, after a fit that was slow by chance
STEP = 4.0  # times fewer samples, on which a doubtful fit is timed first: that takes a tenth of its time
MORE = 1.2  # times as many samples are worth another fit


class Timed(NamedTuple):
    """What a fit to some samples took, and the power of their number with which that grows."""

    n_rows: float
    seconds: float
    growth: float

    def seconds_at(self, n_rows: float) -> float:
        """Return the seconds of a fit to so many samples, if time grows as expected."""
        return self.seconds * max(n_rows / self.n_rows, 1.0) ** self.growth

    def foretell(self, n_rows: float) -> float:
        """Return the seconds of a fit to so many samples, if time grows faster than expected."""
        return self.seconds * max(n_rows / self.n_rows, 1.0) ** ((1.0 + DOUBT) * self.growth)

    def most_rows(self, seconds: float) -> float:
        """Return the samples to which a fit takes so many seconds."""
        power = max(self.growth, 0.1)
        return float(self.n_rows * (max(seconds, 0.0) / max(self.seconds, 1e-9)) ** (1.0 / power))

    def then(self, n_rows: float, seconds: float) -> "Timed":
        """Return what is known after a fit to more samples: time grows on as it did, or as foretold."""
        times = max(n_rows / self.n_rows, 1.0 + 1e-9)
        seen = np.log(max(seconds, 1e-9) / max(self.seconds, 1e-9)) / np.log(times)
        return Timed(n_rows, seconds, max(self.growth, min(float(seen), STEEPEST)))
