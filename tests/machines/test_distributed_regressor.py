"""Fits of numbers to Dask collections: the same model as from arrays, whatever the chunks."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import make_friedman1

from mercer import PerceptronRegressor, StumpRegressor, TreeRegressor

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
from mercer.machines.distributed import scale_target, summarize_numbers  # noqa: E402
from mercer.solvers.newton.dask_rows import ClusterError  # noqa: E402

N = 2000
X, Y = make_friedman1(N, n_features=5, noise=1.0, random_state=0)
NEW, _ = make_friedman1(300, n_features=5, random_state=1)
WEIGHT = np.random.default_rng(0).integers(0, 3, N).astype(float)
UNEQUAL = (1000, 0, 1, 600, 399)  # rows of the chunks


@pytest.fixture(autouse=True)
def _in_this_process():
    with dask.config.set(scheduler="synchronous"):
        yield


def chunked(values):
    return da.from_array(values, chunks=(UNEQUAL, *values.shape[1:]))


def stump(**options):
    return StumpRegressor(**{"C": 0.5, "max_bins": 16, "tol": 1e-5, **options})


@pytest.mark.parametrize(
    "loss", ["squared_error", "absolute_error", "quantile", "epsilon_insensitive", "poisson"]
)
def test_a_fit_to_chunks_is_that_to_arrays_for_each_loss(loss):
    y = np.abs(Y) if loss == "poisson" else 1e3 * Y
    expected = stump(loss=loss, quantile=0.8).fit(X, y, sample_weight=WEIGHT)
    found = stump(loss=loss, quantile=0.8).fit(chunked(X), chunked(y), sample_weight=chunked(WEIGHT))
    assert found.objective_ == pytest.approx(expected.objective_, rel=1e-4)
    assert_allclose(found.predict(NEW), expected.predict(NEW), atol=3e-3 * y.std())
    assert_allclose(found.shape_functions_[3].knots, expected.shape_functions_[3].knots)


def test_slices_are_fitted_to_chunks():
    options = {"method": "sliced", "n_directions": 20, "max_bins": 16, "tol": 1e-5, "random_state": 0}
    expected = PerceptronRegressor(**options).fit(X, Y)
    found = PerceptronRegressor(**options).fit(chunked(X), Y)
    assert_allclose(found.predict(NEW), expected.predict(NEW), atol=3e-3 * Y.std())


def test_landmarks_of_chunks_are_nearly_as_good_as_the_gram_matrix():
    exact = TreeRegressor(C=16.0).fit(X, Y)
    found = TreeRegressor(C=16.0, n_landmarks=600, random_state=0).fit(chunked(X), Y)
    assert (exact.method_, found.method_) == ("gram", "landmarks")
    assert np.mean((found.predict(NEW) - exact.predict(NEW)) ** 2) < 0.01 * Y.var()


def test_a_frame_is_fitted_and_predictions_stay_in_chunks():
    frame = pd.DataFrame(X, columns=list("abcde"))
    model = stump().fit(dd.from_pandas(frame, npartitions=3), dd.from_pandas(pd.Series(Y), npartitions=3))
    assert model.feature_names_in_.tolist() == list("abcde")
    assert_allclose(model.predict(frame), stump().fit(X, Y).predict(X), atol=3e-3 * Y.std())
    lazy = stump().fit(chunked(X), Y).predict(chunked(X))
    assert lazy.chunks == (UNEQUAL,)
    assert_allclose(lazy.compute(), model.predict(frame), atol=3e-3 * Y.std())


def test_moments_of_chunks_are_those_of_all_numbers():
    y, parts = 1e6 + 1e-3 * Y, np.split(np.arange(N), [700, 701])
    scaling = scale_target(
        [summarize_numbers(X[p], y[p], WEIGHT[p], np.arange(1)) for p in parts], is_log=False
    )
    mean = np.average(y, weights=WEIGHT)
    assert scaling.offset[0] == pytest.approx(mean, rel=1e-14)
    assert scaling.scale[0] == pytest.approx(np.sqrt(np.average((y - mean) ** 2, weights=WEIGHT)), rel=1e-6)


def test_a_constant_target_is_predicted_as_it_is():
    model = stump().fit(chunked(X), chunked(np.full(N, 0.1)))
    assert np.all(model.predict(NEW) == 0.1)


@pytest.mark.parametrize(
    ("y", "weight", "message"),
    [
        (np.where(np.arange(N) == 1700, np.nan, Y), None, "Input y contains NaN in row 1700"),
        (np.where(np.arange(N) == 1700, np.inf, Y), None, "Input y contains infinity"),
        (Y, np.where(np.arange(N) == 1500, -1.0, 1.0), "sample_weight is -1 in row 1500"),
        (Y, np.zeros(N), "no sample of positive weight"),
        (np.array(["a", "b"])[np.arange(N) % 2], None, "The target holds '[ab]'"),
        (np.column_stack([Y, Y]), None, "y must have one dimension"),
    ],
)
def test_what_is_wrong_in_a_chunk_is_said(y, weight, message):
    with pytest.raises(ValueError, match=message):
        stump().fit(chunked(X), chunked(y), sample_weight=None if weight is None else chunked(weight))


def test_what_dask_cannot_do_gets_a_sentence():
    with pytest.raises(ValueError, match="StumpRegressor needs bins for Dask"):
        StumpRegressor().fit(chunked(X), Y)
    with pytest.raises(ValueError, match="PerceptronRegressor computes no Gram matrix of Dask"):
        PerceptronRegressor(method="gram").fit(chunked(X), Y)
    with pytest.raises(ValueError, match=r"poisson.* at least 0, got -"):
        stump(loss="poisson").fit(chunked(X), Y - 100.0)


def test_a_cluster_that_dies_leaves_the_model_as_far_as_it_is_fitted(monkeypatch):
    def dies(*args, **options):
        raise ClusterError(OSError("gone"), None)

    monkeypatch.setattr("mercer.machines.distributed.solve_path", dies)
    with pytest.raises(ClusterError) as caught:
        stump().fit(chunked(X), Y)
    assert_allclose(caught.value.model.predict(NEW), Y.mean())
