"""Small tables for the commands to work on."""

import numpy as np
import pandas as pd

N_ROWS = 60


def make_table(seed: int = 0, n_rows: int = N_ROWS) -> pd.DataFrame:
    """Return rows of two classes with numbers, categories, empty cells, an id and a constant column."""
    rng = np.random.default_rng(seed)
    is_ripe = rng.random(n_rows) < 0.5
    colour = np.where(rng.random(n_rows) < 0.9, np.where(is_ripe, "red", "green"), "brown").astype(object)
    weight = rng.normal(size=n_rows) + 3.0 * is_ripe
    colour[4] = np.nan
    weight[5] = np.nan
    return pd.DataFrame(
        {
            "name": [f"apple {k}" for k in range(n_rows)],
            "weight": weight.round(3),
            "days": rng.integers(5, 90, size=n_rows),
            "colour": colour,
            "planet": "earth",
            "state": np.where(is_ripe, "ripe", "raw"),
        }
    )


def make_pairs(table: pd.DataFrame, n_pairs: int = 200) -> pd.DataFrame:
    """Return pairs of rows, by name, and whether they are of one state."""
    rng = np.random.default_rng(1)
    first = rng.integers(len(table), size=n_pairs)
    second = (first + rng.integers(1, len(table), size=n_pairs)) % len(table)
    state = table["state"].to_numpy()
    similar = (state[first] == state[second]).astype(int)
    return pd.DataFrame({"first": first, "second": second, "similar": similar})
