"""`import mercer` is light, and imports inside mercer go one way."""

import ast
import importlib
import re
import subprocess
import sys
from pathlib import Path

import pytest

import mercer

ROOT = Path(mercer.__file__).parent
REPOSITORY = Path(__file__).parents[1]
FILES = sorted(ROOT.rglob("*.py"))

# A room may import from its own floor and from those below; the package itself (mercer/__init__.py) from all.
FLOORS = [
    {
        "_typing",
        "compiled",
        "power_series",
        "scikit",
        "losses",
        "datasets",
        "limits",
        "notebook",
        "parameters",
        "shown",
        "files",
        "array_api",
        "lazy",
    },
    {"validation", "pairs", "metrics", "preprocessing"},
    {"kernels", "solvers"},
    {"superkernels"},
    {"learners"},
    {"machines"},
    {"search"},
    {"matching"},
    {"persistence"},
    {"report", "export"},
    {"commands"},
    {"cli", "__main__"},
]
STRANGERS = [{"kernels", "solvers"}]  # on one floor, and yet neither may know the other


def floor_of(room: str) -> int:
    floors = [height for height, rooms in enumerate(FLOORS) if room in rooms]
    assert floors, f"mercer.{room} is new: say in tests/test_imports.py on which floor it stands"
    return floors[0]


def may_import(room: str, other: str) -> bool:
    return room == other or (floor_of(other) <= floor_of(room) and {room, other} not in STRANGERS)


def room_of(path: Path) -> str:
    return path.relative_to(ROOT).with_suffix("").parts[0]


def imported_modules(path: Path) -> set[str]:
    """The modules that a file imports, by their full names; ``from a import b`` counts as a.b."""
    package = ("mercer", *path.relative_to(ROOT).parent.parts)
    modules: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            modules.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            start = package[: len(package) - node.level + 1] if node.level else ()
            source = [*start, *([node.module] if node.module else [])]
            modules.update(".".join([*source, alias.name]) for alias in node.names)
    return modules


def rooms_imported(path: Path) -> set[str]:
    return {module.split(".")[1] for module in imported_modules(path) if module.startswith("mercer.")}


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_go_one_way(path):
    if path == ROOT / "__init__.py":
        return
    room = room_of(path)
    upward = {other for other in rooms_imported(path) if not may_import(room, other)}
    assert not upward, f"mercer.{room} must not import {upward}"


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_the_package_does_not_import_what_is_only_in_the_repository(path):
    others = {module.split(".")[0] for module in imported_modules(path)}
    assert not others & {"reproduction", "benchmarks"}


def test_the_rule_finds_imports_in_every_spelling(tmp_path, monkeypatch):
    monkeypatch.setattr(sys.modules[__name__], "ROOT", tmp_path)
    (tmp_path / "kernels").mkdir()
    file = tmp_path / "kernels" / "spelled.py"
    file.write_text(
        "import mercer.machines.stump\n"
        "from mercer import search, __version__\n"
        "from mercer.report.page import write_report\n"
        "from ..solvers import svm_dual\n"
        "from .. import losses\n"
        "from .base import Kernel\n"
        "def later():\n    from mercer.cli import main\n"
    )
    expected = {"machines", "search", "__version__", "report", "solvers", "losses", "kernels", "cli"}
    assert rooms_imported(file) == expected


@pytest.mark.parametrize(
    ("room", "other", "allowed"),
    [
        ("learners", "kernels", True),
        ("kernels", "learners", False),
        ("kernels", "solvers", False),
        ("solvers", "kernels", False),
        ("solvers", "losses", True),
        ("machines", "learners", True),
        ("superkernels", "kernels", True),
        ("superkernels", "solvers", True),
        ("superkernels", "learners", False),
        ("learners", "superkernels", True),
        ("kernels", "superkernels", False),
        ("solvers", "power_series", True),
        ("power_series", "kernels", False),
        ("limits", "validation", False),
        ("validation", "preprocessing", True),
        ("kernels", "validation", True),
        ("metrics", "kernels", False),
        ("machines", "persistence", False),
        ("persistence", "machines", True),
        ("persistence", "report", False),
        ("cli", "report", True),
        ("report", "cli", False),
        ("commands", "report", True),
        ("preprocessing", "search", False),
        ("search", "preprocessing", True),
        ("search", "matching", False),
        ("matching", "superkernels", True),
        ("report", "commands", False),
    ],
)
def test_the_floors_are_those_of_the_design(room, other, allowed):
    assert may_import(room, other) is allowed


def run(program: str) -> None:
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_import_loads_nothing_heavy():
    heavy = {
        "numba",
        "llvmlite",
        "pandas",
        "sklearn",
        "scipy",
        "matplotlib",
        "typer",
        "rich",
        "skops",
        "torch",
    }
    run(f"import sys, mercer; assert not set(sys.modules) & {heavy}")
    # during the imports before `main` handles Ctrl-C, it ends in a traceback: they are few
    new = "set(sys.modules) - before"
    run(f"import sys; before = set(sys.modules)\nimport mercer.cli; assert 'email' not in {new}")


LIGHT = """
import sys

class Absent:
    heavy = {"numba", "llvmlite", "matplotlib", "pandas", "torch", "dask", "typer", "rich", "jinja2", "skops"}

    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in self.heavy:
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, Absent())
import mercer.kernels, mercer.superkernels, mercer.datasets, reproduction.baselines
for name in set(mercer.__all__) - {"TableEncoder", "PairMatcher"}:  # which are for tables of pandas
    getattr(mercer, name)
assert not Absent.heavy & set(sys.modules)
"""


def test_names_load_little():
    # scikit-learn itself imports pandas if it is there, so we look at what happens where it is not
    run(LIGHT)


def test_every_name_and_room_is_there_when_asked_for():
    run(
        "import mercer\n"
        "for name in dir(mercer): getattr(mercer, name)\n"
        "assert {*mercer.__all__} == {*mercer._HOMES} < {*dir(mercer)}\n"
        "assert mercer.StumpSVC is mercer.machines.StumpSVC\n"
        "assert mercer.load is mercer.persistence.load\n"
        "assert not hasattr(mercer, 'stump')"
    )


@pytest.mark.parametrize("room", ["learners", "matching", "preprocessing", "search"])
def test_a_room_that_opens_when_asked_has_all_its_names(room):
    opened = importlib.import_module(f"mercer.{room}")
    assert sorted(opened.__all__) == sorted(opened._HOMES) == dir(opened)
    for name in opened.__all__:
        assert getattr(opened, name).__module__ == f"mercer.{room}.{opened._HOMES[name]}"
    with pytest.raises(AttributeError, match=f"module 'mercer.{room}' has no attribute 'nothing'"):
        opened.nothing  # noqa: B018


def test_numba_is_imported_when_something_compiled_is_called():
    at_once = re.compile(r"^(?:import|from) (?:numba|llvmlite)\b", flags=re.MULTILINE)
    early = [path for path in FILES if at_once.search(path.read_text(encoding="utf-8"))]
    assert not early, "take njit from mercer.compiled"
