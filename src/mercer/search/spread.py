"""How far off predictions are, by where they are: errors grow with the value, of prices as of counts."""

from typing import NamedTuple

import numpy as np

from mercer._typing import Array

FEWEST = 40  # errors that a mean is taken of
MOST_PARTS = 12
LEAST = 0.1  # of the mean error: where predictions were right by chance, they are not always


class Spread(NamedTuple):
    """The mean error of unseen samples by the prediction: a line from knot to knot, level beyond the ends."""

    knots: Array
    heights: Array

    @classmethod
    def of(cls, predicted: Array, error: Array, weight: Array) -> "Spread":
        """Return the spread of absolute errors: their means over parts of as many samples, smoothed."""
        n_parts = int(np.clip(len(predicted) // FEWEST, 1, MOST_PARTS))
        parts = np.array_split(np.argsort(predicted, kind="stable"), n_parts)
        knots = np.array([np.mean(predicted[part]) for part in parts])
        heights = np.array([_mean(error[part], weight[part]) for part in parts])
        level = float(_mean(error, weight)) or 1.0
        if n_parts > 2:  # a part in between counts half, its neighbours a quarter each
            padded = np.concatenate([heights[:1], heights, heights[-1:]])
            heights = padded[:-2] / 4.0 + padded[1:-1] / 2.0 + padded[2:] / 4.0
        knots, first = np.unique(knots, return_index=True)
        return cls(knots, np.maximum(heights[first], LEAST * level))

    def __call__(self, predicted: Array) -> Array:
        """Return the spread at some predictions."""
        spread: Array = np.interp(predicted, self.knots, self.heights)
        return spread


def _mean(error: Array, weight: Array) -> float:
    return float(np.average(error, weights=weight)) if weight.sum() > 0 else 0.0
