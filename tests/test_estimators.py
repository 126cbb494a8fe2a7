"""scikit-learn's own checks, over every estimator of mercer, and over what the papers compare with."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from baseline_registry import BASELINES
from mercer import ClippedScaler, KernelRegressor, KernelSearchCV, TableEncoder, TreeRegressor, TreeSVC
from registry import ESTIMATORS


def expected_failures(estimator):
    """Repeated rows are not rows of larger weights where rows are drawn, or left out."""
    if isinstance(estimator, TreeSVC | TreeRegressor) and estimator.method == "landmarks":
        checks = (f"check_sample_weight_equivalence_on_{kind}_data" for kind in ("dense", "sparse"))
        return dict.fromkeys(checks, "landmarks are drawn from the rows")
    if isinstance(estimator, KernelRegressor) and estimator.loss == "squared_error":
        checks = (f"check_sample_weight_equivalence_on_{kind}_data" for kind in ("dense", "sparse"))
        return dict.fromkeys(checks, "left out is one of repeated rows, and others are like it")
    if isinstance(estimator, KernelSearchCV):
        checks = (f"check_sample_weight_equivalence_on_{kind}_data" for kind in ("dense", "sparse"))
        return dict.fromkeys(checks, "of few folds, samples are drawn into parts that calibrate each other")
    return {}


@pytest.mark.filterwarnings("ignore:The target has two values")
@pytest.mark.filterwarnings("ignore:γ is zero")  # of sparse samples without any structure
@parametrize_with_checks(
    [*ESTIMATORS, *BASELINES, ClippedScaler(), TableEncoder()], expected_failed_checks=expected_failures
)
def test_scikit_learns_contract(estimator, check):
    check(estimator)
