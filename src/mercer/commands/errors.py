"""What a user can do wrong gets one sentence and the exit code 2; a traceback only with ``--debug``."""

import sys
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, NoReturn

import typer
from typer.core import TyperCommand, TyperGroup

from mercer.persistence import ModelFileError
from mercer.preprocessing import TableError
from mercer.shown import printable

FAILED, WRONG_REQUEST, INTERRUPTED = 1, 2, 130  # 130 is what a shell reports after Ctrl-C
DEBUG = "--debug"


class WrongRequestError(Exception):
    """A request that cannot be met; the message is a sentence that says what to do."""


MISTAKES = (WrongRequestError, TableError, ModelFileError, OSError, MemoryError)


class Commands(TyperGroup):
    """The group of all commands: it turns errors into sentences and exit codes."""

    def main(self, args: Sequence[str] | None = None, *rest: Any, **more: Any) -> Any:
        """Run a command and exit: 0 done, 1 failed, 2 wrong request, 130 interrupted."""
        _run(partial(super().main, **{**more, "standalone_mode": False}), args, *rest)


class OneCommand(TyperCommand):
    """The command of a program that has no others: it turns errors into sentences and exit codes."""

    def main(self, args: Sequence[str] | None = None, *rest: Any, **more: Any) -> Any:
        """Run it and exit, as `Commands` do."""
        _run(partial(super().main, **{**more, "standalone_mode": False}), args, *rest)


def _run(main: Callable[..., Any], args: Sequence[str] | None, *rest: Any) -> NoReturn:
    given = list(sys.argv[1:] if args is None else args)
    try:
        with warnings_in_a_line():
            code = main([word for word in given if word != DEBUG], *rest)
    except (KeyboardInterrupt, typer.Abort):
        sys.exit(INTERRUPTED)
    except Exception as error:
        if DEBUG in given:
            traceback.print_exc()
        sys.exit(_tell(error, asked_for_nothing=not given))
    sys.exit(code if isinstance(code, int) else 0)


def one_line(text: object) -> str:
    """Return a text on one line, without characters that a terminal obeys."""
    return printable(" ".join(str(text).split()))


@contextmanager
def warnings_in_a_line() -> Iterator[None]:
    """Show warnings as sentences, without the line of code that they come from."""
    with warnings.catch_warnings():
        warnings.showwarning = lambda message, *_, **__: typer.echo(f"Note: {one_line(message)}", err=True)
        yield


def _tell(error: Exception, *, asked_for_nothing: bool) -> int:
    """Print the sentence of an error and return the exit code."""
    if hasattr(error, "format_message"):  # of typer: a wrong option, a missing argument
        text = str(error.format_message())
        if asked_for_nothing:
            typer.echo(text, err=True)  # the help
        else:
            typer.echo(one_line(text.rstrip(". ") + ". See --help."), err=True)
        return WRONG_REQUEST
    if isinstance(error, MISTAKES):
        typer.echo(one_line(_sentence(error)), err=True)
        return WRONG_REQUEST
    typer.echo(
        one_line(f"mercer failed ({type(error).__name__}: {error}); {DEBUG} shows the traceback."), err=True
    )
    return FAILED


def _sentence(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror and error.filename:
        return f"{error.filename} cannot be read or written: {error.strerror}."
    return f"{str(error).rstrip('.')}."
