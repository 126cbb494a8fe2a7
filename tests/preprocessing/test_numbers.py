import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from mercer.preprocessing.numbers import PLAIN, NumberFormat, find_format, parse_numbers


def series(*cells):
    return pd.Series(np.array(cells, dtype=object))


CASES = {
    ("1.5", "-2e3", "+7", " 8 "): [1.5, -2000.0, 7.0, 8.0],
    ("1,234.5", "12", "-1,000,000"): [1234.5, 12.0, -1e6],
    ("1.234,5", "12,25", "7"): [1234.5, 12.25, 7.0],
    ("1,5", "-3,25e2", "2"): [1.5, -325.0, 2.0],
    ("0,123", "5,777"): [0.123, 5.777],  # no thousand begins with a zero
    ("1'234.5", "999"): [1234.5, 999.0],
    ("1 234,5", "2"): [1234.5, 2.0],
    ("1\u202f234", "-5"): [1234.0, -5.0],
    ("$1,200", "-$ 5.5", "$7"): [1200.0, -5.5, 7.0],
    ("1.200,50 €", "7 €"): [1200.5, 7.0],
    ("12 %", "7.5%"): [12.0, 7.5],
    ("3.5 kg", "12 kg"): [3.5, 12.0],
    ("\N{MINUS SIGN}3", "4"): [-3.0, 4.0],
    ("5", "NA", "-", "6"): [5.0, np.nan, np.nan, 6.0],
}


@pytest.mark.parametrize("cells", CASES, ids=" ".join)
def test_numbers_are_read_as_they_are_written(cells):
    written = find_format(series(*cells))
    assert_allclose(parse_numbers(series(*cells), written), CASES[cells])


@pytest.mark.parametrize(
    "cells",
    [
        ("a", "1"),
        ("5 kg", "5 g"),
        ("5", "5 kg"),
        ("1,5", "2.5,0"),
        ("A1", "A2"),
        ("1,23,45", "7"),
        ("1.2.3",),
    ],
)
def test_what_is_not_written_alike_has_no_format(cells):
    assert find_format(series(*cells)) is None


def test_numbers_in_another_format_than_is_asked_for_are_none():
    assert parse_numbers(series("1.5", "2"), NumberFormat(",")) is None
    assert parse_numbers(series("1,5", "2")) is None


def test_where_semicolons_separate_commas_are_rather_decimal():
    cells = series("1,234", "5,678")
    assert find_format(cells) == NumberFormat(".", ",")
    assert find_format(cells, commas_first=True) == NumberFormat(",")


def test_stored_numbers_need_no_format():
    assert find_format(pd.Series([1.0, np.nan])) == PLAIN
    assert_allclose(parse_numbers(pd.Series([1.0, np.nan]), NumberFormat(",")), [1.0, np.nan])
