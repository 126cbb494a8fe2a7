"""Compiled functions: numba's `njit`, with numba imported when such a function is first called.

numba takes a third as long to import as scikit-learn does, and many a use of mercer calls nothing compiled.
"""

import atexit
import os
import shutil
import tempfile
import warnings
from collections.abc import Callable
from contextlib import suppress
from functools import cache, update_wrapper
from typing import Any, TypeVar

Function = TypeVar("Function", bound=Callable[..., Any])

NOT_KEPT = (
    "What mercer compiles cannot be kept for the next time, because no folder for it can be written to, or "
    "its disk is full. Set NUMBA_CACHE_DIR to one that can: then only the first uses take seconds longer."
)


def njit(**options: Any) -> Callable[[Function], Function]:
    """Return the decorator `numba.njit(**options)`, which does its work at the first call."""

    def decorate(function: Function) -> Function:
        stand_in = deferred(lambda: _compile(function, options))
        update_wrapper(stand_in, function)
        return stand_in

    return decorate


def deferred(make: Callable[[], Any]) -> Any:
    """Return a stand-in for something that numba compiles, which is made when it is first called."""
    make = cache(make)

    def call(*arguments: Any) -> Any:
        return make()(*arguments)

    call.for_numba = make  # type: ignore[attr-defined]
    return call


@cache
def let_compiled_code_call(function: Callable[..., Any]) -> None:
    """Let compiled code call a plain Python function. Once for each, as numba would keep all of them."""
    from numba.extending import register_jitable

    register_jitable(function)


def _compile(function: Callable[..., Any], options: dict[str, Any]) -> Any:
    from numba import njit

    _replace_stand_ins(function)
    try:
        return _keep_if_there_is_room(njit(**options)(function))
    except RuntimeError as error:  # of the cache: nothing is compiled yet
        if "cannot cache" not in str(error):
            raise
        _keep_for_now()
    try:
        return _keep_if_there_is_room(njit(**options)(function))
    except RuntimeError:
        return njit(**{**options, "cache": False})(function)


def _keep_if_there_is_room(compiled: Any) -> Any:
    """Let a compiled function do its work though its disk is full, for which numba would raise."""
    save = compiled._cache.save_overload

    def try_to_save(*what: Any) -> None:
        try:
            save(*what)
        except OSError:
            _say_not_kept()

    compiled._cache.save_overload = try_to_save
    return compiled


@cache
def _say_not_kept() -> None:
    warnings.warn(NOT_KEPT, stacklevel=4)


@cache
def _keep_for_now() -> None:
    """Give numba a folder for as long as this process runs; processes that it starts find it too."""
    import numba

    _say_not_kept()
    with suppress(OSError):  # no folder at all: then each process compiles
        folder = tempfile.mkdtemp(prefix="mercer-")
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        os.environ["NUMBA_CACHE_DIR"] = numba.config.CACHE_DIR = folder


def _replace_stand_ins(function: Any) -> None:
    """Put compiled functions in the place of the stand-ins that a function calls: numba cannot call those."""
    names = function.__globals__
    for name in function.__code__.co_names:
        if make := getattr(names.get(name), "for_numba", None):
            names[name] = make()
