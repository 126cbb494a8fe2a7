"""The ranking while the search runs: a table that changes on a terminal, lines elsewhere."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.live import Live
from rich.table import Table

from mercer.commands.messages import leaderboard_table, score_text
from mercer.report.content import plain_note

NO_LINES: list[dict[str, Any]] = []


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
        self.lines = NO_LINES
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
        if not self.lines:
            return "trying each candidate on a few rows"
        return leaderboard_table(
            self.lines,
            title=f"searching, {time.monotonic() - self.start:.0f} s (Ctrl-C: take the best so far)",
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
            self.lines = [dict(line) for line in estimator.ranking_]
            if not self.console.is_terminal:
                self._print_news()
        return False

    def _print_news(self) -> None:
        for line in self.lines:
            name, folds, note = line["candidate"], line["folds"], line["note"]
            if self._told.get(name, (0, "")) != (folds, note):
                self._told[name] = (folds, note)
                measure = "AUC" if "auc" in line else "error"
                result = f"{measure} {score_text(line)} after {folds} fold{'' if folds == 1 else 's'}"
                self.console.print(
                    f"{name}: {result if folds else 'left out'}{f' ({plain_note(note)})' if note else ''}",
                    markup=False,
                    highlight=False,
                    soft_wrap=True,
                )
