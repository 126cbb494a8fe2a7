"""The page of docs: what was kept, beside what rivals scored."""

import pandas as pd

from benchmarks.small_tables.sources import PRETRAINED, names, scores
from benchmarks.small_tables.summary import FIGURES, over_tables

SHOWN = {
    "search": "`KernelSearchCV`",
    "before": "`KernelSearchCV`, before",
    "catboost": "CatBoost",
    "hgb": "scikit-learn's histogram boosting",
    "lgbm": "LightGBM",
    "lgbm_linear": "LightGBM, linear trees",
    "logreg": "logistic regression",
    "random_forest": "forest",
    "resnet": "ResNet",
    "sgd": "linear, by SGD",
    "svc": "RBF-SVM",
    "tabfm": "TabFM",
    "tabicl": "TabICL",
    "tabpfn": "TabPFN 2.6",
    "tabpfn3": "TabPFN 3",
    "xgboost": "XGBoost",
}
BESIDE = ["before", "catboost", "lgbm_linear", "svc", "tabicl"]  # in the table of tables
HEAD = """# Measured: small public tables

This page is written from what `python -m benchmarks small_tables --label search` keeps, by `python -m
benchmarks small_tables --kept --folder docs --label search --page docs/tables.md`. The folds, the metric
(weighted average precision) and the stored scores of the rivals are those of
[SmallDataBenchmarks](https://github.com/firefly1248/SmallDataBenchmarks): rivals had 50 trials of Optuna,
or a grid, on four inner folds; foundation models are as they come, or had a grid. The search had {budget:g}
s of CPU time on one core for each fit, all in.

A coin split the tables in two, those of one family together. What the search compares, and with which
settings, was chosen on the side `decide`: on {decided}, and how many folds larger tables take on
wine-quality-5class. Below are those {n} of the {every} tables of `{side}` that were run, fold{s} {folds}.
Which they are, the machine's time decided; four tables of the thyroid family (all-hyper, all-hypo, all-rep,
dis) were left out because the stored scores of rivals are identical there.

**Foundation models** (TabICL, TabPFN, TabFM) bring what they learned from other tables, most of them
generated. They ask for a download of weights and for torch, larger tables for a GPU; they predict by going
through the training rows again; and they have limits on rows, columns and classes.
"""
DECIDED = (
    "autoUniv-au1-1000, autoUniv-au6-250, autoUniv-au6-cd1-400, autoUniv-au7-700, "
    "autoUniv-au7-cpd1-500, balance-scale, connectionist-mines-vs-rocks, connectionist-vowel-reduced, "
    "glioma16, indian-liver-patient, leukemia-haslinger, monks3, movement-libras, movement-libras-10, "
    "planning-relax, thoracic-surgery, user-knowledge, vertebra-column-2c and -3c"
)


def write_page(
    cells: pd.DataFrame, others: dict[str, pd.DataFrame], side: str, folds: list[int], budget: float
) -> str:
    """Return the page as Markdown."""
    n = cells.table.nunique()
    head = HEAD.format(
        budget=budget,
        side=side,
        n=n,
        s="" if len(folds) == 1 else "s",
        folds=_listed(folds),
        decided=DECIDED,
        every=len(names(side)),
    )
    every = {"search": cells, **others, **dict(list(scores().groupby("model")))}
    score = {name: one.set_index(["table", "fold"])["score"] for name, one in every.items()}
    parts = [head, _means(score), _figures({"search": cells, **others}), _each(score)]
    return "\n".join(parts)


def _means(score: dict[str, pd.Series]) -> str:
    """Return the mean score of each method, and the search's less that, over the tables both have."""
    own, lines = score["search"], []
    for name, stored in score.items():
        apart = (own - stored).dropna()
        if apart.empty:
            continue
        mean, error, n = over_tables(apart)
        level = stored.loc[apart.index].groupby(level="table").mean().mean()
        on_these = own.loc[apart.index].groupby(level="table").mean().mean()
        kind = " (foundation model)" if name in PRETRAINED else ""
        less = "" if name == "search" else f"{mean:+.4f} ± {error:.4f}"
        lines.append((level - on_these, f"| {SHOWN.get(name, name)}{kind} | {level:.4f} | {less} | {n} |"))
    rows = [line for _, line in sorted(lines, reverse=True)]
    top = ["| | mean score | the search's less this one's | tables |", "| --- | --- | --- | --- |"]
    return "\n".join([*top, *rows, ""])


def _figures(versions: dict[str, pd.DataFrame]) -> str:
    """Return what else is known of the searches."""
    shown = [figure for figure in FIGURES if figure != "score"]
    lines = ["| | " + " | ".join(name.replace("_", " ") for name in shown) + " |"]
    lines.append("| --- " * (len(shown) + 1) + "|")
    for name, cells in versions.items():
        means = cells.groupby("table")[shown].mean().mean()
        lines.append(f"| {SHOWN.get(name, name)} | " + " | ".join(f"{value:.4f}" for value in means) + " |")
    return "\n".join([*lines, ""])


def _each(score: dict[str, pd.Series]) -> str:
    """Return the scores table by table, on the search's folds."""
    shown = ["search", *(name for name in BESIDE if name in score)]
    cells = pd.DataFrame({name: score[name].reindex(score["search"].index) for name in shown})
    means = cells.groupby(level="table").mean().dropna(axis=1, how="all")
    lines = ["| | " + " | ".join(SHOWN[name] for name in means) + " |", "| --- " * (1 + means.shape[1]) + "|"]
    lines += [
        f"| {name} | " + " | ".join(map(_brief, row)) + " |"
        for name, row in zip(means.index, means.to_numpy(), strict=True)
    ]
    return "\n".join([*lines, ""])


def _brief(value: float) -> str:
    return "" if pd.isna(value) else f"{value:.3f}"


def _listed(folds: list[int]) -> str:
    return ", ".join(map(str, folds))
