"""The errors by rounds are those of SVMs on the kernels so far."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.gaussian_process.kernels import RBF
from sklearn.svm import SVC

from mercer import BoostedKernel, KernelBoost, KernelSVC
from mercer.report import plot_rounds, staged_errors


@pytest.mark.parametrize(
    "learner", [BoostedKernel(n_rounds=5, random_state=0), KernelBoost(n_rounds=4, random_state=0)]
)
def test_the_errors_by_rounds_are_those_of_svms_on_the_kernels_so_far(iris, learner):
    X, y = iris
    model = KernelSVC(learner, C=2.0).fit(X[::2], y[::2])
    errors = staged_errors(model, X[::2], y[::2], X[1::2], y[1::2])
    kernels = list(model.learner_.staged_kernels())
    assert_array_equal(errors.rounds, np.arange(1, len(kernels) + 1))
    for kernel, learned, held_out in zip(kernels, errors.learned, errors.held_out, strict=True):
        svm = SVC(kernel=kernel, C=2.0).fit(X[::2], y[::2])
        # LIBSVM stops elsewhere: a row or two on the border may differ
        assert abs(1.0 - svm.score(X[::2], y[::2]) - learned) < 2.5 / 75
        assert abs(1.0 - svm.score(X[1::2], y[1::2]) - held_out) < 2.5 / 75
    assert errors.held_out[-1] == pytest.approx(1.0 - model.score(X[1::2], y[1::2]))
    first, second = plot_rounds(errors).lines
    assert_array_equal(first.get_ydata(), errors.learned)
    assert_array_equal(second.get_xydata(), np.column_stack([errors.rounds, errors.held_out]))


def test_of_many_rounds_some_are_shown_with_the_first_and_the_last(rng):
    X, y = rng.normal(size=(80, 3)), np.arange(80) % 2  # nothing to learn: it takes all rounds
    learner = BoostedKernel(RBF(), n_rounds=40, random_state=0)
    model = KernelSVC(learner, relative_C=True).fit(X, y)
    rounds = staged_errors(model, X, y, X, y).rounds
    assert (rounds[0], rounds[-1]) == (1, model.learner_.n_rounds_)
    assert len(rounds) <= 12 < model.learner_.n_rounds_


def test_what_has_no_rounds_is_refused(iris):
    X, y = iris
    with pytest.raises(TypeError, match="staged_kernels"):
        staged_errors(KernelSVC().fit(X, y), X, y, X, y)
    one = KernelSVC(BoostedKernel(n_rounds=1), relative_C=True).fit(X, y)
    with pytest.raises(ValueError, match="1 round"):
        staged_errors(one, X, y, X, y)
