"""
Which kernel does a numeric target need?
========================================

`KernelSearchRegressor` is `KernelSearchCV` for numbers: it compares kernels on the same folds, blends the
best, and says how good its predictions will be. Here on scikit-learn's diabetes data: how far the disease has
come a year after ten measurements.
"""

# %%
# The search
# ----------
# Two thirds of the patients are searched on. The R² that is printed is corrected for the choice among
# candidates, and comes with its 95 % interval.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.model_selection import train_test_split

from mercer import KernelSearchRegressor

X, y = load_diabetes(return_X_y=True)
X, X_new, y, y_new = train_test_split(X, y, test_size=1 / 3, random_state=0)
search = KernelSearchRegressor(random_state=0).fit(X, y)
print(search.leaderboard_[["r2", "std_error", "folds"]].round(3))
expected = search.result_.measure
print(f"expected R²: {expected.value:.2f} ({expected.low:.2f} to {expected.high:.2f})")
print(f"R² on the other patients: {search.score(X_new, y_new):.2f}")

# %%
# Intervals
# ---------
# Each prediction has an interval, from the errors for held-out samples: nine of ten new targets should be
# inside.
predicted = search.predict(X_new)
low, high = search.predict_interval(X_new, coverage=0.9)
inside = (low <= y_new) & (y_new <= high)
print(f"targets inside their intervals: {100 * inside.mean():.0f} %")

# %%
# Predicted against true
# ----------------------
order = np.argsort(predicted)
fig, axes = plt.subplots(figsize=(6, 4), layout="constrained")
axes.fill_between(predicted[order], low[order], high[order], color="#c9d8ea", label="90 % interval")
axes.plot(predicted[order], predicted[order], color="#1f4e8c")
axes.plot(predicted[inside], y_new[inside], "o", markersize=4, color="#1f4e8c")
axes.plot(predicted[~inside], y_new[~inside], "o", markersize=4, color="#c0392b", label="outside")
axes.set(xlabel="predicted", ylabel="true")
axes.legend(frameon=False, loc="upper left")
plt.show()
