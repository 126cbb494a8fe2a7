"""The command ``mercer ask``: which pairs are worth judging, in a file or in the terminal."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import numpy as np
import pandas as pd
import typer
from rich.table import Table
from rich.text import Text

from mercer._typing import Index
from mercer.commands.errors import one_line
from mercer.commands.matcher_file import (
    DATA,
    DROP,
    IDS,
    MODEL,
    OTHER,
    PAIRS,
    MatchRequest,
    Tables,
    keep,
    open_matcher,
    say_what_is_known,
    side_by_side,
)
from mercer.commands.messages import say
from mercer.commands.outputs import check_outputs
from mercer.files import replace_file
from mercer.matching import PairMatcher
from mercer.pairs import Pairs

BATCH = 10  # answers after which it learns from them
KEYS = "y / n / u(nsure) / b(ack) / f(inish)"
ANSWERS = {"y": "same", "yes": "same", "n": "different", "no": "different", "u": "unsure", "unsure": "unsure"}
BACK, FINISH = {"b", "back", "undo"}, {"f", "finish", "q", "quit"}
EXAMPLES = """For example:

\b
  mercer ask out.mercer customers.csv                     in the terminal; out.mercer is made
  mercer ask out.mercer customers.csv -n 20 -o judge.csv  yes or no go into its column `answer`
  mercer ask out.mercer customers.csv --pairs judge.csv   learn from the answers, and ask on
  mercer match out.mercer customers.csv -o matches.csv    what was learned
"""


def ask(
    model: Annotated[Path, MODEL],
    data: Annotated[Path, DATA],
    other: Annotated[Path | None, OTHER] = None,
    n: Annotated[int, typer.Option("-n", min=1, metavar="N", help="The number of pairs.")] = 20,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write the pairs to FILE, and end.")
    ] = None,
    pairs: Annotated[Path | None, PAIRS] = None,
    ids: Annotated[str | None, IDS] = None,
    drop: Annotated[str | None, DROP] = None,
) -> None:
    """Ask which rows mean the same thing: the pairs whose answers say most, none twice.

    With no pair judged so far, likely matches and others are asked. In the terminal, answers are learned
    from in batches and kept in MODEL. An answer counts for all rows with the same cells.
    """
    check_outputs([output], [model, data, other, pairs])
    request = MatchRequest(model, data, other, pairs, ids, drop)
    matcher, tables = open_matcher(request, may_begin=True)
    if output is not None:
        rows = matcher.ask(tables.left, n, right=tables.right)
        found = pd.DataFrame({"row": rows[:, 0], "other": rows[:, 1], "answer": ""})
        text = side_by_side(tables, found, matcher.comparison_.names).to_csv(index=False, lineterminator="\n")
        replace_file(output, text.encode("utf-8"))
        typer.echo(
            f"{len(rows)} pairs were written to {output}: write yes, no or unsure as their answer.", err=True
        )
        return
    named = None if tables.ids[0] is None else str(tables.ids[0].name)
    told = converse(matcher, tables, n, _read_line, lambda: keep(matcher, model, named))
    typer.echo(f"{told} answers are in {model}.", err=True)
    say_what_is_known(matcher)


def converse(
    matcher: PairMatcher, tables: Tables, n: int, read: Callable[[str], str], save: Callable[[], None]
) -> int:
    """Ask pair after pair, learn from each batch of answers, and return how many there were."""
    told, wants_more = 0, True
    while told < n and wants_more:
        rows = matcher.ask(tables.left, min(BATCH, n - told), right=tables.right)
        if not len(rows):
            typer.echo("There are no more pairs worth asking.", err=True)
            break
        answers, wants_more = _ask_batch(matcher, tables, rows, read)
        if answers:
            kinds = {
                kind: rows[[k for k, answer in enumerate(answers) if answer == kind]]
                for kind in ("same", "different", "unsure")
            }
            matcher.tell(
                tables.left,
                Pairs(kinds["same"], kinds["different"]),
                right=tables.right,
                unsure=kinds["unsure"],
            )
            save()
        told += len(answers)
    return told


def _ask_batch(
    matcher: PairMatcher, tables: Tables, rows: Index, read: Callable[[str], str]
) -> tuple[list[str], bool]:
    """Return the answers to the first pairs, and whether the user wants to go on."""
    answers: list[str] = []
    while len(answers) < len(rows):
        i, j = rows[len(answers)]
        say(_both_records(tables, int(i), int(j), matcher.comparison_.names))
        word = read(f"The same? {KEYS}: ").strip().lower()
        if word in FINISH:
            return answers, False
        if word in BACK:
            answers = answers[:-1]
        elif word in ANSWERS:
            answers.append(ANSWERS[word])
    return answers, True


def _both_records(tables: Tables, i: int, j: int, names: list[str]) -> Table:
    """Return two records side by side; what differs is bold."""
    table = Table("", f"row {i}", f"row {j}")
    for name in names:
        cells = [_cell(side[name].iloc[row]) for side, row in ((tables.left, i), (tables.other, j))]
        style = "" if cells[0] == cells[1] else "bold"
        table.add_row(Text(one_line(name)), *(Text(cell, style=style) for cell in cells))
    return table


def _cell(value: object) -> str:
    return "" if isinstance(value, float) and np.isnan(value) else one_line(value)


def _read_line(question: str) -> str:
    """Return a line of the standard input; at its end, finish."""
    typer.echo(question, nl=False)
    return sys.stdin.readline() or "finish"
