"""Every estimator of mercer, one instance each of the ways to compute it."""

from sklearn.gaussian_process.kernels import RBF

from mercer import (
    BlendedKernel,
    BoostedKernel,
    IdealizedKernel,
    KernelBoost,
    KernelRegressor,
    KernelSearchCV,
    KernelSearchRegressor,
    KernelSVC,
    PerceptronRegressor,
    PerceptronSVC,
    RelevanceKernel,
    StumpRegressor,
    StumpSVC,
    Superkernel,
    TreeRegressor,
    TreeSVC,
)
from mercer.superkernels import ARD, Alignment, Explicit, GaussianHarmonic

ESTIMATORS = [
    StumpSVC(),
    StumpSVC(max_bins=16, multi_class="ovr"),
    StumpSVC("cv", Cs=3, cv=3),
    PerceptronSVC(),
    PerceptronSVC(method="sliced", n_directions=8, random_state=0),
    PerceptronSVC("cv", Cs=3, cv=3),
    TreeSVC(),
    TreeSVC(ranks=True),
    TreeSVC(method="landmarks", n_landmarks=20, multi_class="ovr", random_state=0),
    TreeSVC("cv", Cs=(0.5, 5.0), gammas=(0.5, 1.0), cv=3, random_state=0),
    StumpRegressor(),
    StumpRegressor(loss="quantile", quantile=0.8, max_bins=16),
    StumpRegressor(loss="epsilon_insensitive"),
    StumpRegressor("cv", Cs=3, cv=3, random_state=0),
    PerceptronRegressor(),
    PerceptronRegressor(method="sliced", n_directions=8, random_state=0),
    PerceptronRegressor("cv", Cs=3, cv=3, loss="absolute_error", random_state=0),
    TreeRegressor(),
    TreeRegressor(method="landmarks", n_landmarks=20, random_state=0),
    TreeRegressor("cv", Cs=(0.5, 5.0), gammas=(0.5, 1.0), cv=3, random_state=0),
    KernelRegressor(),
    KernelRegressor(RBF(), loss="epsilon_insensitive"),
    BoostedKernel(n_rounds=3),
    BoostedKernel(RBF(), n_rounds=3, loss="exp", max_pairs=50, random_state=0),
    IdealizedKernel(C_dissimilar=1e6),
    BlendedKernel(
        KernelBoost(n_rounds=2, random_state=0), others=[IdealizedKernel(C_dissimilar=1e6)], metric="within"
    ),
    IdealizedKernel(RBF(), C_dissimilar=1e6, psd="clip"),
    KernelBoost(n_rounds=3),
    KernelBoost(n_rounds=2, covariance_type="tied", dissolve=True),
    RelevanceKernel(n_rounds=2, random_state=0),
    RelevanceKernel("perceptron", n_rounds=2, random_state=0),
    Superkernel(),
    Superkernel(GaussianHarmonic()),
    Superkernel(ARD(GaussianHarmonic(2.0)), random_state=0),
    Superkernel(Explicit([RBF(), RBF(3.0)], columns=[None, (0,)]), quality=Alignment()),
    # to the last digits, also in folds: weights are repeats to seven digits, for probabilities too
    KernelSearchCV(
        {"linear": KernelSVC(tol=1e-9), "stump": (StumpSVC(tol=1e-9), {"C": [0.1, 1.0]})},
        cv=2,
        random_state=0,
    ),
    KernelSearchRegressor(
        {"linear": KernelRegressor(C=1.0), "stump": (StumpRegressor(), {"C": [0.1, 1.0]})},
        cv=2,
        random_state=0,
    ),
]
