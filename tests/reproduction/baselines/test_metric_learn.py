import numpy as np
import pytest

from mercer.pairs import Pairs
from reproduction.baselines.metric_learn import learn


def test_without_an_interpreter_that_has_it_it_says_what_to_set(monkeypatch):
    monkeypatch.delenv("MERCER_METRIC_LEARN", raising=False)
    y = np.array([0, 0, 1, 1])
    with pytest.raises(OSError, match="MERCER_METRIC_LEARN"):
        learn("ITML", np.eye(4), y, Pairs.from_labels(y))
