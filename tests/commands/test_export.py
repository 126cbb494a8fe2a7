"""``mercer export``: what it writes answers as ``mercer predict`` does."""

import sqlite3

import pandas as pd
import pytest

from commands.conftest import invoke


def test_a_query_predicts_as_the_command_does(models, tmp_path):
    done = invoke(
        "export", models / "out.mercer", "--to", "sql", "--keep", "name", "-o", tmp_path / "model.sql"
    )
    assert done.exit_code == 0, done.output
    assert invoke("predict", models / "out.mercer", models / "data.csv", "-o", tmp_path / "said.csv")
    said, table = pd.read_csv(tmp_path / "said.csv", dtype=str), pd.read_csv(models / "data.csv")
    with sqlite3.connect(":memory:") as base:
        table.to_sql("samples", base, index=False)
        found = pd.read_sql((tmp_path / "model.sql").read_text(encoding="utf-8"), base)
    assert found["prediction"].tolist() == said["prediction"].tolist()
    assert found["name"].tolist() == table["name"].tolist()


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["pairs.mercer", "--to", "sql"], "pairs"),
        (["out.mercer", "--to", "pmml"], "--to is one of onnx, sql, json; got pmml."),
    ],
)
def test_what_cannot_be_exported_is_said(models, tmp_path, words, sentence):
    done = invoke("export", models / words[0], *words[1:], "-o", tmp_path / "model.sql")
    assert done.exit_code == 2
    assert sentence in done.stderr
    assert not (tmp_path / "model.sql").exists()
