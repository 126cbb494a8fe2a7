"""The curves of two classes, beside what the top of the page says."""

import numpy as np

from mercer.report.sections.curves import reconcile
from mercer.search import Measure
from mercer.search.scoring import ERROR
from report.drawn import result_of

TRUTH = np.array([True, False, True, False])
VALUES = np.array([3.0, 2.0, 1.0, 0.0])  # precisions 1 and 2/3; of four pairs three are in order


def test_an_error_at_the_top_is_no_score_of_a_curve():
    result = result_of({"a": (0.5, 0.1)}, ERROR, winner="a")._replace(measure=Measure(ERROR, 0.2, 0.02))
    assert reconcile(result, TRUTH, VALUES) == []
