"""Wrong parameters are refused by name, with what they may be."""

import numpy as np
import pytest

from mercer.parameters import check_count, check_option, check_positive


@pytest.mark.parametrize("value", [1, 1e-300, np.float32(2.0), np.int64(3), 1e308], ids=repr)
def test_positive_numbers_are_positive(value):
    check_positive(value, "C")


@pytest.mark.parametrize("value", [0, -1.0, np.inf, np.nan, -np.inf], ids=repr)
def test_other_numbers_are_not(value):
    with pytest.raises(ValueError, match="C must be positive and finite, got"):
        check_positive(value, "C")


@pytest.mark.parametrize("value", ["1", None, True, 1j, [1.0]], ids=repr)
def test_what_is_no_number_is_of_the_wrong_type(value):
    with pytest.raises(TypeError, match="C must be a number, got"):
        check_positive(value, "C")


@pytest.mark.parametrize(("value", "least"), [(1, 1), (np.int32(7), 1), (0, 0), (2, 2)])
def test_counts_are_whole_numbers(value, least):
    check_count(value, "n_rounds", least)


@pytest.mark.parametrize(("value", "least"), [(0, 1), (-1, 0), (1, 2)])
def test_a_count_may_be_too_small(value, least):
    with pytest.raises(ValueError, match=f"n_rounds must be at least {least}, got {value}"):
        check_count(value, "n_rounds", least)


@pytest.mark.parametrize("value", [1.0, "1", None, True, np.float64(2)], ids=repr)
def test_what_is_no_whole_number_is_of_the_wrong_type(value):
    with pytest.raises(TypeError, match="n_rounds must be a whole number, got"):
        check_count(value, "n_rounds")


@pytest.mark.parametrize("value", ["auto", "".join(["au", "to"]), True, False, None], ids=repr)
def test_an_option_is_one_of_those_that_there_are(value):
    check_option(value, "balance", ("auto", True, False, None))


@pytest.mark.parametrize("value", ["Auto", 1, 0, 1.0, "True", np.arange(3), RuntimeError], ids=repr)
def test_anything_else_is_not_even_if_it_equals_one(value):
    with pytest.raises(ValueError, match="balance must be one of 'auto', True, False, got"):
        check_option(value, "balance", ("auto", True, False))
