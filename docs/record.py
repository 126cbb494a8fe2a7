"""Record a terminal as an animated SVG: ``pip install pyte``, then ``python docs/record.py``.

It runs the commands below in a terminal of its own, and keeps the screen whenever it has changed; the picture
shows one screen after the other, in the time that it took, but for waiting.
"""

import os
import pty
import select
import shlex
import subprocess
import sys
import tempfile
import time
from html import escape
from pathlib import Path

import pyte

COLUMNS, LINES = 112, 34
LETTER, LINE = 8.4, 18.0  # pixels
COMMANDS = ["mercer learn --budget 20 --model demo.mercer --report demo.html", "mercer show demo.mercer"]
SHORTEST, LONGEST, LAST = 0.05, 1.5, 6.0  # seconds that a screen stays
INKS = {"green": "#7ee787", "red": "#ff7b72", "yellow": "#e3b341", "brown": "#e3b341", "cyan": "#76e3ea"}
INKS |= {"blue": "#79c0ff", "magenta": "#d2a8ff"}
HIDDEN, SHOWN = "visibility:hidden", "visibility:visible"
FONT = "font:14px ui-monospace,Menlo,Consolas,monospace"
OUT = Path(__file__).parent / "images" / "terminal.svg"


def main() -> None:
    """Run the commands, and write the picture."""
    screen = pyte.Screen(COLUMNS, LINES)
    frames: list[tuple[float, str]] = []
    with tempfile.TemporaryDirectory() as folder:
        for command in COMMANDS:
            type_in(screen, frames, command)
            run(screen, frames, command, folder)
    OUT.write_text(animate(frames), encoding="utf-8")
    length = sum(seconds for seconds, _ in frames)
    print(f"{len(frames)} screens, {length:.0f} s, {OUT.stat().st_size / 1e3:.0f} kB")


def type_in(screen: pyte.Screen, frames: list[tuple[float, str]], command: str) -> None:
    """Show a command as somebody types it."""
    stream = pyte.Stream(screen)
    stream.feed("$ ")
    for start in range(0, len(command), 6):
        stream.feed(command[start : start + 6])
        frames.append((0.12, draw(screen)))
    stream.feed("\r\n")


def run(screen: pyte.Screen, frames: list[tuple[float, str]], command: str, folder: str) -> None:
    """Run a command, and keep what it shows."""
    ours, theirs = pty.openpty()
    os.environ |= {"COLUMNS": str(COLUMNS), "LINES": str(LINES), "TERM": "xterm-256color"}
    words = [sys.executable, "-m", *shlex.split(command)]
    process = subprocess.Popen(words, stdin=theirs, stdout=theirs, stderr=theirs, cwd=folder, close_fds=True)
    os.close(theirs)
    stream, since = pyte.ByteStream(screen), time.monotonic()
    while True:
        ready, _, _ = select.select([ours], [], [], 0.2)
        if ready:
            try:
                stream.feed(os.read(ours, 65536))
            except OSError:  # the command has ended
                break
        shown = draw(screen)
        if not frames or shown != frames[-1][1]:
            now = time.monotonic()
            if frames:
                frames[-1] = (min(max(now - since, SHORTEST), LONGEST), frames[-1][1])
            frames.append((SHORTEST, shown))
            since = now
    process.wait()
    os.close(ours)
    frames.append((LAST, draw(screen)))


def draw(screen: pyte.Screen) -> str:
    """Return the screen as lines of text: runs of letters that look alike."""
    lines = []
    for k in range(LINES):
        row, runs, start = screen.buffer[k], [], 0
        for column in range(1, COLUMNS + 1):
            if column == COLUMNS or look(row[column]) != look(row[start]):
                text = "".join(row[j].data for j in range(start, column))
                if text.strip():
                    place = f'x="{10 + start * LETTER:.1f}"{look(row[start])}'
                    runs.append(f"<tspan {place}>{escape(text.rstrip())}</tspan>")
                start = column
        if runs:
            lines.append(f'<text y="{(k + 1) * LINE + 6:.0f}">{"".join(runs)}</text>')
    return "".join(lines)


def look(letter: pyte.screens.Char) -> str:
    """Return the attributes of a letter."""
    weight = ' font-weight="bold"' if letter.bold else ""
    return weight + (f' fill="{INKS[letter.fg]}"' if letter.fg in INKS else "")


def animate(frames: list[tuple[float, str]]) -> str:
    """Return one picture that shows all screens in turn; where nothing moves, it shows the last."""
    total = sum(seconds for seconds, _ in frames)
    width, height = COLUMNS * LETTER + 20, LINES * LINE + 20
    rules, groups, at = [], [], 0.0
    for k, (seconds, shown) in enumerate(frames):
        begin, end = 100 * at / total, 100 * (at + seconds) / total
        last = k == len(frames) - 1
        steps = f"0%,{max(begin - 1e-4, 0):.4f}%{{{HIDDEN}}}{begin:.4f}%,{end - 1e-4:.4f}%{{{SHOWN}}}"
        steps += "" if last else f"{end:.4f}%,100%{{{HIDDEN}}}"
        rules.append(f"@keyframes f{k}{{{steps}}}")
        rules.append(f"#f{k}{{animation:f{k} {total:.2f}s linear infinite;{SHOWN if last else HIDDEN}}}")
        groups.append(f'<g id="f{k}">{shown}</g>')
        at += seconds
    still = "@media(prefers-reduced-motion:reduce){g{animation:none!important}}"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" role="img" '
        'aria-label="A terminal: mercer learn compares kernels, and says which is best and how good it is.">'
        f"<style>text{{{FONT};fill:#e6edf3;white-space:pre}}{''.join(rules)}{still}</style>"
        f'<rect width="100%" height="100%" rx="8" fill="#0d1117"/>{"".join(groups)}</svg>\n'
    )


if __name__ == "__main__":
    main()
