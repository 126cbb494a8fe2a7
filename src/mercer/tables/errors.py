"""What is wrong with a table, in one sentence that says what to do."""

from collections.abc import Iterable

MOST_NAMES = 5  # that a sentence lists
MOST_CHARACTERS = 60  # of a name or a cell in a sentence


class TableError(ValueError):
    """The table cannot be used as it is; the message says what to do."""


def quote(text: object) -> str:
    """Return a name or a cell in quotes, cut if it is long, without characters that a terminal obeys."""
    shown = repr(str(text))
    return shown if len(shown) <= MOST_CHARACTERS else f"{shown[:MOST_CHARACTERS]}…'"


def listed(names: Iterable[object]) -> str:
    """Return names in quotes, the first few and how many more there are."""
    names = list(names)
    shown = ", ".join(quote(name) for name in names[:MOST_NAMES])
    more = len(names) - MOST_NAMES
    return f"{shown} and {more} more" if more > 0 else shown
