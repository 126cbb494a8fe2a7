"""What the papers compare with and no library keeps."""

from .adaboost import AdaBoostPerceptron, AdaBoostStump
from .kernel_perceptron import KernelPerceptron
from .perceptron import PerceptronRCD

__all__ = ["AdaBoostPerceptron", "AdaBoostStump", "KernelPerceptron", "PerceptronRCD"]
