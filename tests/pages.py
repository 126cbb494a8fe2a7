"""Pages whose code is run: what stands below a block of code is what the code printed.

    python tests/pages.py README.md docs/quick_start.md      writes anew what these pages show

A page is run from top to bottom in an empty folder: blocks in Python, each with the block of text below it if
there is one, and blocks of the terminal, whose lines after ``$ mercer …`` are what the command printed.
"""

import contextlib
import io
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

STEP = re.compile(
    r"^```python\n(?P<code>.*?)^```\n(?:\n```text\n(?P<shown>.*?)^```\n)?"
    r"|^```console\n\$ (?P<command>mercer .*?)\n(?P<output>.*?)^```\n",
    flags=re.DOTALL | re.MULTILINE,
)
ELAPSED = re.compile(r"(?<=│)[^│]*(?=│\s+\d+ │[^│]*│$)", flags=re.MULTILINE)  # seconds of a fit, in the table


class Step(NamedTuple):
    """A block that is run."""

    source: str
    shown: str | None  # None: nothing is shown of it
    place: slice  # of what is shown, on the page
    printed: str


def run_page(text: str) -> Iterator[Step]:
    """Run the blocks of a page one after the other, in the folder that is current."""
    names: dict[str, object] = {}
    for match in STEP.finditer(text):
        if match["code"] is not None:
            yield Step(
                match["code"], match["shown"], slice(*match.span("shown")), execute(match["code"], names)
            )
        else:
            printed = call(match["command"])
            yield Step(match["command"], match["output"], slice(*match.span("output")), printed)


def execute(code: str, names: dict[str, object]) -> str:
    """Run Python code; return what it prints. It gets all the time it needs, whatever it says of a budget."""
    with contextlib.redirect_stdout(io.StringIO()) as out:
        exec(compile(re.sub(r"\bbudget=\d+(, )?", "", code), "a page", "exec"), names)
    return out.getvalue()


def call(command: str) -> str:
    """Run a command of mercer, with all the time it needs; return what it prints on a wide terminal."""
    words = [sys.executable, "-m", "mercer", *shlex.split(command)[1:]]
    words += ["--budget", "10000"] if "learn" in words else []
    environment = {**os.environ, "COLUMNS": "120", "PYTHONIOENCODING": "utf-8"}
    done = subprocess.run(words, env=environment, capture_output=True, encoding="utf-8", check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def write_anew(path: Path) -> None:
    """Put what the blocks print in the place of what the page shows."""
    text = path.read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        steps = list(run_page(text))
    for step in reversed(steps):
        if step.shown is not None:
            text = text[: step.place.start] + step.printed + text[step.place.stop :]
    path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    for page in sys.argv[1:]:
        write_anew(Path(page))
