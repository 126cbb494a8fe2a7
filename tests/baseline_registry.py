"""The estimators that the papers compare with; `registry` has those of mercer. No model file holds these."""

from sklearn.gaussian_process.kernels import RBF

from reproduction.baselines import RCA, KernelPerceptron, XingMetric

BASELINES = [
    RCA(),
    XingMetric(),
    KernelPerceptron(n_epochs=5, average=True),
    KernelPerceptron(RBF(), n_epochs=5),
    KernelPerceptron("precomputed", n_epochs=5),
]
