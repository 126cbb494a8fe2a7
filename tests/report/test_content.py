"""Times and ranges read as people write them."""

import numpy as np
import pytest

from mercer.report.content import duration, inside, span

SPACE = "\N{NO-BREAK SPACE}"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.000307, "0.307 ms"),
        (0.9994, "999 ms"),
        (0.9996, "1 s"),
        (61.24, "61.2 s"),
        (1234.6, "1235 s"),
        (np.nan, "–"),
    ],
)
def test_times_are_in_milliseconds_below_a_second_and_never_in_powers_of_ten(seconds, text):
    assert duration(seconds).replace(SPACE, " ") == text


@pytest.mark.parametrize(
    ("low", "high", "shown"),
    [
        (2.1e-8, 0.6579, ("0.00", "0.66")),
        (-25.2, 39.1, ("−25", "39")),
        (1.88, 1.96, ("1.880", "1.960")),
        (5.0, 5.0, ("5.00", "5.00")),
        (1.0, 1.0 + 1e-9, ("1", "1")),
        (-2e8, 3e9, ("−2e+08", "3e+09")),
    ],
)
def test_the_ends_of_a_range_have_the_digits_that_show_a_difference(low, high, shown):
    assert span(low, high) == shown


@pytest.mark.parametrize(
    ("value", "low", "high", "shown"),
    [(0.33, 0.0, 3.0, "0.33"), (25.4, 0.0, 900.0, "25"), (1.9, 1.88, 1.96, "1.900"), (0.0, 0.0, 0.0, "0.00")],
)
def test_a_number_of_a_range_has_at_least_two_significant_digits(value, low, high, shown):
    assert inside(value, low, high) == shown
