"""Customers whose pairs are judged, for the tests of matching."""

import numpy as np

from mercer import PairMatcher, Pairs
from mercer.datasets import customers

COLUMNS = ["last", "zip", "year", "place"]


def judge(person, rows):
    same = person[rows[:, 0]] == person[rows[:, 1]]
    return Pairs(rows[same], rows[~same])


def judged_customers(n=80, twins=40, seed=0):
    """Return a table, who each row is, and pairs: most twins, and others that are not far apart."""
    table, person = customers(n, twins, random_state=seed)
    rng = np.random.default_rng(seed)
    i, j = np.triu_indices(len(table), 1)
    alike = (table["place"].to_numpy()[i] == table["place"].to_numpy()[j]) & (person[i] != person[j])
    near = np.column_stack([i, j])[alike]
    twin = Pairs.from_labels(person).similar
    return table, person, Pairs(rng.permutation(twin)[: 3 * len(twin) // 4], rng.permutation(near)[:60])


def fitted(**settings):
    table, person, pairs = judged_customers()
    return PairMatcher(**settings).fit(table, pairs=pairs), table, person, pairs
