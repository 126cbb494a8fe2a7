"""What the pages of `docs/` say is so: names exist, the reference is complete, the quick start is true."""

import ast
import importlib
import inspect
import pkgutil
import re
import shlex
from functools import cache
from pathlib import Path
from types import ModuleType

import pandas as pd
import pytest
import typer.main
from sklearn.datasets import load_iris
from typer.testing import CliRunner

import mercer
import pages
import reproduction
from matching.tables import judged_customers
from mercer import cli
from reproduction.command import app as reproduction_app

ROOT = Path(__file__).parents[1]
DOCS, EXAMPLES = ROOT / "docs", sorted((ROOT / "examples").rglob("plot_*.py"))
PAGES = [*sorted(DOCS.rglob("*.md")), ROOT / "README.md"]
PACKAGES = [mercer, reproduction]
MERCER, REPRODUCTION = "mercer", "python -m reproduction"  # the commands


def read(name: str) -> str:
    return (DOCS / name).read_text(encoding="utf-8")


def blocks(text: str, *languages: str) -> list[str]:
    """The fenced blocks of a page that are in one of the languages."""
    fenced = re.findall(r"^```(\w*)\n(.*?)^```", text, flags=re.DOTALL | re.MULTILINE)
    return [code for language, code in fenced if language in languages]


@cache
def modules() -> list[ModuleType]:
    names = [
        module.name
        for package in PACKAGES
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
    ]
    return [*PACKAGES, *filter(None, map(import_if_possible, names))]


def import_if_possible(name: str) -> ModuleType | None:
    """The module, or none where it is for a GPU or a cluster and what that needs is not installed."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name not in ("torch", "triton", "dask"):
            raise
        return None


# pages that are run


def as_shown(text: str) -> list[list[str]]:
    """The words of each line, without times; sorted, as near ties of a ranking may come in another order."""
    return sorted(line.split() for line in pages.ELAPSED.sub("", text).splitlines() if line.strip())


def agree(shown: str, printed: str) -> bool:
    """Whether two words are the same, or numbers that differ by rounding in what they were computed from."""
    if shown == printed:
        return True
    number = re.compile(r"(.*?)([+\N{MINUS SIGN}-]?\d+(?:\.\d+)?)(\D*)")
    one, other = number.fullmatch(shown), number.fullmatch(printed)
    if not one or not other or one[1] != other[1] or one[3] != other[3]:
        return False
    a, b = (float(match[2].replace("\N{MINUS SIGN}", "-")) for match in (one, other))
    last_digit = 10.0 ** -len(one[2].partition(".")[2])
    return abs(a - b) <= 1.5 * last_digit + 0.02 * abs(a)


@pytest.mark.parametrize(
    ("shown", "printed", "expected"),
    [
        ("0.011", "0.012", True),
        ("0.011", "0.013", False),
        ("1.5", "1.6", True),
        ("[−3.1,", "[−3.2,", True),
        ("[−3.1,", "[−3.4,", False),
        ("[−3.1,", "[+3.1,", False),
        ("C=0.5,", "C=0.25,", False),
        ("stump", "linear", False),
        ("15", "17", False),
    ],
)
def test_numbers_agree_to_the_last_digit_or_so(shown, printed, expected):
    assert agree(shown, printed) is expected


@pytest.mark.parametrize("name", ["README.md", "docs/quick_start.md", "docs/tutorial.md"])
def test_a_page_prints_what_it_shows(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = (ROOT / name).read_text(encoding="utf-8")
    ran = 0
    for step in pages.run_page(text):
        ran += 1
        if step.shown is None and name == "README.md":
            continue  # it shows nothing of this; that it runs is enough
        shown, printed = as_shown(step.shown or ""), as_shown(step.printed)
        assert [len(line) for line in printed] == [len(line) for line in shown], step
        for ours, theirs in zip(shown, printed, strict=True):
            assert all(map(agree, ours, theirs)), (
                f"{ours} is printed as {theirs}: run `make pages` if that is right"
            )
    assert ran == len(blocks(text, "python")) + len(re.findall(r"^\$ mercer", text, flags=re.MULTILINE))
    assert ran >= (1 if name == "README.md" else 4)


def test_the_page_about_scaling_prints_what_it_shows(tmp_path, monkeypatch):
    pytest.importorskip("dask.array")
    monkeypatch.chdir(tmp_path)
    steps = list(pages.run_page(read("scaling.md")))
    assert steps
    for step in steps:
        assert step.printed == step.shown


# the command line


def command_lines(*pages: Path, command: str = MERCER) -> list[list[str]]:
    """Every call of a command that stands in a block of a page, as arguments."""
    texts = [page.read_text(encoding="utf-8") for page in pages]
    text = "\n".join(code for page in texts for code in blocks(page, "", "console"))
    calls = re.findall(rf"^(?:\$ )?{command}((?: .*?)??)(?: # .*)?$", text, flags=re.MULTILINE)
    return [shlex.split(re.sub(r"\s{3,}.*", "", call)) for call in calls]


def test_the_commands_of_the_readme_work_one_after_the_other(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X, y = load_iris(return_X_y=True, as_frame=True)
    some = X[::4].assign(label=y[::4])
    some.to_csv("data.csv", index=False)
    X[1::4].to_csv("new.csv", index=False)
    table, _, pairs = judged_customers()
    table.to_csv("customers.csv", index=False)
    lines = [(*pair, 1) for pair in pairs.similar] + [(*pair, 0) for pair in pairs.dissimilar]
    pd.DataFrame(lines, columns=["first", "second", "same"]).to_csv("judged.csv", index=False)
    for arguments in command_lines(ROOT / "README.md"):
        done = CliRunner().invoke(cli.make_app(), arguments)
        assert done.exit_code == 0, done.output
    for arguments in command_lines(ROOT / "README.md", command=REPRODUCTION):
        done = CliRunner().invoke(reproduction_app, arguments)
        assert done.exit_code == 0, done.output
    written = {"out.mercer", "report.html", "predictions.csv", "matches.csv"}
    assert written <= {path.name for path in tmp_path.iterdir()}


def test_commands_and_options_on_the_pages_exist():
    commands = typer.main.get_command(cli.make_app()).commands
    lines = command_lines(*PAGES)
    assert {line[0] for line in lines} == set(commands), "each command has its line, and no other has one"
    for name, *arguments in lines:
        known = {option for parameter in commands[name].params for option in parameter.opts}
        unknown = {argument for argument in arguments if argument.startswith("-")} - known
        assert not unknown, f"mercer {name} has no {unknown}"
    options = typer.main.get_command(reproduction_app).params
    known = {option for parameter in options for option in parameter.opts}
    lines = command_lines(*PAGES, command=REPRODUCTION)
    assert lines
    assert {word for line in lines for word in line if word.startswith("-")} <= known


def test_options_that_pages_speak_of_exist():
    commands = typer.main.get_command(cli.make_app()).commands
    known = {
        option
        for command in commands.values()
        for parameter in command.params
        for option in (*parameter.opts, *parameter.secondary_opts)
    }
    spoken = set(re.findall(r"`(--[\w-]+)", read("command_line.md")))
    assert len(spoken) >= 10
    assert spoken <= known | {"--help", "--debug"}


# the papers


def table_rows(text: str) -> list[list[str]]:
    return [re.split(r"(?<!\\)\|", line)[1:-1] for line in text.splitlines() if line.startswith("| ")]


def names_in_tables() -> set[str]:
    """What stands in backticks in the last column of the tables that map equations to code."""
    sections = re.findall(r"equation by equation\n(.*?)\n## ", read("papers.md"), flags=re.DOTALL)
    assert len(sections) == 5, "one table a paper"
    cells = [row[-1] for section in sections for row in table_rows(section)]
    return {name for cell in cells for name in re.findall(r"`([^`]+)`", cell)}


def has(thing: object, attributes: list[str]) -> bool:
    """Whether a thing has these, each of the one before; those of a fitted estimator are in its docstring."""
    for attribute in attributes:
        if attribute.endswith("_") and re.search(rf"\b{attribute}\b", inspect.getdoc(thing) or ""):
            return True
        if not hasattr(thing, attribute):
            return False
        thing = getattr(thing, attribute)
    return True


def exists(name: str) -> bool:
    """Whether a dotted name is found, from `mercer` or `reproduction` on or from any class of them on."""
    first, *rest = name.split(".")
    found = [vars(module)[first] for module in modules() if first in vars(module)]
    found += [package for package in PACKAGES if package.__name__ == first]
    if name.endswith("_") and not rest:
        found = [thing for module in modules() for thing in vars(module).values() if inspect.isclass(thing)]
        return any(has(thing, [name]) for thing in found)
    return any(has(thing, rest) for thing in found)


def test_every_name_that_stands_for_an_equation_exists():
    tests = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("*.py"))
    methods = {"decision_function", "fit"}  # of several estimators
    names = names_in_tables()
    assert len(names) > 100
    for name in names:
        if name.startswith("test_"):
            assert f"def {name}(" in tests, name
        elif name.endswith(".py"):
            assert list((ROOT / "tests").rglob(name)), name
        elif "-" in name.split("(")[0]:  # a table, reproduced by `python -m reproduction`
            assert name.removeprefix(f"{REPRODUCTION} ") in reproduction.CATALOGUE, name
        elif not name.startswith("scipy."):
            identifier = re.match(r"[\w.]+", name)[0]
            assert identifier in methods or exists(identifier), name


def test_a_name_that_is_not_there_is_found_out():
    assert exists("solvers.idealized.qp.solve_pair_qp")
    assert exists("IdealizedKernel.gamma_")
    assert exists("reproduction.baselines.RCA")
    assert not exists("reproduction.baselines.RCB")
    assert not exists("solvers.idealized.qp.solve_pair")
    assert not exists("IdealizedKernel.gamma_of_another_paper_")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_files_that_a_page_names_exist(page):
    named = re.findall(r"\b(?:examples|tests|docs)/[\w/]+\.\w+", page.read_text(encoding="utf-8"))
    assert all((ROOT / name).is_file() for name in named), named


# the reference


def documented() -> set[int]:
    """The objects, by identity, that the reference documents."""
    home, found = "", set()
    for directive, name in re.findall(r"^\.\. (\w+):: (\S+)", read("reference.rst"), flags=re.MULTILINE):
        if directive == "currentmodule":
            home = name
        elif directive in ("autoclass", "autofunction", "autodata"):
            module, _, attribute = (name if name.startswith("mercer.") else f"{home}.{name}").rpartition(".")
            found.add(id(getattr(importlib.import_module(module), attribute)))
    return found


def test_the_reference_has_every_public_name():
    there = documented()
    inner = re.compile(r"mercer\.(solvers|report\.sections)\b|reproduction\.(?!baselines)")  # not for users
    packages = [
        module for module in modules() if hasattr(module, "__path__") and not inner.match(module.__name__)
    ]
    public = [(module, name) for module in packages for name in getattr(module, "__all__", ())]
    assert len(public) > 80
    assert [
        f"{module.__name__}.{name}" for module, name in public if id(getattr(module, name)) not in there
    ] == []


# the examples


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_is_a_page_of_the_gallery(path):
    text = path.read_text(encoding="utf-8")
    title, underline = ast.get_docstring(ast.parse(text)).splitlines()[:2]
    assert set(underline) == {"="}
    assert len(underline) == len(title)
    assert text.count("# %%") >= 3
    assert "print(" in text, "what it measures is printed"
    assert text.endswith("plt.show()\n"), "it ends with its picture"
    assert "reproduction" not in text, "it runs wherever the package is installed"


def test_every_method_and_task_has_an_example():
    text = "\n".join(path.read_text(encoding="utf-8") for path in EXAMPLES)
    imported = {
        alias.name
        for path in EXAMPLES
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom) and node.module == "mercer"
        for alias in node.names
    }
    files = {"load", "save"}
    variants = {
        "StumpSVC": "StumpSVC",
        "PerceptronSVC": "PerceptronSVC",
        "TreeSVC": "TreeSVC",
        "StumpRegressor": "StumpRegressor",
        "PerceptronRegressor": "PerceptronRegressor",
        "TreeRegressor": "TreeRegressor",
    }
    missing = {name for name in mercer.__all__ if variants.get(name, name) not in imported} - files
    assert not missing
    for task in ("pairs=", "unlabelled=", "retrieval_auc", "KMeans", "GaussianProcess", "1_000_000"):
        assert task in text, task
