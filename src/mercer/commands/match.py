"""The command ``mercer match``: all pairs of rows that mean the same thing."""

from pathlib import Path
from typing import Annotated

import typer

from mercer.commands.errors import WrongRequestError
from mercer.commands.matcher_file import (
    DATA,
    DROP,
    IDS,
    MODEL,
    OTHER,
    PAIRS,
    MatchRequest,
    check_learned,
    open_matcher,
    side_by_side,
)
from mercer.commands.outputs import check_outputs, print_table
from mercer.files import replace_file

EXAMPLES = """For example:

\b
  mercer match out.mercer customers.csv --pairs judged.csv -o matches.csv   learn first
  mercer match out.mercer new.csv --above 0.9 -o matches.csv
  mercer match out.mercer ours.csv theirs.csv -o matches.csv                one row of each
"""


def match(
    model: Annotated[Path, MODEL],
    data: Annotated[Path, DATA],
    other: Annotated[Path | None, OTHER] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write to FILE instead of printing.")
    ] = None,
    above: Annotated[
        float | None,
        typer.Option(metavar="PROBABILITY", help="The least probability. Default: the learned one."),
    ] = None,
    pairs: Annotated[Path | None, PAIRS] = None,
    ids: Annotated[str | None, IDS] = None,
    drop: Annotated[str | None, DROP] = None,
    precision: Annotated[
        float | None,
        typer.Option(
            metavar="SHARE", help="Of a new model: the share of true ones among matches, instead of cost."
        ),
    ] = None,
    cost: Annotated[
        float, typer.Option(metavar="TIMES", help="Of a new model: what a false match costs, in missed ones.")
    ] = 1.0,
) -> None:
    """Find all pairs of rows that match, of one table or two, with both rows' columns side by side.

    The model is learned from judged pairs (--pairs), here or by `mercer ask`. Pairs come with the
    probability that they match, the most probable first.
    """
    check_share(above, "--above")
    check_share(precision, "--precision")
    if not cost > 0.0:
        raise WrongRequestError(f"--cost must be positive, such as 2, not {cost:g}.")
    check_outputs([output], [model, data, other, pairs])
    request = MatchRequest(model, data, other, pairs, ids, drop)
    matcher, tables = open_matcher(request, precision=precision, cost=cost)
    check_learned(matcher.threshold_, model, data)
    found = matcher.match(tables.left, tables.right, above=above)
    if found.empty:
        least = matcher.threshold_ if above is None else above
        typer.echo(f"No two rows match with a probability of {least:.2g} or more.", err=True)
    shown = side_by_side(tables, found, matcher.comparison_.names)
    text = shown.to_csv(index=False, lineterminator="\n")
    if output is None:
        print_table(text)
    else:
        replace_file(output, text.encode("utf-8"))
        typer.echo(f"{len(found)} matches were written to {output}.", err=True)


def check_share(value: float | None, option: str) -> None:
    """Refuse what is no share."""
    if value is not None and not 0.0 < value <= 1.0:
        raise WrongRequestError(f"{option} must be between 0 and 1, such as 0.9, not {value:g}.")
