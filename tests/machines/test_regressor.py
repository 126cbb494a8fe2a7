"""Targets that are no numbers, or strange ones: a sentence each."""

import datetime

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn.model_selection import LeaveOneOut

from mercer import StumpRegressor, TreeRegressor

X = np.random.default_rng(0).normal(size=(20, 2))
NUMBERS = np.arange(20.0)


@pytest.mark.parametrize(
    ("y", "sentence"),
    [
        (["a", "b"] * 10, "The target holds 'a', a regressor needs numbers: for classes use a classifier"),
        (np.array([1.5, "no"] * 10, dtype=object), "The target holds 'no'"),
        (pd.Series(pd.Categorical(["x", "y"] * 10)), "The target holds 'x'"),
        (np.append(NUMBERS[:-1], np.inf), "Input y contains infinity"),
        (np.append(NUMBERS[:-1], np.nan), "Input y contains NaN"),
        ([None, *NUMBERS[1:]], "Input y contains NaN"),
        (pd.Series(pd.date_range("2024-01-01", periods=20)), "The target holds dates or times"),
        ([datetime.date(2024, 1, 1 + k) for k in range(20)], "The target holds datetime.date"),
        (NUMBERS * 1e200, "The target is too large"),
        (NUMBERS * 1e-200, "The target is too small"),
        (np.column_stack([NUMBERS, NUMBERS * 1e-200]), "The target is too small"),
        (np.zeros((20, 2, 2)), "dim"),
        (NUMBERS[:10], "inconsistent numbers of samples"),
        (None, "requires y to be passed, but the target y is None"),
    ],
    ids=str,
)
def test_a_target_that_is_no_number_gets_a_sentence(y, sentence):
    with pytest.raises(ValueError, match=sentence):
        StumpRegressor().fit(X, y)


def test_two_values_get_a_warning_that_names_a_classifier():
    for values in ([0, 1], [False, True], [-1.5, 3.0]):
        with pytest.warns(UserWarning, match="two values, .* use a classifier such as StumpSVC"):
            StumpRegressor().fit(X, np.resize(values, 20))


def test_numbers_in_texts_and_objects_are_numbers():
    wanted = StumpRegressor().fit(X, NUMBERS).predict(X)
    for y in (NUMBERS.astype(object), NUMBERS.astype(str), pd.Series(NUMBERS.astype(int)), list(NUMBERS)):
        assert_allclose(StumpRegressor().fit(X, y).predict(X), wanted)


def test_poisson_refuses_negative_targets_and_those_that_are_all_zero():
    with pytest.raises(ValueError, match=r"poisson.* at least 0, got -1"):
        StumpRegressor(loss="poisson").fit(X, NUMBERS - 1.0)
    with pytest.raises(ValueError, match="not all zero"):
        StumpRegressor(loss="poisson").fit(X, np.zeros(20))
    with pytest.raises(ValueError, match="not all zero, in the training part of every fold"):
        StumpRegressor("cv", loss="poisson", cv=[(range(10), range(10, 20))]).fit(X, NUMBERS * (NUMBERS > 10))


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"loss": "hinge"}, "loss must be one of 'squared_error'"),
        ({"loss": "quantile", "quantile": 1.0}, "quantile must be a number between 0 and 1, got 1.0"),
        ({"loss": "epsilon_insensitive", "epsilon": -0.1}, "epsilon must be a number of at least 0"),
        ({"C": 0.0}, "C must be positive"),
        ({"max_bins": 1}, "max_bins"),
        ({"tol": 0.0}, "tol must be positive"),
    ],
)
def test_a_wrong_parameter_is_named(options, sentence):
    with pytest.raises(ValueError, match=sentence):
        StumpRegressor(**options).fit(X, NUMBERS)


def test_weights_must_not_all_be_zero_and_folds_must_hold_samples():
    with pytest.raises(ValueError, match="at least one non-zero"):
        StumpRegressor().fit(X, NUMBERS, np.zeros(20))
    with pytest.raises(ValueError, match="Fold 0 holds no training or no test sample"):
        StumpRegressor("cv", cv=[(range(10), range(10, 20))]).fit(X, NUMBERS, np.arange(20) < 10)


@pytest.mark.filterwarnings("ignore:R\\^2 score is not well-defined")
@pytest.mark.parametrize("model", [StumpRegressor, TreeRegressor])
def test_a_score_that_a_fold_is_too_small_for_gets_a_sentence(model):
    with pytest.raises(ValueError, match=r"'r2' gives no number for a fold that tests 1 sample.*fewer folds"):
        model("cv", scoring="r2", cv=LeaveOneOut()).fit(X, NUMBERS)
