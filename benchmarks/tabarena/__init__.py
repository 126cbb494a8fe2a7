"""KernelSearchCV and KernelSearchRegressor as a system of TabArena, which has the data and the rivals.

TabArena calls `_fit_system` with a table as it is, the kind of the problem, the metric and what the fit may
use, and then `_predict` or `_predict_proba`. With it installed, `register()` is the class that its
experiments take:

    from benchmarks.tabarena import register
    from tabarena.utils.config_utils import SystemConfigGenerator
    SystemConfigGenerator(model_cls=register(), name="mercer", manual_configs=[{}])
"""

from typing import Any, Self

import numpy as np
import pandas as pd

from mercer import KernelSearchCV, KernelSearchRegressor

SCORES = {  # of the search, by TabArena's names
    "accuracy": "accuracy",
    "balanced_accuracy": "balanced_accuracy",
    "roc_auc": "roc_auc",
    "roc_auc_ovo_macro": "roc_auc",
    "average_precision": "average_precision",
    "log_loss": "neg_log_loss",
    "f1": "f1",
    "f1_macro": "f1_macro",
    "root_mean_squared_error": "neg_root_mean_squared_error",
    "rmse": "neg_root_mean_squared_error",
    "mean_squared_error": "neg_mean_squared_error",
    "mean_absolute_error": "neg_mean_absolute_error",
    "r2": "r2",
}
USED = 0.9  # of the time: the rest is for reading the table


class System:
    """What TabArena calls."""

    def _fit_system(
        self,
        X: pd.DataFrame,
        y: pd.Series,
        *,
        problem_type: str,
        eval_metric: Any,
        num_cpus: int | None = None,
        time_limit: float | None = None,
        random_state: int | None = None,
        **_: Any,
    ) -> Self:
        """Search within the time, by the metric, or by the usual score if the search does not know it."""
        kind = KernelSearchRegressor if problem_type == "regression" else KernelSearchCV
        self.search = kind(
            scoring=SCORES.get(getattr(eval_metric, "name", eval_metric)),
            budget=None if time_limit is None else USED * time_limit,
            n_jobs=num_cpus,
            random_state=0 if random_state is None else random_state,
        )
        self.search.fit(X, np.asarray(y))
        return self

    def _predict(self, X: pd.DataFrame) -> pd.Series:
        """Return a number for each row, or a label."""
        return pd.Series(self.search.predict(X), index=X.index)

    def _predict_proba(self, X: pd.DataFrame) -> pd.DataFrame:
        """Return the probability of each class, one column for each label."""
        return pd.DataFrame(self.search.predict_proba(X), index=X.index, columns=self.search.classes_)


def register() -> type:
    """Return the class for TabArena's experiments; TabArena has to be installed."""
    from tabarena.benchmark.exec_models.external import ExternalSystemModel

    return type("MercerSystem", (System, ExternalSystemModel), {})
