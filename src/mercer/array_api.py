"""Arrays of other libraries than NumPy, such as tensors of torch, by scikit-learn's array API convention.

With ``sklearn.config_context(array_api_dispatch=True)`` an estimator computes where the samples are, and what
it returns is there. Without it, scikit-learn makes NumPy arrays of them.
"""

from importlib import import_module
from typing import Any

import numpy as np

from mercer._typing import Array
from mercer.scikit import array_namespace, convert_to_numpy, device, get_namespace, is_numpy_namespace


def is_tensor(X: Any) -> bool:
    """Return whether X is an array of another library, and to stay one: scikit-learn's dispatch is on."""
    xp, dispatched = get_namespace(X)
    return dispatched and not is_numpy_namespace(xp)


def is_of_numpy(array: Any) -> bool:
    """Return whether an array, or a number, is one of NumPy."""
    return isinstance(array, np.ndarray | np.generic)


def is_of_torch(array: Any) -> bool:
    """Return whether an array is a tensor of torch, which is not imported for that."""
    return type(array).__module__.split(".")[0] == "torch"


def detached(array: Any) -> Any:
    """Return an array without its gradient, if it has one: what is fitted is no function of the samples."""
    return array.detach() if getattr(array, "requires_grad", False) else array


def namespace(array: Any) -> Any:
    """Return the functions for an array, by the names of the array API."""
    return array_namespace(array)


def to_numpy(array: Any) -> Any:
    """Return an array as one of NumPy."""
    return array if is_of_numpy(array) else convert_to_numpy(detached(array), array_namespace(array))


def like(reference: Any, array: Any) -> Any:
    """Return an array of numbers as one of the library, and on the device, of another; texts stay."""
    if is_of_numpy(reference):
        return to_numpy(array)
    if is_of_numpy(array) and array.dtype.kind not in "biuf":
        return array
    xp, place = array_namespace(reference), device(reference)
    if is_of_numpy(array) or array_namespace(array) is not xp:
        return xp.asarray(np.ascontiguousarray(to_numpy(array)), device=place, copy=True)
    return xp.asarray(array, device=place)


def matching(reference: Any, array: Any) -> Any:
    """Return numbers as an array of the library, device and precision of another; NumPy mixes precisions."""
    moved = like(reference, array if hasattr(array, "dtype") else np.asarray(array, dtype=np.float64))
    return moved if is_of_numpy(moved) else array_namespace(moved).astype(moved, reference.dtype, copy=False)


def at_once(X: Any, of_numpy: int) -> int:
    """Return the numbers to hold at a time: on a device more, as each step has its cost.

    They are 0.5 GB in double precision, and on a GPU a sixty-fourth of its memory.
    """
    if is_of_numpy(X):
        return of_numpy
    if is_of_torch(X) and X.is_cuda:
        return int(import_module("torch").cuda.get_device_properties(X.device).total_memory) // 512
    return max(of_numpy, 2**26)


def apply(function: str, array: Array) -> Array:
    """Return a function of each number, in place if the array is one of NumPy."""
    in_place = {"out": array} if is_of_numpy(array) else {}
    values: Array = getattr(array_namespace(array), function)(array, **in_place)
    return values


def take(array: Any, places: Any) -> Any:
    """Return the entries of an array at some places, which may be an array of another library."""
    return array[like(array, places)]


def zeros_like_rows(X: Any, *shape: int) -> Array:
    """Return zeros in double precision, of the library of X and where X is."""
    xp = array_namespace(X)
    zeros: Array = xp.zeros(shape, dtype=xp.float64, device=device(X))
    return zeros
