"""
Which kernel do my data need?
=============================

*For someone with a table, and no method in mind.* `KernelSearchCV` compares all of mercer's kernels, a linear
and a tuned RBF-SVM on the same folds, keeps the best, and estimates its error on new samples.
``mercer learn`` does the same on the command line.
"""

import numpy as np
from matplotlib import pyplot as plt
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.model_selection import train_test_split

from mercer import KernelSearchCV
from mercer.datasets import ringnorm
from mercer.report import plot_leaderboard

# %%
# Search
# ------
# A real data set, and one of two normal distributions that lie inside of each other. 400 samples each to
# learn from; the others are held out. Nothing needs to be scaled, since that happens inside of the folds.

sets = {
    "breast cancer": load_breast_cancer(return_X_y=True),
    "ringnorm": ringnorm(2400, random_state=0),
}
searches = {}
for name, (X, y) in sets.items():
    X_train, X_test, y_train, y_test = train_test_split(X, y, train_size=400, stratify=y, random_state=0)
    search = searches[name] = KernelSearchCV(random_state=0).fit(X_train, y_train)
    print(f"{name}: the winner is {search.best_name_}")
    print(f"  {100 * search.error_:.1f} ± {100 * search.std_error_:.1f} % errors expected on new samples,")
    print(f"  {100 * (1 - search.score(X_test, y_test)):.1f} % on the {len(X_test)} held-out samples")

# %%
# The winner was selected because its error was small, so that this error is too optimistic (selection bias).
# What is reported is corrected for that. With labels that mean nothing it stays at chance: on the wine data,
# always guessing the largest class is wrong for 60 % of the samples.

X, y = load_wine(return_X_y=True)
shuffled = np.random.default_rng(0).permutation(y)
nothing = KernelSearchCV(random_state=0).fit(X, shuffled)
print(f"shuffled labels: {100 * nothing.error_:.0f} ± {100 * nothing.std_error_:.0f} % errors expected")

# %%
# The ranking
# -----------
# One line per kernel: its error, and how much larger that is than the error of the tuned RBF-SVM, with a 95 %
# confidence interval. If that contains zero, the two are not significantly different. (The winner, with a
# star, need not be on top: of those within one standard error of the best it is the first in the list.)

for name, search in searches.items():
    ranking = search.leaderboard_
    better, worse = (", ".join(ranking.query(rule).index) or "none" for rule in ("high < 0", "low > 0"))
    print(f"{name}: {better} significantly better than the RBF-SVM, {worse} significantly worse")
searches["breast cancer"].leaderboard_[["error", "std_error", "difference", "low", "high"]].round(3)

# %%
# On the breast cancer data nothing is significantly better than the RBF-SVM, nor worse. One is free to take
# the kernel that is easiest to interpret: linear, or stumps. On ringnorm it matters: whatever draws a
# straight line is out; kernels of the distance between samples are what the data need.

figure, axes = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
for ax, (name, search) in zip(axes, searches.items(), strict=True):
    plot_leaderboard(search, ax)
    ax.set_title(name, pad=16)
plt.show()
