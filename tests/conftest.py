"""What every test may ask for."""

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

# What lands must not hang on luck: hypothesis draws the same examples each time; HYPOTHESIS=explore, others.
# Nor on the clock: on a busy machine an example may take long, and so may drawing it.
PATIENT = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("same", derandomize=True, **PATIENT)
settings.register_profile("explore", print_blob=True, **PATIENT)
settings.load_profile("explore" if os.environ.get("HYPOTHESIS") == "explore" else "same")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let `--margins` write how near the tests came to their bounds."""
    parser.addoption("--margins", type=Path, help="file for how near the tests came to their bounds")


def pytest_configure(config: pytest.Config) -> None:
    """Look at the tests' bounds if asked to, before the tests are read."""
    if path := config.getoption("--margins"):
        from margins import Recorder

        config.pluginmanager.register(Recorder(path.absolute()))


@pytest.fixture
def have_memory(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Return a function that gives this machine so many bytes, even one that cannot say how many it has."""

    def have(n_bytes: int) -> None:
        pages = {"SC_PHYS_PAGES": n_bytes, "SC_PAGE_SIZE": 1}
        monkeypatch.setattr("os.sysconf", pages.__getitem__, raising=False)

    return have


@pytest.fixture
def rng() -> np.random.Generator:
    """Return a random generator that gives every test the same draws, whatever ran before it."""
    return np.random.default_rng(0)
