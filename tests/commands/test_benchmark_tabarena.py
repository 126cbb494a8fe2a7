"""The system for TabArena keeps its contract on three toy problems: two classes, three, and a number."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from benchmarks.tabarena import System

RNG = np.random.default_rng(0)
N = 90
NUMBER, COLOUR = RNG.normal(size=N), RNG.choice(["red", "green", "blue"], size=N)
GAPS = np.where(NUMBER > 1, np.nan, 1)
TABLE = pd.DataFrame({"number": NUMBER, "colour": pd.Categorical(COLOUR), "gaps": GAPS})
TABLE.index = RNG.permutation(1000)[:N]
TARGETS = {
    "binary": (np.where(NUMBER > 0, "yes", "no"), "roc_auc"),
    "multiclass": (COLOUR, "log_loss"),
    "regression": (NUMBER + (COLOUR == "red"), "rmse"),
}


@pytest.mark.parametrize("problem_type", TARGETS)
def test_the_system_says_what_tabarena_asks_for(problem_type):
    y, metric = TARGETS[problem_type]
    y = pd.Series(y, index=TABLE.index)
    known, new = TABLE.iloc[:60], TABLE.iloc[60:]
    system = System()._fit_system(
        known.copy(), y.iloc[:60], target_name="target", problem_type=problem_type,
        eval_metric=SimpleNamespace(name=metric), validation_metadata=None, num_cpus=1, num_gpus=0,
        memory_limit=None, time_limit=2.0, random_state=3,
    )  # fmt: skip
    assert system.search.scoring is not None
    assert system.search.random_state == 3
    said = system._predict(new)
    assert said.index.equals(new.index)
    if problem_type == "regression":
        assert np.corrcoef(said, y.iloc[60:])[0, 1] > 0.9
        return
    chances = system._predict_proba(new)
    assert chances.index.equals(new.index)
    assert list(chances.columns) == sorted(set(y))
    assert_allclose(chances.sum(axis=1), 1.0)
    assert (chances.idxmax(axis=1) == y.iloc[60:]).mean() > 0.9
