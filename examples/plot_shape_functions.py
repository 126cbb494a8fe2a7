"""
The shape functions of a stump SVM
==================================

An SVM with the stump kernel is exactly an additive model, f(x) = Σ_d g_d(x_d) + b. So it can be read: one
curve a feature says all that the classifier has learned from it.
"""

from pathlib import Path

from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler

from mercer import StumpSVCCV
from mercer.report import plot_shapes

# %%
# Load the data
# -------------
# 569 biopsies, with 30 measurements of the cell nuclei of each. They come with scikit-learn.

bunch = load_breast_cancer(as_frame=True)
X, y = bunch.data, bunch.target_names[bunch.target]
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.4, stratify=y, random_state=0)

# %%
# Fit
# ---
# The kernel adds up distances, so the features go to [−1, 1] first. C is chosen among 11 values by 5 folds.

model = make_pipeline(MinMaxScaler((-1, 1)), StumpSVCCV())
model.fit(X_train, y_train)
print(f"{len(X_test)} biopsies that it has not seen: {model.score(X_test, y_test):.1%} right")

# %%
# Plot
# ----
# The eight most important of the 30 features, in their own units.

axes = plot_shapes(model, X=X_train, features=8)

path = Path(".mercer", "shape_functions.png")
path.parent.mkdir(exist_ok=True)
axes[0].figure.savefig(path, dpi=150)
print(f"The picture is in {path.resolve()}")
