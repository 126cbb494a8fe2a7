"""What every test may ask for."""

import os

import numpy as np
import pytest
from hypothesis import settings

# What lands must not hang on luck: hypothesis draws the same examples each time; HYPOTHESIS=explore, others.
settings.register_profile("same", derandomize=True)
settings.register_profile("explore", print_blob=True)
settings.load_profile("explore" if os.environ.get("HYPOTHESIS") == "explore" else "same")


@pytest.fixture
def rng() -> np.random.Generator:
    """Return a random generator that gives every test the same draws, whatever ran before it."""
    return np.random.default_rng(0)
