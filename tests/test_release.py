"""What a release says of itself in several places says the same."""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT = SETTINGS["project"]


def read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def test_the_version_is_the_same_everywhere():
    version = PROJECT["version"]
    assert f"\nversion: {version}\n" in read("CITATION.cff")
    assert re.search(r"^## \[(.*?)\]", read("CHANGELOG.md"), flags=re.MULTILINE)[1] == version


def test_the_wheel_holds_the_package_and_nothing_beside_it():
    assert SETTINGS["tool"]["hatch"]["build"]["targets"]["wheel"] == {"packages": ["src/mercer"]}


def test_every_supported_python_is_tested_on_three_systems():
    promised = [name.rpartition(" ")[2] for name in PROJECT["classifiers"] if ":: 3." in name]
    workflow = read(".github/workflows/test.yml")
    assert re.search(r"python: \[(.*)\]", workflow)[1] == ", ".join(f'"{version}"' for version in promised)
    assert re.search(r"os: \[(.*)\]", workflow)[1] == "ubuntu-latest, macos-latest, windows-latest"
    assert "make test " in workflow
    assert PROJECT["requires-python"].startswith(f">={promised[0]}")


def test_every_paper_is_cited():
    titles = re.findall(r"\[\w+\] .*?\. \*(.+?)\.\*", read("README.md").replace("\n", " "))
    assert len(titles) == 5
    assert [title for title in titles if f"title: {title}\n" not in read("CITATION.cff")] == []


def test_the_oldest_scikit_learn_that_is_promised_is_tested():
    oldest = next(one for one in PROJECT["dependencies"] if one.startswith("scikit-learn")).partition(">=")[2]
    assert f"scikit-learn=={oldest}.*" in read("Makefile")
    assert "make test-oldest " in read(".github/workflows/test.yml")


def test_the_conda_recipe_asks_for_what_the_wheel_asks_for():
    wanted = {*PROJECT["dependencies"], *PROJECT["optional-dependencies"]["app"]}
    run = read("conda/meta.yaml").partition("  run:")[2].partition("\ntest:")[0]
    recipe = re.findall(r"^    - (\S+)(?: (>=[\d.]+))?$", run, flags=re.MULTILINE)
    assert {name.replace("matplotlib-base", "matplotlib") + least for name, least in recipe} == wanted


def test_the_tree_of_contributing_is_short_and_true():
    tree = read("CONTRIBUTING.md").partition("## The rooms")[2].split("```")[1].strip("\n")
    assert len(tree.splitlines()) <= 25
    place = ROOT
    for line in tree.splitlines():
        path, _, said = line.partition(" ")
        place = ROOT / path if path else place
        assert place.is_dir(), line
        words = re.split(r"[,;:()\s]+", said)
        folders = [word for word in words if word.endswith("/")]
        assert [word for word in folders if not any((p / word).is_dir() for p in (place, ROOT))] == []
        files = [word for word in words if word.endswith(".py") and "*" not in word]
        assert [word for word in files if not (place / word).exists()] == []
    rooms = {path.name for path in (ROOT / "src/mercer").iterdir() if (path / "__init__.py").exists()}
    assert {room for room in rooms if f"src/mercer/{room}/" not in tree} == set()
