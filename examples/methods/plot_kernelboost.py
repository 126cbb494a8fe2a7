"""
KernelBoost finds the clusters
==============================

*For few labels and many unlabelled samples, where the classes form clusters.* `KernelBoost` fits mixtures of
Gaussians to all samples, under the constraint that samples of one class share a component; its kernel says
whether two samples come from the same cluster. If a class has several clusters, ``dissolve=True`` lets it
fall apart into them. [HBW06]
"""

import numpy as np
from matplotlib import pyplot as plt
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVC

from mercer import KernelBoost, KernelSVC
from mercer.datasets import hooked

# %%
# Data
# ----
# Two classes, each of a bar and a hook. Of 500 samples, 20 have a label; 2000 others are for testing.

N_LABELLED, N_DRAWS = 20, 5
X_test, y_test = hooked(2000, random_state=N_DRAWS)


# %%
# Learn, and compare
# ------------------
# Three kernels, and an RBF-SVM whose C and γ are chosen by cross-validation on the labelled samples. The
# mixtures have four components if classes may dissolve, otherwise two, one per class.


def fit_all(X, y, unlabelled):
    dissolving = KernelBoost(n_rounds=10, n_components=4, dissolve=True, random_state=0)
    grid = {"C": [0.1, 1.0, 10.0, 100.0, 1000.0], "gamma": [2.0**k for k in range(-5, 6)]}
    return {
        "KernelBoost": KernelSVC(KernelBoost(n_rounds=10, random_state=0), C=300.0).fit(
            X, y, unlabelled=unlabelled
        ),
        "KernelBoost, dissolve": KernelSVC(dissolving, C=300.0).fit(X, y, unlabelled=unlabelled),
        "… without unlabelled": KernelSVC(dissolving, C=300.0).fit(X, y),
        "RBF-SVM, tuned": GridSearchCV(SVC(), grid).fit(X, y),
    }


draws, errors = [], []
for seed in range(N_DRAWS):
    X, y = hooked(500, random_state=seed)
    draws.append(fit_all(X[:N_LABELLED], y[:N_LABELLED], X[N_LABELLED:]))
    errors.append([100 * (1 - model.score(X_test, y_test)) for model in draws[-1].values()])
for name, mean in zip(draws[0], np.mean(errors, axis=0), strict=True):
    print(f"{name:26} {mean:5.1f} % errors, mean of {N_DRAWS} draws")

# %%
# The unlabelled samples show where the clusters are, and 20 labels are enough to assign them to classes.
# Without these samples, or with one Gaussian for a whole class, the RBF-SVM is far better.
#
# Plot
# ----
# The first draw: labelled and unlabelled samples, and two standard deviations of the Gaussians with the
# largest weights; beside it the decision boundaries of the two classifiers.

X, y = hooked(500, random_state=0)
few, models = slice(N_LABELLED), draws[0]
figure, axes = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained", sharex=True, sharey=True)
for ax in axes:
    ax.scatter(*X.T, s=5, c="#b0b0b0", lw=0)
kernel, angle = models["KernelBoost, dissolve"].kernel_, np.linspace(0.0, 2.0 * np.pi, 200)
circle = 2.0 * np.stack([np.cos(angle), np.sin(angle)])
for t in np.argsort(-kernel.alpha)[:6]:
    for mean, covariance in zip(kernel.means[t], kernel.covariances(t), strict=True):
        values, vectors = np.linalg.eigh(covariance)
        ellipse = mean[:, None] + vectors * np.sqrt(np.maximum(values, 0.0)) @ circle
        axes[0].plot(*ellipse, color="#404040", lw=0.4 + kernel.alpha[t] / kernel.alpha.max(), alpha=0.6)
for label, marker, colour in ((-1, "o", "#0072b2"), (1, "s", "#e69f00")):
    axes[0].scatter(*X[few][y[few] == label].T, s=24, c=colour, marker=marker, lw=0)
axes[0].set(title="the Gaussians of KernelBoost, dissolve", xlabel="first feature", ylabel="second feature")

plane = np.stack(np.meshgrid(np.linspace(-4, 4, 200), np.linspace(-3, 3, 200)), axis=-1)
for name, colour in (("KernelBoost, dissolve", "#0072b2"), ("RBF-SVM, tuned", "#d55e00")):
    side = models[name].decision_function(plane.reshape(-1, 2)).reshape(200, 200)
    axes[1].contour(plane[..., 0], plane[..., 1], side, [0.0], colors=[colour], linewidths=2)
    axes[1].plot([], [], color=colour, lw=2, label=name)
for label, marker in ((-1, "o"), (1, "s")):
    axes[1].scatter(*X[few][y[few] == label].T, s=24, c="black", marker=marker, lw=0)
axes[1].set(title="decision boundaries", xlabel="first feature")
axes[1].tick_params(labelbottom=False)
axes[1].legend(loc="upper center", bbox_to_anchor=(0.5, -0.12), ncols=2, frameon=False)
plt.show()
