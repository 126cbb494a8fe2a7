"""ITML and LMNN as metric-learn has them, in an environment of its own.

Make one and name it: ``python -m venv ml && ml/bin/pip install metric-learn 'scikit-learn<1.6'``, and
``MERCER_METRIC_LEARN=ml/bin/python``.
"""

import os
import subprocess
import tempfile
from pathlib import Path

import numpy as np

from mercer._typing import Array, Labels
from mercer.pairs import Pairs

WORKER = Path(__file__).with_name("metric_learn_worker.py")


def learn(name: str, X: Array, y: Labels, pairs: Pairs) -> Array:
    """Return L of the metric ‖L(x − x')‖ that "ITML" learns from pairs, or "LMNN" from labels."""
    interpreter = os.environ.get("MERCER_METRIC_LEARN")
    if not interpreter:
        raise OSError("set MERCER_METRIC_LEARN to an interpreter that has metric-learn")
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder, "rows.npz"), Path(folder, "L.npy")
        np.savez(source, X=X, y=y, similar=pairs.similar, dissimilar=pairs.dissimilar)
        alone = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        subprocess.run(
            [interpreter, "-P", str(WORKER), str(source), str(target), name], check=True, env=alone
        )
        learned: Array = np.load(target)
    return learned
