"""What the papers compare with and no library keeps."""

from reproduction.baselines.adaboost import AdaBoostPerceptron, AdaBoostStump
from reproduction.baselines.kernel_perceptron import KernelPerceptron
from reproduction.baselines.rca import RCA
from reproduction.baselines.xing import XingMetric

__all__ = ["RCA", "AdaBoostPerceptron", "AdaBoostStump", "KernelPerceptron", "XingMetric"]
