"""How numbers, ranges and times read on a page."""

import math

import numpy as np

from mercer._typing import Array
from mercer.search.words import signed

MOST_DIGITS, TOO_LARGE = 6, 1e9  # of numbers that are read without a power of ten
GROUPED = 1e4  # from here on, thousands of quantities stand apart


def finest(values: Array) -> int:
    """Return how many digits after the decimal point a thousandth of the range has."""
    spread = float(np.ptp(values)) or float(np.abs(values).max()) or 1.0
    return max(0, 3 - math.floor(math.log10(spread)))


def decimals(values: Array, others: int | None = None) -> int:
    """Return how many digits after the decimal point values are read with.

    Their own if these are no finer than a thousandth of the range, and else `others`; by default, those of a
    hundredth.
    """
    most = finest(values)
    for digits in range(min(most, MOST_DIGITS) + 1):
        if np.allclose(np.round(values, digits), values, rtol=0.0, atol=1e-9 * 10.0 ** (3 - most)):
            return digits
    return max(0, most - 1) if others is None else others


def plain(value: float, digits: int) -> str:
    """Return a number with so many digits after the decimal point, or a power of ten where these are many."""
    if digits <= MOST_DIGITS and abs(value) < TOO_LARGE:
        return signed(value, digits).lstrip("+")
    return f"{value:.3g}".replace("-", "−")


def quantity(value: float, digits: int) -> str:
    """Return a number that counts or measures something: thousands of large ones stand apart."""
    text = plain(value, digits)
    if not GROUPED <= abs(value) < TOO_LARGE:
        return text
    whole, point, part = text.partition(".")
    sign, ten = ("−", whole[1:]) if whole.startswith("−") else ("", whole)
    return f"{sign}{int(ten):,}".replace(",", "\N{NARROW NO-BREAK SPACE}") + point + part


def spread_of(values: Array) -> tuple[str, str, str]:
    """Return the ends and the median of some values.

    The ends have the digits of the values, the median one more if it is between two of them, and at least
    two significant ones.
    """
    digits, middle = decimals(values), float(np.median(values))
    own = decimals(np.append(values, middle))
    if middle and round(middle, own) != middle:
        own = max(own, 1 - math.floor(math.log10(abs(middle))))
    return plain(float(values.min()), digits), plain(float(values.max()), digits), plain(middle, own)


def unbroken(text: str) -> str:
    """Return a text that a browser leaves on one line."""
    return text.replace(" ", "\N{NO-BREAK SPACE}")


def duration(seconds: float) -> str:
    """Return a time with three significant digits, short ones in milliseconds."""
    if not np.isfinite(seconds):
        return "–"
    value, unit = (seconds, "s") if seconds >= 0.9995 else (1000 * seconds, "ms")
    digits = f"{value:.0f}" if value >= 999.5 else f"{value:.3g}"
    return unbroken(f"{digits} {unit}")
