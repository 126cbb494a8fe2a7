"""How near the tests came to their bounds: what passes here by a hair fails on another processor.

    python -m pytest --margins=here.jsonl tests/solvers   writes the margin of every bound that a test asserts
    python tests/margins.py here.jsonl there.jsonl        prints the closest first, of several runs the worst

A margin is the factor by which a number could grow before its test fails: bound / error for `error <= bound`,
`assert_allclose` and `approx`; slack / (a - b) for `a <= b + slack`; (1 - b) / (1 - a) for `a > b = 0.99`.
Bounds with a small number such as 1e-6 are of rounding. A solver's gap or residual is what it stops by, and
near its bound by rule. Others compare methods or count, and say little about processors.
"""

import ast
import builtins
import json
import os
import re
import sys
import tempfile
from collections.abc import Iterator, Set
from pathlib import Path

import numpy as np
from _pytest.assertion import rewrite

WANTED = 3.0
SMALL = re.compile(r"\d[eE]-\d|\b[a-z_]*tol\b|\bslack\b|0\.00")
STOPPED_BY = re.compile(r"(gap_?|residual_?|gradient) <= [^<]*$")
NEAR_ONE = re.compile(r"(>=?) (0\.9\d*)$")
NO_NUMBERS = (Set, str, tuple, list, dict)  # which have an order too
ASCENDING, DESCENDING = (ast.Lt, ast.LtE), (ast.Gt, ast.GtE)
found: dict[tuple[str, str], float] = {}


def factor(lesser: object, greater: object) -> float:
    """The least factor by which one number could come nearer to the other one before it passes it."""
    a, b = np.broadcast_arrays(np.asarray(lesser, dtype=float), np.asarray(greater, dtype=float))
    near, far = np.where(b > 0, a, -b), np.where(b > 0, b, -a)  # of negative numbers, the other way round
    with np.errstate(all="ignore"):
        return float(np.min(np.where(near > 0, far / near, np.inf), initial=np.inf))


def note(source: str, margin: float) -> None:
    """Keep the least margin of each line of each test."""
    test = os.environ.get("PYTEST_CURRENT_TEST", "").rsplit(" (", 1)[0]
    found[test, source] = min(margin, found.get((test, source), np.inf))


def compare(source: str, outcome: object, lesser: object, greater: object, centre: object = 0.0) -> object:
    """Note the margin of a comparison, and return what came out of it; the slack is counted from a centre."""
    if NEAR_ONE.search(source):
        lesser, greater = np.subtract(1.0, greater), np.subtract(1.0, lesser)
    if not isinstance(lesser, NO_NUMBERS) and not isinstance(greater, NO_NUMBERS):
        note(source, factor(np.subtract(lesser, centre), np.subtract(greater, centre)))
    return outcome


def equal(source: str, left: object, right: object) -> bool:
    """Note the margin of a comparison with `pytest.approx`."""
    approx, other = (right, left) if hasattr(right, "nan_ok") else (left, right)
    if hasattr(approx, "nan_ok") and not isinstance(other, dict):
        error = np.abs(np.asarray(other, dtype=float) - np.asarray(approx.expected, dtype=float))
        note(f"{source} (approx: 1e-6 or as said)", factor(error, tolerance(approx)))
    return left == right


def tolerance(approx: object) -> object:
    """What pytest allows: an absolute tolerance alone replaces the relative one."""
    absolute = 1e-12 if approx.abs is None else approx.abs
    if approx.rel is None and approx.abs is not None:
        return absolute
    relative = 1e-6 if approx.rel is None else approx.rel
    return np.maximum(relative * np.abs(np.asarray(approx.expected, dtype=float)), absolute)


def all_close(actual, desired, rtol=1e-7, atol=0, *args, **options) -> None:
    """Call NumPy's `assert_allclose`, and note its margin."""
    numpys_own(actual, desired, rtol, atol, *args, **options)
    a, b = np.asarray(actual), np.asarray(desired)
    if np.issubdtype(a.dtype, np.number) and a.size:
        with np.errstate(all="ignore"):
            error = np.nan_to_num(np.abs(a - b), nan=0.0, posinf=0.0)
            frame = sys._getframe(1)
            where = f"{Path(frame.f_code.co_filename).name}:{frame.f_lineno} assert_allclose(rtol={rtol:.0e})"
            note(where, factor(error, atol + rtol * np.abs(b)))


numpys_own = np.testing.assert_allclose


class Bounds(ast.NodeTransformer):
    """Lets every bound that an assertion asserts call `compare` or `equal`."""

    def __init__(self, name: str) -> None:
        self.name = name

    def visit_Assert(self, node: ast.Assert) -> ast.Assert:
        node.test = self.look(node.test)
        return node

    def look(self, node: ast.expr) -> ast.expr:
        """Look where a comparison is asserted: not in what is counted or selected."""
        if isinstance(node, ast.BoolOp) and isinstance(node.op, ast.And):
            node.values = [self.look(one) for one in node.values]
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitAnd):
            node.left, node.right = self.look(node.left), self.look(node.right)
        elif isinstance(node, ast.GeneratorExp):
            node.elt = self.look(node.elt)
        elif isinstance(node, ast.Call) and ast.unparse(node.func) in ("all", "np.all"):
            node.args = [self.look(one) for one in node.args]
        elif isinstance(node, ast.Compare):
            return self.replace(node)
        return node

    def replace(self, node: ast.Compare) -> ast.expr:
        source = ast.Constant(f"{self.name}:{node.lineno} {ast.unparse(node)}")
        sides, parts = [node.left, *node.comparators], []
        for left, op, right in zip(sides, node.ops, sides[1:], strict=False):
            if isinstance(op, ast.Eq):
                parts.append(call("margins_equal", source, left, right))
            else:
                outcome = ast.Compare(left, [op], [right])
                if isinstance(op, ASCENDING + DESCENDING):
                    order = (left, right) if isinstance(op, ASCENDING) else (right, left)
                    centre = without_slack(left) or without_slack(right) or ast.Constant(0.0)
                    outcome = call("margins_compare", source, outcome, *order, centre)
                parts.append(outcome)
        return parts[0] if len(parts) == 1 else ast.BoolOp(ast.And(), parts)


def without_slack(bound: ast.expr) -> ast.expr | None:
    """Return b, where a bound is b + slack, b - slack, b (1 + slack) or b (1 - slack) with a small slack."""
    is_sum = isinstance(bound, ast.BinOp) and isinstance(bound.op, ast.Add | ast.Sub)
    is_product = isinstance(bound, ast.BinOp) and re.match(r"\(?1(\.0)? [+-] ", ast.unparse(bound.right))
    return bound.left if (is_sum or is_product) and SMALL.search(ast.unparse(bound.right)) else None


def call(name: str, *arguments: ast.expr) -> ast.Call:
    return ast.Call(ast.Name(name, ast.Load()), list(arguments), [])


class Recorder:
    """The plugin: it reads the tests' assertions, and writes what it found."""

    def __init__(self, path: Path) -> None:
        self.path, self.rewrite = path, rewrite.rewrite_asserts
        sys.pycache_prefix = tempfile.mkdtemp()  # what is compiled otherwise has other assertions
        builtins.margins_compare, builtins.margins_equal = compare, equal
        np.testing.assert_allclose = all_close
        rewrite.rewrite_asserts = self.rewrite_asserts

    def rewrite_asserts(self, module: ast.Module, source: bytes, path: str | None = None, *rest) -> None:
        ast.fix_missing_locations(Bounds(Path(path or "").name).visit(module))
        self.rewrite(module, source, path, *rest)

    def pytest_sessionfinish(self) -> None:
        lines = [json.dumps([test, source, margin]) for (test, source), margin in found.items()]
        with self.path.open("a", encoding="utf-8") as file:
            file.writelines(f"{line}\n" for line in lines)


def closest(paths: list[str]) -> Iterator[tuple[float, str, str]]:
    """The least margin of each line of the tests in any of the runs."""
    least: dict[str, tuple[float, str, str]] = {}
    for path in paths:
        for test, source, margin in map(json.loads, Path(path).read_text(encoding="utf-8").splitlines()):
            one = (margin, test, f"{Path(path).stem}: {source}")
            least[source] = min(one, least.get(source, one))
    return iter(sorted(least.values()))


def kind(source: str) -> str:
    if STOPPED_BY.search(source):
        return "by which solvers stop"
    is_small = SMALL.search(source) or NEAR_ONE.search(source)
    return "of rounding and solvers" if is_small else "of other kinds"


if __name__ == "__main__":
    near: dict[str, list[str]] = {}
    for margin, test, source in closest(sys.argv[1:]):
        if margin < WANTED:
            near.setdefault(kind(source), []).append(f"{margin:6.2f}  {source}\n        {test}\n")
    for name, lines in sorted(near.items(), reverse=True):
        sys.stdout.writelines([f"{len(lines)} bounds {name} within a factor of {WANTED:g}\n", *lines])
