"""The report of a search: one HTML file that needs nothing else."""

import os
import platform
import warnings
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils import check_random_state, column_or_1d
from sklearn.utils.validation import check_array, check_is_fitted

from mercer.files import replace_file
from mercer.kernels.description import describe_kernel
from mercer.pairs import Pairs
from mercer.report.content import Omitted, Section, Subject, Table
from mercer.report.held_out import HeldOut, hold_out
from mercer.report.plots.additive_model import check_feature_names
from mercer.report.sections import SECTIONS, Makers, show_ranking, summarize, winning_kernel
from mercer.search.label_task import LabelTask
from mercer.search.pair_task import PairTask
from mercer.search.words import describe_settings

PACKAGES = ("mercer", "numpy", "scipy", "scikit-learn", "matplotlib")
EXPECTED = (ValueError, TypeError, ArithmeticError, np.linalg.LinAlgError, MemoryError)


def write_report(
    path: str | os.PathLike[str],
    search: Any,
    X: Any,
    y: Any = None,
    *,
    pairs: Any = None,
    unlabelled: Any = None,
    feature_names: Sequence[str] | None = None,
    row_names: Sequence[int | str] | None = None,
    about: Mapping[str, Any] | None = None,
    random_state: Any = 0,
) -> None:
    """Write an HTML report of a search: one file with the ranking, plots and tables.

    The plots show samples that the kernel was not learned from: the winner is fitted to about 70 % of the
    samples (of at most 2500, drawn by class) and looked at on the others. What cannot be shown of a winner is
    left out, and the report says why. The same search, samples and random seed give the same file. It is
    written to a temporary file and then renamed: if that fails or is interrupted, an old report stays as it
    was.

    Parameters
    ----------
    path : str or path-like
        Where to write it.
    search : KernelSearchCV
        Fitted.
    X : array-like of shape (n, n_features)
        The samples that it was fitted to.
    y : array-like of shape (n,), default=None
        Their classes; None if it was fitted to pairs.
    pairs : Pairs, default=None
        The pairs that it was fitted to; without them their distances are not shown.
    unlabelled : array-like of shape (m, n_features), default=None
        More samples, if it was fitted with them.
    feature_names : sequence of str, default=None
        One per feature. None: those of the search (`feature_names_in_`), or x0, x1, …
    row_names : sequence of int or str, default=None
        What the rows of X are called: their numbers in a larger table, or names. None: 0, 1, …
    about : dict, default=None
        What else the report should say of how it was computed, such as the command or the date. The value of
        `data`, the name of the data, is also in the title.
    random_state : int, RandomState instance or None, default=0
        Random seed: which samples are held out, and drawn for the plots.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sklearn.datasets import load_iris
    >>> from mercer import KernelSearchCV, StumpSVC
    >>> from mercer.report import write_report
    >>> X, y = load_iris(return_X_y=True)
    >>> search = KernelSearchCV({"stump": StumpSVC()}, cv=2, random_state=0).fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_report(Path(folder) / "report.html", search, X, y, about={"data": "iris"})
    ...     print((Path(folder) / "report.html").read_text(encoding="utf-8")[:15])
    <!DOCTYPE html>
    """
    check_is_fitted(search, "best_estimator_")
    task = _check_task(X, y, pairs, unlabelled)
    seed = int(check_random_state(random_state).randint(2**31 - 1))
    held_out, problem = _hold_out(search, task, seed)
    subject = Subject(
        search,
        task,
        check_feature_names(search, task.X.shape[1], feature_names),
        held_out,
        seed,
        _check_row_names(len(task.X), row_names),
        str((about or {}).get("data", "")),
    )
    sections, omissions = _compose(subject, SECTIONS[type(task)])
    if problem is not None:
        omissions = [f"What needs a model fitted to a part of the samples: {problem}"]
    page = _fill_in(
        data_name=subject.data_name,
        summary=summarize(subject),
        sections=[show_ranking(subject), *sections],
        omissions=omissions,
        provenance=_provenance(subject, about or {}, random_state),
        code=repr(search),
    )
    replace_file(Path(path), page.encode("utf-8"))


def _check_task(X: Any, y: Any, pairs: Any, unlabelled: Any) -> LabelTask | PairTask:
    rows = check_array(X, dtype=np.float64)
    more = None if unlabelled is None else check_array(unlabelled, dtype=np.float64, input_name="unlabelled")
    if y is None:
        none = np.empty((0, 2), dtype=np.intp)
        return PairTask(rows, Pairs(none, none) if pairs is None else Pairs(*pairs).check(len(rows)), more)
    label = column_or_1d(y)
    if len(label) != len(rows):
        raise ValueError(f"X has {len(rows)} samples, but y has {len(label)}")
    return LabelTask(rows, label, more)


def _check_row_names(n_rows: int, names: Sequence[int | str] | None) -> list[int | str]:
    if names is None:
        return list(range(n_rows))
    if len(names) != n_rows:
        raise ValueError(f"There are {len(names)} row names for {n_rows} rows.")
    return [str(name) if isinstance(name, str) else int(name) for name in names]


def _hold_out(search: Any, task: LabelTask | PairTask, seed: int) -> tuple[HeldOut | None, str | None]:
    """Return the model and the samples to look at it with, or None and why there are none."""
    if not isinstance(task, LabelTask):
        return None, None
    try:
        return hold_out(search, task, seed), None
    except EXPECTED as error:
        return None, _as_sentence(error)


def _compose(subject: Subject, makers: Makers) -> tuple[list[Section], list[str]]:
    """Return the sections that there are, and a sentence for each one that is left out."""
    sections, omissions = [], []
    for make, name in makers.items():
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of fits to fewer samples: the picture shows it
                sections.append(make(subject))
        except (Omitted, *EXPECTED) as error:
            omissions.append(f"{name}: {_as_sentence(error)}")
    return sections, omissions


def _as_sentence(error: Exception) -> str:
    return f"{str(error).rstrip('.')}." if str(error) else f"{type(error).__name__}."


def _provenance(subject: Subject, about: Mapping[str, Any], random_state: Any) -> list[Table]:
    """Return what it takes to reproduce the page."""
    search, result = subject.search, subject.result
    rows = [[str(name), str(value)] for name, value in about.items()]
    rows.append(["winner", str(result.winner)])
    rows.append(["its settings", describe_settings(result.settings) or "the defaults"])
    rows.append(["kernel", describe_kernel(winning_kernel(search))])
    rows.append(["estimator", repr(search.best_estimator_[-1])])
    rows.append(["samples the winner was fitted to", str(result.n_fitted)])
    if subject.held_out is not None:
        data = subject.held_out
        used = f"{len(data.learned_rows)} fitted to, {len(data.rows)} held out"
        rows.append(["samples of this report", used])
    rows.append(["random seed of this report", str(random_state)])
    versions = [["Python", platform.python_version()], *([name, version(name)] for name in PACKAGES)]
    return [
        Table("Settings", ["setting", "value"], rows),
        Table("Versions", ["package", "version"], versions),
    ]


def _fill_in(**content: Any) -> str:
    try:
        from jinja2 import Environment, PackageLoader
    except ImportError as error:
        raise ImportError("A report needs jinja2: pip install 'mercer[app]'.") from error

    environment = Environment(loader=PackageLoader("mercer.report", "."), autoescape=True, trim_blocks=True)
    return environment.get_template("template.html").render(**content)
