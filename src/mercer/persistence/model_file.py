"""Save an estimator, load it, and say what a file holds."""

import io
import json
import os
import warnings
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any
from zipfile import ZipFile

from sklearn.exceptions import InconsistentVersionWarning

from mercer.files import replace_file
from mercer.persistence import archive as archives
from mercer.persistence.allowed_types import from_file, stable_name, to_file
from mercer.persistence.building import build
from mercer.persistence.errors import ModelFileError, blaming_the_file
from mercer.persistence.fitted_state import check_state, without_tensors
from mercer.persistence.metadata import Description, read_metadata, warn_of_other_versions, write_metadata
from mercer.persistence.schema import rebuild


def save(estimator: Any, path: str | os.PathLike[str], *, about: Mapping[str, Any] | None = None) -> None:
    """Save an estimator or a kernel in a file that `load` reads.

    The file is written aside and then renamed: if saving fails or is interrupted, there is no new file, and
    an old one of that name is as it was.

    Parameters
    ----------
    estimator : estimator or kernel
        Fitted or not: all of mercer's, and those of scikit-learn that go with them (pipelines, column
        transformers, scalers, encoders, imputers, support vector machines, kernels and what takes one).
        The fitted arrays of a model of tensors are saved as those of NumPy.
    path : str or path-like
        Where to save it.
    about : dict, optional
        Anything that JSON can hold and `describe` shall give back.

    Raises
    ------
    TypeError
        If it holds something that `load` would refuse, such as a function of yours, or scikit-learn's trees
        (a tree with wrong numbers in it crashes Python, and mercer cannot tell which are wrong) and searches
        (save their ``best_estimator_``). For the rest of scikit-learn there is ``skops.io``.
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
    estimator = without_tensors(estimator)
    try:
        metadata = write_metadata(estimator, about)
        schema, arrays = rebuild(*_to_skops(estimator), to_file)
        check_state(estimator)
    except RecursionError as error:
        raise TypeError(f"{type(estimator).__name__} cannot be saved: it contains itself.") from error
    except ModelFileError as error:  # what load would say
        raise TypeError(f"{type(estimator).__name__} cannot be saved: {error}.") from error
    content = archives.pack({archives.METADATA: metadata, archives.SCHEMA: schema}, arrays)
    archives.check_sizes(content, path)
    replace_file(Path(path), content)


def load(path: str | os.PathLike[str]) -> Any:
    """Load an estimator or a kernel that `save` has written. No code of the file runs.

    Only what is known to be harmless is loaded: estimators and kernels of mercer, those of scikit-learn that
    `save` takes, arrays, and NumPy's functions of numbers; and only if all fitted arrays fit together. Files
    name classes by the names under which they are public, and outlive a move of mercer's modules. An
    untrusted model may still give the answers that its author wants.

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
    archives.check_is_file(path)
    with path.open("rb") as file, blaming_the_file(path):
        archive = archives.open_archive(file)
        metadata = read_metadata(archives.read_text(archive, archives.METADATA))
        raw = archives.read_text(archive, archives.SCHEMA)
        with warnings.catch_warnings():
            # of these there is one for each estimator: ours is enough
            warnings.simplefilter("ignore", InconsistentVersionWarning)
            estimator = build(*rebuild(raw, archives.read_arrays(archive), from_file))
        if stable_name(type(estimator)) != metadata.class_name:
            raise ModelFileError("it holds something else than it says")
        check_state(estimator)
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
    archives.check_is_file(path)
    with path.open("rb") as file, blaming_the_file(path):
        return read_metadata(archives.read_text(archives.open_archive(file), archives.METADATA))


def prepare_to_save() -> None:
    """Import what `save` needs, which takes a second: for those who have to be done in time."""
    import_module("skops.io")


def _to_skops(estimator: Any) -> tuple[dict[str, Any], dict[str, bytes]]:
    import skops.io  # takes a second

    buffer = io.BytesIO()
    try:
        skops.io.dump(estimator, buffer)
    except TypeError as error:  # of an object that skops cannot take to pieces
        raise TypeError(f"{type(estimator).__name__} cannot be saved: {error}") from error
    with ZipFile(buffer) as archive:
        return json.loads(archive.read(archives.SCHEMA)), archives.read_arrays(archive)
