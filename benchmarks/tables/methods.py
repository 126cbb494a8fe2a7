"""The search and its rivals, each a function from a random seed to a classifier; a new one is a new line."""

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from mercer import KernelSearchCV, StumpSVC
from reproduction.ll05.tables1_2 import LOG2_C_GAUSS, LOG2_GAMMA, folds

SEARCH, WINNER = "search", "its winner"  # one fit says what both predict: see `summary.both`
GRID_SEARCH = "RBF-SVM 110"  # whose time the search is compared with
GRID = {"svc__C": 2.0**LOG2_C_GAUSS, "svc__gamma": 2.0**LOG2_GAMMA}  # the 110 settings of [LL05]


def catboost(seed):
    """Return CatBoost as it comes."""
    from catboost import CatBoostClassifier

    return CatBoostClassifier(random_seed=seed, verbose=0, thread_count=1, allow_writing_files=False)


def ebm(seed):
    """Return interpret's explainable boosting machine as it comes."""
    from interpret.glassbox import ExplainableBoostingClassifier

    return ExplainableBoostingClassifier(random_state=seed, n_jobs=1)


class XRFM(ClassifierMixin, BaseEstimator):
    """An xRFM as it comes, on standardised columns; a fifth of the rows chooses its round."""

    def __init__(self, seed=0):
        self.seed = seed

    def fit(self, X, y):
        """Fit to four fifths."""
        from xrfm import xRFM

        self.scaler_ = StandardScaler().fit(X)
        X, more, y, theirs = train_test_split(
            self.scaler_.transform(X).astype(np.float32), y, test_size=0.2, stratify=y, random_state=self.seed
        )
        self.model_ = xRFM(device="cpu", random_state=self.seed, n_threads=1, verbose=False)
        self.model_.fit(X, y, more, theirs)
        return self

    def predict(self, X):
        """Return its predictions."""
        return np.ravel(self.model_.predict(self.scaler_.transform(X).astype(np.float32)))


def xrfm(seed):
    """Return an xRFM, or raise ImportError."""
    import xrfm  # noqa: F401

    return XRFM(seed)


METHODS = {
    SEARCH: lambda seed: KernelSearchCV(random_state=seed),
    "stump": lambda seed: make_pipeline(StandardScaler(), StumpSVC("cv", cv=folds(seed))),
    GRID_SEARCH: lambda seed: GridSearchCV(make_pipeline(StandardScaler(), SVC()), GRID, cv=folds(seed)),
    "boosting": lambda seed: HistGradientBoostingClassifier(random_state=seed),
    "forest": lambda seed: RandomForestClassifier(random_state=seed),
    "CatBoost": catboost,
    "xRFM": xrfm,
    "EBM": ebm,
}
SLOW = ("EBM",)  # half a minute for 200 rows of three classes: only when asked for
DEFAULT = tuple(name for name in METHODS if name not in SLOW)


def installed(names):
    """Return the methods that can be had here, and print a sentence on each that cannot."""
    found = []
    for name in names:
        try:
            METHODS[name](0)
        except ImportError as error:
            print(f"{name} is left out: {error}")
        else:
            found.append(name)
    return found
