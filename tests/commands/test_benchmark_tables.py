"""The benchmark over many tables: its data, its splits, what it keeps and what it says."""

import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).resolve().parents[2]))

from benchmarks.tables import names


def test_the_coin_says_which_sets_decide_and_which_are_reported():
    ours, theirs = names.toss(names.KEEL), names.toss(tuple(names.OPENML))
    assert (ours[0] + theirs[0], ours[1] + theirs[1]) == (names.DECIDE, names.REPORT)


def test_no_set_is_on_two_sides():
    every = [*names.SEEN, *names.DECIDE, *names.REPORT]
    assert len(every) == len(set(every))


@pytest.mark.parametrize("seed", range(3))
def test_another_coin_would_have_said_otherwise(seed):
    assert names.toss(names.KEEL, seed) != names.toss(names.KEEL)
