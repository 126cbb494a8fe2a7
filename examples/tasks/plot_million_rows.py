"""
A million samples
=================

*For more samples than a kernel machine can usually handle.* A stump SVM needs no Gram matrix, so its training
time grows about linearly with the number of samples; with ``max_bins=256`` it stores one byte per value.
[LL05]
"""

import time

import numpy as np
from matplotlib import pyplot as plt
from sklearn.datasets import make_hastie_10_2
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.svm import SVC

from mercer import StumpSVC
from mercer.datasets import threenorm

# %%
# Data
# ----
# Hastie's ten features, where the sum of their squares decides the class; a tenth of the training labels is
# flipped. Such data suit an additive model. Threenorm, with 20 features, does not: there the features
# interact.


def draw_hastie(n_rows, seed, turn=0.0):
    X, y = make_hastie_10_2(n_rows, random_state=seed)
    turned = np.random.default_rng(seed).random(n_rows) < turn
    return X, np.where(turned, -y, y)


# %%
# Fit
# ---
# The alternatives are scikit-learn's gradient boosting and `SVC` with a Gaussian kernel, both with their
# defaults, each with as many samples as it can handle in a few seconds. Nothing is tuned. The first fits
# compile the solver, and are not measured.


def measure(model, train, test):
    start = time.process_time()
    model.fit(*train)
    return time.process_time() - start, 100 * (1 - model.score(*test))


models = {
    "StumpSVC": (StumpSVC(C=0.05, max_bins=256, random_state=0), 1_000_000),
    "gradient boosting": (HistGradientBoostingClassifier(random_state=0), 100_000),
    "SVC": (SVC(), 10_000),
}
for n_rows in (1000, 20_000):
    StumpSVC(C=0.05, max_bins=256).fit(*draw_hastie(n_rows, seed=2))
test = draw_hastie(5000, seed=1)
found = {}
for name, (model, most_rows) in models.items():
    for n_rows in (1000, 10_000, 100_000, 1_000_000):
        if n_rows <= most_rows:
            found[name, n_rows] = measure(model, draw_hastie(n_rows, seed=0, turn=0.1), test)
            seconds, error = found[name, n_rows]
            print(f"{name:18} {n_rows:9,} samples: {seconds:6.2f} s of CPU time, {error:5.2f} % errors")

# %%
# Up to 10 000 samples the RBF-SVM is as good or better, but its time grows faster than the square of their
# number. With many samples the stump SVM is the fastest and has the lowest error: these data are additive. On
# data that are not, more samples do not help beyond the limit of an additive model, and gradient boosting is
# better:

train, test = threenorm(100_000, random_state=0), threenorm(5000, random_state=1)
for name in ("StumpSVC", "gradient boosting"):
    seconds, error = measure(models[name][0], train, test)
    print(f"threenorm, {name:18} {seconds:6.2f} s of CPU time, {error:5.2f} % errors")

# %%
# Plot
# ----

figure, axes = plt.subplots(1, 2, figsize=(10, 3.6), layout="constrained")
for name, colour, marker in zip(models, ("#0072b2", "#e69f00", "#009e73"), "osD", strict=True):
    sizes = [n_rows for kind, n_rows in found if kind == name]
    for ax, values in zip(axes, zip(*(found[name, n_rows] for n_rows in sizes), strict=True), strict=True):
        ax.plot(sizes, values, color=colour, marker=marker, label=name)
axes[0].set(xscale="log", yscale="log", ylabel="CPU seconds per fit")
axes[1].set(xscale="log", ylabel="test error in %", ylim=(0, None))
for ax in axes:
    ax.set_xlabel("training samples")
    ax.spines[["top", "right"]].set_visible(False)
axes[0].legend(frameon=False)
plt.show()
