"""What the papers compare with and no library keeps."""

from .adaboost import AdaBoostPerceptron, AdaBoostStump
from .perceptron import PerceptronRCD

__all__ = ["AdaBoostPerceptron", "AdaBoostStump", "PerceptronRCD"]
