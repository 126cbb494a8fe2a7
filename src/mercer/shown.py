"""What others wrote (names of classes and columns, cells), as a terminal or a page may show it."""

MOST_CHARACTERS = 60  # of a name in a message


def printable(text: object, keep: str = "") -> str:
    r"""Return a text in which letters that nobody sees are escaped: control characters, changes of direction.

    Parameters
    ----------
    text : object
        What is to be shown.
    keep : str
        Characters to leave as they are, such as ``"\n"``.
    """
    return "".join(
        letter if letter.isprintable() or letter in keep else ascii(letter)[1:-1] for letter in str(text)
    )


def shown(text: object, most: int = MOST_CHARACTERS) -> str:
    """Return a text on one line, printable, and cut where it is longer than `most` characters."""
    words = str(text)[: 4 * most + 1].split()
    plain = printable(" ".join(words))
    return plain if len(str(text)) <= most >= len(plain) else f"{plain[:most]}…"
