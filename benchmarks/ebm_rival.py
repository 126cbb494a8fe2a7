"""interpret's EBM without interactions: run by an interpreter that has it, on the draw of `regression`."""

import sys
import time

import numpy as np


def main(source: str, target: str) -> None:
    """Fit the samples of one file, with one job, and write seconds and predictions into another."""
    from interpret.glassbox import ExplainableBoostingRegressor  # here, as others import this file

    data = np.load(source)
    model = ExplainableBoostingRegressor(interactions=0, n_jobs=1, random_state=0)
    begin = time.process_time()
    model.fit(data["X"], data["y"])
    np.savez(target, seconds=time.process_time() - begin, predicted=model.predict(data["X_new"]))


if __name__ == "__main__":
    main(*sys.argv[1:])
