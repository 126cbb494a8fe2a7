"""Times and ranges read as people write them."""

import numpy as np
import pytest

from mercer.report.digits import decimals, duration, plain, quantity, spread_of

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
    ("value", "digits", "shown"),
    [(9999.0, 0, "9999"), (31569.4, 0, "31~569"), (-1234567.8, 1, "−1~234~567.8"), (3e9, 0, "3e+09")],
)
def test_thousands_of_large_quantities_stand_apart(value, digits, shown):
    assert quantity(value, digits) == shown.replace("~", "\N{NARROW NO-BREAK SPACE}")


@pytest.mark.parametrize(
    ("values", "shown"),
    [
        ([0.1, 5.0, 12.35], ("0.10", "12.35", "5.00")),  # as they are written
        ([25.0, 140.0, 141.0, 346.0], ("25", "346", "140.5")),
        ([-0.107226, 0.00538, 0.110727], ("−0.107", "0.111", "0.0054")),
        ([14999.0, 179700.0, 500001.0], ("14999", "500001", "179700")),
        ([0.0, 3.274, 12345.67], ("0", "12346", "3.3")),
        ([7.0, 7.0], ("7", "7", "7")),
    ],
)
def test_values_keep_the_digits_that_they_are_written_with_if_these_are_few(values, shown):
    assert spread_of(np.array(values)) == shown


@pytest.mark.parametrize("values", [[0.0], [1e-9, 2e-9], [1e12, 3e12], [1.0, 1.0 + 1e-12], [-5.0, -5.0]])
def test_values_of_any_size_can_be_read(values):
    assert all(plain(value, decimals(np.array(values))) for value in values)
