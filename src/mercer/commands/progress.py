"""The ranking while the search runs: a table that changes on a terminal, lines elsewhere."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.live import Live
from rich.table import Table

from mercer.commands.messages import leaderboard_table, progress_line
from mercer.search import SearchResult


class Watcher:
    """A callback that shows how the search goes.

    Parameters
    ----------
    console : Console
        Where to show it: that of the standard error, so that results can be piped on.
    """

    def __init__(self, console: Console) -> None:
        self.console = console
        self.start = time.monotonic()
        self.result: SearchResult | None = None
        self._told: dict[str, tuple[int, str]] = {}

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Show the table as long as the search runs, on a terminal."""
        if not self.console.is_terminal:
            yield
            return
        with Live(get_renderable=self.render, console=self.console, transient=True, refresh_per_second=2):
            yield

    def render(self) -> Table | str:
        """Return the ranking so far."""
        if self.result is None:
            return "timing each candidate on a few rows (the first time after installation: compiling)"
        seconds = time.monotonic() - self.start
        return leaderboard_table(
            self.result, title=f"searching, {seconds:.0f} s (Ctrl-C: take the best so far)"
        )

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
            if not self.console.is_terminal:
                self._print_news(estimator.result_)
        return False

    def _print_news(self, result: SearchResult) -> None:
        for one in result.candidates:
            if self._told.get(one.name, (0, "")) != (one.measure.n_folds, one.note):
                self._told[one.name] = (one.measure.n_folds, one.note)
                self.console.print(progress_line(one), markup=False, highlight=False, soft_wrap=True)
