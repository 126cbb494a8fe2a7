"""
Which features count
====================

A kernel for each feature and each of four widths, a thousand kernels in all, of which forty look at something
that has to do with the classes. `Superkernel` weighs them. For the risk no weight comes out zero, but the
features that count stand out, more so if the kernel is to be like the ideal one (``quality="alignment"``)
than if an SVM with it is to have a small risk.
"""

from pathlib import Path

import numpy as np
from matplotlib import pyplot as plt

from mercer import Superkernel
from mercer.superkernels import Widths

# %%
# Generate data
# -------------
# 250 features. Ten of them count: four in waves, three squared, and three as they are.

N_RELEVANT, N_FEATURES = 10, 250
rng = np.random.default_rng(0)
X = rng.normal(size=(1000, N_FEATURES))
score = (
    np.sin(2 * X[:, :4]).sum(axis=1) + 0.7 * (X[:, 4:7] ** 2 - 1).sum(axis=1) + 0.7 * X[:, 7:10].sum(axis=1)
)
y = score + 0.5 * rng.normal(size=len(X)) > 0

# %%
# Learn
# -----
# Two kernels. A weight says little by itself, because wide kernels are nearly constant: what counts is how
# much of the spread of the rows, in the feature space of the learned kernel, each term makes.


def spread_of(kernel, x):
    K = kernel(x)
    return np.trace(K) / len(K) - K.mean()


def shares(learner, rows):
    terms = zip(learner.kernel_.kernels, learner.kernel_.weights, learner.kernel_.columns, strict=True)
    total = np.zeros(N_FEATURES)
    for kernel, weight, (column,) in terms:
        total[column] += weight * spread_of(kernel, rows[:, [column]])
    return total / total.sum()


superkernel = Widths((), feature_widths=(0.5, 1.0, 2.0, 4.0))
found = {
    quality: shares(Superkernel(superkernel, quality=quality).fit(X, y), X[:300])
    for quality in ("risk", "alignment")
}
for quality, share in found.items():
    heaviest = np.argsort(-share)[:N_RELEVANT]
    print(
        f"{quality}: the relevant features make {share[:N_RELEVANT].sum():.0%} of the kernel, and are "
        f"{np.sum(heaviest < N_RELEVANT)} of the ten heaviest"
    )

# %%
# Plot
# ----

figure, axes = plt.subplots(1, 2, figsize=(10, 3.2), layout="constrained")
features = np.arange(1, N_FEATURES + 1)
relevant = features <= N_RELEVANT
for ax, (quality, share) in zip(axes, found.items(), strict=True):
    for chosen, colour, name in ((relevant, "#c44e52", "relevant"), (~relevant, "#9a9a9a", "noise")):
        ax.vlines(features[chosen], 0, 100 * share[chosen], color=colour, lw=1.5, label=name)
    ax.set(title=f'quality="{quality}"', xlabel="feature", ylabel="share of the learned kernel in %")
    ax.set(xlim=(-3, N_FEATURES + 4), ylim=(0, None))
    ax.spines[["top", "right"]].set_visible(False)
axes[0].legend(frameon=False)

path = Path(".mercer", "relevant_features.png")
path.parent.mkdir(exist_ok=True)
figure.savefig(path, dpi=150)
print(f"The picture is in {path.resolve()}")
