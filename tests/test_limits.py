"""Memory is refused before the work starts, in words."""

import os

import pytest

from mercer import limits
from mercer.limits import check_gram_fits, check_memory


@pytest.fixture
def a_thousand_pages_of_1000_bytes(monkeypatch):
    monkeypatch.setattr(os, "sysconf", lambda name: 1000)


@pytest.mark.usefixtures("a_thousand_pages_of_1000_bytes")
def test_what_fits_passes_and_a_byte_more_does_not():
    check_memory(1_000_000, "It", "Buy more.")
    with pytest.raises(MemoryError, match=r"It needs 0\.0 GB, this machine has 0\.0 GB\. Buy more\."):
        check_memory(1_000_001, "It", "Buy more.")


@pytest.mark.usefixtures("a_thousand_pages_of_1000_bytes")
def test_a_gram_matrix_counts_twice_with_eight_bytes_a_number():
    check_gram_fits(250, "")  # 2 · 8 · 250² = 10⁶
    with pytest.raises(MemoryError, match="The Gram matrix of 251 rows"):
        check_gram_fits(251, "")


def test_the_numbers_are_in_gigabytes():
    with pytest.raises(MemoryError, match=r"needs 12345678900000\.0 GB"):
        check_memory(1.23456789e22, "It", "")


def test_where_the_machine_cannot_say_nothing_is_refused(monkeypatch):
    class Elsewhere:
        """An operating system without sysconf."""

    monkeypatch.setattr(limits, "os", Elsewhere())
    check_memory(1e30, "It", "")
