"""The command ``mercer group``: rows that mean the same thing, as groups."""

from pathlib import Path
from typing import Annotated

import numpy as np
import pandas as pd
import typer

from mercer.commands.errors import WrongRequestError
from mercer.commands.match import check_share
from mercer.commands.matcher_file import (
    DATA,
    DROP,
    IDS,
    MODEL,
    PAIRS,
    MatchRequest,
    check_learned,
    open_matcher,
)
from mercer.commands.outputs import check_outputs, print_table
from mercer.files import replace_file
from mercer.preprocessing.missing import as_written

EXAMPLES = """For example:

\b
  mercer group out.mercer customers.csv -o groups.csv     a column of groups, and all others
  mercer group out.mercer customers.csv --pairs more.csv  learn from more pairs first
  mercer group out.mercer customers.csv --components --above 0.9
"""


def group(
    model: Annotated[Path, MODEL],
    data: Annotated[Path, DATA],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write to FILE instead of printing.")
    ] = None,
    above: Annotated[
        float | None,
        typer.Option(metavar="PROBABILITY", help="The least probability. Default: the learned one."),
    ] = None,
    n_groups: Annotated[
        int | None,
        typer.Option("--k", min=1, metavar="N", help="The number of groups, instead of a probability."),
    ] = None,
    components: Annotated[
        bool,
        typer.Option(
            "--components", help="One match is enough to join two groups; else their average counts."
        ),
    ] = False,
    pairs: Annotated[Path | None, PAIRS] = None,
    ids: Annotated[str | None, IDS] = None,
    drop: Annotated[str | None, DROP] = None,
) -> None:
    """Put the rows that mean the same thing into one group; judged pairs stay together, or apart."""
    check_share(above, "--above")
    if n_groups is not None and (above is not None or components):
        raise WrongRequestError("--k gives the number of groups: leave out --above and --components.")
    check_outputs([output], [model, data, pairs])
    matcher, tables = open_matcher(MatchRequest(model, data, None, pairs, ids, drop))
    check_learned(matcher.threshold_, model, data)
    try:
        numbers = matcher.group(tables.left, average=not components, n_groups=n_groups, above=above)
    except ValueError as error:
        raise WrongRequestError(f"{data}: {error}.") from error
    columns = {name: as_written(column) for name, column in tables.left.items() if name != "group"}
    text = pd.DataFrame({"group": numbers, **columns}).to_csv(index=False, lineterminator="\n")
    sizes = np.bincount(numbers)
    said = f"{len(sizes)} groups of {len(numbers)} rows; {int(np.sum(sizes > 1))} have several."
    if output is None:
        print_table(text)
        typer.echo(said, err=True)
    else:
        replace_file(output, text.encode("utf-8"))
        typer.echo(f"{said} They were written to {output}.", err=True)
