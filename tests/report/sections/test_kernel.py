"""Held-out samples on the page: matrices, mistakes and neighbours are counted right and named right."""

import re

import numpy as np
import pytest

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


def as_shown(name):
    return name if isinstance(name, str) else f"row {name}"
