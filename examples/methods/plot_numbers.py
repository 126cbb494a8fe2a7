"""
Predict a number, and how sure that is
======================================

*For a price, a yield, a time.* `StumpRegressorCV` is an additive model, :math:`f(x) = \\sum_d g_d(x_d) + b`:
one curve per feature shows what it has learned, and its folds tell how far predictions are off.
"""

import numpy as np
from matplotlib import pyplot as plt
from sklearn.datasets import load_diabetes
from sklearn.linear_model import RidgeCV
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline

from mercer import ClippedScaler, StumpRegressorCV
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
# The penalty C is chosen among 12 values by 5-fold cross-validation. The alternative is ridge regression,
# which draws a straight line for each feature.

model = make_pipeline(ClippedScaler(), StumpRegressorCV(random_state=0)).fit(X_train, y_train)
rival = make_pipeline(ClippedScaler(), RidgeCV(np.logspace(-3, 3, 13))).fit(X_train, y_train)
for name, regressor in (("stumps", model), ("ridge", rival)):
    print(f"{name:7} mean error {np.abs(regressor.predict(X_test) - y_test).mean():.1f}")

# %%
# Intervals
# ---------
# Each fold predicts patients that it has not seen. The quantiles of their errors make intervals that hold
# about nine in ten new targets.

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
