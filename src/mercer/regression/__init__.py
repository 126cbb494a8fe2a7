"""Kernel machines that predict numbers, as scikit-learn regressors."""

from mercer.regression.stump import StumpRegressor, StumpRegressorCV

__all__ = ["StumpRegressor", "StumpRegressorCV"]
