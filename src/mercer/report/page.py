"""The report of a search: one HTML file that needs nothing else."""

import base64
import hashlib
import os
import platform
import warnings
from collections.abc import Mapping, Sequence
from html import escape
from importlib import resources
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import is_regressor
from sklearn.utils import check_random_state, column_or_1d
from sklearn.utils.validation import check_array, check_is_fitted

from mercer._typing import Array
from mercer.files import replace_file
from mercer.kernels.description import describe_kernel
from mercer.pairs import Pairs
from mercer.preprocessing.encoder import count_missing
from mercer.report.content import Chapter, Omitted, Subject, Table
from mercer.report.held_out import hold_out
from mercer.report.plots.additive_model import check_feature_names
from mercer.report.sections import SECTIONS, WORDS, Makers, make_headline, winning_kernel
from mercer.search.words import describe_settings, name_blend
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
        As in `Report`: names, pairs, which questions to answer, and so on.

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

    What it says of samples is what the model says of those that the search held out: nothing is fitted anew.
    What cannot be shown of a model is left out, and the report says why. The same search, samples and random
    seed give the same page. A notebook
    shows the report where it is the last value of a cell.

    Parameters
    ----------
    search : KernelSearchCV or KernelSearchRegressor
        Fitted.
    X : array-like of shape (n, n_features), or DataFrame
        The samples that it was fitted to.
    y : array-like of shape (n,), default=None
        Their classes or numbers; None if it was fitted to pairs.
    questions : sequence of str, default=None
        Which questions to answer, of "good", "uses", "sees", "fails" and "data". None: all.
    pairs : Pairs, default=None
        The pairs that it was fitted to; without them their distances are not shown.
    unlabelled : array-like of shape (m, n_features), default=None
        More samples, if it was fitted with them.
    feature_names : sequence of str, default=None
        One per feature. None: those of the search (`feature_names_in_`), or x0, x1, …
    row_names : sequence of int or str, default=None
        What the rows of X are called: their numbers in a larger table, or names. None: 0, 1, …
    about : dict, default=None
        What else the report should say of how it was computed, such as the command or the date. The values of
        `data` and `target`, the names of the data and of what is predicted, are also in the title.
    random_state : int, RandomState instance or None, default=0
        Random seed: which samples are held out, and drawn for the plots.

    Attributes
    ----------
    headline : Headline
        What the page says first.
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
    >>> report = Report(search, X, y, questions=["good"])
    >>> [section.title for section in report.chapters[0].sections]
    ['Ranking', 'Confusion matrix', 'Probabilities']
    """

    def __init__(
        self,
        search: Any,
        X: Any,
        y: Any = None,
        *,
        questions: Sequence[str] | None = None,
        pairs: Any = None,
        unlabelled: Any = None,
        feature_names: Sequence[str] | None = None,
        row_names: Sequence[int | str] | None = None,
        about: Mapping[str, Any] | None = None,
        random_state: Any = 0,
    ) -> None:
        check_is_fitted(search, "best_estimator_")
        about = about or {}
        table, encoder = X, getattr(search, "encoder_", None)
        gaps = _count_gaps(search, X)
        X, feature_names = _encode(encoder, X, feature_names)
        seed = int(check_random_state(random_state).randint(2**31 - 1))
        y = _check_targets(search, X, y)
        known = None if pairs is None else Pairs(*pairs).check(len(X))
        subject = Subject(
            search,
            "pairs" if y is None else "number" if is_regressor(search) else "class",
            table,
            X,
            y,
            known,
            unlabelled,
            check_feature_names(search, X.shape[1], feature_names),
            None if y is None else hold_out(search, X, y, seed),
            seed,
            _check_row_names(len(X), row_names),
            str(about.get("data", "")),
            str(about.get("target", "")),
            encoder,
            float(about.get("seconds", "nan")),
            gaps,
        )
        self.headline = make_headline(subject)
        self.chapters, self.omissions = _compose(subject, _choose(SECTIONS[subject.kind], questions))
        self.provenance = _provenance(subject, about, random_state)
        self.code = _code(search, subject, gave_pairs=pairs is not None)
        self.command = str(about.get("command", ""))

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
        replace_file(Path(path), self.html().encode("utf-8"))

    def _repr_html_(self) -> str:
        """Return the page in a frame of its own, as a notebook shows it."""
        page, title = escape(self.html()), escape(self.headline.title)
        return f'<iframe srcdoc="{page}" width="100%" height="700" title="{title}"></iframe>'


def _count_gaps(search: Any, X: Any) -> dict[str, int]:
    """Return how many cells of each column are missing, if the search was given a table."""
    encoder = getattr(search, "encoder_", None)
    return {} if encoder is None else count_missing(encoder, X)


def _encode(encoder: Any, X: Any, names: Sequence[str] | None) -> tuple[Array, Sequence[str] | None]:
    """Return samples as the numbers that the search saw, with the names of the features."""
    if encoder is None:
        return check_array(X, dtype=np.float64), names
    return encoder.transform(X), names or [str(name) for name in encoder.get_feature_names_out()]


def _choose(known: Mapping[str, Makers], questions: Sequence[str] | None) -> Mapping[str, Makers]:
    unknown = [key for key in questions or () if key not in known]
    if unknown:
        raise ValueError(f"there is no question {unknown[0]!r}; there are {', '.join(known)}")
    return known if questions is None else {key: known[key] for key in questions}


def _check_targets(search: Any, X: Array, y: Any) -> Any:
    if y is None:
        return None
    targets = column_or_1d(y)
    if search.held_out_.rows.max() >= len(X):
        raise ValueError(f"X has {len(X)} samples, fewer than the search was fitted to: give those")
    if len(targets) != len(X):
        raise ValueError(f"X has {len(X)} samples, but y has {len(targets)}")
    return check_target(targets) if is_regressor(search) else targets


def _check_row_names(n_rows: int, names: Sequence[int | str] | None) -> list[int | str]:
    if names is None:
        return list(range(n_rows))
    if len(names) != n_rows:
        raise ValueError(f"There are {len(names)} row names for {n_rows} rows.")
    return [str(name) if isinstance(name, str) else int(name) for name in names]


def _compose(subject: Subject, questions: Mapping[str, Makers]) -> tuple[list[Chapter], list[str]]:
    """Return the chapters that there are, and a sentence for each section that is left out."""
    chapters, omissions = [], []
    for key, makers in questions.items():
        sections = []
        for make, name in makers.items():
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # of fits to fewer samples: the picture shows it
                    sections.append(make(subject))
            except (Omitted, *EXPECTED) as error:
                omissions.append(f"{name}: {_as_sentence(error)}")
        if sections:
            chapters.append(Chapter(key, WORDS[key], sections))
    return chapters, omissions


def _as_sentence(error: Exception) -> str:
    return f"{str(error).rstrip('.')}." if str(error) else f"{type(error).__name__}."


def _code(search: Any, subject: Subject, *, gave_pairs: bool) -> str:
    """Return the search and this page as a cell of Python."""
    data = ["X"] if subject.kind == "pairs" else ["X", "y"]
    more = ["pairs=pairs"] if gave_pairs else []
    more += [] if subject.unlabelled is None else ["unlabelled=unlabelled"]
    given = ", ".join([*data, *more])
    path = '"report.html"' if len(data) == 2 else 'path="report.html"'
    target = subject.target_name or "the target"
    return "\n".join([
        f"# X: the columns that went in{f'; y: {target}' if 'y' in data else ''}",
        f"from mercer import {type(search).__name__}",
        "from mercer.report import write_report",
        "",
        f"search = {repr(search).replace(chr(10), chr(10) + ' ' * len('search = '))}",
        f"search.fit({given})",
        f"write_report(search, {', '.join([*data, path, *more])})",
    ])  # fmt: skip


def _provenance(subject: Subject, about: Mapping[str, Any], random_state: Any) -> list[Table]:
    """Return what it takes to reproduce the page."""
    search, result = subject.search, subject.result
    rows = [[str(name), str(value)] for name, value in about.items() if name not in ("command", "seconds")]
    rows.append(["model", name_blend(result) if result.blend else str(result.winner)])
    rows.append(["main member", describe_settings(result.settings) or "the defaults"])
    rows.append(["its kernel", describe_kernel(winning_kernel(search))])
    rows.append(["samples the model was fitted to", str(result.n_fitted)])
    if subject.held_out is not None:
        rows.append(["held-out samples of this report", str(len(subject.held_out.rows))])
    rows.append(["random seed of this report", str(random_state)])
    versions = [["Python", platform.python_version()], *([name, version(name)] for name in PACKAGES)]
    return [
        Table("Settings", ["setting", "value"], rows),
        Table("Versions", ["package", "version"], versions),
    ]
