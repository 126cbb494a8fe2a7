"""Pairs in tiles, on a device, are those of the tables that hold them all."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from devices import EACH_TENSOR, numpy, put, torch
from mercer.losses import LOSSES
from mercer.solvers.boosted import AllPairs, Balance, Coordinates, boost_kernel, tiled_pairs
from mercer.solvers.boosted.directions import best_directions
from mercer.solvers.boosted.tiled_pairs import TiledPairs

BALANCE = Balance(2.5, 0.7)


def draw(m=300, seed=0):
    rng = np.random.default_rng(seed)
    label = rng.integers(3, size=m)
    return rng.normal(size=(m, 6)) + np.eye(3, 6)[label], label, rng.normal(size=(m, 4)) / 2


@pytest.mark.parametrize("kind", ["float64", "float32"])
@pytest.mark.parametrize("loss", ["log", "exp"])
@pytest.mark.parametrize("at_once", [1, 128 * 300, 2**20])
@EACH_TENSOR
def test_every_pass_is_that_of_all_pairs_in_memory(device, loss, kind, at_once, monkeypatch):
    monkeypatch.setattr(tiled_pairs, "AT_ONCE", at_once)
    F, label, G = draw()
    dtype, tol = getattr(torch, kind), 1e-9 if kind == "float64" else 3e-5
    expected = AllPairs(label, BALANCE, LOSSES[loss])
    found = TiledPairs(put(F, device, dtype), put(label, device), BALANCE, loss)
    for part in (G[:, :1], G[:, 1:]):
        expected.add(part)
        found.add(put(part, device, dtype))
        assert found.n_pairs == expected.n_pairs
        assert_allclose([found.loss, found.mass], [expected.loss, expected.mass], rtol=tol)
        new = draw(seed=1)[2]
        T = put(new, device, dtype)
        assert_allclose(found.weigh(T), expected.weigh(new), rtol=tol)
        for t in (0.1, 0.3, 3 * 0.3, 7.0):
            scale = sum(expected.weigh(new))
            assert found.slope(T, t) == pytest.approx(expected.slope(new, t), rel=10 * tol, abs=tol * scale)
        best = found.best_directions(2)
        wanted = best_directions(Coordinates(F), expected.multiply, 2, np.ones(6))
        assert_allclose(
            found.scores(best.values),
            expected.scores(wanted.values),
            rtol=1e-3 if kind == "float32" else 1e-7,
        )
        assert_allclose(np.abs(numpy(best.u).T @ wanted.u), np.eye(2), atol=1e-3)
        assert_allclose(numpy(best.values), F @ numpy(best.u), atol=1e-4)


@EACH_TENSOR
def test_boosting_on_tiles_is_boosting_on_all_pairs(device):
    F, label, _ = draw()
    table = AllPairs(label, BALANCE, LOSSES["log"])
    expected = boost_kernel(Coordinates(F), table, n_rounds=8, n_directions=2, step="search")
    X = put(F, device)
    tiles = TiledPairs(X, put(label, device), BALANCE, "log")
    options = {"n_rounds": 8, "n_directions": 2, "step": "search", "find": tiles.best_directions}
    found = boost_kernel(Coordinates(X), tiles, **options)
    assert len(found) == len(expected)
    for a, b in zip(found, expected, strict=True):
        assert (a.alpha, a.loss) == pytest.approx((b.alpha, b.loss), rel=1e-6)
