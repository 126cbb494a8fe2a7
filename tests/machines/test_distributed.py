"""Fits to Dask collections: the same model as from arrays, whatever the chunks, and whatever dies."""

import os
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_blobs
from sklearn.gaussian_process.kernels import RBF

import mercer
from mercer import KernelSVC, PerceptronSVC, StumpSVC
from mercer.datasets import threenorm, twonorm

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
distributed = pytest.importorskip("distributed")
psutil = pytest.importorskip("psutil")
from mercer.machines.distributed import count_held, group_chunks  # noqa: E402
from mercer.solvers.newton.dask_rows import ClusterError, DaskRows  # noqa: E402

N = 3000
X, Y = twonorm(N, random_state=0)
X = X[:, :4]
X_NEW = twonorm(300, random_state=1)[0][:, :4]
PATIENCE = 600  # seconds for what takes one; workers import this file, and cannot find others beside it
UNEQUAL = (1000, 0, 1, 1500, 499)  # rows of the chunks


def chunked(values, chunks=UNEQUAL):
    return da.from_array(values, chunks=(chunks, *values.shape[1:]))


def of_unknown_length(values, chosen=np.full(N, True)):  # noqa: B008
    """Rows in chunks whose lengths only their computation tells."""
    return chunked(values)[chunked(chosen)]


def svc(**options):
    return StumpSVC(**{"C": 0.05, "max_bins": 16, "tol": 1e-5, **options})


def assert_same(model, other, tol=1e-3):
    """Both end within 1e-6 of the least objective: their decision values are as near as that allows."""
    np.testing.assert_allclose(model.objective_, other.objective_, rtol=1e-5)
    f, g = (np.asarray(m.decision_function(X_NEW)) for m in (model, other))
    assert np.abs(f - g).max() <= tol * max(1.0, np.abs(g).max())


@pytest.fixture(scope="module")
def fitted():
    return svc().fit(X, Y)


@pytest.mark.parametrize(
    "make",
    [
        lambda: (chunked(X), chunked(Y)),
        lambda: (chunked(X), Y),
        lambda: (da.from_array(X, chunks=(700, 3)), da.from_array(Y, chunks=800)),
        lambda: (of_unknown_length(X), of_unknown_length(Y)),
        lambda: (of_unknown_length(X), chunked(Y, (2000, 1000))),
        lambda: (dd.from_pandas(pd.DataFrame(X), npartitions=3), dd.from_pandas(pd.Series(Y), npartitions=3)),
        lambda: (dd.from_pandas(pd.DataFrame(X), npartitions=3), pd.Series(Y)),
        lambda: (chunked(X.astype(np.float32).astype(float)), list(Y)),
    ],
    ids=["same chunks", "y an array", "columns", "unknown", "X unknown", "frame", "frame and series", "list"],
)
def test_chunks_of_any_kind_give_the_model_of_the_array(make, fitted):
    assert_same(svc().fit(*make()), fitted)


def test_sorted_rows_with_a_class_missing_in_most_chunks_give_the_same(fitted):
    order = np.argsort(Y, kind="stable")
    assert_same(svc().fit(chunked(X[order]), chunked(Y[order])), svc().fit(X[order], Y[order]))


@pytest.mark.parametrize("loss", ["hinge", "log_loss"])
@pytest.mark.parametrize("class_weight", [None, "balanced", {-1.0: 3.0}])
def test_weights_count_as_for_arrays(loss, class_weight, rng):
    weight = rng.choice([0.0, 0.3, 2.0], N)
    options = {"loss": loss, "class_weight": class_weight}
    model = svc(**options).fit(chunked(X), chunked(Y), sample_weight=chunked(weight))
    assert_same(model, svc(**options).fit(X, Y, sample_weight=weight))


def test_rows_of_tiny_weight_do_not_spoil_the_scale():
    few = np.where(np.arange(N) < 3, 1.0, -1.0)
    weight = np.where(few > 0, 1e-12, 1.0)
    model = svc(C=1e-3).fit(chunked(X), few, sample_weight=weight)
    assert np.all(np.abs(model.decision_function(X_NEW) + 1.0) < 1e-3)  # as LIBSVM says


def test_a_class_of_no_weight_is_none():
    three = np.where(np.arange(N) % 3 == 0, 7.0, Y)
    model = svc().fit(chunked(X), three, sample_weight=(three != 7.0).astype(float))
    assert_same(model, svc().fit(X[three != 7.0], Y[three != 7.0]))
    assert model.classes_.tolist() == [-1.0, 1.0]


@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
def test_many_classes_with_names_give_the_same_classes(multi_class):
    Z, label = make_blobs(2000, n_features=4, centers=4, cluster_std=4.0, random_state=0)
    Z, names = np.round(Z), np.array(["ant", "bee", "cat", "dog"])[label]  # as many values as bins: no sample
    options = {"multi_class": multi_class, "max_bins": 64, "C": 0.01}
    model = svc(**options).fit(da.from_array(Z, chunks=(600, 4)), names)
    other = svc(**options).fit(Z, names)
    assert model.classes_.tolist() == ["ant", "bee", "cat", "dog"]
    np.testing.assert_allclose(model.objective_, other.objective_, rtol=1e-5)
    assert np.mean(model.predict(Z) == other.predict(Z)) > 0.995


def test_slices_give_the_model_of_the_array():
    options = {"method": "sliced", "n_directions": 12, "max_bins": 16, "tol": 1e-5, "random_state": 0}
    model = PerceptronSVC(C=0.05, **options).fit(chunked(X), chunked(Y))
    assert_same(model, PerceptronSVC(C=0.05, **options).fit(X, Y))


def test_more_rows_than_bins_are_chosen_on_are_sampled_as_from_an_array(monkeypatch, fitted):
    monkeypatch.setattr("mercer.machines.additive.ROWS_FOR_KNOTS", 500)
    model = svc(random_state=3).fit(chunked(X), chunked(Y))
    assert_same(model, svc(random_state=3).fit(X, Y))
    assert not np.allclose(model.shape_functions_[0].knots[:3], fitted.shape_functions_[0].knots[:3])


# predictions


@pytest.mark.parametrize(
    "lazy", [da.from_array(X_NEW, chunks=(70, 3)), dd.from_pandas(pd.DataFrame(X_NEW), 4)]
)
def test_predictions_are_lazy_whatever_the_model_was_fitted_to(lazy, fitted):
    for model in (fitted, svc(loss="log_loss").fit(X, Y), PerceptronSVC().fit(X[:200], Y[:200])):
        for method in ("predict", "decision_function", "predict_proba"):
            if hasattr(model, method):
                answer = getattr(model, method)(lazy)
                assert isinstance(answer, da.Array)
                expected = getattr(model, method)(X_NEW)
                assert answer.dtype == expected.dtype
                np.testing.assert_allclose(answer.compute(), expected, rtol=1e-9, atol=1e-12)


def test_empty_chunks_are_predicted_to_be_empty(fitted):
    lazy = da.from_array(X_NEW, chunks=((100, 0, 200), 4))
    assert [len(block.compute()) for block in fitted.predict(lazy).blocks] == [100, 0, 200]


def test_names_of_features_are_kept_and_compared():
    frame = pd.DataFrame(X, columns=list("abcd"))
    model = svc().fit(dd.from_pandas(frame, npartitions=2), Y)
    assert model.feature_names_in_.tolist() == list("abcd")
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(dd.from_pandas(frame[list("bacd")], npartitions=2))


def test_a_model_can_be_saved(tmp_path):
    model = svc().fit(chunked(X), chunked(Y))
    mercer.save(model, tmp_path / "model.mercer")
    again = mercer.load(tmp_path / "model.mercer")
    np.testing.assert_array_equal(again.decision_function(X_NEW), model.decision_function(X_NEW))


@pytest.mark.parametrize("kind", ["constant", "duplicate columns", "duplicate rows", "all constant"])
def test_degenerate_samples_give_the_model_of_the_array(kind, rng):
    Z, y = X[:600].copy(), Y[:600]
    if kind == "constant":
        Z[:, 1] = 7.0
    elif kind == "duplicate columns":
        Z[:, 1] = Z[:, 0]
    elif kind == "duplicate rows":
        Z, y = Z[rng.integers(0, 20, 600)], y[rng.permutation(600)]
    else:
        Z[:] = 1.0
    expected = svc(tol=1e-5).fit(Z, y).decision_function(Z)
    lazy = svc(tol=1e-5).fit(chunked(Z, (0, 100, 500)), y)
    np.testing.assert_allclose(lazy.decision_function(Z), expected, atol=0.01 * max(1.0, np.ptp(expected)))


# what is wrong


def spoiled(values, row, value):
    values = values.copy()
    values[row] = value
    return values


@pytest.mark.parametrize("split", [chunked, of_unknown_length])
def test_what_is_wrong_is_named_by_its_row(split, fitted):
    holes = spoiled(spoiled(X, (2600, 1), np.nan), (1700, 2), np.nan)
    with pytest.raises(ValueError, match="X contains NaN in row 1700, feature 2: StumpSVC takes numbers"):
        svc().fit(split(holes), Y)
    with pytest.raises(ValueError, match="X contains infinity in row 2600, feature 1"):
        svc().fit(split(spoiled(X, (2600, 1), -np.inf)), Y)
    with pytest.raises(ValueError, match="y contains NaN in row 1001"):
        svc().fit(split(X), split(spoiled(Y.astype(float), 1001, np.nan)))
    with pytest.raises(ValueError, match="sample_weight is -1 in row 2999"):
        svc().fit(split(X), Y, sample_weight=split(spoiled(np.ones(N), 2999, -1.0)))
    with pytest.raises(ValueError, match="X contains NaN in row 1700, feature 2"):
        fitted.predict(chunked(spoiled(X, (1700, 2), np.nan))).compute()


@pytest.mark.parametrize(
    ("model", "make", "message"),
    [
        (svc(), lambda: (chunked(X), np.ones(N)), "needs at least two classes .* only one class: 1.0"),
        (svc(), lambda: (chunked(X), X[:, 0]), "Unknown label type"),
        (svc(), lambda: (chunked(X), Y[:-1]), "X has 3000 rows, but y has 2999"),
        (svc(), lambda: (chunked(X), of_unknown_length(Y, Y > 0)), "rows of X, y and sample_weight"),
        (svc(), lambda: (chunked(X), chunked(X)), "y must have one dimension"),
        (svc(), lambda: (chunked(Y), chunked(Y)), "2D array"),
        (svc(), lambda: (da.from_array(X), of_unknown_length(Y)), "5 chunks of unknown length, but X has 1"),
        (svc(max_bins=None), lambda: (chunked(X), Y), "needs bins .* set max_bins"),
        (
            PerceptronSVC(method="gram"),
            lambda: (chunked(X), Y),
            "computes no Gram matrix of Dask .* set method='auto'",
        ),
        (PerceptronSVC(max_bins=None), lambda: (chunked(X), Y), "needs bins .* set max_bins"),
        (svc(C=-1.0), lambda: (chunked(X), Y), "C"),
        (svc(), lambda: (dd.from_pandas(pd.DataFrame({"a": ["x", "y"]}), 1), [0, 1]), "TableEncoder"),
        (svc(), lambda: (chunked(X[:0], (0,)), Y[:0]), "there is no class"),
        (svc(), lambda: (chunked(1e306 * np.sign(X) * 100), Y), "too large or too small to compute with"),
        (svc(), lambda: (chunked(X + 1j), Y), "Complex data not supported"),
    ],
)
def test_bad_input_is_refused_with_what_to_do(model, make, message):
    with pytest.raises(ValueError, match=message):
        model.fit(*make())


# clusters


def rows_of(seed):
    Z, y = threenorm(3000, random_state=seed)
    return np.column_stack([Z[:, :4], y])


def made_on_workers(n_chunks=4):
    lazy = dask.delayed(rows_of)
    Z = da.concatenate([da.from_delayed(lazy(k), (3000, 5), dtype=float) for k in range(n_chunks)])
    return Z[:, :4], Z[:, 4]


def at_newton_step(monkeypatch, number, act):
    """Let something happen in the middle of a fit."""
    step, count = DaskRows.newton_step, iter(range(1, 10_000))

    def newton_step(self, *arguments):
        if next(count) == number:
            act()
        return step(self, *arguments)

    monkeypatch.setattr(DaskRows, "newton_step", newton_step)


@pytest.mark.parametrize(
    ("make", "step"),
    [
        (svc, 8),
        (lambda: KernelSVC(C=0.1, loss="log_loss"), 3),
        (lambda: KernelSVC(RBF(2.0), loss="log_loss", n_landmarks=40, random_state=0), 3),
    ],
    ids=["bins", "features", "landmarks"],
)
def test_a_worker_that_is_killed_in_a_fit_changes_nothing(monkeypatch, make, step):
    lazy = made_on_workers()
    monkeypatch.setattr("mercer.machines.distributed.count_threads", lambda: 2)  # by which sums are grouped
    expected = make().fit(*lazy)
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0", "silence_logs": 50}
    with (
        distributed.LocalCluster(**options) as cluster,
        distributed.Client(cluster, timeout=PATIENCE) as client,
    ):
        pids, lost = client.run(os.getpid), []

        def kill_who_has_most():
            held = client.has_what()
            address = max(held, key=lambda worker: len(held[worker]))
            lost.extend(held[address])
            psutil.Process(pids[address]).kill()

        at_newton_step(monkeypatch, step, kill_who_has_most)
        model = make().fit(*lazy)
    assert lost
    np.testing.assert_allclose(model.decision_function(X_NEW), expected.decision_function(X_NEW), atol=1e-6)


@pytest.fixture
def processes(tmp_path):
    """A scheduler and a worker, each a process of its own, and a client."""
    file, kinds = str(tmp_path / "scheduler.json"), ("dask_scheduler", "dask_worker --no-nanny --nthreads 1")
    options = ["--scheduler-file", file, "--no-dashboard"]
    started = [
        subprocess.Popen(
            [sys.executable, "-m", *f"distributed.cli.{kind}".split(), *options],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for kind in kinds
    ]
    try:
        with distributed.Client(scheduler_file=file, timeout=PATIENCE) as client:
            client.wait_for_workers(1, timeout=PATIENCE)
            yield started
    finally:
        for process in started:
            process.kill()
            process.wait()


def test_where_the_scheduler_is_gone_the_error_has_the_last_model(processes, monkeypatch):
    lazy, y = made_on_workers()
    y = y + 3.0 * (lazy[:, 0] > 2.0)  # four classes: six problems, of which the first is not finished
    at_newton_step(monkeypatch, 15, processes[0].kill)
    with pytest.raises(ClusterError, match="`model`") as caught:
        svc().fit(lazy, y)
    model = caught.value.model
    assert model.classes_.tolist() == [-1.0, 1.0, 2.0, 4.0]
    with dask.config.set(scheduler="threads"):
        Z, labels = dask.compute(lazy, y)
    rows = labels < 2.0
    assert np.mean((model.machines_[0].each[0](Z[rows]) > 0) == (labels[rows] > 0)) > 0.6
    assert all(np.ptp(function(Z)) == 0.0 for function in model.machines_[0].each[1:])
    assert set(model.predict(X_NEW)) <= set(model.classes_)


def test_dask_is_imported_for_its_collections_alone():
    program = (
        "import sys, numpy as np\nfrom mercer import StumpSVC\n"
        "X, y = np.arange(40.0)[:, None], np.arange(40) % 3\n"
        "StumpSVC(max_bins=8).fit(X, y).predict(X)\nassert 'dask' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_chunks_go_together_with_their_neighbours_two_groups_a_thread():
    assert [group.tolist() for group in group_chunks(np.array([5, 0, 5, 5, 100, 0, 1]), 2)] == [
        [0, 2, 3],
        [4],
        [6],
    ]
    groups = group_chunks(np.full(1000, 1000), 3)
    assert len(groups) == 6
    assert np.array_equal(np.concatenate(groups), np.arange(1000))
    assert max(map(len, groups)) <= 168
    assert len(group_chunks(np.full(1000, 10**6), 3)) == -(-(10**9) // 2**22)  # no task is too long


def test_landmarks_are_as_few_as_the_workers_have_memory_for(monkeypatch):
    class Client:
        limits = (3_000_000_000, 3_000_000_000)

        def scheduler_info(self):
            return {"workers": {str(k): {"memory_limit": limit} for k, limit in enumerate(self.limits)}}

    assert count_held(5_000_000) == 5_000_000  # there is no cluster
    monkeypatch.setattr(distributed, "get_client", Client)
    assert count_held(5_000_000) == 120
    assert count_held(10_000) == 60_000
    monkeypatch.setattr(Client, "limits", (0, 0))  # workers without a limit
    assert count_held(10_000) == 10_000
