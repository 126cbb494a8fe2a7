r"""What an additive model is: a table of points for each column, and what makes an answer of their sums.

.. math:: v(x) = b + \sum_j h_j(x_j)

Each h_j is piecewise linear and constant beyond its knots, or has one value for each category. The functions
are read off the fitted model itself: one column is moved at a time, and it is asked at each knot. That is
exact for additive models, and only for these: samples drawn at random show whether a model is one.
"""

from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import log_expit, softmax
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.linear_model import RidgeCV
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler
from sklearn.utils.validation import check_is_fitted

from mercer._typing import Array
from mercer.machines import KernelRegressor, KernelSVC, StumpRegressor, StumpSVC
from mercer.machines.problems import MULTINOMIAL
from mercer.preprocessing import ClippedScaler
from mercer.preprocessing.kinds import CategoryColumn, NumberColumn
from mercer.search import KernelSearchCV, KernelSearchRegressor
from mercer.search.blend import Blend, NumberBlend
from mercer.search.decisions import MARGIN, Decision

N_CHECKED = 200  # samples on which the table must agree with the model
UNSEEN = "\ufdd1"  # stands for a category that was not in the training samples
SCALERS = (ClippedScaler, StandardScaler, MinMaxScaler, MaxAbsScaler, RobustScaler)
HOW = "mercer learn … --candidates stump,linear"


class ExportError(ValueError):
    """A model that cannot be written in another language, and why."""


class NumberTerm(NamedTuple):
    """The points of a number: linear between the knots, constant beyond them."""

    name: str
    knots: Array  # (n_knots,), ascending
    points: Array  # (n_knots, n_sums)
    missing: Array | None  # (n_sums,): of an empty cell; None: there may be none

    def __call__(self, column: Any) -> Array:
        """Return the points of the cells of a column."""
        x = np.asarray(column, dtype=np.float64)
        found = np.column_stack([np.interp(x, self.knots, points) for points in self.points.T])
        return found if self.missing is None else np.where(np.isnan(x)[:, None], self.missing, found)


class CategoryTerm(NamedTuple):
    """The points of a category."""

    name: str
    values: list[str]
    points: Array  # (n_values, n_sums)
    missing: Array  # (n_sums,): of an empty cell
    other: Array  # (n_sums,): of a category that is none of these

    def __call__(self, column: Any) -> Array:
        """Return the points of the cells of a column."""
        cells = pd.Series(column, dtype=object)
        place = pd.Index(self.values, dtype=object).get_indexer(cells)
        found = np.where((place >= 0)[:, None], self.points[place], self.other)
        return np.where(cells.isna().to_numpy()[:, None], self.missing, found)


class Head(NamedTuple):
    """What makes one value for each class of the sums v: B + L v + P log σ(v) + N log σ(−v)."""

    offset: Array  # (n_classes,)
    linear: Array  # (n_sums, n_classes)
    positive: Array
    negative: Array

    def __call__(self, sums: Array) -> Array:
        """Return the values of the classes: logarithms of probabilities, but for a constant."""
        coupled = log_expit(sums) @ self.positive + log_expit(-sums) @ self.negative
        values: Array = self.offset + sums @ self.linear + coupled
        return values


class Scorecard(NamedTuple):
    """An additive model as a table of points.

    `head` and `decision` are of classes; without them the answer is the only sum, a number, or where `log` is
    true the exponential of it.
    """

    terms: list[NumberTerm | CategoryTerm]
    intercept: Array  # (n_sums,)
    classes: NDArray[Any] | None = None
    head: Head | None = None
    decision: Decision | None = None
    log: bool = False

    def sums(self, table: Any) -> Array:
        """Return the sums of points, (n_samples, n_sums)."""
        total: Array = self.intercept + sum(term(table[term.name]) for term in self.terms)
        return total

    def decision_function(self, table: Any) -> Array:
        """Return log odds of two classes; of more, logarithms of probabilities but for a constant."""
        assert self.head is not None
        values = self.head(self.sums(table))
        return values[:, 1] - values[:, 0] if values.shape[1] == 2 else values

    def predict_proba(self, table: Any) -> Array:
        """Return the probability of each class."""
        assert self.head is not None
        chances: Array = softmax(self.head(self.sums(table)), axis=1)
        return chances

    def predict(self, table: Any) -> NDArray[Any]:
        """Return the predictions for the rows of a table."""
        if self.classes is None or self.decision is None:
            number = self.sums(table)[:, 0]
            return np.exp(number) if self.log else number
        labels: NDArray[Any] = self.classes[self.decision.choose(self.predict_proba(table))]
        return labels


class _Member(NamedTuple):
    """A machine behind scalers, as sums and their part in the head, (n_sums, n_classes)."""

    scalers: list[Any]
    machine: Any
    factor: float
    head: Head | None  # of this member alone

    def sums(self, Z: Array) -> Array:
        """Return the values of its two-class problems, or what it predicts."""
        for scaler in self.scalers:
            Z = scaler.transform(_named(scaler, Z))
        Z = _named(self.machine, Z)
        if self.head is None:
            return np.asarray(self.machine.predict(Z), dtype=np.float64).reshape(len(Z), 1)
        return self.factor * np.asarray(
            self.machine._answer(Z, lambda _, values: values, "decision_function")
        )

    def knots(self, n_features: int) -> list[Array]:
        """Return where the functions of each feature bend, and the fences beyond which they are constant."""
        found = [np.empty(0)] * n_features
        if isinstance(self.machine, StumpSVC | StumpRegressor):
            shapes = self.machine.shape_functions_
            problems = shapes if isinstance(shapes[0], list) else [shapes]
            found = [np.unique(np.concatenate([p[j].knots for p in problems])) for j in range(n_features)]
        elif not isinstance(self.machine, DummyRegressor) and not any(
            isinstance(scaler, ClippedScaler) for scaler in self.scalers
        ):
            raise ExportError("A linear model is exported if ClippedScaler is before it in the pipeline.")
        for scaler in reversed(self.scalers):
            back = np.full((max(map(len, found)), n_features), np.nan)
            for j, knots in enumerate(found):
                back[: len(knots), j] = knots
            with np.errstate(invalid="ignore"):
                back = scaler.inverse_transform(back) if len(back) else back
            found = [back[: len(knots), j] for j, knots in enumerate(found)]
            if isinstance(scaler, ClippedScaler):
                fences = scaler.low_, scaler.high_
                found = [np.append(np.clip(knots, *f), f) for knots, *f in zip(found, *fences, strict=True)]
        return found


def _named(step: Any, Z: Array) -> Any:
    """Return samples as the step knows them: with names, if it was fitted to a table."""
    names = getattr(step, "feature_names_in_", None)
    return Z if names is None else pd.DataFrame(Z, columns=names)


class _Model(NamedTuple):
    """The parts of a model that can be exported."""

    members: list[_Member]
    head: Head | None
    classes: NDArray[Any] | None
    decision: Decision | None
    log: bool
    weights: Array  # of members that predict numbers

    def sums(self, Z: Array) -> Array:
        each = [member.sums(Z) for member in self.members]
        if self.head is None:
            return np.sum([w * one for w, one in zip(self.weights, each, strict=True)], axis=0)
        return np.hstack(each)


def scorecard(model: Any) -> Scorecard:
    """Return an additive model as a table of points, or raise ExportError."""
    check_is_fitted(model)
    columns = _columns(model)
    parts = _split(model)
    n_features = sum(len(names) for *_, names in columns)
    each = [member.knots(n_features) for member in parts.members]
    knots = [np.unique(np.concatenate(own)) for own in zip(*each, strict=True)]
    base = np.array([own[len(own) // 2] for own in knots])
    (constant,) = parts.sums(base[None])
    terms, intercept, start = [], constant, 0
    for name, kind, names in columns:
        term = _term(parts, name, kind, knots[start], base, slice(start, start + len(names)), constant)
        terms.append(term)
        start += len(names)
    card = Scorecard(terms, intercept, parts.classes, parts.head, parts.decision, parts.log)
    _check(card, model, columns, knots)
    return card


def _columns(model: Any) -> list[tuple[str, Any, list[str]]]:
    """Return the name of each column, what it is, and the names of its features."""
    encoder = getattr(model, "encoder_", None)
    if encoder is None:
        given = getattr(model, "feature_names_in_", None)
        names = [f"x{j}" for j in range(model.n_features_in_)] if given is None else list(given)
        return [(name, None, [name]) for name in names]
    for kind in encoder.columns_:
        if not isinstance(kind, NumberColumn | CategoryColumn):
            what = type(kind).__name__.removesuffix("Column").lower()
            raise ExportError(
                f"Column {kind.name!r} holds {what}s, which only Python reads: train without it (--drop), or "
                "with the numbers that you need in its place."
            )
    return [(kind.name, kind, kind.feature_names()) for kind in encoder.columns_]


def _term(
    parts: _Model, name: str, kind: Any, knots: Array, base: Array, own: slice, constant: Array
) -> NumberTerm | CategoryTerm:
    """Ask the model for the points of one column."""

    def points(features: Array) -> Array:
        Z = np.repeat(base[None], len(features), axis=0)
        Z[:, own] = features
        found: Array = parts.sums(Z) - constant
        return found

    if kind is None:
        return NumberTerm(name, knots, points(knots[:, None]), None)
    if isinstance(kind, NumberColumn):
        cells = pd.Series(np.append(knots, np.nan))
        found = points(kind.encode(cells, name))
        return NumberTerm(name, knots, found[:-1], found[-1])
    found = points(kind.encode(pd.Series([*kind.values, None, UNSEEN], dtype=object), name))
    return CategoryTerm(name, list(kind.values), found[:-2], found[-2], found[-1])


def _split(model: Any) -> _Model:
    """Return the members of a model, and what makes classes of their sums."""
    fitted = model
    if isinstance(model, KernelSearchCV | KernelSearchRegressor):
        fitted = getattr(model, "model_", None)
        if fitted is None:
            raise ExportError(
                "A search for pairs has a kernel and no predictions: there is nothing to export."
            )
    if isinstance(fitted, NumberBlend):
        used = [
            (_member(name, one, None), w)
            for (name, one), w in zip(fitted.members, fitted.weights, strict=True)
            if w
        ]
        members, weights = zip(*used, strict=True)
        return _Model(list(members), None, None, None, fitted.log, np.array(weights))
    if isinstance(fitted, Blend):
        return _split_blend(fitted)
    last = fitted[-1] if isinstance(fitted, Pipeline) else fitted
    classes = getattr(last, "classes_", None)
    member = _member("The model", fitted, classes)
    if classes is None:
        return _Model([member], None, None, None, False, np.ones(1))
    if not last._is_log and len(classes) > 2:
        raise ExportError(
            "Several classes are exported as probabilities: train with loss='log_loss', or by KernelSearchCV."
        )
    return _Model([member], member.head, classes, Decision.most_probable(len(classes)), False, np.ones(1))


def _split_blend(blend: Blend) -> _Model:
    """Return the members of a classifier, and one head for all their sums."""
    members, heads, last = [], [], blend.calibration
    offset = last.offsets
    for (name, one), weight, unit in zip(blend.members, blend.weights, blend.units, strict=True):
        if not weight:
            continue
        member = _member(name, one, blend.classes)
        assert member.head is not None
        scale = last.slope * weight
        offset = offset + scale * unit.offsets
        members.append(member)
        heads.append([scale * unit.slope * part for part in member.head[1:]])
    head = Head(offset, *(np.vstack(part) for part in zip(*heads, strict=True)))
    return _Model(members, head, blend.classes, blend.decision, False, np.ones(len(members)))


def _member(name: str, one: Any, classes: NDArray[Any] | None) -> _Member:
    """Return a member as sums, or say that it is not additive."""
    *scalers, machine = [step for _, step in one.steps] if isinstance(one, Pipeline) else [one]
    wrong = [scaler for scaler in scalers if not isinstance(scaler, SCALERS)]
    if wrong:
        raise ExportError(f"{type(wrong[0]).__name__} is not exported: only scalers of single columns are.")
    if isinstance(machine, DummyClassifier):
        raise ExportError("The model is the baseline, and gives every sample the same answer.")
    is_linear = isinstance(machine, KernelSVC | KernelRegressor) and machine.learner is None
    if not (is_linear or isinstance(machine, StumpSVC | StumpRegressor | RidgeCV | DummyRegressor)):
        raise ExportError(
            f"{name} is not additive, and cannot be written as a table of points: train with stump and "
            f"linear machines alone ({HOW}; in Python KernelSearchCV(['stump', 'linear']))."
        )
    if classes is None:
        return _Member(scalers, machine, 1.0, None)
    if len(machine.classes_) < len(classes):
        raise ExportError(f"{name} has not seen all classes: give more samples of the rare ones.")
    factor = 1.0 if machine._is_log else MARGIN
    return _Member(scalers, machine, factor, _head(len(classes), machine))


def _head(n_classes: int, machine: Any) -> Head:
    """Return what makes values of classes of a machine's two-class problems, as the search does."""
    if n_classes == 2:
        machine_unit = 1.0 if machine._is_log else 1.0 / MARGIN  # the sum is 2 f, the decision value is f
        linear = np.array([[-0.5, 0.5]]) * machine_unit
        return Head(np.zeros(2), linear, *np.zeros((2, 1, 2)))
    if machine._scheme == "ovo":
        first, second = np.triu_indices(n_classes, 1)
        none = np.zeros((len(first), n_classes))
        positive, negative = none.copy(), none.copy()
        positive[np.arange(len(first)), second] = negative[np.arange(len(first)), first] = 1.0
        return Head(np.zeros(n_classes), none, positive, negative)
    same, none = np.eye(n_classes), np.zeros((n_classes, n_classes))
    parts = (same, none) if machine._scheme == MULTINOMIAL else (none, same)
    return Head(np.zeros(n_classes), *parts, none)


def _check(
    card: Scorecard, model: Any, columns: list[tuple[str, Any, list[str]]], knots: list[Array]
) -> None:
    """Raise ExportError if the table does not say what the model says of samples drawn at random."""
    rng, table, start = np.random.RandomState(0), {}, 0
    for name, kind, names in columns:
        if isinstance(kind, CategoryColumn):
            table[name] = rng.choice(np.array([*kind.values, None], dtype=object), N_CHECKED)
        else:
            low, high = knots[start][0], knots[start][-1]
            table[name] = low + (high - low) * rng.uniform(-0.1, 1.1, N_CHECKED)
        start += len(names)
    rows = pd.DataFrame(table)
    named = getattr(model, "encoder_", None) is not None or hasattr(model, "feature_names_in_")
    X = rows if named else rows.to_numpy(dtype=np.float64)
    if card.classes is None:
        said, wanted = card.predict(rows), np.asarray(model.predict(X)).reshape(-1)
    else:
        said, wanted = card.decision_function(rows), np.asarray(model.decision_function(X))
    if not np.allclose(said, wanted, rtol=1e-6, atol=1e-8 * np.abs(wanted).max()):
        raise ExportError(
            "The model is not a sum of functions of single columns (with a link, such as Poisson's, it is "
            "not): train with another loss."
        )
