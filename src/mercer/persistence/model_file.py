"""Save an estimator, load it, and say what a file holds."""

import io
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO

from mercer.files import replace_file
from mercer.persistence import container
from mercer.persistence.declared import DECLARED
from mercer.persistence.errors import ModelFileError, TooLargeError, blaming_the_file
from mercer.persistence.metadata import Description, read_metadata, warn_of_other_versions, write_metadata
from mercer.persistence.objects import Reader, Writer

WHOLE = tuple({declaration.group for declaration in DECLARED.values()} - {"part"})


def save(estimator: Any, path: str | os.PathLike[str], *, about: Mapping[str, Any] | None = None) -> None:
    """Save an estimator or a kernel in a file that `load` reads.

    The file is written aside and then renamed: if saving fails or is interrupted, there is no new file, and
    an old one of that name is as it was.

    Parameters
    ----------
    estimator : estimator or kernel
        Fitted or not: mercer's own, and pipelines of these with scikit-learn's scalers, kernels, `SVC` and
        ridge regression. Of tensors, the fitted arrays are saved as those of NumPy. How this machine shall
        work (``n_jobs``, ``verbose``) is not saved.
    path : str or path-like
        Where to save it.
    about : dict, optional
        Anything that JSON can hold and `describe` shall give back.

    Raises
    ------
    TypeError
        If it holds anything else: files have no words for functions, folders and other libraries. For
        pipelines with other people's steps there is ``skops.io``.
    ModelFileError
        If it would be larger than what `load` takes. A `ValueError`.

    Examples
    --------
    >>> import tempfile, mercer
    >>> from pathlib import Path
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> svm = mercer.StumpSVC().fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     mercer.save(svm, Path(folder) / "iris.mercer", about={"data": "iris"})
    ...     again = mercer.load(Path(folder) / "iris.mercer")
    >>> bool((again.decision_function(X) == svm.decision_function(X)).all())
    True
    """
    if isinstance(estimator, type) or not hasattr(estimator, "get_params"):
        raise TypeError(f"save takes an estimator or a kernel, not {estimator!r}")
    name = type(estimator).__name__
    writer = Writer()
    try:
        content = container.pack(write_metadata(estimator, about), writer.write(estimator), writer.arrays)
        _read(io.BytesIO(content))  # what would not be loaded is not saved
    except RecursionError as error:
        raise TypeError(f"{name} cannot be saved: it contains itself, or much within much.") from error
    except TooLargeError as error:
        raise ModelFileError(f"{path} was not saved: {error}. Drop columns of many categories.") from error
    except ModelFileError as error:
        raise TypeError(f"{name} cannot be saved: {error}.") from error
    replace_file(Path(path), content)


def load(path: str | os.PathLike[str]) -> Any:
    """Load an estimator or a kernel that `save` has written. No code of the file runs.

    A file can say only what mercer needs: objects of a closed list of classes, whose fields have types,
    shapes and ranges that are checked as they are read. It names classes by the names under which they are
    public, and outlives a move of mercer's modules. An untrusted model may still give the answers that its
    author wants.

    Parameters
    ----------
    path : str or path-like
        The file.

    Returns
    -------
    estimator or kernel
        It computes what the saved one did, to the last bit, with the same versions on the same machine.

    Raises
    ------
    ModelFileError
        If the file is damaged, cut off, larger than memory, of another format or not from `save`, or if it
        holds something that is not known to be harmless, which the error names. A `ValueError`.
    OSError
        If it cannot be read at all.

    Warns
    -----
    UserWarning
        If it was saved with another minor version of scikit-learn or mercer.
    """
    path = Path(path)
    container.check_is_file(path)
    with path.open("rb") as file, blaming_the_file(path):
        metadata, estimator = _read(file)
    warn_of_other_versions(metadata, path)
    return estimator


def describe(path: str | os.PathLike[str]) -> Description:
    """Say what is in a file, as the file has it, without loading the estimator.

    Parameters
    ----------
    path : str or path-like
        A file that `save` has written.

    Returns
    -------
    Description
        Class, date, versions, settings, and what was given as ``about=``.
    """
    path = Path(path)
    container.check_is_file(path)
    with path.open("rb") as file, blaming_the_file(path):
        head = container.read_head(file)
        return read_metadata(container.read_text(file, head.metadata, head.of_metadata))


def _read(file: BinaryIO) -> tuple[Description, Any]:
    """Return what a file says of itself, and the estimator."""
    content = container.read_content(file)
    metadata = read_metadata(content.metadata)
    part = Reader(content.arrays).part(content.root, WHOLE)
    if part.name != metadata.class_name:
        raise ModelFileError("it holds something else than it says")
    return metadata, part.value
