"""Error messages about a table: one sentence that says what to do."""

from collections.abc import Iterable

MOST_NAMES = 5  # listed in a message
MOST_CHARACTERS = 60  # of a name or a cell in a message


class TableError(ValueError):
    """The table cannot be used as it is; the message says what to do."""


class QuantityError(TableError):
    """A column that may hold classes holds numbers that look like a quantity; perhaps they are classes.

    Parameters
    ----------
    found : str
        What the column holds.
    is_sure : bool
        Whether they cannot be classes.
    """

    def __init__(self, found: str, *, is_sure: bool = False) -> None:
        super().__init__(
            f"{found}: if it is a number to predict, add --task number; if they are classes, --task class."
        )
        self.found, self.is_sure = found, is_sure


def quote(text: object) -> str:
    """Return a name or a cell in quotes, cut if it is long, without control characters."""
    shown = repr(str(text))
    return shown if len(shown) <= MOST_CHARACTERS else f"{shown[:MOST_CHARACTERS]}…'"


def listed(names: Iterable[object]) -> str:
    """Return names in quotes, the first few and how many more there are."""
    names = list(names)
    shown = ", ".join(quote(name) for name in names[:MOST_NAMES])
    more = len(names) - MOST_NAMES
    return f"{shown} and {more} more" if more > 0 else shown
