"""The report of a search: one HTML file that needs nothing else."""

import base64
import hashlib
import os
import platform
import shlex
import warnings
from collections.abc import Mapping, Sequence
from html import escape
from importlib import resources
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.sparse import issparse
from sklearn.base import is_regressor
from sklearn.utils import check_random_state, column_or_1d
from sklearn.utils.validation import check_is_fitted

from mercer.files import replace_file
from mercer.preprocessing.encoder import TableEncoder, as_table
from mercer.report.content import Chapter, Omitted, Table
from mercer.report.sections import FOLDED, PARTS, QUESTIONS, make_headline
from mercer.report.subject import Subject
from mercer.validation import check_target

PACKAGES = ("mercer", "numpy", "scipy", "scikit-learn", "matplotlib")
EXPECTED = (ValueError, TypeError, ArithmeticError, np.linalg.LinAlgError, MemoryError)


def write_report(
    search: Any, X: Any, y: Any = None, path: str | os.PathLike[str] = "report.html", **options: Any
) -> None:
    """Write an HTML report of a search: one file with the ranking, plots and tables.

    It is written to a temporary file and then renamed: if that fails or is interrupted, an old report stays
    as it was.

    Parameters
    ----------
    search, X, y : object
        The fitted search and what it was fitted to, as in `Report`.
    path : str or path-like, default="report.html"
        Where to write it.
    **options : object
        As in `Report`: names, which questions to answer, and so on.

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
    ...     write_report(search, X, y, Path(folder) / "report.html", about={"data": "iris"})
    ...     print((Path(folder) / "report.html").read_text(encoding="utf-8")[:15])
    <!DOCTYPE html>
    """
    Report(search, X, y, **options).write(path)


class Report:
    """The report of a search: answers to the questions that people ask, in words, plots and tables.

    What it says of samples is what the model says of those that the search held out: nothing is fitted anew,
    and nothing is needed but the search and its table. What cannot be shown of a model is left out, and the
    report says why. The same search, samples and random seed give the same page. A notebook shows the report
    where it is the last value of a cell.

    Parameters
    ----------
    search : KernelSearchCV or KernelSearchRegressor
        Fitted, or loaded.
    X : array-like of shape (n, n_features), or DataFrame
        The samples that it was fitted to. A DataFrame names the columns.
    y : array-like of shape (n,), default=None
        Their classes or numbers; None if it was fitted to pairs.
    questions : sequence of str, default=None
        Which questions to answer, of "good", "uses", "fails", "sees" and "data". None: all.
    row_names : sequence of int or str, default=None
        What the rows of X are called: their numbers in a larger table, or names. None: 0, 1, …
    about : dict, default=None
        What else the report should say of how it was computed, such as the command or the date. The values of
        `data` and `target`, the names of the data and of what is predicted, are also in the title; `model` is
        the file that the search was saved to.
    random_state : int, RandomState instance or None, default=0
        Random seed of the samples that are drawn for the plots, and of shufflings.

    Attributes
    ----------
    headline : Headline
        What the page says first.
    answers : list of (str, str, str)
        Questions, each with the key of the section that answers it, and the answer in a sentence or two.
    chapters : list of Chapter
        The questions, each with its sections; a `Section` has texts, pictures and tables.
    omissions : list of str
        What was left out, and why.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from mercer import KernelSearchCV, StumpSVC
    >>> from mercer.report import Report
    >>> X, y = load_iris(return_X_y=True)
    >>> search = KernelSearchCV({"stump": StumpSVC()}, cv=2, random_state=0).fit(X, y)
    >>> report = Report(search, X, y, questions=["fails"])
    >>> [section.title for section in report.chapters[0].sections]
    ['Confusion matrix', 'The worst samples']
    """

    def __init__(
        self,
        search: Any,
        X: Any,
        y: Any = None,
        *,
        questions: Sequence[str] | None = None,
        row_names: Sequence[int | str] | None = None,
        about: Mapping[str, Any] | None = None,
        random_state: Any = 0,
    ) -> None:
        check_is_fitted(search, "best_estimator_")
        kind = "number" if is_regressor(search) else "class" if hasattr(search, "model_") else "pairs"
        frame = _as_frame(search, X)
        subject = Subject(
            search,
            kind,
            frame,
            None if kind == "pairs" else _check_targets(search, len(frame), y),
            int(check_random_state(random_state).randint(2**31 - 1)),
            _check_row_names(len(frame), row_names),
            about or {},
        )
        self.headline = make_headline(subject)
        self.chapters, self.omissions = _compose(subject, list(questions or QUESTIONS))
        sections = [section for chapter in self.chapters for section in chapter.sections]
        self.answers = [(one.answer[0], one.key, one.answer[1]) for one in sections if one.answer]
        self.command = str(subject.about.get("command", ""))
        self.uses = _uses(subject)
        self.code = _code(subject)
        self.provenance = _provenance(subject, random_state)

    def html(self) -> str:
        """Return the page: it needs no other file, no network and no script."""
        try:
            from jinja2 import Environment, PackageLoader
            from markupsafe import Markup
        except ImportError as error:
            raise ImportError("A report needs jinja2: pip install 'mercer[app]'.") from error

        loader = PackageLoader("mercer.report", ".")
        environment = Environment(loader=loader, autoescape=True, trim_blocks=True)
        style = resources.files("mercer.report").joinpath("style.css").read_text(encoding="utf-8")
        fingerprint = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
        page: str = environment.get_template("template.html").render(
            report=self, style=Markup(style), fingerprint=fingerprint
        )
        return page

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the page to a file."""
        replace_file(Path(path), self.html().encode("utf-8", "replace"))

    def _repr_html_(self) -> str:
        """Return the page in a frame of its own, as a notebook shows it."""
        page, title = escape(self.html()), escape(self.headline.title)
        return f'<iframe srcdoc="{page}" width="100%" height="700" title="{title}"></iframe>'


def _as_frame(search: Any, X: Any) -> pd.DataFrame:
    """Return a table whose columns are named by texts; for another encoder, with cells as they are."""
    if search.encoder_ is None or isinstance(search.encoder_, TableEncoder):
        return as_table(X.toarray() if issparse(X) else X)
    return pd.DataFrame(X)


def _check_targets(search: Any, n_rows: int, y: Any) -> Any:
    if y is None:
        raise ValueError("the search was fitted to targets: give y")
    targets = column_or_1d(y)
    if search.held_out_.rows.max() >= n_rows:
        raise ValueError(f"X has {n_rows} samples, fewer than the search was fitted to: give those")
    if len(targets) != n_rows:
        raise ValueError(f"X has {n_rows} samples, but y has {len(targets)}")
    return check_target(targets) if is_regressor(search) else targets


def _check_row_names(n_rows: int, names: Sequence[int | str] | None) -> list[int | str]:
    if names is None:
        return list(range(n_rows))
    if len(names) != n_rows:
        raise ValueError(f"There are {len(names)} row names for {n_rows} rows.")
    return [str(name) if isinstance(name, str) else int(name) for name in names]


def _compose(subject: Subject, questions: Sequence[str]) -> tuple[list[Chapter], list[str]]:
    """Return the chapters that there are, and a sentence for each section that is left out."""
    unknown = [key for key in questions if key not in QUESTIONS]
    if unknown:
        raise ValueError(f"there is no question {unknown[0]!r}; there are {', '.join(QUESTIONS)}")
    chapters, omissions = [], []
    for key in questions:
        sections = []
        for part in (part for part in PARTS if part.question == key and subject.kind in part.kinds):
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # what is shown says more
                    sections.append(part.make(subject))
            except (Omitted, *EXPECTED) as error:
                omissions.append(f"{part.name}: {str(error).rstrip('.') or type(error).__name__}.")
        if sections:
            chapters.append(Chapter(key, QUESTIONS[key], sections, key in FOLDED))
    return chapters, omissions


def _uses(subject: Subject) -> list[tuple[str, str]]:
    """Return how the model is used, in a terminal and in Python."""
    model = str(subject.about.get("model") or "MODEL.mercer")
    if subject.kind == "pairs":
        act, call = f"similar {shlex.quote(model)} DATA.csv --query 0", "search.best_kernel_(X_new)"
    else:
        act, call = f"predict {shlex.quote(model)} NEW.csv", "search.predict(X_new)"
    more = {
        "class": "\nsearch.predict_proba(X_new)",
        "number": "\nsearch.predict_interval(X_new)",
        "pairs": "",
    }
    python = f"import mercer\n\nsearch = mercer.load({model!r})\n{call}{more[subject.kind]}"
    return [("In a terminal:", f"mercer {act}"), ("In Python:", python)]


def _code(subject: Subject) -> str:
    """Return the search and this page as a cell of Python."""
    search = subject.search
    given, report = (
        ("X, pairs=pairs", 'X, path="report.html"')
        if subject.kind == "pairs"
        else ("X, y", 'X, y, "report.html"')
    )
    return "\n".join([
        f"# X: the columns that went in{'' if subject.kind == 'pairs' else f'; y: {subject.target}'}",
        f"from mercer import {type(search).__name__}, save",
        "from mercer.report import write_report",
        "",
        f"search = {repr(search).replace(chr(10), chr(10) + ' ' * len('search = '))}",
        f"search.fit({given})",
        'save(search, "MODEL.mercer")',
        f"write_report(search, {report})",
    ])  # fmt: skip


def _provenance(subject: Subject, random_state: Any) -> list[Table]:
    """Return what it takes to reproduce the page."""
    shown = {name: value for name, value in subject.about.items() if name not in ("command", "seconds")}
    rows = [[str(name), str(value)] for name, value in shown.items()]
    rows.append(["random seed of this report", str(random_state)])
    versions = [["Python", platform.python_version()], *([name, version(name)] for name in PACKAGES)]
    return [
        Table("Settings", ["setting", "value"], rows),
        Table("Versions", ["package", "version"], versions),
    ]
