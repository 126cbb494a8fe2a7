"""The report of a search: one HTML file that needs nothing else."""

import os
import platform
import warnings
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils import check_random_state, column_or_1d
from sklearn.utils.validation import check_array, check_is_fitted

from mercer.pairs import Pairs
from mercer.files import replace_file
from mercer.report.content import Omitted, Section, Subject, Table, describe_settings
from mercer.report.held_out import HeldOut, hold_out
from mercer.report.sections.kernel import show_confusion, show_grams, show_maps, show_neighbours
from mercer.report.sections.model import show_gaussians, show_pair_map, show_pairs, show_rounds, show_shapes
from mercer.report.sections.ranking import rank_candidates, summarize, winning_kernel
from mercer.search.kernel_words import describe_kernel
from mercer.search.label_task import Rows

Makers = Mapping[Callable[[Subject], Section], str]

FROM_CLASSES: Makers = {
    show_grams: "the Gram matrix",
    show_maps: "the map of the rows",
    show_rounds: "the error by rounds",
    show_shapes: "shape functions",
    show_gaussians: "Gaussians",
    show_confusion: "the confusion matrix",
    show_neighbours: "nearest neighbours",
}
FROM_PAIRS: Makers = {show_pair_map: "the map of the rows", show_pairs: "distances of pairs"}
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
    """Write what a search has found as one HTML file, with pictures, for people who would rather look.

    The pictures show rows that the kernel was not learned from: the winner is fitted again to about two
    thirds of the rows (of at most 2500, drawn by class) and looked at on the others. What cannot be shown of
    a winner is left out, and the page says why. The same search, rows and seed give the same file. It is
    written aside and then renamed: if that fails or is interrupted, an old file of that name is as it was.

    Parameters
    ----------
    path : str or path-like
        Where to write it.
    search : KernelSearchCV
        Fitted.
    X : array-like of shape (n, n_features)
        The rows that it was fitted to.
    y : array-like of shape (n,), default=None
        Their classes; None after a search among pairs.
    pairs : Pairs, default=None
        The pairs of a search among pairs; without them their distances are not shown.
    unlabelled : array-like of shape (m, n_features), default=None
        More rows, if the search had them.
    feature_names : sequence of str, default=None
        One a feature. None: those of the search (`feature_names_in_`), or x0, x1, …
    row_names : sequence of int or str, default=None
        What the rows of X are called: their numbers in a larger table, or names. None: 0, 1, …
    about : dict, default=None
        What else the page should say of how it was computed, such as the command or the date. What `data`
        says, the data's name, also stands in the title.
    random_state : int, RandomState instance or None, default=0
        Which rows are held out.

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
    rows = _check_rows(X, y, unlabelled)
    rng = check_random_state(random_state)
    held_out, problem = _hold_out(search, rows, rng) if y is not None else (None, None)
    subject = Subject(
        search,
        rows,
        _check_names(search, rows.X.shape[1], feature_names),
        None if pairs is None else Pairs(*pairs).check(len(rows.X)),
        held_out,
        rng,
        _check_row_names(len(rows.X), row_names),
        str((about or {}).get("data", "")),
    )
    sections, omissions = _compose(subject, FROM_PAIRS if y is None else FROM_CLASSES)
    if problem is not None:
        omissions = [f"What needs a model learned from a part of the rows: {problem}"]
    page = _fill_in(
        data_name=subject.data_name,
        summary=[sentence for sentence in summarize(subject) if sentence],
        sections=[rank_candidates(subject), *sections],
        omissions=omissions,
        provenance=_provenance(subject, about or {}, random_state),
        code=repr(search),
    )
    replace_file(Path(path), page.encode("utf-8"))


def _check_rows(X: Any, y: Any, unlabelled: Any) -> Rows:
    rows = check_array(X, dtype=np.float64)
    more = None if unlabelled is None else check_array(unlabelled, dtype=np.float64, input_name="unlabelled")
    label = np.empty(0) if y is None else column_or_1d(y)
    if y is not None and len(label) != len(rows):
        raise ValueError(f"X has {len(rows)} rows, y has {len(label)}: they must be the same")
    return Rows(rows, label, more)


def _check_names(search: Any, n_features: int, names: Sequence[str] | None) -> list[str]:
    if names is None:
        names = getattr(search, "feature_names_in_", [f"x{d}" for d in range(n_features)])
    if len(names) != n_features:
        raise ValueError(f"There are {len(names)} feature names for {n_features} features.")
    return [str(name) for name in names]


def _check_row_names(n_rows: int, names: Sequence[int | str] | None) -> list[int | str]:
    if names is None:
        return list(range(n_rows))
    if len(names) != n_rows:
        raise ValueError(f"There are {len(names)} row names for {n_rows} rows.")
    return [str(name) if isinstance(name, str) else int(name) for name in names]


def _hold_out(search: Any, rows: Rows, rng: Any) -> tuple[HeldOut | None, str | None]:
    try:
        return hold_out(search, rows, rng), None
    except EXPECTED as error:
        return None, _as_sentence(error)


def _compose(subject: Subject, makers: Makers) -> tuple[list[Section], list[str]]:
    """Return the sections that there are, and a sentence for each one that is left out."""
    sections, omissions = [], []
    for make, name in makers.items():
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of fits to fewer rows: the picture is what tells
                sections.append(make(subject))
        except (Omitted, *EXPECTED) as error:
            omissions.append(f"{name[0].upper()}{name[1:]}: {_as_sentence(error)}")
    return sections, omissions


def _as_sentence(error: Exception) -> str:
    return f"{str(error).rstrip('.')}." if str(error) else f"{type(error).__name__}."


def _provenance(subject: Subject, about: Mapping[str, Any], random_state: Any) -> list[Table]:
    """Return what it takes to get the same page again."""
    search = subject.search
    rows = [[str(name), str(value)] for name, value in about.items()]
    rows.append(["winner", search.best_name_])
    rows.append(["its settings", describe_settings(search.best_settings_) or "the defaults"])
    rows.append(["kernel", describe_kernel(winning_kernel(search))])
    rows.append(["estimator", repr(search.best_estimator_[-1])])
    rows.append(["rows the winner was fitted to", str(getattr(search, "rows_used_", len(subject.rows.X)))])
    if subject.held_out is not None:
        data = subject.held_out
        rows.append(
            ["rows of this page", f"{len(data.learned_rows)} learned from, {len(data.rows)} held out"]
        )
    rows.append(["random_state of this page", str(random_state)])
    versions = [["Python", platform.python_version()], *([name, version(name)] for name in PACKAGES)]
    return [
        Table("Settings", ["what", "value"], rows),
        Table("Versions", ["package", "version"], versions),
    ]


def _fill_in(**content: Any) -> str:
    try:
        from jinja2 import Environment, PackageLoader
    except ImportError as error:
        raise ImportError("A report needs jinja2: pip install 'mercer[app]'.") from error

    environment = Environment(loader=PackageLoader("mercer.report", "."), autoescape=True, trim_blocks=True)
    return environment.get_template("template.html").render(**content)
