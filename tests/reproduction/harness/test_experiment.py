import subprocess
import sys

import numpy as np
import pytest

from reproduction import Method
from reproduction.harness import Draws
from reproduction.harness.experiment import published, seed_of
from toy_table import make_table


def test_published_numbers_are_read_as_they_are_typed():
    numbers = published(["a", "b"], "\n  first  1.5±0.25  -\n\n second  7  0.1±0.01\n")
    assert numbers == {
        ("first", "a"): (1.5, 0.25),
        ("second", "a"): (7.0, None),
        ("second", "b"): (0.1, 0.01),
    }


def test_a_line_with_a_number_too_few_is_refused():
    with pytest.raises(ValueError, match="shorter"):
        published(["a", "b"], "first 1.5")


def test_a_seed_is_the_same_in_another_process():
    # Python's own hash() of a string is not: it is salted anew in every process.
    code = "from reproduction.harness.experiment import seed_of; print(seed_of('ll05', 'heart', 7, 'data'))"
    other = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(other.stdout) == seed_of("ll05", "heart", 7, "data")


def test_different_names_have_different_seeds():
    names = [
        (row, repeat, part) for row in ("heart", "hear", "t") for repeat in range(40) for part in ("x", "y")
    ]
    assert len({seed_of(*name) for name in names}) == len(names)
    assert seed_of("ab", "c") != seed_of("a", "bc")


def test_seeds_are_spread_like_random_numbers():
    seeds = np.array([seed_of("spread", repeat) for repeat in range(2000)]) / 2**32
    counts, _ = np.histogram(seeds, bins=10, range=(0, 1))
    # Each count is binomial(2000, 1/10): five standard deviations on either side.
    assert abs(counts - 200).max() < 5 * np.sqrt(2000 * 0.1 * 0.9)


def test_rows_without_a_published_number_are_not_rows_of_the_paper():
    assert make_table().published_rows == ("calm", "wild")


@pytest.mark.parametrize("change", [{"protocol": "six numbers"}, {"experiment": "another"}])
def test_what_results_are_stored_under_changes_with_the_table(change):
    method = make_table().methods[0]
    assert make_table(**change).words(method) != make_table().words(method)


@pytest.mark.parametrize(
    "change", [{"name": "Average"}, {"columns": ("mean", "more")}, {"protocol": "the average"}]
)
def test_what_results_are_stored_under_changes_with_the_method(change):
    table = make_table()
    method = table.methods[0]
    fields = {
        "name": method.name,
        "columns": method.columns,
        "score": method.score,
        "protocol": method.protocol,
    }
    assert table.words(Method(**(fields | change))) != table.words(method)


def test_tables_of_one_experiment_share_results_though_their_keys_differ():
    method = make_table().methods[0]
    assert make_table(key="other", title="Another").words(method) == make_table().words(method)


def test_another_seed_or_a_later_repeat_draws_afresh_and_the_default_is_that_of_the_docs():
    names = ("ll05", "heart", 0, "data")
    assert Draws().of(*names) == seed_of(*names)
    assert len({Draws(0, seed).of("ll05", "heart", repeat) for seed in range(3) for repeat in range(3)}) == 9


def test_a_cause_is_that_of_the_place_then_of_its_row_its_column_and_the_table():
    table = make_table(causes={("calm", "mean"): "a", ("calm", ""): "b", ("", "mean"): "c", ("", ""): "d"})
    places = ("calm", "mean"), ("calm", "long"), ("wild", "mean"), ("wild", "long")
    assert [table.cause(*place) for place in places] == ["a", "b", "c", "d"]
    assert make_table().cause("calm", "mean") == "Not known."
