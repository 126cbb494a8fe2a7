"""The values that C is chosen from."""

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF
from sklearn.model_selection import LeaveOneOut

from mercer import KernelRegressor, PerceptronSVC, StumpRegressor, StumpSVC, TreeSVC
from mercer.datasets import threenorm


@pytest.mark.parametrize(("best", "expected"), [(1.0, "lower"), (2.0, None), (4.0, "upper")])
def test_the_edge_says_at_which_end_of_the_grid_the_best_C_is(best, expected):
    model = StumpSVC("cv")
    model.Cs_, model.C_ = np.array([1.0, 2.0, 4.0]), best
    assert model.edge_ == expected


def test_a_grid_of_one_value_has_no_edge():
    model = StumpSVC("cv")
    model.Cs_, model.C_ = np.array([2.0]), 2.0
    assert model.edge_ is None


@pytest.mark.parametrize("model", [StumpSVC, PerceptronSVC, TreeSVC])
def test_a_grid_below_the_best_C_ends_at_it(model):
    X, y = threenorm(200, random_state=0)
    assert model("cv", Cs=[1e-9, 10.0]).fit(X, y).edge_ == "upper"


def test_regressors_have_an_edge_too(rng):
    X = rng.uniform(-1, 1, size=(60, 2))
    y = np.sign(X[:, 0]) + X[:, 1]
    assert StumpRegressor("cv", Cs=[1e-6, 1e-1]).fit(X, y).edge_ == "upper"
    model = KernelRegressor(RBF(1.0)).fit(X, y)
    assert model.edge_ is None
    assert model.Cs_[0] < model.C_ < model.Cs_[-1]
    assert KernelRegressor(RBF(1.0), C=2.0).fit(X, y).edge_ is None


@pytest.mark.filterwarnings("ignore:Only one class is present")
@pytest.mark.parametrize("model", [StumpSVC, TreeSVC])
def test_a_score_that_a_fold_is_too_small_for_gets_a_sentence(model):
    X, y = threenorm(20, random_state=0)
    with pytest.raises(ValueError, match="'roc_auc' gives no number for a fold that tests 1 sample"):
        model("cv", scoring="roc_auc", cv=LeaveOneOut()).fit(X, y)
