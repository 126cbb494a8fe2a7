"""What others wrote does nothing to the terminal that shows it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mercer import StumpSVC
from mercer.shown import printable, shown


@given(st.text())
def test_what_is_printable_has_no_control_characters_and_no_change_of_direction(text):
    assert printable(text).isprintable()
    assert printable(text) == text or not text.isprintable()


def test_letters_that_are_seen_stay_and_others_are_escaped():
    assert printable("naïve 漢字") == "naïve 漢字"
    assert printable("\x1b[31m\x07\u202eabc") == "\\x1b[31m\\x07\\u202eabc"
    assert printable("a,b\nc,\x1b\n", keep="\n") == "a,b\nc,\\x1b\n"


@given(st.text(max_size=300), st.integers(4, 80))
def test_what_is_shown_is_one_line_and_not_longer_than_wanted(text, most):
    line = shown(text, most)
    assert line.isprintable()
    assert len(line) <= most + 1


def test_a_long_name_is_cut_in_the_message_of_a_fit():
    name = "\x1b" + 100_000 * "x"
    with pytest.raises(ValueError, match="only one class") as caught:
        StumpSVC().fit([[0.0], [1.0]], [name, name])
    assert len(str(caught.value)) < 300
    X, y, folds = np.arange(6.0)[:, None], ["a", "b", "a", "b", name, name], [(np.arange(4), np.arange(4, 6))]
    with pytest.raises(ValueError, match="holds no row of class") as caught:
        StumpSVC("cv", cv=folds).fit(X, y)
    assert len(str(caught.value)) < 300
    assert "\x1b" not in str(caught.value)
