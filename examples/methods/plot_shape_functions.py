"""
A stump SVM is interpretable
============================

*For predictions that need an explanation.* An SVM with the stump kernel is exactly an additive model,
:math:`f(x) = \\sum_d g_d(x_d) + b`: one curve per feature shows all that the classifier has learned from it.
And it has a single hyperparameter, C. [LL05]
"""

from matplotlib import pyplot as plt
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler
from sklearn.svm import SVC

from mercer import StumpSVC
from mercer.report import plot_shapes

# %%
# Load the data
# -------------
# 569 biopsies, each with 30 measurements of the cell nuclei. The data set comes with scikit-learn.

bunch = load_breast_cancer(as_frame=True)
X, y = bunch.data, bunch.target_names[bunch.target]
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.4, stratify=y, random_state=0)

# %%
# Fit, and compare
# ----------------
# The kernel is a sum of distances over the features, so these are scaled to [−1, 1] first. C is chosen among
# 11 values by 5-fold cross-validation. The alternative is an RBF-SVM, with C and γ chosen among 110 pairs.

model = make_pipeline(MinMaxScaler((-1, 1)), StumpSVC("cv")).fit(X_train, y_train)
grid = {"svc__C": [2.0**k for k in range(-5, 16, 2)], "svc__gamma": [2.0**k for k in range(-15, 4, 2)]}
rival = GridSearchCV(make_pipeline(MinMaxScaler((-1, 1)), SVC()), grid).fit(X_train, y_train)
print(f"{len(X_test)} held-out biopsies")
for name, classifier in (("stump SVM", model), ("RBF-SVM", rival)):
    wrong = (classifier.predict(X_test) != y_test).sum()
    print(f"{name:13} {100 * wrong / len(X_test):4.1f} % errors ({wrong})")

# %%
# The RBF-SVM is as good here, but cannot explain its predictions. Where features interact, unlike here, a
# stump SVM is worse: it cannot learn an interaction.
#
# Plot
# ----
# The eight most important of the 30 features, in their own units, with the samples below. Above zero a
# feature is evidence for *malignant*, below zero for *benign*; all panels share one vertical scale.

plot_shapes(model, X=X_train, features=8)
plt.show()
