"""Held-out samples on the page: matrices, mistakes and neighbours are counted right and named right."""

import html
import re

import numpy as np
import pytest
from sklearn.datasets import load_iris

from mercer import KernelSVC
from report.html_page import report, search_for

pytestmark = pytest.mark.usefixtures("coarse_pictures")


def test_both_gram_matrices_are_of_one_size_and_one_scale(linear_page):
    boxes, found = [], linear_page
    for pixels in found.pixels("The similarities"):
        inked = np.abs(pixels - pixels[0, 0]).max(axis=2) > 0.1
        boxes.append([np.flatnonzero(inked.any(axis=axis))[[0, -1]].tolist() for axis in (0, 1)])
    assert boxes[0] == boxes[1]
    ends = re.search(r"from dark \((\S+)\) to bright \((\S+)\)", found.text)
    low, high = (float(end.replace("−", "-")) for end in ends.groups())
    assert -1.0 <= low < 0.0 < high <= 1.0  # cosines


def test_no_winner_is_said_to_have_learned(linear_page):
    """A linear kernel learns nothing, so there is no before and no after."""
    words = " ".join([linear_page.text, *(attrs["alt"] for attrs in linear_page.all("img"))])
    assert not re.search(r"\b(before|after)\b", words, re.IGNORECASE)
    assert linear_page.heads("The same in numbers")[1:] == [
        "A plain kernel (RBF)",
        "The winner&#39;s kernel (linear)",
    ]


def test_the_confusion_table_counts_the_held_out_rows(linear_page):
    rows = linear_page.rows("Samples by true")
    counts = np.array([[int(cell) for cell in cells[1:]] for cells in rows])
    assert sorted(counts.sum(axis=1)) == [7, 7, 8]  # 30 % of 75, rounded


@pytest.mark.parametrize(("n_each", "is_few"), [(13, True), (17, False)])
def test_few_held_out_rows_are_said_to_mean_little(tmp_path, n_each, is_few):
    """Of 13 samples 4 are held out, of 17 there are 5."""
    X, y = load_iris(return_X_y=True)
    some = np.concatenate([np.flatnonzero(y == label)[:n_each] for label in range(3)])
    found = report(tmp_path, search_for({"linear": KernelSVC()}, X[some], y[some]), X[some], y[some])
    rows = [int(cell) for cells in found.rows("Samples by true")[:1] for cell in cells[1:]]
    assert (sum(rows) < 5) == is_few
    assert found.text.count("this few samples mean little") == (3 if is_few else 0)


def test_the_neighbours_named_are_rows_of_their_classes(linear_page, iris):
    _, y = iris
    rows = linear_page.rows("Nearest training samples")
    assert {cells[1] for cells in rows} == {"0", "1", "2"}
    queries = {int(cells[0].removeprefix("row ")) for cells in rows}
    for head, label, _, *near in rows:
        assert y[int(head.removeprefix("row "))] == int(label)
        assert len(near) == 5
        for cell in near:
            number, of_class = re.fullmatch(r"row (\d+): (\d)", cell).groups()
            assert y[int(number)] == int(of_class)
            assert int(number) not in queries


@pytest.mark.parametrize("kind", ["numbers", "names"])
def test_rows_are_called_by_the_names_that_are_given(tmp_path, linear, linear_page, iris, kind):
    """The same page as that of rows 0, 1, …, with other names."""
    names = [3 * k + 7 for k in range(75)] if kind == "numbers" else [f"<flower> {k}" for k in range(75)]
    found = report(tmp_path, linear, *iris, row_names=names)
    shown = [html.unescape(cell) for cells in found.rows("Nearest training samples") for cell in cells]
    expected = [
        re.sub(r"row (\d+)", lambda match: as_shown(names[int(match[1])]), cell)
        for cells in linear_page.rows("Nearest training samples")
        for cell in cells
    ]
    assert shown == expected
    assert ("counted from 0" in found.text) == (kind == "numbers")


def as_shown(name):
    return name if isinstance(name, str) else f"row {name}"


def test_no_more_neighbours_are_counted_than_a_class_has_rows(tmp_path):
    X, y = load_iris(return_X_y=True)
    some = np.concatenate([np.flatnonzero(y == label)[:n] for label, n in enumerate((3, 20, 20))])
    found = report(tmp_path, search_for({"linear": KernelSVC()}, X[some], y[some]), X[some], y[some])
    assert found.rows("The same in numbers")[1][0] == "same class among 2 nearest"
