"""What the papers compare with and no library keeps."""

from .adaboost import AdaBoostPerceptron, AdaBoostStump
from .kernel_perceptron import KernelPerceptron
from .perceptron import PerceptronRCD
from .rca import RCA
from .xing import XingMetric

__all__ = ["RCA", "AdaBoostPerceptron", "AdaBoostStump", "KernelPerceptron", "PerceptronRCD", "XingMetric"]
