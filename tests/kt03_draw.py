"""A small draw of [KT03] for tests."""

import numpy as np

from reproduction.kt03.data import Draw, Rows, draw_similar


def small_draw(seed=0, n=40):
    """Two classes far apart in one of three features."""
    rng = np.random.RandomState(seed)
    y = np.arange(n) % 2
    X = rng.normal(size=(n, 3)) * [1, 4, 4]
    X[:, 0] += 6 * y
    half = n // 2
    train, test = Rows(X[:half], X[:half], y[:half]), Rows(X[half:], X[half:], y[half:])
    return Draw(train, test, draw_similar(train.y, rng))
