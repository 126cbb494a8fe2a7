"""What every test may ask for."""

import numpy as np
import pytest


@pytest.fixture
def rng() -> np.random.Generator:
    """Return a random generator that gives every test the same draws, whatever ran before it."""
    return np.random.default_rng(0)
