"""
Ten useful features among two hundred useless ones
==================================================

*For tables with many columns, most of which may say nothing.* A kernel that adds up the differences of all
columns drowns in such data. `RelevanceKernel` fits a kernel machine, looks how its decision changes with each
feature, weighs the features by that, and repeats. (A recursive feature machine; not one of the five papers.)
"""

import numpy as np
from matplotlib import pyplot as plt
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier

from mercer import KernelSVC, RelevanceKernel
from mercer.kernels import Tree

# %%
# Data
# ----
# Some useful features act by themselves, in curves; all are normal, and so is the noise.

rng = np.random.default_rng(0)
X = rng.normal(size=(3000, 210))
f = np.sin(2 * X[:, 0]) + X[:, 1] ** 2 + np.abs(X[:, 2]) - 1.8 + 0.3 * X[:, 3:10].sum(axis=1)
y = f + 0.3 * rng.normal(size=3000) > 0
X_train, y_train, X_test, y_test = X[:1000], y[:1000], X[1000:], y[1000:]

# %%
# Fit
# ---
# The same SVM on all features, on the learned weights, and on the ten features that matter; and two rivals.

models = {
    "all features": KernelSVC(Tree(), C=4.0),
    "learned weights": KernelSVC(RelevanceKernel(random_state=0)),
    "random forest": RandomForestClassifier(random_state=0),
    "gradient boosting": HistGradientBoostingClassifier(random_state=0),
}
for name, model in models.items():
    model.fit(X_train, y_train)
    print(f"{name:18} {100 * (1 - model.score(X_test, y_test)):5.1f} % errors")
known = KernelSVC(Tree(), C=4.0).fit(X_train[:, :10], y_train)
print(f"{'who knows the ten':18} {100 * (1 - known.score(X_test[:, :10], y_test)):5.1f} % errors")

# %%
# Plot
# ----
# The weights that were learned, and how the loss on rows left out fell from round to round.

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.8), layout="constrained")
learner = models["learned weights"].learner_
largest = np.argsort(learner.relevance_)[-14:]
left.barh([f"x{d}" for d in largest], learner.relevance_[largest], color="#0072b2")
left.set(xlabel="relevance", xlim=(0, 1.02))
left.spines[["top", "right"]].set_visible(False)
right.plot(learner.loss_, "o-", color="#0072b2")
right.axvline(learner.n_rounds_, color="#888888", ls=":", label="kept")
right.set(xlabel="round", ylabel="leave-one-out loss", ylim=(0, None))
right.spines[["top", "right"]].set_visible(False)
right.legend(frameon=False)
plt.show()
