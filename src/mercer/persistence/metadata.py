"""What a file says of itself, to be read without loading it."""

import json
import sys
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any

from mercer.persistence.container import FORMAT
from mercer.persistence.errors import ModelFileError, quote
from mercer.persistence.objects import name_of

LIBRARIES = ("mercer", "scikit-learn", "numpy", "scipy")
DECISIVE = ("mercer", "scikit-learn")  # whose versions may change what the attributes of an estimator mean
MOST_CHARACTERS = 300  # of one setting


@dataclass(frozen=True)
class Description:
    """What a file says of itself. Whoever wrote the file wrote this too: nothing of it is checked.

    Attributes
    ----------
    class_name : str
        The class of the estimator, by its stable name.
    saved : str
        When it was saved (ISO 8601, UTC).
    versions : dict
        The versions of Python and the libraries then.
    settings : dict
        Its parameters: numbers and texts as they are, anything else as it is printed.
    about : dict
        What was given to `save` as ``about=``.
    """

    class_name: str
    saved: str
    versions: dict[str, str]
    settings: dict[str, Any]
    about: dict[str, Any]


def write_metadata(estimator: Any, about: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return what a file says of an estimator, as JSON."""
    metadata = {
        "format": FORMAT,
        "class": name_of(type(estimator)),
        "saved": datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": {"python": sys.version.split()[0], **{name: version(name) for name in LIBRARIES}},
        "settings": {name: _plain(value) for name, value in estimator.get_params().items()},
        "about": {} if about is None else dict(about),
    }
    try:
        json.dumps(metadata["about"])
    except (TypeError, ValueError, RecursionError) as error:
        raise TypeError(f"about= must be a dictionary that JSON can hold: {error}") from error
    return metadata


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, bool | int | float | str):
        return value
    shown = repr(value)
    return shown if len(shown) <= MOST_CHARACTERS else f"{shown[:MOST_CHARACTERS]}…"


def read_metadata(metadata: Mapping[str, Any]) -> Description:
    """Check that the metadata have their form."""
    versions, settings, about = (dict(metadata[name]) for name in ("versions", "settings", "about"))
    texts = [metadata["class"], metadata["saved"], *versions.values(), *(versions[name] for name in DECISIVE)]
    if not all(isinstance(text, str) for text in texts):
        raise ModelFileError("its metadata are not those of mercer.save")
    return Description(metadata["class"], metadata["saved"], versions, settings, about)


def warn_of_other_versions(found: Description, path: object) -> None:
    """Warn if the libraries that decide what attributes mean have changed by more than a correction."""
    changed = [
        f"{name} {quote(found.versions[name])[1:-1]} (here: {version(name)})"
        for name in DECISIVE
        if _release(found.versions[name]) != _release(version(name))
    ]
    if changed:
        warnings.warn(
            f"{path} was saved with {' and '.join(changed)}. Compare some predictions with earlier ones, or "
            "fit and save again.",
            stacklevel=3,
        )


def _release(number: str) -> list[str]:
    return number.split(".")[:2]
