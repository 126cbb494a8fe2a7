"""
Retrieval: more like this one
=============================

*For ranking the items of a database by their similarity to a query.* The kernel is learned from some labelled
images and, for `KernelBoost`, from all others without their labels. Three of the ten digits have no labels at
all: what is learned from the others should help to find them, too.
"""

import numpy as np
from matplotlib import pyplot as plt
from scipy.spatial.distance import cdist
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVC

from mercer import IdealizedKernel, KernelBoost
from mercer.metrics import retrieval_auc, retrieval_roc

# %%
# Data
# ----
# Labels for 30 images each of the digits 0 to 6, none of 7, 8 and 9. All other images are the database, and
# 300 of them are queries.

images, digit = load_digits(return_X_y=True)
X = PCA(30, svd_solver="full").fit_transform(images)
rng = np.random.default_rng(0)
labelled = np.concatenate([rng.permutation(np.flatnonzero(digit == d))[:30] for d in range(7)])
database = np.setdiff1d(np.arange(len(X)), labelled)
queries = rng.permutation(database)[:300]

# %%
# Learn
# -----
# The two learners are compared with the plain distance, with the decision values of a tuned RBF-SVM for the
# seven digits, and with RCA, a classical metric: features in which images of one digit vary alike in all
# directions.


def relevant_components(X, label):
    within = np.concatenate([X[label == d] - X[label == d].mean(axis=0) for d in np.unique(label)])
    values, directions = np.linalg.eigh(np.cov(within.T, bias=True))
    return directions / np.sqrt(values)


X_known, y_known = X[labelled], digit[labelled]
grid = {"C": [1.0, 10.0, 100.0], "gamma": [2.0**k / X.var(axis=0).sum() for k in range(-2, 4)]}
svm = GridSearchCV(SVC(decision_function_shape="ovr"), grid).fit(X_known, y_known)
features = {
    "plain distance": X,
    "RBF-SVM": svm.decision_function(X),
    "RCA": X @ relevant_components(X_known, y_known),
    "IdealizedKernel": IdealizedKernel(max_rank=30, tol=1e-4).fit(X_known, y_known).transform(X),
    "KernelBoost": KernelBoost(n_rounds=10, n_components=10, random_state=0)
    .fit(X_known, y_known, unlabelled=X[database])
    .transform(X),
}

# %%
# Compare
# -------
# Each query ranks the database, except the query itself, by distance. The area under its ROC curve is the
# probability that an image of the same digit is ranked before one of another digit. If only the first ten
# results are looked at, what matters is how many of those are correct.

relevant = digit[queries][:, None] == digit[database]
itself = queries[:, None] == database
nearness = {name: -cdist(F[queries], F[database]) for name, F in features.items()}
for values in nearness.values():
    values[itself] = np.nan
kinds = {"digits with labels": digit[queries] < 7, "digits without": digit[queries] >= 7}
for kind, some in kinds.items():
    print(f"queries: {kind}")
    for name, values in nearness.items():
        first = np.argsort(-np.nan_to_num(values[some], nan=-np.inf), axis=1)[:, :10]
        share = np.take_along_axis(relevant[some], first, axis=1).mean()
        area = retrieval_auc(values[some], relevant[some])
        print(f"  {name:16} area {area:.3f}, {share:6.1%} of the first ten")

# %%
# For the first ten, the plain distance is as good as any: nearby images are similar. The difference is in how
# many of *all* images of a digit are found. There KernelBoost is far ahead, even for digits without labels,
# whose clusters it has seen (it was told that there are ten). The SVM's decision values and RCA keep what
# matters for the seven digits with labels, and lose the others.

figure, axes = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained", sharey=True)
colours = ("#8a8a8a", "#cc79a7", "#e69f00", "#009e73", "#0072b2")
for ax, (kind, some) in zip(axes, kinds.items(), strict=True):
    for (name, values), colour in zip(nearness.items(), colours, strict=True):
        ax.plot(
            *(100 * axis for axis in retrieval_roc(values[some], relevant[some])), color=colour, label=name
        )
    ax.set(
        title=f"queries: {kind}", xlabel="images of other digits returned, in %", xlim=(0, 60), ylim=(0, 101)
    )
    ax.spines[["top", "right"]].set_visible(False)
axes[0].set_ylabel("images of the digit found, in %")
axes[1].legend(frameon=False, loc="lower right")
plt.show()
