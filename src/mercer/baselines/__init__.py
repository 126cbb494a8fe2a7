"""What the papers compare with and no library keeps."""

from mercer.baselines.adaboost import AdaBoostPerceptron, AdaBoostStump
from mercer.baselines.kernel_perceptron import KernelPerceptron
from mercer.baselines.rca import RCA
from mercer.baselines.xing import XingMetric

__all__ = ["RCA", "AdaBoostPerceptron", "AdaBoostStump", "KernelPerceptron", "XingMetric"]
