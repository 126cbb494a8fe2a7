"""What machines minimise: losses by name, and those of numbers as errors of predictions."""

from collections.abc import Callable
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from scipy.special import xlogy
from sklearn.metrics import (
    mean_absolute_error,
    mean_pinball_loss,
    mean_squared_error,
)

from mercer._typing import Array
from mercer.parameters import check_option
from mercer.solvers.newton import HINGE, CorneredLoss, LogLoss, Loss, Poisson, SquaredError

OF_CLASSES: dict[str, Loss] = {"hinge": HINGE, "log_loss": LogLoss(), "squared_error": SquaredError()}
OF_NUMBERS = ("squared_error", "absolute_error", "quantile", "epsilon_insensitive", "poisson")


class MachineLoss(NamedTuple):
    """A loss: as the solver takes it, and, of numbers, as the error of predictions."""

    name: str
    solver: Loss
    error: Callable[..., float] = mean_squared_error  # of targets and predictions, with `sample_weight`
    is_log: bool = False  # whether f is the logarithm of the prediction


def class_loss(loss: Any) -> MachineLoss:
    """Return a loss of classes ±1, by name or as it is given."""
    if isinstance(loss, Loss):
        return MachineLoss(type(loss).__name__, loss)
    check_option(loss, "loss", tuple(OF_CLASSES))
    return MachineLoss(loss, OF_CLASSES[loss])


def number_loss(name: Any, quantile: Any, epsilon: Any, spread: Any = 1.0) -> MachineLoss:
    """Return a loss by name, or as it is given; ε is in units of `spread`."""
    if isinstance(name, Loss):  # whose predictions are scored by their squared errors
        return MachineLoss(type(name).__name__, name)
    check_option(name, "loss", OF_NUMBERS)
    if name == "squared_error":
        return MachineLoss(name, SquaredError())
    if name == "absolute_error":
        return MachineLoss(name, CorneredLoss(), mean_absolute_error)
    if name == "poisson":
        return MachineLoss(name, Poisson(), _deviance, is_log=True)
    if name == "quantile":
        level = _check_level(quantile)
        pinball = CorneredLoss(up=level, down=1.0 - level)
        return MachineLoss(name, pinball, lambda y, p, **w: mean_pinball_loss(y, p, alpha=level, **w))
    epsilon = _check_epsilon(epsilon)
    return MachineLoss(
        name, CorneredLoss(epsilon=epsilon), lambda y, p, **w: _beyond(y, p, epsilon * spread, **w)
    )


def _check_level(quantile: Any) -> float:
    if not isinstance(quantile, Real) or isinstance(quantile, bool) or not 0.0 < float(quantile) < 1.0:
        raise ValueError(f"quantile must be a number between 0 and 1, got {quantile!r}.")
    return float(quantile)


def _check_epsilon(epsilon: Any) -> float:
    if not isinstance(epsilon, Real) or isinstance(epsilon, bool) or not 0.0 <= float(epsilon) < np.inf:
        raise ValueError(f"epsilon must be a number of at least 0, got {epsilon!r}.")
    return float(epsilon)


def _deviance(y: Array, prediction: Array, sample_weight: Array | None = None) -> float:
    """Return the mean deviance of counts, as scikit-learn does, but of several targets too."""
    prediction = np.maximum(prediction, np.finfo(np.float64).tiny)
    deviance = 2.0 * (xlogy(y, y / prediction) - y + prediction)
    return float(np.average(deviance, weights=sample_weight, axis=0).mean())


def _beyond(y: Array, prediction: Array, epsilon: Any, sample_weight: Array | None = None) -> float:
    """Return the mean of what errors are larger than ε."""
    beyond = np.maximum(np.abs(y - prediction) - epsilon, 0.0)
    return float(np.average(beyond, weights=sample_weight, axis=0).mean())
