"""scikit-learn's own checks, over every estimator of mercer."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from registry import ESTIMATORS


@parametrize_with_checks(ESTIMATORS)
def test_scikit_learns_contract(estimator, check):
    check(estimator)
