"""Landmarks by the thousand: against features of the same landmarks, and fits without a part."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import make_friedman1
from sklearn.gaussian_process.kernels import RBF

from mercer import KernelRegressor, KernelSVC
from mercer.kernels import Perceptron
from mercer.machines import landmark_samples
from mercer.machines.landmark_samples import LandmarkSamples, count_many, grow_landmarks
from mercer.machines.problems import How, Problem, Problems
from mercer.solvers.newton import HINGE, SquaredError

X, Y = make_friedman1(1500, n_features=5, noise=1.0, random_state=0)
LABEL = np.median(Y) < Y
NEW, _ = make_friedman1(300, n_features=5, random_state=1)


def samples(kernel, first=100, most=400):
    how = How("landmarks", loss=SquaredError(), seed=0)
    return LandmarkSamples.of(kernel, X, how, most, first)


def problem(weight):
    return Problems([Problem(None, (Y - Y.mean()) / Y.std(), weight)])


@pytest.mark.parametrize("loss", ["hinge", "log_loss", "squared_error"])
@pytest.mark.parametrize("kernel", [RBF(1.0), Perceptron()], ids=["RBF", "perceptron"])
def test_they_are_the_machine_of_features_of_the_same_landmarks(kernel, loss, monkeypatch):
    options = {"method": "landmarks", "n_landmarks": 150, "random_state": 0, "tol": 1e-4}
    few = KernelSVC(kernel, loss=loss, **options).fit(X, LABEL)
    monkeypatch.setattr(landmark_samples, "LANDMARK_WORK", 0)
    many = KernelSVC(kernel, loss=loss, **options).fit(X, LABEL)
    assert_array_equal(np.sort(many.support_), few.support_)
    assert_allclose(many.objective_, few.objective_, rtol=3e-4)
    assert_allclose(many.decision_function(NEW), few.decision_function(NEW), atol=0.02)
    assert many.residual_.max() <= 1e-4


def test_three_classes_are_three_problems_of_their_own_rows(monkeypatch):
    label = np.digitize(Y, np.quantile(Y, [0.3, 0.6]))
    options = {"method": "landmarks", "n_landmarks": 150, "random_state": 0, "tol": 1e-4}
    few = KernelSVC(RBF(1.0), **options).fit(X, label)
    monkeypatch.setattr(landmark_samples, "LANDMARK_WORK", 0)
    many = KernelSVC(RBF(1.0), **options).fit(X, label)
    assert_allclose(many.objective_, few.objective_, rtol=3e-4)
    assert np.mean(many.predict(NEW) == few.predict(NEW)) > 0.99


@pytest.mark.parametrize("kernel", [RBF(1.0), Perceptron()], ids=["RBF", "perceptron"])
def test_more_landmarks_are_what_as_many_from_the_start_are(kernel):
    weight = np.random.default_rng(0).uniform(0.5, 2.0, len(X))
    grown, at_once = samples(kernel).with_more(400), samples(kernel, first=400)
    assert len(grown.anchors) == 400
    share = weight / weight.sum()
    exact = share @ np.diag(kernel(X)) - share @ kernel(X) @ share
    assert_allclose([grown.spread(weight), at_once.spread(weight)], exact, rtol=3e-3)
    errors = [one.left_out(problem(weight).each[0].y[:, None], weight, 30.0)[0] for one in (grown, at_once)]
    assert_allclose(*errors, atol=0.01)


def test_what_is_left_out_is_missed_as_by_a_fit_to_the_others():
    weight = np.random.default_rng(0).uniform(0.5, 2.0, len(X))
    y, prepared = problem(weight).each[0].y, samples(RBF(1.0))
    error, some = prepared.left_out(y[:, None], weight, 30.0)
    others = np.setdiff1d(np.arange(len(X)), some)
    part = prepared.select(others)
    posed = Problems([Problem(None, y[others], weight[others])])
    options = KernelRegressor()._options()
    function = next(part.solve_path(posed, [30.0], SquaredError(), options)).function
    assert_allclose(error[:, 0], y[some] - function(X[some])[:, 0], atol=0.01)
    assert 500 < len(some) < 1000


@pytest.mark.parametrize("kept", [0, 2**26], ids=["single", "double"])
def test_large_penalties_of_numbers_without_noise_do_no_harm(kept, monkeypatch):
    monkeypatch.setattr(
        landmark_samples, "DOUBLE", kept
    )  # kernel values up to which they are of double precision
    X, y = make_friedman1(1500, n_features=5, noise=0.0, random_state=0)
    new, y_new = make_friedman1(300, n_features=5, noise=0.0, random_state=1)
    y, y_new = (y - y.mean()) / y.std(), (y_new - y.mean()) / y.std()
    prepared = LandmarkSamples.of(RBF(1.0), X, How("landmarks", loss=SquaredError(), seed=0), 700, 700)
    posed = Problems([Problem(None, y, np.ones(len(X)))])
    solved = next(prepared.solve_path(posed, [1e7], SquaredError(), KernelRegressor()._options()))
    error = solved.function(new)[:, 0] - y_new
    assert np.sqrt(np.mean(error**2)) < (0.03 if kept == 0 else 0.01)


def test_landmarks_grow_for_as_long_as_held_out_samples_gain():
    one = np.ones(len(X))
    assert len(grow_landmarks(samples(RBF(3.0)), problem(one), 1.0).anchors) <= 200  # a few directions
    assert len(grow_landmarks(samples(RBF(0.5)), problem(one), 100.0).anchors) == 400


def test_a_regressor_takes_as_many_as_pay_and_says_what_it_is_worth(monkeypatch):
    monkeypatch.setattr(landmark_samples, "MANY_ROWS", 1000)
    monkeypatch.setattr(landmark_samples, "FIRST", 100)
    model = KernelRegressor(RBF(1.0), C=30.0, method="landmarks", random_state=0).fit(X, Y)
    rival = KernelRegressor(RBF(1.0), C=30.0, method="gram").fit(X, Y)
    assert len(model.machines_[0].coef) in (100, 200, 400, 750)
    assert_allclose(model.predict(NEW), rival.predict(NEW), atol=0.3)
    low, high = model.predict_interval(NEW)
    assert np.all(low < high)
    assert model.n_iter_ > 1


@pytest.mark.parametrize(
    ("n", "wanted", "loss", "m"),
    [
        (100_000, None, HINGE, 2000),
        (1_000_000, None, HINGE, 800),
        (4_000_000, None, HINGE, 268),
        (100_000, 3000, HINGE, 3000),
        (100_000, 30_000, HINGE, 5368),
        (8000, None, SquaredError(), 4000),
    ],
)
def test_there_are_as_many_as_there_is_memory_for(n, wanted, loss, m):
    assert count_many(n, How("landmarks", wanted, loss=loss)) == m


def test_too_many_are_refused_before_work_starts():
    with pytest.raises(MemoryError, match="landmarks of 1500 rows"):
        LandmarkSamples.of(RBF(), X, How("landmarks"), 10**9, 10)
