"""The curves of two classes, beside what the top of the page says."""

import numpy as np
import pytest

from mercer.report.sections.curves import reconcile
from mercer.search import Measure
from mercer.search.scoring import ERROR, make_metric
from report.drawn import result_of

TRUTH = np.array([True, False, True, False])
VALUES = np.array([3.0, 2.0, 1.0, 0.0])  # precisions 1 and 2/3; of four pairs three are in order


@pytest.mark.parametrize(
    ("key", "here"), [("average_precision", "0.833"), ("roc_auc", "0.750"), ("balanced_accuracy", None)]
)
def test_the_score_of_a_curve_is_reconciled_with_the_one_at_the_top(key, here):
    metric = make_metric(key, "the score", "of a test")
    result = result_of({"a": (0.5, 0.1)}, metric, winner="a")._replace(measure=Measure(metric, 0.528, 0.02))
    said = reconcile(result, TRUTH, VALUES)
    assert len(said) == (here is not None)
    if here:
        assert f"The score: {here} here is one split, of which 4 samples are held out" in said[0]
        assert said[0].endswith("expect what the top of the page says, 0.528.")


def test_an_error_at_the_top_is_no_score_of_a_curve():
    result = result_of({"a": (0.5, 0.1)}, ERROR, winner="a")._replace(measure=Measure(ERROR, 0.2, 0.02))
    assert reconcile(result, TRUTH, VALUES) == []
