"""scikit-learn's own checks, over every estimator of mercer."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from registry import ESTIMATORS, expected_failed_checks


@parametrize_with_checks(ESTIMATORS, expected_failed_checks=expected_failed_checks)
def test_scikit_learns_contract(estimator, check):
    check(estimator)
