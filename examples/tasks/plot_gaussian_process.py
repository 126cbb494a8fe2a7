"""
A Gaussian process on a learned kernel
======================================

*For probabilities, and for knowing where a classifier is uncertain.* A learned kernel is a scikit-learn
kernel: it can be used in a Gaussian process directly, alone or in sums and products with others. Only its
amplitude is left to be found by maximising the marginal likelihood.
"""

import numpy as np
from matplotlib import pyplot as plt
from sklearn.datasets import load_breast_cancer
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.gaussian_process.kernels import RBF
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from mercer import BoostedKernel, KernelBoost
from mercer.datasets import hooked, threenorm

# %%
# Few labels
# ----------
# 20 labelled and 480 unlabelled samples, from which `KernelBoost` learns where the clusters are. The
# alternative is an RBF kernel with width and amplitude found by maximum marginal likelihood. The log loss
# measures the predicted probabilities of the true classes: it is large if a classifier is confident, and
# wrong. Means of five draws, with 2000 test samples each.


def judge(kernel, X, y, X_test, y_test):
    process = GaussianProcessClassifier(kernel, random_state=0).fit(X, y)
    error = 100 * (1 - process.score(X_test, y_test))
    return process, (error, log_loss(y_test, process.predict_proba(X_test)))


def show(title, scores):
    print(title)
    for name, values in scores.items():
        error, loss = np.mean(values, axis=0)
        print(f"  {name:14} {error:5.1f} % errors, log loss {loss:.3f}")


scores: dict[str, list] = {"RBF": [], "KernelBoost": []}
for seed in range(5):
    X, y = hooked(500, random_state=seed)
    test = hooked(2000, random_state=100 + seed)
    learner = KernelBoost(n_rounds=10, n_components=4, dissolve=True, random_state=0)
    learner.fit(X[:20], y[:20], unlabelled=X[20:])
    processes = {}
    for name, kernel in (("RBF", 1.0 * RBF()), ("KernelBoost", 1.0 * learner.kernel_)):
        processes[name], score = judge(kernel, X[:20], y[:20], *test)
        scores[name].append(score)
show("two hooks, 20 labels", scores)

# %%
# Labels alone
# ------------
# Without unlabelled samples a learned kernel has no more information than the process itself. A boosted
# kernel, from 150 labels, gives better probabilities but no fewer errors on one data set; on the other, of
# normal distributions, the RBF kernel is better in both.

sets = {"breast cancer": load_breast_cancer(return_X_y=True), "threenorm": threenorm(1500, random_state=0)}
for title, (rows, classes) in sets.items():
    scores = {"RBF": [], "BoostedKernel": []}
    for seed in range(5):
        parts = train_test_split(rows, classes, train_size=150, stratify=classes, random_state=seed)
        scaler = StandardScaler().fit(parts[0])
        known, new = (scaler.transform(part) for part in parts[:2])
        learned = BoostedKernel(random_state=0).fit(known, parts[2]).kernel_
        for name, kernel in (("RBF", 1.0 * RBF(known.shape[1] ** 0.5)), ("BoostedKernel", 1.0 * learned)):
            scores[name].append(judge(kernel, known, parts[2], new, parts[3])[1])
    show(f"{title}, 150 labels", scores)

# %%
# Plot
# ----
# The last draw of the hooks: the probability of one class over the plane, and the labelled and unlabelled
# samples.

figure, axes = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained", sharex=True, sharey=True)
plane = np.stack(np.meshgrid(np.linspace(-4.5, 4.5, 160), np.linspace(-2.5, 2.5, 100)), axis=-1)
for ax, (name, process) in zip(axes, processes.items(), strict=True):
    share = process.predict_proba(plane.reshape(-1, 2))[:, 1].reshape(plane.shape[:2])
    mesh = ax.contourf(plane[..., 0], plane[..., 1], share, np.linspace(0, 1, 11), cmap="PuOr")
    ax.scatter(*X[20:].T, s=4, c="#404040", lw=0)
    for label, marker in ((-1, "o"), (1, "s")):
        ax.scatter(*X[:20][y[:20] == label].T, s=34, c="black", ec="white", marker=marker)
    ax.set(title=name, xlabel="first feature")
axes[0].set_ylabel("second feature")
figure.colorbar(mesh, ax=axes, label="probability of the class of squares")
plt.show()
