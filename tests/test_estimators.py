"""scikit-learn's own checks, over every estimator of mercer."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from mercer import TreeSVC
from registry import ESTIMATORS


def expected_failures(estimator):
    """Landmarks are drawn from the rows: repeated rows give other draws than rows of larger weights."""
    if isinstance(estimator, TreeSVC) and estimator.method == "nystroem":
        return {"check_sample_weight_equivalence_on_dense_data": "landmarks are drawn from the rows"}
    return {}


@parametrize_with_checks(ESTIMATORS, expected_failed_checks=expected_failures)
def test_scikit_learns_contract(estimator, check):
    check(estimator)
