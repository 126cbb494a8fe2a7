"""Forty tables as people have them: each is used, or refused by a sentence that says what to do."""

import gzip
import json

import numpy as np
import pandas as pd
import pytest

from mercer.commands.inputs import Request, read_task
from mercer.commands.learn import facts
from mercer.preprocessing import TableError

N_ROWS = 48
RNG = np.random.default_rng(0)
Y = np.array(["yes", "no"])[np.arange(N_ROWS) % 2]
SIZE = (RNG.normal(size=N_ROWS) * 900 + 5000).round(2)
DAYS = pd.date_range("2023-11-20", periods=N_ROWS, freq="37h")
CITY = RNG.choice(["Rome", "Bonn", "Oslo"], N_ROWS)
SENTENCES = ("very good and fast", "quite slow but good", "never again too slow", "fast and cheap and good")


def cells(form, values=SIZE):
    return [form.format(value) for value in values]


def swapped(texts):
    """Write decimal commas for points, and points for commas."""
    return [text.translate(str.maketrans(",.", ".,")) for text in texts]


def with_gaps(texts, gap, every=6):
    return [gap if k % every == 0 else text for k, text in enumerate(texts)]


def csv(**columns):
    return pd.DataFrame({**columns, "y": Y}, dtype=object).to_csv(index=False)


def semicolons(**columns):
    return pd.DataFrame({**columns, "y": Y}, dtype=object).to_csv(index=False, sep=";")


def labelled(labels, quote_all=False):
    return pd.DataFrame({"x": SIZE, "y": labels}).to_csv(index=False, quoting=1 if quote_all else 0)


PLAIN = csv(x=SIZE)
ARABIC = {ord("0") + k: 0x660 + k for k in range(10)}
LOSS = SIZE - 5000
ZONES = np.where(np.arange(N_ROWS) % 2, "-0500", "+0200")

# A table, and which column is of which kind
USED = {
    "plain numbers": (PLAIN, {"numbers": ["x"]}),
    "thousands separators": (csv(x=cells("{:,.2f}")), {"numbers": ["x"]}),
    "decimal commas in semicolons": (semicolons(x=swapped(cells("{:.2f}"))), {"numbers": ["x"]}),
    "decimal commas in quotes": (csv(x=swapped(cells("{:.2f}"))), {"numbers": ["x"]}),
    "points for thousands": (semicolons(x=swapped(cells("{:,.2f}"))), {"numbers": ["x"]}),
    "apostrophes for thousands": (csv(x=[c.replace(",", "'") for c in cells("{:,.1f}")]), {"numbers": ["x"]}),
    "blanks for thousands": (csv(x=[c.replace(",", " ") for c in cells("{:,.0f}")]), {"numbers": ["x"]}),
    "dollars": (csv(x=cells("${:,.2f}")), {"numbers": ["x"]}),
    "euros behind": (csv(x=cells("{:.2f} €")), {"numbers": ["x"]}),
    "per cent": (csv(x=cells("{:.1f}%", SIZE / 100)), {"numbers": ["x"]}),
    "a unit": (csv(x=cells("{:.1f} kg")), {"numbers": ["x"]}),
    "a minus of typographers": (
        csv(x=[c.replace("-", "−") for c in cells("{:.1f}", SIZE - 5000)]),
        {"numbers": ["x"]},
    ),
    "narrow blanks for thousands": (
        semicolons(x=[c.replace(",", "\u202f").replace(".", ",") for c in cells("{:,.2f}")]),
        {"numbers": ["x"]},
    ),
    "letters of a currency": (csv(x=[c.replace(",", "'") for c in cells("CHF {:,.2f}")]), {"numbers": ["x"]}),
    "Arabic digits": (csv(x=[c.translate(ARABIC) for c in cells("{:.2f}")]), {"numbers": ["x"]}),
    "hundreds of thousands in India": (csv(x=cells("3,{:,.2f}", SIZE + 10_000)), {"numbers": ["x"]}),
    "losses in brackets": (
        csv(x=[f"({-x:,.2f})" if x < 0 else f"{x:,.2f}" for x in LOSS]),
        {"numbers": ["x"]},
    ),
    "a minus behind": (csv(x=[f"{-x:.2f}-" if x < 0 else f"{x:.2f}" for x in LOSS]), {"numbers": ["x"]}),
    "the gaps of a database": (csv(x=with_gaps(cells("{:.1f}"), r"\N")), {"numbers": ["x"]}),
    "dashes for gaps": (csv(x=with_gaps(cells("{:.1f}"), "-")), {"numbers": ["x"]}),
    "errors of a spreadsheet": (csv(x=with_gaps(cells("{:.1f}"), "#DIV/0!")), {"numbers": ["x"]}),
    "words for gaps": (csv(x=with_gaps(cells("{:.1f}"), "N/A")), {"numbers": ["x"]}),
    "ISO days": (csv(x=list(DAYS.strftime("%Y-%m-%d"))), {"dates": ["x"]}),
    "ISO times with a zone": (csv(x=list(DAYS.strftime("%Y-%m-%dT%H:%M:%SZ"))), {"dates": ["x"]}),
    "times with the name of a zone": (csv(x=list(DAYS.strftime("%Y-%m-%d %H:%M:%S UTC"))), {"dates": ["x"]}),
    "times of several zones": (
        csv(
            x=[
                f"{day:%Y-%m-%d %H:%M} {zone}"
                for day, zone in zip(DAYS, ["+0200", "-0500"] * 24, strict=True)
            ]
        ),
        {"dates": ["x"]},
    ),
    "times of e-mails": (csv(x=list(DAYS.strftime("%a, %d %b %Y %H:%M:%S +0000"))), {"dates": ["x"]}),
    "German days": (csv(x=list(DAYS.strftime("%d.%m.%Y"))), {"dates": ["x"]}),
    "American days": (csv(x=list(DAYS.strftime("%m/%d/%Y"))), {"dates": ["x"]}),
    "days with names of months": (csv(x=list(DAYS.strftime("%d %B %Y"))), {"dates": ["x"]}),
    "days in eight digits": (csv(x=list(DAYS.strftime("%Y%m%d"))), {"dates": ["x"]}),
    "days with gaps": (csv(x=with_gaps(DAYS.strftime("%Y-%m-%d"), "")), {"dates": ["x"]}),
    "the clock": (csv(x=list(DAYS.strftime("%H:%M"))), {"dates": ["x"]}),
    "free text": (csv(x=[f"{SENTENCES[k % 4]}, no {k}" for k in range(N_ROWS)]), {"texts": ["x"]}),
    "categories": (csv(x=CITY), {"categories": ["x"]}),
    "categories with gaps": (csv(x=with_gaps(CITY, "")), {"categories": ["x"]}),
    "truth values": (csv(x=CITY == "Rome"), {"categories": ["x"]}),
    "codes with zeros": (csv(x=cells("{:05d}", RNG.integers(0, 9, N_ROWS))), {"categories": ["x"]}),
    "many cities": (csv(x=[f"town {k // 2}" for k in range(N_ROWS)]), {"categories": ["x"]}),
    "gaps that tell": (csv(x=with_gaps(["ill"] * N_ROWS, "")), {"categories": ["x"]}),
    "one wild number": (csv(x=[*SIZE[:-1], 55e6]), {"numbers": ["x"]}),
    "a quantity to predict": (labelled(SIZE), {"numbers": ["x"]}),
    "cells of several lines": (csv(x=[f"{city}\nItaly" for city in CITY]), {"categories": ["x"]}),
    "a byte order mark": (b"\xef\xbb\xbf" + PLAIN.encode(), {"numbers": ["x"]}),
    "lines that end as on an old Mac": (PLAIN.replace("\n", "\r"), {"numbers": ["x"]}),
    "from right to left": (
        csv(**{"עמודה": np.where(CITY == "Rome", "שלום", "مرحبا")}),
        {"categories": ["עמודה"]},
    ),
    "a name of 200 letters": (csv(**{200 * "h": SIZE}), {"numbers": [200 * "h"]}),
    "an empty column": (csv(x=SIZE, z=[""] * N_ROWS), {"numbers": ["x"], "dropped": {"z": "it is empty"}}),
    "UTF-16 of a spreadsheet": (csv(x=CITY).replace(",", "\t").encode("utf-16"), {"categories": ["x"]}),
    "Latin 1": (csv(x=np.where(CITY == "Rome", "Köln", "x")).encode("latin-1"), {"categories": ["x"]}),
    "compressed": (gzip.compress(PLAIN.encode()), {"numbers": ["x"]}),
    "a column without a name": (PLAIN.replace("x,y", ",y"), {"numbers": ["column 1"]}),
    "labels 007 and 7": (labelled(np.where(Y == "yes", "007", "7")), {"numbers": ["x"]}),
    "labels None and some": (labelled(np.where(Y == "yes", "None", "some")), {"numbers": ["x"]}),
    "labels 0.0 and 1.0": (labelled(with_gaps(np.where(Y == "yes", "1.0", "0.0"), "")), {"numbers": ["x"]}),
}

# A table, and what is said
REFUSED = {
    "numbers and words": (
        csv(x=[*cells("{:.2f}")[:-1], "heavy"]),
        "mixes numbers with text, such as 'heavy'",
    ),
    "days and words": (
        csv(x=[*DAYS.strftime("%Y-%m-%d")[:-1], "soon"]),
        "mixes dates with text, such as 'soon'",
    ),
    "days in several formats": (
        csv(x=[day.strftime(["%Y-%m-%d", "%d.%m.%Y", "%m/%d/%Y"][k % 3]) for k, day in enumerate(DAYS)]),
        "if they are dates or numbers, write all as 2024-01-31",
    ),
    "one row a class": (labelled([f"c{k}" for k in range(N_ROWS)]), "name a column in which classes repeat"),
    "a page": (b"<!DOCTYPE html><table>", "an HTML or XML file: save the table as CSV"),
    "JSON": ('[\n {"x": 1, "y": "yes"}]', "a JSON file: save the table as CSV"),
    "a very long cell": (csv(x=["long " * 40_000, *CITY[1:]]), "a cell of more than 131072 characters"),
    "an infinite number": (csv(x=[*SIZE[:-1], "inf"]), "holds inf in row 47: correct it"),
    "labels that count": (labelled(np.arange(N_ROWS) % 12), "12 different whole numbers from 0 to 11"),
    "one class": (labelled(["yes"] * N_ROWS), "only one class"),
    "a class of one row": (labelled([*Y[:-1], "maybe"]), "one each of 'maybe'"),
    "no column names": (
        PLAIN.split("\n", 1)[1].replace("yes", "1").replace("no", "2"),
        "no column 'y'|put a line",
    ),
    "two columns of a name": (PLAIN.replace("x,y", "y,y"), "several columns of the same name"),
    "a title above": ("My table\n" + PLAIN, "the first line should be the column names"),
    "an archive": (b"PK\x03\x04rest", "no Excel sheet: unpack it"),
    "blanks between cells": (PLAIN.replace(",", " "), "separate cells by commas"),
    "nothing but ids": (csv(x=[f"i{k:04d}" for k in RNG.permutation(N_ROWS)]), "each row has its own text"),
    "units that differ": (
        csv(x=[f"{k} {'kg' if k % 2 else 'g'}" for k in range(N_ROWS)]),
        "write them alike",
    ),
    "half a compressed file": (gzip.compress(PLAIN.encode())[:60], "compressed and damaged"),
}


@pytest.fixture
def read(tmp_path):
    """Return a function that writes a table to a file and reads it as `mercer learn` does."""

    def write_and_read(content):
        path = tmp_path / "table"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return read_task(Request(data=path, target="y"))

    return write_and_read


def numbers(task):
    return np.asarray(task.encoder.transform(task.X))


@pytest.mark.parametrize("case", USED)
def test_what_is_useful_is_used(read, case):
    content, kinds = USED[case]
    task = read(content)
    assert {kind: names for kind, names in task.columns._asdict().items() if names} == kinds
    encoded = numbers(task)
    assert np.isfinite(encoded).all()
    assert np.ptp(encoded, axis=0).max() > 0
    json.dumps(facts(task))  # what is said of it can be kept


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_used_gets_a_sentence(read, case):
    content, words = REFUSED[case]
    with pytest.raises(TableError, match=words) as caught:
        read(content)
    sentence = str(caught.value)
    assert sentence.endswith(".")
    assert "\n" not in sentence


def test_numbers_are_the_same_however_they_are_written(read):
    expected = numbers(read(PLAIN))
    for case in (
        *("thousands separators", "decimal commas in semicolons", "points for thousands", "dollars"),
        *("narrow blanks for thousands", "letters of a currency", "Arabic digits"),
    ):
        np.testing.assert_allclose(numbers(read(USED[case][0])), expected)
    for case in ("losses in brackets", "a minus behind"):
        np.testing.assert_allclose(numbers(read(USED[case][0]))[:, 0], LOSS, atol=1e-9)
    in_india = numbers(read(USED["hundreds of thousands in India"][0]))[:, 0]
    np.testing.assert_allclose(in_india, SIZE + 310_000)


def test_times_are_the_same_however_their_zone_is_written(read):
    expected = numbers(read(USED["ISO times with a zone"][0]))
    for case in ("times with the name of a zone", "times of e-mails"):
        np.testing.assert_allclose(numbers(read(USED[case][0])), expected)
    days = read(USED["times of several zones"][0])
    hours = np.where(ZONES == "-0500", 5.0, -2.0)  # to be added for those of Greenwich
    since = (DAYS - DAYS[0]) / pd.Timedelta("1h") + hours
    found = 24.0 * numbers(days)[:, list(days.encoder.get_feature_names_out()).index("x: days")]
    np.testing.assert_allclose(found, since - since.min(), atol=0.02)


def test_labels_are_as_they_are_written(read):
    assert set(read(USED["labels 007 and 7"][0]).y) == {"007", "7"}
    assert set(read(USED["labels None and some"][0]).y) == {"None", "some"}
    with_gaps = read(USED["labels 0.0 and 1.0"][0])
    assert set(with_gaps.y) == {"0.0", "1.0"}
    assert len(with_gaps.unlabelled) == N_ROWS // 6
    in_quotes = read(
        labelled(np.where(Y == "yes", "NA", np.where(np.arange(N_ROWS) < 5, "", "a")), quote_all=True)
    )
    assert set(in_quotes.y) == {"NA", "a"}


def test_there_are_forty_tables_and_more():
    assert len(USED) + len(REFUSED) >= 40
