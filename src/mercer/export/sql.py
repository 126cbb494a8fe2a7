"""A scorecard as one SQL query: what any database answers, without a server for models."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from mercer._typing import Array
from mercer.export.scorecard import CategoryTerm, NumberTerm, Scorecard

LARGEST = 700.0  # exp of more is no number in double precision


def to_sql(card: Scorecard, table: str, keep: Sequence[str] = ()) -> str:
    """Return a query that gives the rows of a table with their predictions, and probabilities of classes.

    Empty cells are NULL, of categories also empty texts. It keeps to what SQLite, PostgreSQL, DuckDB and
    others have in common.

    Parameters
    ----------
    card : Scorecard
        The model.
    table : str
        The table that is queried.
    keep : sequence of str
        Further columns of it to keep, such as ids.
    """
    inputs = [f"{_input(term)} AS {_name('input', j)}" for j, term in enumerate(card.terms)]
    sums = [f"{_sum(card, k)} AS {_name('sum', k)}" for k in range(len(card.intercept))]
    steps = [_select("*", inputs, _quoted(table)), _select("*", sums, "step_1")]
    if card.classes is None:
        total = _name("sum", 0)
        answers = [f"{f'EXP({total})' if card.log else total} AS prediction"]
    else:
        places, labels = range(len(card.classes)), card.classes.tolist()
        values = [f"{_value(card, c)} AS {_name('value', c)}" for c in places]
        chances = [f"{_chance(c, len(labels))} AS {_name('chance', c)}" for c in places]
        steps += [_select("*", values, "step_2"), _select("*", chances, "step_3")]
        answers = [f"{_decision(card)} AS prediction"]
        answers += [f"{_name('chance', c)} AS {_quoted(f'probability {labels[c]}')}" for c in places]
    # materialized: else each step is written into the next one, and computed again wherever it is used
    named = [f"step_{k} AS MATERIALIZED (\n{step}\n)" for k, step in enumerate(steps, start=1)]
    kept = ", ".join(_quoted(name) for name in dict.fromkeys([*keep, *(term.name for term in card.terms)]))
    return f"WITH {', '.join(named)}\n{_select(kept, answers, f'step_{len(steps)}')};\n"


def _select(kept: str, columns: Sequence[str], source: str) -> str:
    listed = ",\n  ".join(columns)
    return f"SELECT {kept},\n  {listed}\nFROM {source}"


def _input(term: NumberTerm | CategoryTerm) -> str:
    column = _quoted(term.name)
    if isinstance(term, NumberTerm):
        return f"CAST({column} AS DOUBLE PRECISION)"
    return f"NULLIF(TRIM(CAST({column} AS VARCHAR(1000))), '')"


def _sum(card: Scorecard, k: int) -> str:
    """Return one sum of points; its terms in groups, as a chain of a thousand is too deep for some."""
    points = [_points(term, _name("input", j), k) for j, term in enumerate(card.terms)]
    while len(points) > 1:
        points = [f"({' + '.join(points[i : i + 30])})" for i in range(0, len(points), 30)]
    return f"{_number(card.intercept[k])} + {points[0]}"


def _points(term: NumberTerm | CategoryTerm, x: str, k: int) -> str:
    if isinstance(term, CategoryTerm):
        cases = [(f"{x} IS NULL", _number(term.missing[k]))]
        cases += [(f"{x} = {_text(v)}", _number(p[k])) for v, p in zip(term.values, term.points, strict=True)]
        return _case(cases, _number(term.other[k]))
    missing = "NULL" if term.missing is None else _number(term.missing[k])
    knots, points = _plain(term.knots, term.points[:, k])
    cases = [(f"{x} IS NULL", missing), (f"{x} <= {_number(knots[0])}", _number(points[0]))]
    slopes = np.diff(points) / np.diff(knots)
    for left, right, at, slope in zip(knots[:-1], knots[1:], points[:-1], slopes, strict=True):
        cases.append(
            (f"{x} < {_number(right)}", f"{_number(at)} + {_number(slope)} * ({x} - {_number(left)})")
        )
    return _case(cases, _number(points[-1]))


def _plain(knots: Array, points: Array) -> tuple[Array, Array]:
    """Return the knots at which this function bends: it shares the list with others."""
    if len(knots) < 3:
        return knots, points
    slopes = np.diff(points) / np.diff(knots)
    bends = np.concatenate([[True], slopes[1:] != slopes[:-1], [True]])
    return knots[bends], points[bends]


def _value(card: Scorecard, c: int) -> str:
    assert card.head is not None
    offset, linear, positive, negative = card.head
    parts = [_number(offset[c])]
    for k in range(len(card.intercept)):
        total = _name("sum", k)
        parts += [f"{_number(linear[k, c])} * {total}"] if linear[k, c] else []
        parts += [f"{_number(positive[k, c])} * {_log_sigmoid(total, '-')}"] if positive[k, c] else []
        parts += [f"{_number(negative[k, c])} * {_log_sigmoid(total, '')}"] if negative[k, c] else []
    return " + ".join(parts)


def _log_sigmoid(total: str, sign: str) -> str:
    """Return log σ(v), or of −v: min(v, 0) − log(1 + exp(−|v|))."""
    lower = f"CASE WHEN {total} {'<' if sign else '>'} 0 THEN {'' if sign else '-'}{total} ELSE 0 END"
    return f"({lower} - LN(1.0 + {_exp(f'-ABS({total})')}))"


def _chance(c: int, n_classes: int) -> str:
    """Return the probability of a class: 1 / Σ exp(v_j − v_c)."""
    gaps = [f"({_name('value', j)} - {_name('value', c)})" for j in range(n_classes) if j != c]
    return f"1.0 / (1.0 + {' + '.join(map(_exp, gaps))})"


def _exp(x: str) -> str:
    """Return exp(x), kept within what is a number."""
    return f"EXP(CASE WHEN {x} > {LARGEST} THEN {LARGEST} WHEN {x} < -{LARGEST} THEN -{LARGEST} ELSE {x} END)"


def _decision(card: Scorecard) -> str:
    assert card.classes is not None
    assert card.decision is not None
    weighted = [f"{_number(w)} * {_name('chance', c)}" for c, w in enumerate(card.decision.weights)]
    labels = [_label(label) for label in card.classes.tolist()]
    cases = [
        (" AND ".join(f"{weighted[c]} >= {other}" for other in weighted[c + 1 :]), labels[c])
        for c in range(len(labels) - 1)
    ]
    return _case(cases, labels[-1])


def _case(cases: list[tuple[str, str]], otherwise: str) -> str:
    return f"CASE {' '.join(f'WHEN {when} THEN {then}' for when, then in cases)} ELSE {otherwise} END"


def _name(what: str, number: int) -> str:
    return f"mercer_{what}_{number}"


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def _label(label: Any) -> str:
    return _text(label) if isinstance(label, str) else str(int(label) if isinstance(label, bool) else label)


def _number(value: float) -> str:
    text = repr(float(value))
    return f"({text})" if text.startswith("-") else text
