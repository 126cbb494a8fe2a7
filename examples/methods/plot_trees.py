"""
All decision trees at once
==========================

*For features that act together.* The tree kernel, exp(−γ‖x − x'‖₁), is the mean of what all decision trees,
of every depth, say about two samples, as the stump kernel is that of all decision stumps. A sum of stumps,
one curve per feature, cannot say that two features must *agree*; trees can. [LL08]
"""

import numpy as np
from matplotlib import pyplot as plt
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.svm import SVC

from mercer import StumpSVC, TreeSVC

# %%
# Data
# ----
# A chessboard of nine fields, with one label in twenty wrong.

rng = np.random.default_rng(0)
X = rng.uniform(0, 3, size=(3000, 2))
y = (X.astype(int).sum(axis=1) % 2) ^ (rng.uniform(size=3000) < 0.05)
X_train, X_test, y_train, y_test = train_test_split(X, y, train_size=400, random_state=0)

# %%
# Fit
# ---
# Each chooses its parameters by cross-validation but the forest, which has none worth choosing.

models = {
    "all stumps": StumpSVC("cv"),
    "all trees": TreeSVC("cv"),
    "Gauss": GridSearchCV(SVC(), {"C": [1, 10, 100, 1000], "gamma": [0.1, 1, 10]}),
    "100 trees (forest)": RandomForestClassifier(random_state=0),
}
for name, model in models.items():
    model.fit(X_train, y_train)
    print(f"{name:18} {100 * (1 - model.score(X_test, y_test)):5.1f} % errors")

# %%
# Plot
# ----
# What each would say of every point. The edges of the fields are parallel to the axes, which suits trees; on
# this board the forest, which may put a split exactly on an edge, does best.

grid = np.stack(np.meshgrid(*2 * [np.linspace(0, 3, 151)]), axis=-1)
figure, axes = plt.subplots(1, 4, figsize=(12, 3.2), layout="constrained")
for ax, (name, model) in zip(axes, models.items(), strict=True):
    predicted = model.predict(grid.reshape(-1, 2)).reshape(grid.shape[:2])
    ax.imshow(predicted, extent=(0, 3, 0, 3), origin="lower", cmap="cividis", alpha=0.6)
    ax.scatter(*X_train.T, c=y_train, s=4, cmap="cividis")
    ax.set(title=name, xticks=[], yticks=[])
plt.show()
