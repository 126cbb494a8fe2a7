"""The command ``mercer``. Each of its commands lives in the room whose work it does; here they only meet."""

import codecs
import io
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from types import FrameType
from typing import TYPE_CHECKING, Annotated

if TYPE_CHECKING:
    import typer

COMMANDS = (
    "learn",
    "predict",
    "show",
    "explain",
    "similar",
    "export",
    "match",
    "group",
    "ask",
)  # modules and functions of mercer.commands
NEEDED = ("typer", "rich")  # of the extra `app`; `import mercer` needs neither
TERMINATED = 128 + signal.SIGTERM  # what a shell reports
INTERRUPTED = 128 + signal.SIGINT
PLAIN = {"\N{MINUS SIGN}": "-", "±": "+/-", "…": "...", "\N{EN DASH}": "-", "\N{EM DASH}": "-"}
EXAMPLES = """For example:

\b
  mercer learn data.csv --target label --model out.mercer      find the kernel that a table needs
  mercer predict out.mercer new.csv                            predict the classes of new rows
  mercer explain out.mercer data.csv --row 17                  what each column adds to a prediction
  mercer similar out.mercer data.csv --query 17                find the rows most similar to row 17
  mercer ask same.mercer customers.csv                         judge pairs of rows: the same, or not?
  mercer match same.mercer customers.csv -o matches.csv        find all that are the same
"""


def main() -> None:
    """Run the command line."""
    run_app("mercer", lambda: make_app(sys.argv[1:]))


def run_app(name: str, make: Callable[[], "typer.Typer"]) -> None:
    """Run an application that is made here; without the extra `app`, say in a sentence how to get it."""
    start = time.monotonic()
    with ending_at_once():
        if not all(map(find_spec, NEEDED)):
            sys.exit(f"The command `{name}` needs a few more packages: pip install 'mercer[app]'")
        app = make()
    signal.signal(signal.SIGTERM, end_in_order)
    codecs.register_error("plain", spell_plainly)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # what it cannot spell, such as ±, shall not end a command
            stream.reconfigure(errors="plain")
    app(obj=time.monotonic() - start)  # the seconds of importing: who has a budget counts them


@contextmanager
def ending_at_once() -> Iterator[None]:
    """End without a word if Ctrl-C is pressed while modules are imported: nothing has begun yet."""
    before = signal.getsignal(signal.SIGINT)
    if before is not signal.default_int_handler:  # in the background, Ctrl-C is not for us
        yield
        return
    signal.signal(signal.SIGINT, lambda number, frame: os._exit(INTERRUPTED))
    yield
    signal.signal(signal.SIGINT, before)


def end_in_order(number: int, frame: FrameType | None) -> None:
    """End as after an error when asked to end: files in the making are removed, other processes ended."""
    signal.signal(signal.SIGTERM, signal.SIG_DFL)  # who asks twice does not want to wait
    sys.exit(TERMINATED)


def spell_plainly(error: UnicodeError) -> tuple[str, int]:
    """Return what is written in place of letters that a terminal lacks, and where to go on."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    letters = error.object[error.start : error.end]
    return "".join(PLAIN.get(letter, "?") for letter in letters), error.end


def make_app(words: Sequence[str] = ()) -> "typer.Typer":
    """Return the application with the command that the words begin with, or with all commands.

    To predict, nothing need be imported that learns.
    """
    import typer

    from mercer.commands.errors import Commands

    app = typer.Typer(
        name="mercer",
        cls=Commands,
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,  # examples keep their lines
    )

    def print_version(wanted: bool) -> None:
        if wanted:
            from importlib.metadata import version

            typer.echo(f"mercer {version('mercer')}")
            raise typer.Exit

    @app.callback(epilog=EXAMPLES)
    def mercer(
        show_version: Annotated[
            bool, typer.Option("--version", callback=print_version, is_eager=True, help="Print the version.")
        ] = False,
        debug: Annotated[  # Commands looks for it, wherever it stands
            bool, typer.Option("--debug", help="Show the traceback of an error; works with every command.")
        ] = False,
    ) -> None:
        """Learn the kernel that your data needs."""

    for name in words[:1] if words and words[0] in COMMANDS else COMMANDS:
        module = import_module(f"mercer.commands.{name}")
        app.command(epilog=module.EXAMPLES)(getattr(module, name))
    return app


if __name__ == "__main__":
    main()
