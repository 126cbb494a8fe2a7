"""Neighbours in a grid, and the choice among candidates."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.model_selection import ParameterGrid
from sklearn.svm import SVC

from mercer.search import Candidate
from mercer.search.selection_rule import Rule, choose, find_nearby, grids_nearby


def rule_of(candidates):
    numbers = np.repeat(np.arange(len(candidates)), [len(one.settings()) for one in candidates])
    return Rule(numbers, grids_nearby(candidates))


def test_neighbours_are_one_step_apart_along_one_axis_of_numbers():
    grid = {"C": [0.1, 1.0, 10.0], "gamma": [3, 2], "kernel": ["rbf", "poly"], "probability": [True, False]}
    settings = list(ParameterGrid(grid))
    nearby = find_nearby(settings, grid)
    assert_array_equal(nearby, nearby.T)
    for i, one in enumerate(settings):
        for j, other in enumerate(settings):
            changed = [name for name in grid if one[name] != other[name]]
            step = (
                len(changed) == 1
                and changed[0] in ("C", "gamma")
                and abs(grid[changed[0]].index(one[changed[0]]) - grid[changed[0]].index(other[changed[0]]))
                == 1
            )
            assert nearby[i, j] == (1.0 if i == j else 0.5 * step)


@pytest.mark.parametrize("values", [[1.0, 10.0, 2.0], ["a", "b"], [None, 1.0], [True, False], [[1], [2]]])
def test_what_is_in_no_order_has_no_neighbours(values):
    grid = {"a": values}
    assert_array_equal(find_nearby([{"a": value} for value in values], grid), np.eye(len(values)))


def test_settings_of_different_candidates_are_no_neighbours_and_those_dropped_do_not_count():
    rule = rule_of([Candidate(name, SVC(), {"C": [1.0, 2.0, 4.0]}) for name in "ab"])
    assert_array_equal(rule.candidate, [0, 0, 0, 1, 1, 1])
    assert_array_equal(rule.nearby[:3, 3:], 0.0)
    np.testing.assert_allclose(rule.nearby[1], [0.25, 0.5, 0.25, 0, 0, 0])
    some = rule.among(np.array([1, 2, 5]))
    np.testing.assert_allclose(some.nearby, [[2 / 3, 1 / 3, 0], [1 / 3, 2 / 3, 0], [0, 0, 1]])


def test_a_setting_between_good_ones_is_taken_rather_than_a_lucky_one_among_bad_ones():
    wrong = np.zeros((100, 5))
    for column, n in enumerate([40, 18, 40, 20, 21]):  # the second is the best, between bad ones
        wrong[:n, column] = 1.0
    grid = {"C": [1.0, 2.0, 3.0, 4.0, 5.0]}
    rule = rule_of([Candidate("a", SVC(), grid)])
    assert choose(wrong, rule) == 4
    assert choose(wrong, Rule(np.zeros(5, dtype=np.intp), np.eye(5))) == 1
