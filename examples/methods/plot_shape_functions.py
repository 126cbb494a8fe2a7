"""
A stump SVM can be read
=======================

*For someone who asks why.* An SVM with the stump kernel is exactly an additive model, :math:`f(x) = \\sum_d
g_d(x_d) + b`: one curve a feature says all that the classifier has learned from it. And it has a single
parameter to tune, C. [LL05]
"""

from matplotlib import pyplot as plt
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler
from sklearn.svm import SVC

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
# Fit, and compare
# ----------------
# The kernel adds up distances, so the features go to [−1, 1] first. C is chosen among 11 values by 5 folds.
# The rival is a Gaussian SVM, of which C and γ are chosen among 110 pairs.

model = make_pipeline(MinMaxScaler((-1, 1)), StumpSVCCV()).fit(X_train, y_train)
grid = {"svc__C": [2.0**k for k in range(-5, 16, 2)], "svc__gamma": [2.0**k for k in range(-15, 4, 2)]}
rival = GridSearchCV(make_pipeline(MinMaxScaler((-1, 1)), SVC()), grid).fit(X_train, y_train)
print(f"{len(X_test)} biopsies that they have not seen")
for name, classifier in (("stump SVM", model), ("Gaussian SVM", rival)):
    wrong = (classifier.predict(X_test) != y_test).sum()
    print(f"{name:13} {100 * wrong / len(X_test):4.1f} % errors ({wrong})")

# %%
# The Gaussian SVM is as good here, and says nothing of why. Where features act together, as they do not here,
# a stump SVM is worse: it cannot learn an interaction.
#
# Plot
# ----
# The eight most important of the 30 features, in their own units, with the rows below. Above zero a feature
# speaks for *malignant*, below it for *benign*; all panels have one scale.

plot_shapes(model, X=X_train, features=8)
plt.show()
