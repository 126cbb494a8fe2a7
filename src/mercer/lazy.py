"""Packages whose modules are imported when a name of theirs is first asked for."""

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def open_when_asked(
    room: str, homes: Mapping[str, str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return `__getattr__` and `__dir__` of a package, given the module in which each of its names is."""

    def get(name: str) -> Any:
        if name in homes:
            return getattr(import_module(f"{room}.{homes[name]}"), name)
        raise AttributeError(f"module {room!r} has no attribute {name!r}")

    return get, lambda: sorted(homes)


def is_instance(value: Any, module: str, name: str) -> bool:
    """Return whether a value is of a class that need not be imported for that: then there is none of it."""
    return module in sys.modules and isinstance(value, getattr(sys.modules[module], name))
