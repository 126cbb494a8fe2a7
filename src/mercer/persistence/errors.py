"""What is wrong with a file."""

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version


class ModelFileError(ValueError):
    """The file is damaged, too large, of another kind, or holds what mercer does not load."""


class UnknownTypeError(ModelFileError):
    """There is an object of a type that mercer does not load.

    Parameters
    ----------
    name : str
        The type, or what it is asked to do.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        super().__init__(
            f"it holds {quote(name)}, which mercer {version('mercer')} does not load: it reads estimators "
            "and kernels of mercer, pipelines, scalers, encoders, kernels and support vector machines of "
            "scikit-learn, and arrays of numbers and texts, which are known to be harmless"
        )


def quote(text: object) -> str:
    """Return an untrusted text, cut and with its control characters escaped, so that it can be printed."""
    shown = ascii(text)
    return shown if len(shown) <= 200 else f"{shown[:200]}…"


@contextmanager
def blaming_the_file(path: object) -> Iterator[None]:
    """Turn whatever goes wrong within into a `ModelFileError` that names the file.

    What bytes that nobody vouches for can make the readers of ZIP, JSON and arrays raise has no limit.
    """
    try:
        yield
    except ModelFileError as error:
        raise ModelFileError(f"{path} was not loaded: {error}.") from error
    except MemoryError as error:
        raise ModelFileError(f"{path} was not loaded: it needs more memory than there is.") from error
    except Exception as error:
        raise ModelFileError(
            f"{path} was not loaded: it is damaged, or not a file of mercer.save ({quote(str(error))}). Get "
            "the file again, or save the estimator again."
        ) from error
