"""What is wrong with a file."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from typing import NoReturn

AGAIN = "Get the file again, or save the estimator again"


class ModelFileError(ValueError):
    """The file is damaged, too large, of another kind, or holds what mercer does not load."""

    def __init__(self, message: str, *, is_damage: bool = False) -> None:
        super().__init__(message)
        self.is_damage = is_damage


class TooLargeError(ModelFileError):
    """There are more values than are loaded."""


class UnknownTypeError(ModelFileError):
    """There is something that files of mercer cannot say."""

    def __init__(self, name: str, where: str = "") -> None:
        super().__init__(
            f"it holds {quote(name)}{where}, which files of mercer {version('mercer')} cannot say: they hold "
            "mercer's own estimators and kernels, and the kernels and scalers of scikit-learn that go with "
            "them. For pipelines with other steps there is skops.io"
        )


def refuse_format(first: bytes, known: int) -> NoReturn:
    """Say what a file is whose first line is another one."""
    here = f"mercer {version('mercer')} reads format {known}"
    if first.startswith(b"PK"):
        raise ModelFileError(
            f"it is a ZIP archive, as mercer wrote up to format 3, and {here}: fit the estimator again and "
            "save it with this version"
        )
    other = re.match(rb"mercer model, format ([0-9]{1,6})", first)
    if other:
        raise ModelFileError(f"its format is {other[1].decode()}, and {here}: update mercer")
    raise ModelFileError("it is not a file of mercer.save", is_damage=True)


def quote(text: object) -> str:
    """Return an untrusted text, cut and with its control characters escaped, so that it can be printed."""
    shown = ascii(text[:200] if isinstance(text, str) else text)
    return shown if len(shown) <= 200 else f"{shown[:200]}…"


@contextmanager
def blaming_the_file(path: object) -> Iterator[None]:
    """Turn whatever goes wrong within into a `ModelFileError` that names the file.

    What bytes that nobody vouches for can make the readers of JSON and arrays raise has no limit.
    """
    try:
        yield
    except ModelFileError as error:
        what = f"{error}. {AGAIN}" if error.is_damage else str(error)
        raise ModelFileError(f"{path} was not loaded: {what}.") from error
    except MemoryError as error:
        raise ModelFileError(f"{path} was not loaded: it needs more memory than there is.") from error
    except Exception as error:
        raise ModelFileError(
            f"{path} was not loaded: it is damaged, or not a file of mercer.save ({quote(str(error))}). "
            f"{AGAIN}."
        ) from error
