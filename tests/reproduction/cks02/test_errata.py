"""What [CKS02] says in passing and is not so; docs/papers.md lists it."""

import numpy as np

from mercer.losses import EXP, LOG


def test_the_score_is_not_proportional_to_the_alignment(rng):
    X, y = rng.normal(size=(20, 3)), rng.choice([-1, 1], size=20)
    ratios = []
    for w in np.eye(3):  # of length one
        K = np.outer(X @ w, X @ w)
        score = np.mean(np.outer(y, y) * K)
        alignment = np.sum(K * np.outer(y, y)) / (np.linalg.norm(K) * np.linalg.norm(np.outer(y, y)))
        ratios.append(score / alignment)
    # What stands between them is the norm of K, Σ (w·x)², and not the same for all w.
    np.testing.assert_allclose(ratios, np.sum(X**2, axis=0) / 20, rtol=1e-12)
    assert np.ptp(ratios) > 0.01


def test_the_printed_tangent_lies_above_the_log_loss():
    margins = np.linspace(-1, 1, 201)
    for loss, at_zero in ((EXP, 1.0), (LOG, np.log(2))):
        c = loss.weight(0.0)
        assert np.all(loss.value(margins) >= at_zero - c * margins - 1e-15)
    assert LOG.value(0.0) < 1 - LOG.weight(0.0) * 0.0
