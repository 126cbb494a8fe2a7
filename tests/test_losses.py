"""The losses against their formulas, and their weights against numeric derivatives."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer.losses import EXP, LOG, LOSSES
from reference import PAIR_LOSSES, slope

MARGINS = np.linspace(-6, 6, 49)
EACH = pytest.mark.parametrize("loss", LOSSES.values(), ids=LOSSES.keys())


@EACH
def test_the_value_is_the_papers_formula(loss):
    assert_allclose(loss.value(MARGINS), PAIR_LOSSES[loss.name](MARGINS), rtol=1e-12)


@EACH
def test_the_weight_is_minus_the_derivative(loss):
    assert_allclose(loss.weight(MARGINS), -slope(PAIR_LOSSES[loss.name], MARGINS), rtol=1e-6)


@EACH
def test_pairs_that_are_wrong_weigh_more(loss):
    # the sign that [CKS02, Fig. 1] prints for LogLoss would turn this round
    assert np.all(np.diff(loss.weight(MARGINS)) < 0)


@EACH
def test_numbers_are_taken_as_well_as_arrays(loss):
    for margin in (-2.5, 0.0, 3.0):
        assert_allclose(loss.value(margin), loss.value(np.array([margin]))[0], rtol=1e-15)
        assert_allclose(loss.weight(margin), loss.weight(np.array([margin]))[0], rtol=1e-15)


def test_the_log_loss_of_huge_margins_is_their_asymptote():
    huge = np.array([-1e300, -1000.0, 1000.0, 1e300])
    assert_allclose(LOG.value(huge), [1e300, 1000.0, 0.0, 0.0])
    assert_allclose(LOG.weight(huge), [1.0, 1.0, 0.0, 0.0])


def test_both_are_listed_by_name():
    assert LOSSES == {"exp": EXP, "log": LOG}
