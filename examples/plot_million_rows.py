"""
A million rows
==============

A stump SVM needs no Gram matrix, so its time grows about as the number of rows does. Give the largest number
of rows on the command line; the default runs in seconds::

    python examples/plot_million_rows.py 1000000
"""

import sys
import time
from pathlib import Path

import numpy as np
from matplotlib import pyplot as plt

from mercer import StumpSVC
from mercer.datasets import threenorm

# %%
# Generate data
# -------------
# Breiman's threenorm in 20 dimensions, as much of it as we like. The stump SVM is additive and the best
# classifier for these data is not: more rows bring it to its own limit, not to zero.

most_rows = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
sizes = np.geomspace(most_rows / 100, most_rows, 5).astype(int)
X_test, y_test = threenorm(20_000, random_state=1)

# %%
# Fit
# ---
# 256 bins a feature. The first fit compiles the solver and is not measured.

StumpSVC(C=0.05, max_bins=256).fit(X_test[:500], y_test[:500])
seconds, errors = [], []
for n in sizes:
    X, y = threenorm(n, random_state=0)
    start = time.perf_counter()
    model = StumpSVC(C=0.05, max_bins=256).fit(X, y)
    seconds.append(time.perf_counter() - start)
    errors.append(100 * (1 - model.score(X_test, y_test)))
    print(f"{n:9,} rows: {seconds[-1]:7.2f} s, {errors[-1]:5.2f} % errors on new rows")

# %%
# Plot
# ----

figure, (left, right) = plt.subplots(1, 2, figsize=(8, 3), layout="constrained")
left.loglog(sizes, seconds, "o-", color="#222222")
left.loglog(sizes, seconds[-1] * sizes / sizes[-1], ":", color="#888888", label="proportional to the rows")
left.set(xlabel="training rows", ylabel="seconds of a fit")
left.legend(frameon=False)
right.semilogx(sizes, errors, "o-", color="#222222")
right.set(xlabel="training rows", ylabel="test error in %")
for ax in (left, right):
    ax.spines[["top", "right"]].set_visible(False)

path = Path(".mercer", "million_rows.png")
path.parent.mkdir(exist_ok=True)
figure.savefig(path, dpi=150)
print(f"The picture is in {path.resolve()}")
