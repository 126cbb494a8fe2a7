"""The page of results: what it counts and what it says are recomputed here from the record."""

import csv
import math
import re
from pathlib import Path

import pytest

import reproduction
from reproduction.catalogue import CLAIMS
from reproduction.harness import Table
from reproduction.harness.claims import (
    VERDICTS,
    Claim,
    Numbers,
    Tally,
    always,
    both,
    mostly,
    never_worse,
    tally,
)
from reproduction.harness.count import read_record
from reproduction.page import NOTES, page

ROOT = Path(reproduction.__file__).parents[1]
RECORD = ROOT / "docs/results.csv"
TABLES = {key: item for key, item in reproduction.CATALOGUE.items() if isinstance(item, Table)}


@pytest.fixture(scope="module")
def text():
    return page(reproduction.CATALOGUE, CLAIMS, read_record(RECORD))


def test_the_page_is_what_the_record_gives(text):
    assert (ROOT / "docs/results.md").read_text(encoding="utf-8") == text, "run `make results`"


def counted_by_hand():
    """Count the papers' own numbers with nothing but the csv file and the published numbers."""
    with RECORD.open(encoding="utf-8") as file:
        lines = [line for line in csv.DictReader(file) if line["first"] == line["seed"] == "0"]
    found = {(line["table"], line["row"], line["column"]): line for line in lines}
    counts = {"run": 0, "first": [0, 0, 0], "second": [0, 0, 0]}
    seen = set()
    for key, table in TABLES.items():
        for (row, column), (value, error) in table.published.items():
            name = (table.experiment, row, column, value)
            line = found.get((key, row, column))
            if column not in table.ours or row in table.uncounted or name in seen or line is None:
                continue
            seen.add(name)
            ours, own = float(line["value"]), float(line["error"] or 0)
            if not line["error"] and table.repeats > 1:
                continue
            theirs = own * math.sqrt(int(line["repeats"]) / table.repeats) if error is None else error
            lower = table.better == "lower" and column not in table.higher
            counts["run"] += 1
            for which, joint in (("first", math.hypot(own, theirs)), ("second", own)):
                near = abs(ours - value) <= 2 * joint
                counts[which][0 if near else 1 if (ours < value) == lower else 2] += 1
    return counts


def test_a_reader_who_counts_from_the_record_gets_what_the_page_says(text):
    said = re.search(
        r"\*\*Of \d+ published numbers .*? (\d+) were run: (\d+) are within error, (\d+) are better and "
        r"(\d+) worse\. .*? exact, (\d+) are within error, (\d+) better and (\d+) worse",
        text,
    )
    run, *numbers = map(int, said.groups())
    by_hand = counted_by_hand()
    derived = run - by_hand["run"]  # shares of problems, which are not lines of the record
    assert 0 <= derived <= 1
    assert sum(numbers[:3]) == sum(numbers[3:]) == run
    for which, got in (("first", numbers[:3]), ("second", numbers[3:])):
        assert sum(abs(a - b) for a, b in zip(got, by_hand[which], strict=True)) == derived


def test_every_claim_has_a_verdict_and_what_shows_it_exists():
    numbers = Numbers(read_record(RECORD))
    tests = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("*.py"))
    assert len(CLAIMS) >= 40
    for claim in CLAIMS:
        verdict, note = claim.judge(numbers)
        assert verdict in VERDICTS
        assert note, claim.sentence
        if claim.shown_by.startswith("test_"):
            assert f"def {claim.shown_by}(" in tests, claim.shown_by
        elif claim.shown_by.startswith("benchmarks "):
            assert (ROOT / f"{claim.shown_by.replace(' ', '/')}.py").exists()
        elif claim.shown_by:
            assert claim.shown_by in reproduction.CATALOGUE, claim.shown_by


def test_every_note_is_of_a_table():
    assert {path.stem for path in NOTES.iterdir()} <= {"fresh", *TABLES}


def test_columns_are_compared_row_by_row_with_the_best_of_others():
    numbers = {
        ("a", "ours"): (1.0, 0.1),
        ("a", "x"): (2.0, 0.1),
        ("a", "y"): (1.05, 0.1),  # the best, and alike
        ("b", "ours"): (1.0, 0.1),
        ("b", "x"): (2.0, 0.1),
        ("c", "ours"): (3.0, 0.1),
        ("c", "y"): (2.0, 0.1),
    }
    assert tally(numbers, "abcd", "ours", "xy") == Tally(1, 1, 1)
    assert tally(numbers, "abcd", "ours", "xy", lower_is_better=False) == Tally(1, 0, 2)


@pytest.mark.parametrize(
    ("found", "verdicts"),
    [
        (Tally(3, 0, 0), ("holds", "holds", "holds")),
        (Tally(2, 1, 0), ("holds in part", "holds", "holds")),
        (Tally(1, 2, 0), ("holds in part", "holds in part", "holds")),
        (Tally(1, 1, 1), ("fails", "fails", "holds in part")),
        (Tally(0, 1, 2), ("fails", "fails", "fails")),
    ],
)
def test_always_mostly_and_never_worse_are_told_apart(found, verdicts):
    assert tuple(judge(found)[0] for judge in (always, mostly, never_worse)) == verdicts


def test_a_claim_of_two_parts_holds_if_both_do():
    yes, no = ("holds", "a"), ("fails", "b")
    assert both(yes, yes) == ("holds", "a; a")
    assert both(yes, no) == ("holds in part", "a; b")
    assert both(no, no) == ("fails", "b; b")


def test_a_claim_about_numbers_that_were_not_measured_cannot_be_tested():
    claim = Claim("X 1", "it is so", lambda numbers: ("holds", str(numbers.of("none")["a", "b"])))
    assert claim.judge(Numbers(read_record(RECORD))) == ("cannot be tested", "not run")
