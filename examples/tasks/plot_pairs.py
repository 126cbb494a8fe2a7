"""
From pairs alone
================

*For judgements such as "these two belong together, those two do not", and no classes.* All learners take such
pairs instead of labels. `KernelSearchCV` then ranks them by how well they separate similar from dissimilar
held-out pairs.
"""

import numpy as np
from matplotlib import pyplot as plt
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mercer import KernelSearchCV, Pairs
from mercer.kernels import Projected, Rescaled
from mercer.metrics import pair_auc
from mercer.report import plot_pair_distances

# %%
# Judgements
# ----------
# 300 random pairs of biopsies. For each pair it is known whether the two are of the same class, but not of
# which one. The other half of the biopsies is for testing, with all their pairs.

X, y = load_breast_cancer(return_X_y=True)
X, X_test, y, y_test = train_test_split(X, y, test_size=0.5, stratify=y, random_state=0)
drawn = np.random.default_rng(0).permutation(np.column_stack(np.triu_indices(len(X), k=1)))[:300]
alike = y[drawn[:, 0]] == y[drawn[:, 1]]
pairs = Pairs(similar=drawn[alike], dissimilar=drawn[~alike])
print(f"{len(pairs.similar)} similar and {len(pairs.dissimilar)} dissimilar pairs of {len(X)} samples")

# %%
# Search
# ------
# The area under the ROC curve (AUC) is the probability that a similar pair is nearer than a dissimilar one.

search = KernelSearchCV(random_state=0).fit(X, pairs=pairs)
print(f"{search.best_name_}: expected AUC {search.auc_:.3f}")
search.leaderboard_[["auc", "std_error", "difference", "low", "high"]].round(3)

# %%
# "plain" is the distance of standardised samples. Gaussian kernels of several widths, which the superkernel
# combines, all increase as that distance decreases: whatever their weights, they rank pairs as it does.
#
# Compare
# -------
# On pairs of new samples: against the plain distance, and against a logistic regression on the absolute
# differences of each pair, trained to predict whether the pair is similar.

test = Pairs.from_labels(y_test)
tested = np.vstack([test.similar, test.dissimilar])
truth = np.repeat([True, False], [len(test.similar), len(test.dissimilar)])


def differences(rows, some):
    return np.abs(rows[some[:, 0]] - rows[some[:, 1]])


scaler = StandardScaler().fit(X)
plain = Rescaled(Projected(np.eye(X.shape[1])), scaler.mean_, scaler.scale_)
for name, kernel in (("plain distance", plain), ("learned kernel", search.best_kernel_)):
    nearness = -kernel.squared_distance(X_test, X_test)[tuple(tested.T)]
    print(f"{name:20} {pair_auc(nearness, truth):.3f}")
rival = make_pipeline(StandardScaler(), LogisticRegression(C=0.1)).fit(differences(X, drawn), alike)
print(f"logistic regression  {pair_auc(rival.decision_function(differences(X_test, tested)), truth):.3f}")

# %%
# Plot
# ----
# Distances of the new pairs. With the plain distance both kinds overlap; with the learned one, most similar
# pairs are close to each other.

figure, axes = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
for ax, (title, kernel) in zip(axes, (("plain", plain), ("learned", search.best_kernel_)), strict=True):
    plot_pair_distances(kernel, X_test, test, ax=ax)
    ax.set_title(title)
plt.show()
