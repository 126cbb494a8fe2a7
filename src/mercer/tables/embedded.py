"""The table that needs no file: for a first look, and for ``make demo``."""

import pandas as pd
from sklearn.datasets import load_breast_cancer

TARGET = "diagnosis"


def breast_cancer() -> pd.DataFrame:
    """Return 569 tumours by 30 measurements of their cells, with the column of classes "diagnosis".

    It is the Breast Cancer Wisconsin (Diagnostic) set that scikit-learn ships.
    """
    data = load_breast_cancer(as_frame=True)
    table = data.data.astype("float64")
    table[TARGET] = data.target_names[data.target].astype(object)
    return table
