"""Memory is refused before the work starts, in words."""

import numpy as np
import pytest

from mercer import PerceptronRegressor, TreeRegressor, limits
from mercer.limits import check_gram_fits, check_memory


@pytest.fixture
def a_megabyte(have_memory):
    have_memory(1_000_000)


@pytest.mark.usefixtures("a_megabyte")
def test_what_fits_passes_and_a_byte_more_does_not():
    check_memory(1_000_000, "It", "Buy more.")
    with pytest.raises(MemoryError, match=r"It needs 0\.0 GB, this machine has 0\.0 GB\. Buy more\."):
        check_memory(1_000_001, "It", "Buy more.")


@pytest.mark.usefixtures("a_megabyte")
def test_a_gram_matrix_counts_twice_with_eight_bytes_a_number():
    check_gram_fits(250, "")  # 2 · 8 · 250² = 10⁶
    with pytest.raises(MemoryError, match="The Gram matrix of 251 rows"):
        check_gram_fits(251, "")


@pytest.mark.usefixtures("a_megabyte")
def test_the_numbers_are_in_gigabytes():
    with pytest.raises(MemoryError, match=r"needs 12345678900000\.0 GB"):
        check_memory(1.23456789e22, "It", "")


def test_where_the_machine_cannot_say_nothing_is_refused(monkeypatch):
    class Elsewhere:
        """An operating system without sysconf."""

    monkeypatch.setattr(limits, "os", Elsewhere())
    check_memory(1e30, "It", "")


@pytest.mark.usefixtures("a_megabyte")
def test_folds_that_are_fitted_together_count_together():
    check_gram_fits(100, "", n_folds=6)  # 6 · 2 · 8 · 100² = 0.96 · 10⁶
    with pytest.raises(MemoryError, match="7 Gram matrices of 100 rows"):
        check_gram_fits(100, "", n_folds=7)


@pytest.mark.usefixtures("a_megabyte")
@pytest.mark.parametrize("kind", [PerceptronRegressor, TreeRegressor])
def test_regressors_count_the_gram_matrices_of_all_folds_before_they_start(kind):
    X = np.random.default_rng(0).normal(size=(150, 2))
    with pytest.raises(MemoryError, match="5 Gram matrices of 120 rows"):
        kind(C="cv", method="gram", cv=5, random_state=0).fit(X, X[:, 0])
