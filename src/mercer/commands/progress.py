"""While the search runs: a ranking on a terminal, lines elsewhere; Ctrl-C is acknowledged at once."""

import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from rich.console import Console
from rich.live import Live
from rich.table import Table

from mercer.commands.messages import WIDTH, leaderboard_table, progress_line
from mercer.search import SearchResult

STOPPING = b"\nStopping: the best so far is kept, and fitted to all rows (Ctrl-C again: end at once).\n"
STDERR = 2
BAR, EVERY = 20, 60.0  # letters of the bar, and seconds between lines


class Watcher:
    """A callback that shows how the search goes.

    Parameters
    ----------
    console : Console
        Where to show it: that of the standard error, so that results can be piped on.
    budget : float
        How many seconds there are.
    quiet : bool, default=False
        Whether to show nothing.
    """

    def __init__(self, console: Console, budget: float = 0.0, *, quiet: bool = False) -> None:
        self.console, self.budget, self.quiet = console, budget, quiet
        self._next = 0.0  # when something is said where there is no terminal
        self.start = time.monotonic()
        self.result: SearchResult | None = None

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Show the table as long as the search runs, on a terminal."""
        if self.quiet or not self.console.is_terminal:
            yield
            return
        with Live(get_renderable=self.render, console=self.console, transient=True, refresh_per_second=2):
            yield

    def render(self) -> Table | str:
        """Return the ranking so far."""
        if self.result is None:
            return "timing each candidate on a few rows (the first time after installation: compiling)"
        seconds = time.monotonic() - self.start
        far = min(seconds / self.budget, 1.0) if self.budget else 0.0
        bar, left = "█" * round(BAR * far), max(self.budget - seconds, 0.0)
        title = f"{bar:░<{BAR}} {left:.0f} s left (Ctrl-C: take the best so far)"
        return leaderboard_table(self.result, title, shows_settings=self.console.width >= WIDTH)

    def setup(self, estimator: Any, context: Any) -> None:
        """Do nothing: `watching` begins."""

    def teardown(self, estimator: Any, context: Any) -> None:
        """Do nothing: `watching` ends."""

    def on_fit_task_begin(self, estimator: Any, context: Any, **_: Any) -> None:
        """Do nothing: what is begun has no result."""

    def on_fit_task_end(self, estimator: Any, context: Any, **_: Any) -> bool:
        """Take the ranking after each candidate, and never ask to stop."""
        if context.task_name == "candidate":
            self.result = estimator.result_
            if not (self.quiet or self.console.is_terminal):
                self._print_news(estimator.result_)
        return False

    def _print_news(self, result: SearchResult) -> None:
        """Say who is first: a line at once, and then a line a minute."""
        seconds = time.monotonic() - self.start
        if seconds < self._next or not result.compared():
            return
        self._next = seconds + EVERY
        first = progress_line(result.compared()[0])
        line = f"{seconds:.0f} s: {len(result.compared())} candidates compared; first {first}"
        self.console.print(line, markup=False, highlight=False, soft_wrap=True)


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
