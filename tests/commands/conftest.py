import pytest
from typer.testing import CliRunner

from commands.tables_at_hand import make_pairs, make_table
from mercer import cli

QUICK = ("--budget", "300", "--candidates", "linear,stump", "--jobs", "1")


def invoke(*arguments):
    return CliRunner().invoke(cli.make_app(), [str(argument) for argument in arguments])


@pytest.fixture
def mercer(monkeypatch, tmp_path):
    """Return a function that runs the command in a folder with data.csv and pairs.csv."""
    monkeypatch.chdir(tmp_path)
    make_table().to_csv("data.csv", index=False)
    make_pairs(make_table()).to_csv("pairs.csv", index=False)
    return invoke


@pytest.fixture(scope="session")
def models(tmp_path_factory):
    """Return a folder with models learned from classes and from pairs."""
    folder = tmp_path_factory.mktemp("models")
    table = make_table()
    table.to_csv(folder / "data.csv", index=False)
    make_pairs(table).to_csv(folder / "pairs.csv", index=False)
    from_classes = ("--target", "state", "--id", "name", *QUICK, "--model", folder / "out.mercer")
    assert invoke("learn", folder / "data.csv", *from_classes).exit_code == 0
    from_pairs = ("--pairs", folder / "pairs.csv", "--drop", "state", "--model", folder / "pairs.mercer")
    options = ("--candidates", "plain,idealized", "--budget", "300", "--jobs", "1")
    assert invoke("learn", folder / "data.csv", *from_pairs, *options).exit_code == 0
    return folder
