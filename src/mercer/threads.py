"""How many threads the products of matrices take."""

from contextlib import AbstractContextManager
from functools import lru_cache
from typing import Any

from threadpoolctl import ThreadpoolController


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
