"""
Which kernel do my data need?
=============================

*For someone with a table, and no method in mind.* `KernelSearchCV` compares all of mercer's kernels, a linear
and a tuned RBF-SVM on the same folds, keeps the best, and says what error to expect of it. ``mercer learn``
does the same on the command line.
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
# A real data set, and one of two normal distributions that lie inside of each other. 400 rows each to learn
# from; the others are put aside. Nothing needs to be scaled, since that happens inside of the folds.

sets = {
    "breast cancer": load_breast_cancer(return_X_y=True),
    "ringnorm": ringnorm(2400, random_state=0),
}
searches = {}
for name, (X, y) in sets.items():
    X_train, X_test, y_train, y_test = train_test_split(X, y, train_size=400, stratify=y, random_state=0)
    search = searches[name] = KernelSearchCV(random_state=0).fit(X_train, y_train)
    print(f"{name}: the winner is {search.best_name_}")
    print(f"  {100 * search.error_:.1f} ± {100 * search.std_error_:.1f} % errors expected on new rows,")
    print(f"  {100 * (1 - search.score(X_test, y_test)):.1f} % on the {len(X_test)} rows put aside")

# %%
# The winner was chosen because its error was small, so that this error is too good to be true. What is
# reported includes the choice. With labels that mean nothing it stays at chance: on the wine data, whoever
# always guesses the largest class is wrong on 60 % of the rows.

X, y = load_wine(return_X_y=True)
shuffled = np.random.default_rng(0).permutation(y)
nothing = KernelSearchCV(random_state=0).fit(X, shuffled)
print(f"shuffled labels: {100 * nothing.error_:.0f} ± {100 * nothing.std_error_:.0f} % errors expected")

# %%
# The ranking
# -----------
# A line for each kernel: its error, and how much larger that is than the error of the tuned RBF-SVM, with a
# 95 % interval. Where that holds zero, there is no telling which of the two is better. (The winner need not
# be on top: of those that are no clear loss against the best it is the one that is good on most data sets.)

for name, search in searches.items():
    ranking = search.leaderboard_
    print(f"{name}: {', '.join(ranking.query('high < 0').index) or 'none'} clearly better than the RBF-SVM,")
    print(f"  {', '.join(ranking.query('low > 0').index) or 'none'} clearly worse")
searches["breast cancer"].leaderboard_[["error", "std_error", "difference", "low", "high"]].round(3)

# %%
# On the breast cancer data nothing is clearly better than the RBF-SVM, nor worse. One is free to take the
# kernel that is easiest to live with: linear, or stumps, which can be read. On ringnorm it matters: whatever
# draws a straight line is out; kernels of the distance between whole rows are what the data need.

figure, axes = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
for ax, (name, search) in zip(axes, searches.items(), strict=True):
    plot_leaderboard(search.leaderboard_, ax=ax)
    ax.set_title(name, pad=16)
plt.show()
