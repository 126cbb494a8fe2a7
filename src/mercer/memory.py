"""Work that needs more memory than there is says so before it starts."""

import os


def check_memory(n_bytes: float, what: str, advice: str) -> None:
    """Raise MemoryError if `what` needs more bytes than this machine has; `advice` says what to do."""
    if not hasattr(os, "sysconf"):
        return
    there = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    if n_bytes > there:
        raise MemoryError(
            f"{what} needs {n_bytes / 1e9:.1f} GB, this machine has {there / 1e9:.1f} GB. {advice}"
        )


def check_gram_fits(n_rows: int, advice: str) -> None:
    """Raise MemoryError if a Gram matrix, and LIBSVM's copy of it, would not fit into this machine."""
    check_memory(2 * 8 * n_rows**2, f"The Gram matrix of {n_rows} rows", advice)
