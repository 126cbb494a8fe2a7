"""scikit-learn's own checks, over every estimator of mercer."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from mercer import ClippedScaler, TableEncoder, TreeSVC
from registry import ESTIMATORS


def expected_failures(estimator):
    """Landmarks are drawn from the rows: repeated rows give other draws than rows of larger weights."""
    if isinstance(estimator, TreeSVC) and estimator.method == "nystroem":
        checks = (f"check_sample_weight_equivalence_on_{kind}_data" for kind in ("dense", "sparse"))
        return dict.fromkeys(checks, "landmarks are drawn from the rows")
    return {}


@pytest.mark.filterwarnings("ignore:The target has two values")
@pytest.mark.filterwarnings("ignore:γ is zero")  # of sparse samples without any structure
@parametrize_with_checks(
    [*ESTIMATORS, ClippedScaler(), TableEncoder()], expected_failed_checks=expected_failures
)
def test_scikit_learns_contract(estimator, check):
    check(estimator)
