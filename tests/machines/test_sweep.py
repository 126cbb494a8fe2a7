"""Ugly tables: a small draw of `tests/sweep.py`, which fits thousands."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer import ClippedScaler, KernelRegressor, KernelSVC, PerceptronSVC, StumpRegressor, StumpSVC
from sweep import sweep

X = np.linspace(-1.0, 1.0, 12)[:, None] ** [1, 2, 3]
LABEL = np.arange(12) % 2
NUMBER = X.sum(axis=1)


def test_fits_of_ugly_tables_end_in_numbers_that_can_be_or_in_an_error_in_words():
    n_fits, failures = sweep(range(1000, 1012))
    assert n_fits > 500
    assert failures == []


@pytest.mark.parametrize(
    "machine", [StumpSVC(), KernelSVC(), StumpRegressor(), KernelRegressor(C=1.0)], ids=repr
)
def test_sizes_that_cannot_be_computed_with_are_named(machine):
    y = LABEL if hasattr(machine, "class_weight") else NUMBER
    with pytest.raises(ValueError, match=r"as large as 1e\+60, .* scale the features"):
        machine.fit(X * 1e60, y)
    with pytest.raises(ValueError, match=r"differ by \de-60 at most, .* scale the features"):
        machine.fit(X * 1e-60, y)
    with pytest.raises(ValueError, match=r"between 1e\+300 and 1e\+300, .* divide sample_weight by its mean"):
        machine.fit(X, y, sample_weight=np.full(12, 1e300))


def test_a_penalty_beyond_all_digits_gives_the_fit_of_the_largest_that_has_some():
    column = np.repeat(X[:, :1], 2, axis=1)  # twice the same: no fit is the only one of no error
    for C in (1e15, 1e30):
        line = KernelRegressor(C=C).fit(column, NUMBER).predict(column)
        assert_allclose(line, np.polyval(np.polyfit(X[:, 0], NUMBER, 1), X[:, 0]), atol=1e-2)


def test_newton_steps_end_what_libsvm_does_not():
    rows = np.array([[0.0], [0.0], [1.0], [1.0], [0.0]]) * 1e25
    model = PerceptronSVC(C=10.0).fit(rows, [0, 1, 1, 1, 0])
    assert model.predict(rows).tolist() == [0, 0, 1, 1, 0]
    assert np.abs(model.decision_function(rows)).max() < 10.0


@pytest.mark.parametrize("scale", [1e-280, 1e-150, 1e150, 1e290])
def test_scaled_features_are_the_same_in_all_units(scale):
    assert_allclose(ClippedScaler().fit_transform(X * scale), ClippedScaler().fit_transform(X), rtol=1e-6)


def test_scaled_features_are_the_same_for_all_units_of_the_weights(rng):
    weight = rng.uniform(0.5, 2.0, 12)
    expected = ClippedScaler().fit(X, sample_weight=weight).transform(X)
    for unit in (1e-290, 1e290):
        assert_allclose(ClippedScaler().fit(X, sample_weight=unit * weight).transform(X), expected, rtol=1e-9)


def test_values_too_far_apart_to_subtract_are_refused():
    with pytest.raises(ValueError, match="feature 0 are too far apart"):
        ClippedScaler().fit(1.7e308 * X[:, :1])
