import calendar
from datetime import UTC, datetime, timedelta

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from mercer.preprocessing.dates import FORMATS, ISO, date_parts, find_dates, parse_dates

START = datetime(2024, 1, 14, 9, 30, tzinfo=UTC)
MOMENTS = [START + timedelta(days=29 * k, hours=5 * k) for k in range(12)]


def series(*cells):
    return pd.Series(np.array(cells, dtype=object))


@pytest.mark.parametrize("written", [one for one in FORMATS if one != ISO])
def test_every_format_is_found_and_read_as_python_reads_it(written):
    cells = [moment.strftime(written) for moment in MOMENTS]
    expected = [datetime.strptime(cell, written).replace(tzinfo=UTC).timestamp() for cell in cells]
    found = find_dates(series(*cells))
    assert_allclose(found.values, expected)
    assert_allclose(parse_dates(series(*cells), written), expected)


@pytest.mark.parametrize(
    ("cell", "moment"),
    [
        ("2024-02-29", datetime(2024, 2, 29, tzinfo=UTC)),
        ("2024-02-29T23:59:59Z", datetime(2024, 2, 29, 23, 59, 59, tzinfo=UTC)),
        ("2024-02-29 23:00+02:00", datetime(2024, 2, 29, 21, tzinfo=UTC)),
        ("9999-12-31", datetime(9999, 12, 31, tzinfo=UTC)),
        ("0870-01-01", datetime(870, 1, 1, tzinfo=UTC)),
    ],
)
def test_iso_dates_are_read_with_time_and_zone(cell, moment):
    assert find_dates(series(cell)).values[0] == moment.timestamp()


@pytest.mark.parametrize("cells", [("2024-02-30",), ("12345678",), ("2024",), ("hello",), ("1.2.2024", "x")])
def test_what_is_no_date_is_none(cells):
    assert find_dates(series(*cells)) is None


def test_parts_are_those_of_the_calendar():
    seconds = np.array([*(moment.timestamp() for moment in MOMENTS), np.nan])
    parts = date_parts(seconds, START.timestamp())
    for k, moment in enumerate(MOMENTS):
        assert parts["year"][k] == moment.year
        assert parts["month"][k] == moment.month
        assert parts["day of the year"][k] == moment.timetuple().tm_yday
        assert parts["weekday"][k] == calendar.weekday(moment.year, moment.month, moment.day)
        assert_allclose(parts["days"][k], (moment - START).total_seconds() / 86400)
        assert_allclose(parts["hour"][k], moment.hour + moment.minute / 60)
    assert all(np.isnan(values[-1]) for values in parts.values())


def test_days_before_1970_are_days_too():
    moment = datetime(1899, 3, 5, 18, tzinfo=UTC)
    parts = date_parts(np.array([moment.timestamp()]), 0.0)
    assert (parts["year"][0], parts["month"][0], parts["weekday"][0]) == (1899, 3, moment.weekday())
    assert parts["day of the year"][0] == 31 + 28 + 5
    assert parts["hour"][0] == 18


def test_a_date_that_is_missing_is_missing():
    found = find_dates(series("2024-01-01", "NA", "-", "2024-01-03"))
    assert np.isnan(found.values).tolist() == [False, True, True, False]


def test_another_format_that_would_do_is_named():
    found = find_dates(series("1/2/2024", "3/4/2024"))
    assert (found.written, found.rival) == ("%m/%d/%Y", "%d/%m/%Y")
    assert find_dates(series("5 May 2024", "6 May 2024")).rival == ""  # %b and %B read the same
