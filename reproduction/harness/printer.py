"""Where results go: to a terminal or as Markdown, each as soon as it is computed, or as one JSON document."""

import json
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal, TextIO

from rich.console import Console

from reproduction.harness import listing, show
from reproduction.harness.experiment import Figure
from reproduction.harness.listing import Catalogue
from reproduction.harness.show import Report

Style = Literal["terminal", "markdown", "json"]
FILE_WIDTH = 110


class Printer:
    """Prints reports in one style, to the screen or into a file; everything else goes to ``messages``.

    Parameters
    ----------
    style : {"terminal", "markdown", "json"}
        A JSON document is printed whole when the printer is closed, the others piece by piece.
    output : Path or None
        The file, created when there is something to write; None is the standard output.
    """

    def __init__(self, style: Style, output: Path | None) -> None:
        self.style = style
        self.output = output
        self.messages = Console(stderr=True)
        self._file: TextIO | None = None
        self._document: Any = {"mercer": version("mercer"), "tables": [], "figures": []}

    def catalogue(self, items: Catalogue) -> None:
        """Print the list of tables and figures."""
        if self.style == "json":
            self._document = listing.to_json(items)
        elif self.style == "markdown":
            self._stream().write(listing.to_markdown(items))
        else:
            self._render(listing.to_terminal(items))

    def report(self, report: Report) -> None:
        """Print a table."""
        if self.style == "json":
            self._document["tables"].append(show.to_json(report))
        elif self.style == "markdown":
            self._stream().write(show.to_markdown(report))
        else:
            shown = show.to_terminal(report) if report.results else report.caption
            self._render(shown, *show.remarks(report))

    def figure(self, figure: Figure, path: Path) -> None:
        """Print where a figure was saved."""
        if self.style == "json":
            self._document["figures"].append({"key": figure.key, "title": figure.title, "file": str(path)})
        elif self.style == "markdown":
            self._stream().write(f"![{figure.title}]({path.as_posix()})\n")
        else:
            self._render(f"{figure.title}: saved as {path}")

    def close(self) -> None:
        """Print what is left to print and close the file."""
        if self.style == "json":
            self._stream().write(json.dumps(self._document, indent=2, allow_nan=False) + "\n")
        if self._file is not None:
            self._file.close()
            self.messages.print(f"Written to {self.output}", markup=False, highlight=False, soft_wrap=True)

    def _render(self, *parts: Any) -> None:
        file = self._stream()
        console = Console(file=file, width=None if file.isatty() else FILE_WIDTH)
        for part in parts:
            console.print(part, markup=False, highlight=False, soft_wrap=isinstance(part, str))

    def _stream(self) -> TextIO:
        if self.output is None:
            return sys.stdout
        if self._file is None:
            self._file = self.output.open("w", encoding="utf-8")
        return self._file
