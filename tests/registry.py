"""Every estimator of mercer, one instance each of the ways to compute it."""

from sklearn.gaussian_process.kernels import RBF

from mercer import (
    BlendedKernel,
    BoostedKernel,
    IdealizedKernel,
    KernelBoost,
    KernelSearchCV,
    KernelSVC,
    PerceptronSVC,
    PerceptronSVCCV,
    RelevanceKernel,
    StumpRegressor,
    StumpRegressorCV,
    StumpSVC,
    StumpSVCCV,
    Superkernel,
    TreeSVC,
    TreeSVCCV,
)
from mercer.baselines import RCA, KernelPerceptron, XingMetric
from mercer.superkernels import ARD, Alignment, Explicit, GaussianHarmonic

ESTIMATORS = [
    StumpSVC(),
    StumpSVC(max_bins=16, multi_class="ovr"),
    StumpSVCCV(Cs=3, cv=3),
    PerceptronSVC(),
    PerceptronSVC(method="sliced", n_directions=8, random_state=0),
    PerceptronSVCCV(Cs=3, cv=3),
    TreeSVC(),
    TreeSVC(method="nystroem", n_landmarks=20, multi_class="ovr", random_state=0),
    TreeSVCCV(Cs=(0.5, 5.0), gammas=(0.5, 1.0), cv=3, random_state=0),
    StumpRegressor(),
    StumpRegressor(loss="quantile", quantile=0.8, max_bins=16),
    StumpRegressor(loss="epsilon_insensitive"),
    StumpRegressorCV(Cs=3, cv=3, random_state=0),
    BoostedKernel(n_rounds=3),
    BoostedKernel(RBF(), n_rounds=3, loss="exp", max_pairs=50, random_state=0),
    IdealizedKernel(C_dissimilar=1e6),
    BlendedKernel(KernelBoost(n_rounds=2, random_state=0), second=IdealizedKernel(C_dissimilar=1e6)),
    IdealizedKernel(RBF(), C_dissimilar=1e6, psd="clip"),
    KernelBoost(n_rounds=3),
    KernelBoost(n_rounds=2, covariance_type="tied", dissolve=True),
    RelevanceKernel(n_rounds=2, random_state=0),
    RelevanceKernel("perceptron", n_rounds=2, random_state=0),
    Superkernel(),
    Superkernel(GaussianHarmonic()),
    Superkernel(ARD(GaussianHarmonic(2.0)), random_state=0),
    Superkernel(Explicit([RBF(), RBF(3.0)], columns=[None, (0,)]), quality=Alignment()),
    RCA(),
    XingMetric(),
    KernelSearchCV({"linear": KernelSVC(), "stump": (StumpSVC(), {"C": [0.1, 1.0]})}, cv=2, random_state=0),
    KernelPerceptron(n_epochs=5, average=True),
    KernelPerceptron(RBF(), n_epochs=5),
    KernelPerceptron("precomputed", n_epochs=5),
]
