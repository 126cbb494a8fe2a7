"""What the machine allows: memory is checked before work starts, small products keep to one thread."""

import os
from contextlib import AbstractContextManager
from functools import lru_cache
from typing import Any

from threadpoolctl import ThreadpoolController, threadpool_limits


def check_memory(
    n_bytes: float, what: str, advice: str, there: float | None = None, where: str = "this machine"
) -> None:
    """Raise MemoryError if `what` needs more bytes than this machine, or a device, has.

    `advice` says what to do.
    """
    if there is None:
        if not hasattr(os, "sysconf"):
            return
        there = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    if n_bytes > there:
        raise MemoryError(f"{what} needs {n_bytes / 1e9:.1f} GB, {where} has {there / 1e9:.1f} GB. {advice}")


def check_gram_fits(n_rows: int, advice: str, n_folds: int = 1) -> None:
    """Raise MemoryError if a Gram matrix of each fold, and the solver's copy of it, would not fit in here."""
    which = "The Gram matrix" if n_folds == 1 else f"{n_folds} Gram matrices"
    check_memory(n_folds * 2 * 8 * n_rows**2, f"{which} of {n_rows} rows", advice)


@lru_cache(maxsize=1)  # to look for the libraries takes longer than many a small fit
def _controller() -> ThreadpoolController:
    return ThreadpoolController()


def one_thread(condition: bool = True) -> AbstractContextManager[Any]:
    """Keep products of matrices to one thread, if the condition holds.

    Threads of small products wait more than they work, and on a machine that has other things to do, for
    long: a fit of 400 rows took 11 s instead of 0.2.
    """
    limited: AbstractContextManager[Any] = _controller().limit(
        limits=1 if condition else None, user_api="blas"
    )
    return limited


def one_loop_at_a_time(condition: bool = True) -> AbstractContextManager[Any]:
    """Keep scikit-learn's compiled loops to one thread, if the condition holds.

    Their threads spin while they wait: on a machine that has other things to do, boosting of 178 rows took
    113 s instead of 0.1.
    """
    limited: AbstractContextManager[Any] = threadpool_limits(1 if condition else None, user_api="openmp")
    return limited
