"""The time that a search has. A clock has `now()`: a test gives one that moves as it says."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple, Protocol


class Clock(Protocol):
    """What tells the time."""

    def now(self) -> float:
        """Return the seconds since some moment."""


class WallClock:
    """The clock on the wall, which stands still while numba compiles: that comes once on a machine."""

    def __init__(self) -> None:
        self._recorder: Any = None

    def now(self) -> float:
        """Return the seconds since some moment, those of compiling not counted."""
        return time.monotonic() - self.compiled

    @property
    def compiled(self) -> float:
        """Return the seconds of compilations; one that is part of another counts with that."""
        total, depth, start = 0.0, 0, 0.0
        for when, event in () if self._recorder is None else self._recorder.buffer:
            if event.is_start:
                start = start if depth else when
                depth += 1
            elif depth:
                depth -= 1
                total += 0.0 if depth else when - start
        return total

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Listen to what numba tells of its compilations."""
        from numba.core import event  # `import mercer` does not wait for it

        with event.install_recorder("numba:compile") as self._recorder:
            yield


class Deadline(NamedTuple):
    """When a search began, and how many seconds it has; None is no limit."""

    clock: Clock
    start: float
    budget: float | None

    def left(self) -> float:
        """Return the seconds that are left; infinitely many without a budget."""
        if self.budget is None:
            return float("inf")
        return self.start + self.budget - self.clock.now()
