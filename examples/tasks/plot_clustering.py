"""
Clusters that people agree with
===============================

*For k-means or spectral clustering that finds groups, but not the intended ones.* A number of pairs that
someone has judged as similar or dissimilar are enough to learn distances by which the groups come out right,
also for samples that are in no pair.
"""

import numpy as np
from matplotlib import pyplot as plt
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from sklearn.cluster import KMeans, SpectralClustering
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from mercer import IdealizedKernel, KernelBoost, Pairs
from mercer.metrics import clustering_accuracy
from mercer.report import plot_embedding

# %%
# Data
# ----
# One half of the samples has as many judged pairs as there are samples; the other half, which is in no pair,
# is clustered. So the comparison is fair.


def draw(X, y, seed):
    X, X_new, y, y_new = train_test_split(X, y, test_size=0.5, stratify=y, random_state=seed)
    scaler = StandardScaler().fit(X)
    every = np.column_stack(np.triu_indices(len(X), k=1))
    some = np.random.default_rng(seed).permutation(every)[: len(X)]
    alike = y[some[:, 0]] == y[some[:, 1]]
    return scaler.transform(X), Pairs(some[alike], some[~alike]), scaler.transform(X_new), y_new


# %%
# Learn, and compare
# ------------------
# k-means on the standardised features and on those that the learners compute, and spectral clustering with
# the kernel of KernelBoost as affinity. RCA, a classical metric, uses similar pairs only: what they connect
# is a group, and in its features the samples of a group vary alike in all directions. The accuracy is the
# share of pairs of samples that are correctly put together or apart (the Rand index); means of five draws.


def relevant_components(X, similar):
    edges = coo_array((np.ones(len(similar)), tuple(similar.T)), shape=(len(X), len(X)))
    _, group = connected_components(edges)
    groups = [X[group == g] for g in np.unique(group[similar])]
    within = np.concatenate([rows - rows.mean(axis=0) for rows in groups])
    values, directions = np.linalg.eigh(np.cov(within.T, bias=True))
    return directions / np.sqrt(values)


def cluster(X, pairs, X_new, n_clusters):
    k_means = KMeans(n_clusters, n_init=10, random_state=0)
    spectral = SpectralClustering(n_clusters, affinity="precomputed", random_state=0)
    kernelboost = KernelBoost(n_rounds=10, n_components=n_clusters, random_state=0).fit(X, pairs=pairs)
    idealized = IdealizedKernel(max_rank=20, tol=1e-4, random_state=0).fit(X, pairs=pairs)
    return {
        "plain": k_means.fit_predict(X_new),
        "RCA": k_means.fit_predict(X_new @ relevant_components(X, pairs.similar)),
        "idealized": k_means.fit_predict(idealized.transform(X_new)),
        "KernelBoost": k_means.fit_predict(kernelboost.transform(X_new)),
        "KernelBoost, spectral": spectral.fit_predict(kernelboost.kernel_(X_new)),
    }


sets = {"iris": load_iris, "wine": load_wine, "breast cancer": load_breast_cancer}
methods = ("plain", "RCA", "idealized", "KernelBoost", "KernelBoost, spectral")
print("accuracy in %   " + "   ".join(methods))
for name, load in sets.items():
    accuracy = []
    for seed in range(5):
        X, pairs, X_new, y_new = draw(*load(return_X_y=True), seed)
        found = cluster(X, pairs, X_new, len(np.unique(y_new)))
        accuracy.append([100 * clustering_accuracy(y_new, found[method]) for method in methods])
    means = np.mean(accuracy, axis=0)
    print(f"{name:16}" + "   ".join(f"{mean:{len(m)}.1f}" for mean, m in zip(means, methods, strict=True)))

# %%
# On iris RCA is the best, and it needs no dissimilar pairs. On the breast cancer data it is worse than the
# plain distance, since similar pairs alone do not say what separates the two groups. The learners are better
# than the plain distance on all three.
#
# Plot
# ----
# The last draw, in the first two principal components: the true classes, and the clusters that were found.

names = np.array(["malignant", "benign"])[y_new]
panels = {"true classes": names}
for method in ("plain", "KernelBoost"):
    group = (
        found[method] if np.mean(found[method] == y_new) > 0.5 else 1 - found[method]
    )  # names do not matter
    panels[f"k-means, {method}"] = np.array(["mostly malignant", "mostly benign"])[group]
figure, axes = plt.subplots(1, 3, figsize=(12, 4.2), layout="constrained")
for ax, (title, label) in zip(axes, panels.items(), strict=True):
    plot_embedding(X_new @ X_new.T, None, label, ax=ax)
    ax.set_title(title)
plt.show()
