"""The benchmark over small public tables: its folds, its metric, and its comparisons."""

import numpy as np
import pandas as pd
import pytest

from benchmarks import small_tables
from benchmarks.small_tables import cells, page, sources, summary


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with two small tables, and the scores of rivals."""
    rng = np.random.RandomState(0)
    for name in ("one", "two"):
        table = pd.DataFrame({"x": rng.normal(size=40), "word": rng.choice(["a", "b"], 40)})
        table["Class"] = ["yes"] * 28 + ["no"] * 12
        (tmp_path / "small_tables").mkdir(exist_ok=True)
        table.to_csv(tmp_path / "small_tables" / f"{name}.csv.gz", index=False)
    rows = [("decide", "one", "svc", 0, 0.5), ("report", "two", "tabicl", 0, 0.25)]
    rows += [("report", "two", "tabicl", 1, 0.75)]
    scores = pd.DataFrame(rows, columns=["side", "table", "model", "fold", "score"])
    scores.to_csv(tmp_path / "small_tables" / "scores.csv", index=False)
    monkeypatch.setenv("MERCER_DATA", str(tmp_path))
    sources.scores.cache_clear()
    yield tmp_path
    sources.scores.cache_clear()


def test_folds_share_the_rows_and_number_the_sorted_classes(folder):
    folds = [sources.load("one", k) for k in range(sources.N_FOLDS)]
    tested = np.concatenate([fold.X_test.index for fold in folds])
    assert sorted(tested) == list(range(40))
    for fold in folds:
        assert "Class" not in fold.X_train
        assert not set(fold.X_train.index) & set(fold.X_test.index)
        assert np.array_equal(fold.y_test, (fold.X_test.index < 28).astype(int))


def test_the_metric_is_the_mean_precision_at_each_sample_of_a_class_weighted_by_class():
    rng = np.random.RandomState(0)
    y, P = np.repeat([0, 1, 2], [20, 10, 5]), rng.dirichlet(np.ones(3), 35)
    each = []
    for k in range(3):
        ranked = (y == k)[np.argsort(-P[:, k])]
        each.append(np.mean((np.cumsum(ranked) / np.arange(1, 36))[ranked]))
    found = sources.judge(y, P)
    assert found["score"] == pytest.approx(np.dot(each, [20, 10, 5]) / 35)
    assert found["error"] == pytest.approx(np.mean(P.argmax(axis=1) != y))
    assert found["log_loss"] == pytest.approx(-np.mean([np.log(P[i, y[i]]) for i in range(35)]))


def test_of_two_classes_the_metric_is_about_the_second():
    y = np.array([0, 0, 1, 1, 1])
    p = np.array([0.9, 0.1, 0.8, 0.3, 0.2])  # ranks: no, yes, yes, yes, no
    found = sources.judge(y, np.column_stack([1 - p, p]))
    assert found["score"] == pytest.approx((1 / 2 + 2 / 3 + 3 / 4) / 3)


def test_sure_and_wrong_is_not_calibrated():
    y = np.zeros(10, dtype=int)
    y[:3] = 1
    assert sources.judge(y, np.tile([0.95, 0.05], (10, 1)))["calibration"] == pytest.approx(0.25)
    assert sources.judge(y, np.tile([0.7, 0.3], (10, 1)))["calibration"] == pytest.approx(0.0)


def test_a_difference_is_over_tables_of_the_mean_over_folds():
    keys = pd.MultiIndex.from_tuples([("a", 0), ("a", 1), ("b", 0)], names=["table", "fold"])
    mean, error, n = summary.over_tables(pd.Series([1.0, 3.0, 5.0], index=keys))
    assert (mean, n) == (3.5, 2)
    assert error == pytest.approx(np.std([2.0, 5.0], ddof=1) / np.sqrt(2))


def test_cells_are_kept_and_compared(folder, monkeypatch, capsys):
    made = []

    def measure(name, fold, budget, candidates):
        made.append((name, fold))
        figures = dict.fromkeys(summary.FIGURES, 0.75 if len(made) == 1 else 0.5)
        return {"table": name, "fold": fold, "budget": budget, **figures}

    monkeypatch.setattr(cells, "measure", measure)
    monkeypatch.setattr(cells, "compile_all", lambda: None)
    where = ["--folder", str(folder), "--side", "decide"]
    for label in ("new", "new", "old"):
        small_tables.main([*where, "--label", label])
    assert made == [("one", 0)] * 2  # the second time it was there
    capsys.readouterr()
    small_tables.main([*where, "--label", "new", "--against", "old", "--kept"])
    said = capsys.readouterr().out
    assert "score        +0.2500" in said
    assert "svc                      0.5000   +0.2500" in said
    assert "tabicl" not in said  # it has no score on this side


def test_without_data_it_says_what_to_do(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("MERCER_DATA", str(tmp_path))
    with pytest.raises(SystemExit):
        small_tables.main([])
    assert "MERCER_DATA" in capsys.readouterr().err


def test_the_page_has_every_method_and_table(folder):
    keys = {"table": ["two"], "fold": [0], "budget": [15.0], "error": [0.2], "log_loss": [0.5], "auc": [0.5]}
    own = pd.DataFrame({**keys, "score": [0.75], "calibration": [0.1], "cpu": [3.0]})
    text = page.write_page(own, {"before": own.assign(score=0.5)}, "report", [0], 15.0)
    assert "| TabICL (foundation model) | 0.2500 | +0.5000 ± nan | 1 |" in text
    assert "| `KernelSearchCV` | 0.7500 |  | 1 |" in text
    assert "| `KernelSearchCV`, before | 0.2000 | 0.5000 | 0.5000 | 0.1000 | 3.0000 |" in text
    assert "| two | 0.750 | 0.500 | 0.250 |" in text
    assert "RBF-SVM |" not in text.partition("\n| two")[0]
