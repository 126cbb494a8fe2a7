"""
Predict a number, and how sure that is
======================================

*For a price, a yield, a time.* `StumpRegressor` is an additive model, :math:`f(x) = \\sum_d g_d(x_d) + b`:
one curve per feature shows what it has learned, and its folds tell how far predictions are off.
"""

import numpy as np
from matplotlib import pyplot as plt
from sklearn.datasets import load_diabetes
from sklearn.gaussian_process.kernels import RBF
from sklearn.linear_model import RidgeCV
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline

from mercer import ClippedScaler, KernelRegressor, PerceptronRegressor, StumpRegressor, TreeRegressor
from mercer.report import plot_shapes

# %%
# Load the data
# -------------
# 442 patients, each with ten measurements; the target is how far diabetes has progressed a year later. The
# data set comes with scikit-learn.

X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.4, random_state=0)

# %%
# Fit, and compare
# ----------------
# The penalty C is chosen among 12 values by 5-fold cross-validation. Perceptrons and trees see how features
# act together. `KernelRegressor` takes any kernel, or a learner of one; one eigendecomposition tells it the
# leave-one-out error of every C. Ridge regression draws a straight line for each feature.

regressors = {
    "stumps": StumpRegressor("cv", random_state=0),
    "perceptrons": PerceptronRegressor("cv", random_state=0),
    "trees": TreeRegressor("cv", random_state=0),
    "Gaussian kernel": KernelRegressor(RBF(length_scale=5.0)),
    "ridge": RidgeCV(np.logspace(-3, 3, 13)),
}
models = {name: make_pipeline(ClippedScaler(), r).fit(X_train, y_train) for name, r in regressors.items()}
for name, fitted in models.items():
    print(f"{name:16} mean absolute error {np.abs(fitted.predict(X_test) - y_test).mean():.1f}")

# %%
# Intervals
# ---------
# Each fold predicts patients that it has not seen. The quantiles of their errors make intervals that hold
# about nine in ten new targets.

model = models["stumps"]
scaler, regressor = model[:-1], model[-1]
low, high = regressor.predict_interval(scaler.transform(X_test), coverage=0.9)
inside = (low <= y_test) & (y_test <= high)
print(f"{100 * inside.mean():.0f} % of {len(y_test)} new targets are inside, width {np.mean(high - low):.0f}")

# %%
# Plot
# ----
# The four most important features in their own units, with the samples below. Above zero a feature raises the
# prediction by so much.

plot_shapes(model, X=X_train, features=4)
plt.show()
