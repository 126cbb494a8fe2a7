"""What each column adds to a prediction: Shapley values, which of a sum of curves are the curves."""

from itertools import permutations

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from mercer import KernelSearchCV, KernelSearchRegressor
from mercer.search.effects import effects_of

pytestmark = pytest.mark.filterwarnings("ignore::mercer.search.SearchWarning")


@pytest.fixture
def table(rng):
    colour = rng.choice(["red", "green", "blue"], 80)
    return pd.DataFrame(
        {"size": rng.normal(size=80), "colour": colour, "one": "k", "age": rng.normal(size=80)}
    )


def classes(table):
    return np.where(table["size"] + (table["colour"] == "red") > 0.4, "yes", "no")


def test_of_a_sum_of_curves_a_column_adds_its_curve_less_the_curves_mean(table):
    search = KernelSearchCV(["stump", "linear"], cv=3, random_state=0).fit(table, classes(table))
    found, others = effects_of(search, table, 7), table.drop(index=7)
    assert found.is_exact
    assert (found.names, found.label) == (["size", "colour", "age"], search.predict(table[7:8])[0])
    sign = 1.0 if found.label == "yes" else -1.0
    for name, added in zip(found.names, found.added, strict=True):
        changed = table[7:8].loc[[7] * len(others)].reset_index(drop=True)
        changed[name] = others[name].to_numpy()
        by_hand = search.decision_function(table[7:8])[0] - search.decision_function(changed).mean()
        assert added == pytest.approx(sign * by_hand, abs=1e-9)
    assert found.mean == pytest.approx(sign * search.decision_function(others).mean())
    assert found.added.sum() == pytest.approx(found.value - found.mean)


def test_of_any_model_they_are_shapley_values_against_the_other_rows(rng):
    X = rng.normal(size=(60, 3))
    search = KernelSearchRegressor(["tree"], cv=3, random_state=0).fit(X, X[:, 0] * X[:, 1] + X[:, 2])
    some = X[:4]
    by_hand, orders = np.zeros(3), list(permutations(range(3)))
    for order in orders:  # of all orders, against all three others
        for other in some[1:]:
            z = other.copy()
            for j in order:
                before, z[j] = search.predict(z[None])[0], some[0, j]
                by_hand[j] += (search.predict(z[None])[0] - before) / len(orders) / 3
    drawn = [effects_of(search, some, 0, random_state=seed) for seed in range(200)]
    assert not drawn[0].is_exact
    assert_allclose(np.mean([one.added for one in drawn], axis=0), by_hand, atol=0.1 * np.abs(by_hand).max())
    assert all(one.added.sum() == pytest.approx(one.value - one.mean) for one in drawn)


def test_of_several_classes_and_of_logarithms(table, rng):
    three = np.where(table["age"] > 1.0, "old", classes(table))
    search = KernelSearchCV(["linear"], cv=3, random_state=0).fit(table, three)
    found = effects_of(search, table, 3)
    logs = np.log(search.predict_proba(table[3:4])[0])
    assert found.value == pytest.approx((logs - logs.mean())[list(search.classes_).index(found.label)])
    y = np.exp(table["size"] + 0.1 * rng.normal(size=80))
    numbers = KernelSearchRegressor(["linear"], cv=3, log=True, random_state=0).fit(table, y)
    assert effects_of(numbers, table, 3).value == pytest.approx(np.log(numbers.predict(table[3:4])[0]))
    with pytest.raises(ValueError, match="no row 80"):
        effects_of(numbers, table, 80)
