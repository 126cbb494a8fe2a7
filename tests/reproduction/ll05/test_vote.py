"""(4) of [LL05] for perceptrons, written out: the machine is a vote of all perceptrons."""

import numpy as np
from numpy.testing import assert_allclose
from sklearn.svm import SVC

from mercer.kernels import Perceptron
from mercer.machines import PerceptronSVC


def test_the_machine_is_a_vote_of_all_perceptrons_weighted_by_4(rng):
    X = rng.normal(size=(25, 2))
    y = np.where(X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=25) > 0, 1, -1)
    svm = SVC(kernel="precomputed", C=2.0, tol=1e-8).fit(Perceptron.spanning(X)(X), y)
    center = (X.min(axis=0) + X.max(axis=0)) / 2
    radius = np.linalg.norm(X - center, axis=1).max()
    turns, steps = 720, 2000  # all directions θ, and all thresholds a of the ball
    angle = 2 * np.pi * (np.arange(turns) + 0.5) / turns
    theta = np.column_stack([np.cos(angle), np.sin(angle)])
    a = radius * (2 * (np.arange(steps) + 0.5) / steps - 1)
    new = center + radius * rng.uniform(-0.6, 0.6, size=(4, 2))
    vote = np.zeros(len(new))
    for direction in theta:
        s = np.sign(((X[svm.support_] - center) @ direction)[:, None] - a)  # each perceptron on the rows
        weight = svm.dual_coef_[0] @ s  # w(θ, a) of (4), but for the constant r²
        vote += np.sign(((new - center) @ direction)[:, None] - a) @ weight
    # r² makes the vote of all perceptrons for one row, ∫ s² = 2 R · 2π, the Δ of Definition 3
    vote *= Perceptron.spanning(X).delta / (turns * steps)
    machine = PerceptronSVC(C=2.0, method="gram").fit(X, y)
    assert_allclose(vote + svm.intercept_[0], machine.decision_function(new), atol=0.02)
