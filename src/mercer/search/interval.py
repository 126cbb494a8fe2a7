"""How far a cross-validated score can be trusted.

Two things are random: which samples were scored, and which ones the models were fitted to. Another draw of
the latter changes all predictions at once, which no spread of one draw shows: for k folds the variance is
larger by a factor of 1 + k n_test / n_train [NB03]. That is as if fewer samples had been scored, 1 /
(1/n_scored + 1/n_trained).

A share of so many samples has the interval of Clopper and Pearson [CP34]: unlike ± 1.96 standard errors it
knows that no error in 36 samples is not an error rate of zero.

[NB03] Nadeau, Bengio: Inference for the generalization error. Machine Learning 52, 2003.
[CP34] Clopper, Pearson: The use of confidence or fiducial limits illustrated in the case of the binomial.
Biometrika 26, 1934.
"""

import numpy as np
from scipy import stats

from mercer._typing import Array, Index

LEVEL = 0.95
TAIL = (1.0 - LEVEL) / 2.0


def effective_rows(n_scored: float, n_trained: float) -> float:
    """Return the number of independent samples that say as much as a cross-validation does."""
    return 1.0 / (1.0 / n_scored + 1.0 / max(n_trained, 1.0))


def share_interval(share: float, n: float) -> tuple[float, float]:
    """Return the 95 % confidence interval of a share of n samples, which need not be a whole number."""
    low = stats.beta.ppf(TAIL, n * share, n * (1.0 - share) + 1.0) if share > 0.0 else 0.0
    high = stats.beta.ppf(1.0 - TAIL, n * share + 1.0, n * (1.0 - share)) if share < 1.0 else 1.0
    return float(low), float(high)


def standard_error(share: float, n: float) -> float:
    """Return the standard error of a share of n samples, as if half a sample were wrong at least."""
    return float(np.sqrt(max(share * (1.0 - share), 0.25 / n) / n))


def mean_variance(losses: Array, groups: Index | None = None) -> float:
    """Return the variance of a mean of samples, of which those of a group are not independent."""
    n = len(losses)
    away = losses - losses.mean()
    if groups is None:
        return float(away @ away) / n**2
    _, place = np.unique(groups, return_inverse=True)
    sums = np.bincount(place, away)
    m = len(sums)
    return float(sums @ sums) / n**2 * (m / (m - 1.0) if m > 1 else np.inf)


def half_width(variance: float, n_groups: int | None = None) -> float:
    """Return the half width of the 95 % interval of a mean; of few groups, by Student's distribution."""
    if n_groups is not None and n_groups < 2:
        return float("nan")
    factor = stats.norm.ppf(1.0 - TAIL) if n_groups is None else stats.t.ppf(1.0 - TAIL, n_groups - 1)
    return float(factor * np.sqrt(variance))
