"""The time that numba spends on compiling: once on a machine, and no fault of who happens to come first."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class Spent:
    """Seconds of compilations, from what numba tells of them: when each began and ended."""

    def __init__(self, recorder: Any) -> None:
        self._recorder = recorder

    @property
    def seconds(self) -> float:
        """Return the seconds so far; a compilation that is part of another one counts with that."""
        total, depth, start = 0.0, 0, 0.0
        for when, event in self._recorder.buffer:
            if event.is_start:
                start = start if depth else when
                depth += 1
            elif depth:
                depth -= 1
                total += 0.0 if depth else when - start
        return total


@contextmanager
def compiling() -> Iterator[Spent]:
    """Return the seconds that are spent on compiling meanwhile, which grow."""
    from numba.core import event  # `import mercer` does not wait for it

    with event.install_recorder("numba:compile") as recorder:
        yield Spent(recorder)
