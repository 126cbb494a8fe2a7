"""The input of a search: a table as numeric features, with classes, numbers or pairs."""

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer

from mercer._typing import Array, Flags
from mercer.commands.errors import WrongRequestError
from mercer.pairs import Pairs
from mercer.preprocessing import (
    Columns,
    NumberTarget,
    TableEncoder,
    TableError,
    find_ids,
    find_target,
    read_pairs,
    read_table,
)
from mercer.preprocessing.encoder import check_no_others, count_missing
from mercer.preprocessing.errors import listed, quote
from mercer.preprocessing.labels import MOST_CLASSES
from mercer.preprocessing.missing import known_texts
from mercer.preprocessing.numbers import find_format, parse_numbers
from mercer.preprocessing.reading import check_column
from mercer.preprocessing.sources import STDIN, spoken
from mercer.preprocessing.targets import CLASS, NUMBER

PAIRS = "pairs"  # what there may be instead of a target
EMBEDDED = "scikit-learn's breast cancer data"
MANY_GROUPS, OFTEN, ALIKE = 20, 3, 2  # values of a column of groups, rows of each, and how they may differ
NEARLY_ALL = 0.95  # of the pairs that agree with a column, if that is the column of classes


class Request(NamedTuple):
    """Which files and columns a user names."""

    data: Path | None = None
    target: str | None = None
    unlabelled: Path | None = None
    pairs: Path | None = None
    ids: str | None = None
    drop: tuple[str, ...] = ()
    task: str | None = None  # what the target holds: "class", "number", or what it looks like
    weight: str | None = None
    group: str | None = None
    encoding: str | None = None
    test: Path | None = None

    @property
    def named(self) -> dict[str, str]:
        """Return the columns that are no features, by the options that name them."""
        named = {"--target": self.target, "--id": self.ids, "--weight": self.weight, "--group": self.group}
        return {option: column for option, column in named.items() if column is not None}


class Test(NamedTuple):
    """Rows that are kept from the search, with their targets."""

    X: pd.DataFrame
    y: NDArray[Any]
    source: str


class Task(NamedTuple):
    """What a search is given, and how it came from the table."""

    encoder: TableEncoder  # fitted to all rows
    kind: str  # what is learned from: "class", "number" or "pairs"
    X: pd.DataFrame  # the rows with a target, or all
    y: NDArray[Any] | None
    pairs: Pairs | None
    unlabelled: pd.DataFrame | None
    sample_weight: Array | None
    groups: NDArray[Any] | None
    columns: Columns
    gaps: dict[str, int]  # missing cells, by column
    notes: list[str]  # what was decided where a column can be read in two ways
    hints: list[str]  # what a user may have overlooked
    source: str
    request: Request
    row_names: list[int] | list[str]  # of X: numbers of rows in the file, from 0, or ids
    test: Test | None = None


def check_request(request: Request) -> None:
    """Refuse options that exclude each other, before anything is read."""
    if request.task not in (None, CLASS, NUMBER):
        raise WrongRequestError(f"--task is class or number, not {request.task!r}.")
    if request.data is None:
        others = {"--target": request.target, "--unlabelled": request.unlabelled, "--pairs": request.pairs}
        others["--test"] = request.test
        named = [option for option, value in {**others, "--id": request.ids}.items() if value is not None]
        if named or request.drop:
            raise WrongRequestError(f"{(named or ['--drop'])[0]} needs a table: name its file as DATA.")
    elif request.target is None and request.pairs is None:
        raise WrongRequestError(
            f"Name the column to predict in {request.data} with --target, or a file of similar and "
            "dissimilar pairs of rows with --pairs."
        )
    elif request.target is not None and request.pairs is not None:
        raise WrongRequestError(
            "Give --target or --pairs, not both: with classes, pairs are not needed (--drop excludes a "
            "column of classes)."
        )
    elif request.pairs is not None and (request.weight is not None or request.group is not None):
        raise WrongRequestError("--weight and --group are for classes: use them with --target, not --pairs.")
    elif request.target is None and (request.task is not None or request.test is not None):
        option = "--task" if request.test is None else "--test"
        raise WrongRequestError(f"{option} is about the column of --target: name that, too.")
    options = list(request.named)
    for k, option in enumerate(options):
        for other in options[:k]:
            if request.named[option] == request.named[other]:
                raise WrongRequestError(f"{other} and {option} name the same column: name two columns.")
    paths = (request.data, request.unlabelled, request.pairs, request.test)
    from_stdin = [path for path in paths if str(path) == STDIN]
    if len(from_stdin) > 1:
        raise WrongRequestError(
            "Only one table can come from the standard input (-): name files for the others."
        )


def read_task(request: Request) -> Task:
    """Read the files, decide what each column is, and encode the columns as numbers.

    Medians and categories are those of all rows, unlabelled ones included. They do not depend on the classes.
    """
    table, source, request = _read_data(request)
    for option, name in request.named.items():
        check_column(table, name, option, source)
    ids = None if request.ids is None else find_ids(table, request.ids, source)
    y, has_class, notes, kind = None, np.ones(len(table), dtype=bool), list[str](), PAIRS
    if request.target is not None:
        found = find_target(table[request.target], request.target, request.task)
        y, has_class, notes = found
        kind = NUMBER if isinstance(found, NumberTarget) else CLASS
        if kind == CLASS:
            _check_number_of_classes(y, request.target)
    pairs = None if request.pairs is None else read_pairs(request.pairs, len(table), ids)
    features = table.drop(columns=list(request.named.values()))
    rows = _with_unlabelled(features, request)
    encoder = _fit_encoder(rows, source)
    is_known = np.append(has_class, np.zeros(len(rows) - len(table), dtype=bool))
    encoder.dropped_.update(dict.fromkeys(request.drop, "it is listed in --drop"))
    return Task(
        encoder=encoder,
        kind=kind,
        X=_some(rows, is_known),
        y=y,
        pairs=pairs,
        unlabelled=None if is_known.all() else _some(rows, ~is_known),
        sample_weight=_weights(table, request.weight, has_class),
        groups=_groups(table, request.group, has_class),
        columns=encoder.by_kind,
        gaps=count_missing(encoder, rows),
        notes=[
            *filter(None, [table.attrs.get("remark")]),
            *notes,
            *encoder.notes_,
            *([] if pairs is None else _note_classes(features, encoder, pairs)),
        ],
        hints=[] if y is None or request.group is not None else _hint_groups(features),
        source=source,
        request=request,
        row_names=np.flatnonzero(has_class).tolist() if ids is None else ids[has_class].to_list(),
        test=None if request.test is None else _read_test(request, kind, y, encoder),
    )


def _read_test(request: Request, kind: str, y: Any, encoder: TableEncoder) -> Test:
    """Return the rows to test the model on; what is wrong with them is said before the search."""
    assert request.test is not None
    table, source = read_table(request.test, request.encoding), spoken(request.test)
    check_column(table, str(request.target), "--target", source)
    truth, is_known, _ = find_target(table[request.target], str(request.target), kind)
    rows = _some(table, is_known)
    encoder.encode(rows, source)
    strange = [] if kind == NUMBER else sorted(set(truth.tolist()) - set(y.tolist()))
    if strange or not len(truth):
        what = (
            f"classes that {spoken(request.data or Path())} has not: {listed(strange)}"
            if strange
            else "no target"
        )
        raise TableError(f"{source} has {what}: give rows that the model can be tested on.")
    return Test(rows, truth, source)


def _some(table: pd.DataFrame, rows: Flags) -> pd.DataFrame:
    """Return some rows of a table, with what is known of how it was written."""
    some = table[rows].reset_index(drop=True)
    some.attrs = dict(table.attrs)
    return some


def _fit_encoder(rows: pd.DataFrame, source: str) -> TableEncoder:
    try:
        return TableEncoder().fit(rows)
    except TableError as error:
        raise TableError(str(error).replace("the table", source, 1)) from error


def _weights(table: pd.DataFrame, name: str | None, rows: Flags) -> Array | None:
    """Return the weights of the rows that have a class."""
    if name is None:
        return None
    column = table[name][rows]
    written = find_format(column)
    weights = None if written is None else parse_numbers(column, written)
    if weights is None or not np.all(weights >= 0) or not np.any(weights > 0) or np.isinf(weights).any():
        raise TableError(f"Column {quote(name)} for --weight should hold a number of 0 or more in each row.")
    return weights


def _groups(table: pd.DataFrame, name: str | None, rows: Flags) -> NDArray[Any] | None:
    """Return the groups of the rows that have a class, as texts."""
    if name is None:
        return None
    groups = known_texts(table[name].astype(str).where(table[name].notna()).astype(object))[rows]
    if groups.isna().any():
        row = groups.index[groups.isna()][0]
        raise TableError(f"Column {quote(name)} for --group has no group in row {row}: write one there.")
    if groups.nunique() < 2:
        raise TableError(f"Column {quote(name)} for --group holds a single group: at least two are needed.")
    return groups.to_numpy(dtype=str)


def _hint_groups(table: pd.DataFrame) -> list[str]:
    """Name columns whose values repeat as those of patients or customers do: many, each about as often."""
    found = []
    for name, column in table.items():
        if pd.api.types.is_float_dtype(column):
            continue
        counts = column.value_counts()
        often = len(counts) >= MANY_GROUPS and counts.min() >= OFTEN and counts.max() <= ALIKE * counts.min()
        texts = column.astype(str)
        if often and not (texts.str.contains(r"\d[.,]\d").any() or len(counts) > len(table) / OFTEN):
            found.append(f"{quote(str(name))} ({len(counts)} values in {len(table)} rows)")
    if not found:
        return []
    return [
        f"{', '.join(found[:3])} looks like groups, such as patients or customers: if rows of a group belong "
        "together, name it with --group, or the error that is expected will be too small."
    ]


def _note_classes(table: pd.DataFrame, encoder: TableEncoder, pairs: Pairs) -> list[str]:
    """Name columns that tell similar pairs from dissimilar ones, as a column of classes does."""
    found = []
    for name in encoder.by_kind.used:
        values = known_texts(table[name].astype(str)).to_numpy(dtype=str)
        agrees = [
            np.mean(values[some[:, 0]] == values[some[:, 1]]) if len(some) else np.nan for some in pairs
        ]
        if agrees[0] >= NEARLY_ALL and agrees[1] <= 1.0 - NEARLY_ALL:
            found.append(name)
    if not found:
        return []
    return [
        f"Used as a feature, though it says which pairs are similar, as classes do: {listed(found)}; --drop "
        "excludes it."
    ]


def _check_number_of_classes(y: NDArray[Any], target: str) -> None:
    n_classes = len(np.unique(y))
    if n_classes > MOST_CLASSES:
        raise WrongRequestError(
            f"Column {quote(target)} has {n_classes} classes; mercer takes at most {MOST_CLASSES}: merge "
            "some, or name another column with --target (--task number: it holds numbers)."
        )


def _read_data(request: Request) -> tuple[pd.DataFrame, str, Request]:
    """Return the table without what is to be dropped, where it comes from, and which columns are named."""
    if request.data is None:
        embedded = load_breast_cancer(as_frame=True)
        table = embedded.data.assign(diagnosis=embedded.target_names[embedded.target].astype(object))
        return table, EMBEDDED, request._replace(target="diagnosis")
    table = read_table(request.data, request.encoding)
    for name in request.drop:
        check_column(table, name, "--drop", spoken(request.data))
    return table.drop(columns=list(request.drop)), spoken(request.data), request


def _with_unlabelled(table: pd.DataFrame, request: Request) -> pd.DataFrame:
    """Return all rows: those of the second file have the columns of the first, with classes or without."""
    if request.unlabelled is None:
        return table
    more, source = read_table(request.unlabelled, request.encoding), spoken(request.unlabelled)
    known = Columns(list(map(str, table.columns)), [], [], [], {})
    check_no_others(more, known, {*request.named.values(), *request.drop}, source)
    used = TableEncoder().fit(table)
    used.encode(more, source)  # which says what is wrong with the second file alone
    rows = pd.concat([table, more.reindex(columns=table.columns)], ignore_index=True)
    rows.attrs = dict(table.attrs)
    return rows
