"""Work that needs more memory than there is says so before it starts."""

import os


def check_gram_fits(n_rows: int, advice: str) -> None:
    """Raise MemoryError if a Gram matrix, and LIBSVM's copy of it, would not fit into this machine."""
    needed = 2 * 8 * n_rows**2
    if not hasattr(os, "sysconf"):
        return
    there = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    if needed > there:
        raise MemoryError(
            f"The Gram matrix of {n_rows} rows needs {needed / 1e9:.1f} GB, this machine has "
            f"{there / 1e9:.1f} GB. {advice}"
        )
