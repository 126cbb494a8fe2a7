"""A model that left Python says what it said: to SQLite, to ONNX Runtime, and to who reads its points."""

import json
import sqlite3

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mercer import (
    ClippedScaler,
    KernelSearchCV,
    KernelSearchRegressor,
    KernelSVC,
    PerceptronSVC,
    StumpRegressor,
    StumpSVC,
)
from mercer.export import ExportError, export

N_NEW, TOL = 1000, 1e-6
ADDITIVE = ["stump", "linear"]


def make_table(n, seed, n_classes):
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(
        {
            "age": rng.normal(50, 20, n).round(1),
            'wide "x"': rng.standard_t(2, n) * 1e3,
            "is_on": rng.integers(0, 2, n),
            "where": rng.choice(["here", "o'there", "élsewhere", "9"], n, p=[0.5, 0.3, 0.15, 0.05]),
            "often": rng.choice(["a", "b"], n),
        }
    )
    signal = table["age"] / 20 + (table["where"] == "here") * 2 + np.sin(table['wide "x"'] / 500)
    signal += rng.normal(0, 0.7, n)
    table.loc[::7, "age"] = np.nan
    table.loc[::9, "where"] = None
    if n_classes is None:
        return table, signal.to_numpy()
    edges = np.quantile(signal, np.linspace(0, 1, n_classes + 1)[1:-1])
    return table, np.searchsorted(edges, signal)


def names_of(y):
    return np.array(["no", "maybe", "yes 'really'", "d"])[y]


def search(n_classes, seed, labels=lambda y: y, **options):
    table, y = make_table(150, seed, n_classes)
    if n_classes is None:
        y = np.exp(y) if options.get("log") else y
        return KernelSearchRegressor(ADDITIVE, random_state=0, **options).fit(table, y)
    return KernelSearchCV(ADDITIVE, random_state=0, **options).fit(table, labels(y))


def with_offsets(model):
    """Return a search whose calibrations have offsets, which few samples do not ask for."""
    blend = model.model_
    blend.units = [unit._replace(offsets=np.array([0.0, 0.7, -0.4])) for unit in blend.units]
    blend.calibration = blend.calibration._replace(offsets=np.array([0.2, -0.3, 0.0]))
    return model


def machine(model, n_classes, seed, n_features=4):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(120, n_features)) * [1, 100, 1e-3, 1][:n_features]
    y = X[:, 0] + np.sin(X[:, 1] / 30)
    if n_classes is not None:
        y = np.searchsorted(np.quantile(y, np.linspace(0, 1, n_classes + 1)[1:-1]), y)
    names = [f"x{j}" for j in range(n_features)]
    return model.fit(pd.DataFrame(X, columns=names), y)


MODELS = {
    **{f"two classes {k}": lambda k=k: search(2, k, names_of) for k in range(4)},
    **{f"numbers {k}": lambda k=k: search(None, k) for k in range(3)},
    "logarithms": lambda: search(None, 3, log=True),
    **{f"three classes {k}": lambda k=k: search(3, k, names_of) for k in range(2)},
    "four classes": lambda: search(4, 5),
    "a cost": lambda: search(2, 6, cost={"FP": 1.0, "FN": 5.0}),
    "offsets": lambda: with_offsets(search(3, 8, names_of)),
    "no blend": lambda: search(2, 7, blend=False),
    "a stump machine": lambda: machine(StumpSVC(C=0.1), 2, 0),
    "with log-loss": lambda: machine(StumpSVC(C=0.1, loss="log_loss"), 2, 1),
    "four by log-loss": lambda: machine(StumpSVC(C=0.1, loss="log_loss"), 4, 2),
    "one against the rest": lambda: machine(StumpSVC(C=0.1, loss="log_loss", multi_class="ovr"), 3, 3),
    "a regressor": lambda: machine(StumpRegressor(C=1.0), None, 4),
    "scaled twice": lambda: machine(make_pipeline(StandardScaler(), ClippedScaler(), StumpSVC(C=0.1)), 2, 5),
    "linear": lambda: machine(make_pipeline(ClippedScaler(), KernelSVC(loss="log_loss")), 2, 6),
    "multinomial": lambda: machine(make_pipeline(ClippedScaler(), KernelSVC(loss="log_loss")), 4, 7),
}


def new_rows(model, seed=99):
    if getattr(model, "encoder_", None) is not None:
        table = make_table(N_NEW, seed, None)[0]
        table.loc[5, "where"] = "new"
        return table
    X = 1.5 * np.random.default_rng(seed).normal(size=(N_NEW, 4)) * [1, 100, 1e-3, 1]
    return pd.DataFrame(X, columns=[f"x{j}" for j in range(4)])


def check(model, table, predicted, chances):
    wanted = np.asarray(model.predict(table))
    if hasattr(model, "classes_") and len(model.classes_):
        assert np.mean(np.asarray(predicted).astype(str) == wanted.astype(str)) == 1.0
        if chances is not None and hasattr(model, "predict_proba"):
            assert_allclose(chances, model.predict_proba(table), atol=TOL)
    else:
        assert_allclose(np.asarray(predicted, dtype=float).ravel(), wanted, rtol=TOL, atol=TOL)


@pytest.fixture(scope="module", params=list(MODELS))
def model(request):
    return MODELS[request.param]()


def test_sqlite_says_what_the_model_says(model, tmp_path):
    table = new_rows(model).assign(id=np.arange(N_NEW))
    export(model, tmp_path / "model.sql", to="sql", table="my rows", keep=["id"])
    with sqlite3.connect(":memory:") as base:
        table.to_sql("my rows", base, index=False)
        said = pd.read_sql((tmp_path / "model.sql").read_text(encoding="utf-8"), base)
    assert_array_equal(said["id"], table["id"])
    chances = said[[name for name in said if name.startswith("probability ")]].to_numpy()
    check(model, table.drop(columns="id"), said["prediction"], chances)


def test_onnx_runtime_says_what_the_model_says(model, tmp_path):
    pytest.importorskip("onnx")
    runtime = pytest.importorskip("onnxruntime")
    export(model, tmp_path / "model.onnx", to="onnx")
    session, table = runtime.InferenceSession((tmp_path / "model.onnx").read_bytes()), new_rows(model)
    inputs = {}
    for one in session.get_inputs():
        column = table[one.name]
        is_text = one.type == "tensor(string)"
        cells = column.fillna("").astype(str) if is_text else column.astype(float)
        inputs[one.name] = cells.to_numpy(dtype=object if is_text else float)[:, None]
    said, *chances = session.run(None, inputs)
    check(model, table, said, chances[0] if chances else None)


def read_points(document, table):
    """Return predictions as the document says them, in other words than mercer's."""
    sums = np.tile(np.array(document["intercept"]), (len(table), 1))
    for column in document["columns"]:
        for i, cell in enumerate(table[column["name"]]):
            if pd.isna(cell):
                sums[i] += column["missing"]
            elif "categories" in column:
                sums[i] += column["categories"].get(cell, column["other"])
            else:
                sums[i] += [
                    np.interp(cell, column["knots"], own) for own in zip(*column["points"], strict=True)
                ]
    if "classes" not in document:
        return (np.exp(sums) if "exp" in document["formula"] else sums)[:, 0], None
    head = {name: np.array(part) for name, part in document["head"].items()}
    sigmoid = 1.0 / (1.0 + np.exp(-sums))
    values = head["offset"] + sums @ head["linear"]
    values += np.log(sigmoid) @ head["positive"] + np.log(1.0 - sigmoid) @ head["negative"]
    chances = np.exp(values) / np.exp(values).sum(axis=1, keepdims=True)
    return np.array(document["classes"])[np.argmax(chances * document["class_weights"], axis=1)], chances


def test_the_document_says_what_the_model_says(model, tmp_path):
    export(model, tmp_path / "model.json", to="json")
    table = new_rows(model)[:100]
    check(model, table, *read_points(json.loads((tmp_path / "model.json").read_bytes()), table))


@pytest.mark.parametrize(
    ("model", "reason"),
    [
        (lambda: machine(PerceptronSVC(), 2, 0), "not additive.*stump,linear"),
        (lambda: machine(StumpSVC(), 3, 0), "loss='log_loss'"),
        (lambda: machine(make_pipeline(StandardScaler(), KernelSVC()), 2, 0), "ClippedScaler"),
        (lambda: machine(StumpRegressor(loss="poisson"), 4, 0), "link"),
    ],
)
def test_what_cannot_leave_is_said(model, reason, tmp_path):
    with pytest.raises(ExportError, match=reason):
        export(model(), tmp_path / "model.json", to="json")


def test_dates_are_refused_in_words(tmp_path):
    table, y = make_table(60, 0, 2)
    table["day"] = pd.date_range("2024-01-01", periods=60).astype(str)
    model = KernelSearchCV(["stump"], random_state=0).fit(table, y)
    with pytest.raises(ExportError, match=r"'day' holds dates.*--drop"):
        export(model, tmp_path / "model.sql", to="sql")
