"""One module alone asks scikit-learn for what is private; it has stand-ins for what older releases lack."""

import ast
import importlib
import sys
from pathlib import Path

import numpy as np
import pytest
import sklearn

import mercer
from mercer import scikit

ROOT = Path(mercer.__file__).parent
ELSEWHERE = {"persistence", "solvers/libsvm.py"}  # what files hold, and LIBSVM itself
LACKING = {"sklearn.callback": (1, 9), "sklearn.externals.array_api_compat": (1, 7)}


def private_imports(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("sklearn"):
            names = [node.module, *(alias.name for alias in node.names)]
            yield from (name for name in names if name.rpartition(".")[2].startswith("_"))
            if node.module == "sklearn.callback":
                yield node.module


def test_private_names_of_scikit_learn_are_in_one_module():
    found = {}
    for path in ROOT.rglob("*.py"):
        place = path.relative_to(ROOT).as_posix()
        if path.name != "scikit.py" and not any(place.startswith(one) for one in ELSEWHERE):
            found |= {place: names} if (names := list(private_imports(path))) else {}
    assert found == {}


def test_what_a_release_has_is_scikit_learns_own():
    version = tuple(int(part) for part in sklearn.__version__.split(".")[:2])
    origins = {
        "sklearn.callback": scikit.CallbackContext,
        "sklearn.externals.array_api_compat": scikit.device,
    }
    for module, first in LACKING.items():
        assert (origins[module].__module__ == "mercer.scikit") == (version < first)


@pytest.fixture
def older(monkeypatch):
    """Return the module as it is where scikit-learn has none of these."""
    for name in LACKING:
        monkeypatch.setitem(sys.modules, name, None)
    module = importlib.util.module_from_spec(scikit.__spec__)
    scikit.__spec__.loader.exec_module(module)
    return module


def test_the_stand_ins_tell_callbacks_and_let_them_stop(older):
    class Fit(older.CallbackSupportMixin):
        @older.with_callbacks
        def fit(self):
            context = self._init_callback_context(max_subtasks=None)
            context.call_on_fit_task_begin(estimator=self)
            for step in range(10):
                task = context.subcontext("step")
                task.call_on_fit_task_begin(estimator=self)
                if task.call_on_fit_task_end(estimator=self):
                    return step
            return None

    class Count:
        begun = ended = 0

        def on_fit_task_begin(self, estimator, context):
            self.begun += 1

        def on_fit_task_end(self, estimator, context):
            self.ended += context.task_name == "step"
            return self.ended == 3

    count = Count()
    assert Fit().fit() is None
    assert Fit().set_callbacks(count).fit() == 2
    assert (count.begun, count.ended) == (4, 3)
    assert not hasattr(Fit().set_callbacks(count).set_callbacks(), "_skl_callbacks")


def test_the_stand_ins_know_numpy(older):
    assert older.array_namespace(np.ones(2)) is np
    assert older.device(np.ones(2)) == "cpu"
