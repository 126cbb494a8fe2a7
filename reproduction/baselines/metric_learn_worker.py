"""What metric-learn learns, run by an interpreter that has it: `metric_learn` gives it a file and reads one.

It imports nothing of mercer, whose scikit-learn is too new for metric-learn 0.7.
"""

import sys
import warnings

import numpy as np


def main(source: str, target: str, name: str) -> None:
    """Write the matrix L of the metric ‖L(x − x')‖ that a method learns with its defaults."""
    from metric_learn import ITML, LMNN  # type: ignore[import-not-found]  # other interpreters import this file

    data = np.load(source)
    X = data["X"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if name == "LMNN":
            method = LMNN(random_state=0).fit(X, data["y"])
        else:
            pairs = np.concatenate([X[data["similar"]], X[data["dissimilar"]]])
            sign = np.repeat([1, -1], [len(data["similar"]), len(data["dissimilar"])])
            method = ITML(random_state=0).fit(pairs, sign)
    np.save(target, method.components_)


if __name__ == "__main__":
    main(*sys.argv[1:])
