"""Compiled functions: at the first call, also by each other, and where nothing can be kept on disk."""

import pickle
import warnings

import numpy as np
import pytest

from mercer import power_series
from mercer.compiled import let_compiled_code_call, njit


@njit(nogil=True)
def double(x):
    return 2 * x


@njit(nogil=True)
def add_doubled(x, y):
    return double(x) + y


def test_compiled_functions_call_each_other():
    assert add_doubled(2, 3.5) == 7.5
    assert double(4) == 8


def test_a_compiled_function_keeps_its_name_and_documentation():
    assert power_series.add_terms.__name__ == "add_terms"
    assert power_series.add_terms.__doc__.startswith("Add up")


def test_a_compiled_function_can_be_sent_to_another_process():
    assert pickle.loads(pickle.dumps(power_series.add_terms)) is power_series.add_terms


def test_compiled_code_calls_a_plain_function_once_it_is_allowed_to():
    def plain(x):
        return x + 1

    @njit(nogil=True)
    def caller(x):
        return 3 * plain(x)

    let_compiled_code_call(plain)
    assert caller(1) == 6


def test_without_a_folder_to_write_to_it_says_so_and_compiles():
    names = {"njit": njit}
    # numba finds no folder for a function that comes from no file
    exec("@njit(cache=True)\ndef half(x):\n    return x / 2", names)
    with pytest.warns(UserWarning, match="NUMBA_CACHE_DIR"):
        assert names["half"](3) == 1.5
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert names["half"](np.float64(5)) == 2.5


def test_errors_of_numba_are_not_about_the_cache():
    @njit(no_such_option=True)
    def identity(x):
        return x

    with pytest.raises(Exception, match="no_such_option"):
        identity(1)
