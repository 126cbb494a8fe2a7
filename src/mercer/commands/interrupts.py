"""Ctrl-C while a search runs: it is acknowledged at once, for what follows may take a while."""

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

STOPPING = b"\nStopping: the best so far is kept, and fitted to all rows (Ctrl-C again: end at once).\n"
STDERR = 2


@contextmanager
def acknowledging_interrupts() -> Iterator[None]:
    """Say that the search is being stopped when Ctrl-C is pressed; the second time it is as usual."""
    is_main = threading.current_thread() is threading.main_thread()  # to which signals come
    if not is_main or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return
    before = signal.signal(signal.SIGINT, _acknowledge)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _acknowledge(number: int, frame: FrameType | None) -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.write(STDERR, STOPPING)  # what else is printed may be in the middle of it
    raise KeyboardInterrupt
