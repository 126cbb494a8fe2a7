"""The page of all results, written whole from the record and the notes beside each table."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from reproduction.harness.claims import VERDICTS as CLAIM_VERDICTS
from reproduction.harness.claims import Claim, Numbers
from reproduction.harness.count import FAR, cells, count, fresh, places_of
from reproduction.harness.experiment import Figure, Table
from reproduction.harness.show import NOTHING, markdown_table, number

NOTES = Path(__file__).parent / "notes"
INTRODUCTION = """# The published tables, reproduced

This page is written by `make results` from `docs/results.csv`, which has a line for every number that was
measured, with its date and the commit of its code (or, before commits were noted, the commit that recorded
it). `python -m reproduction KEY --record docs/results.csv` adds to it; with `--first-repeat 7000` or
`--seed 3` it draws repeats that nobody has seen."""
NOT_OF_ONE = """, which stand above each table; a
plus says that the code had changes which were not committed yet. To have all of one: in a clean checkout
`rm -rf docs/results.csv .mercer/papers && make papers results`, many hours on two cores, never timed whole
(`kt03-later` also needs `MERCER_METRIC_LEARN`). That was not done for this page."""
COUNTED = """Two numbers are compared by two joint standard errors. Where a paper gives no standard error,
ours stands in for it, as it would be with the paper's repeats. That rewards noise; so there is a second
count, in which every published number is exact. The papers' own methods are counted strictly as the papers
have them: what mercer does instead ([KT03]: a problem over PSD matrices, and no radius for listed pairs)
stands beside them in the tables below. A number counts once."""


def page(catalogue: Mapping[str, Table | Figure], claims: Sequence[Claim], record: pd.DataFrame) -> str:
    """Return the whole page as Markdown."""
    tables = [item for item in catalogue.values() if isinstance(item, Table)]
    judged = cells(tables, record)
    parts = [
        INTRODUCTION,
        _of_which_commits(record),
        "## How many are as published",
        *_counts(tables, judged),
        *_not_as_published(tables, judged),
        *_fresh(record),
        *_claims(claims, Numbers(record)),
        *(part for table in tables for part in _table(table, judged, record)),
    ]
    return "\n\n".join(filter(None, parts)) + "\n"


def _of_which_commits(record: pd.DataFrame) -> str:
    """Say whether all numbers are of one commit, and how they would be."""
    own = record[(record["first"] == 0) & (record.seed == 0)]
    commits = sorted(set(" ".join(own.commit).split()))
    if len(commits) == 1:
        return f"All {len(own)} numbers are of commit `{commits[0]}`."
    return f"**The {len(own)} numbers are not of one commit, but of {len(commits)}**{NOT_OF_ONE}"


def _counts(tables: Sequence[Table], judged: pd.DataFrame) -> list[str]:
    """Return the sentence that counts, and the table of all tables."""
    once = judged[~judged.again]
    own, others = once[once.kind == "method"], once[once.kind == "compared"]
    n, within, better, worse, not_run = count(own)
    _, within_exact, better_exact, worse_exact, _ = count(own, "exact")
    lines = []
    for table in tables:
        of_table = judged[(judged.table == table.key) & (judged.kind == "method")]
        if len(of_table):
            run = of_table[of_table.verdict != "not run"]
            repeats = f"{_span(run.repeats)} ({table.repeats_in_paper or table.repeats})"
            lines.append([table.title, *_both(of_table), repeats, _span(run.date)])
    lines.append(["**the methods of the papers**", *(f"**{text}**" for text in _both(own)), "", ""])
    lines.append(["what they are compared with", *_both(others), "", ""])
    headings = ("table", "numbers", "within error", "better", "worse", "not run", "repeats (paper)", "run")
    again = int(judged[(judged.kind == "method") & judged.again].shape[0])
    return [
        f"**Of {n} published numbers of the papers' own methods {n - not_run} were run: {within} are within "
        f"error, {better} are better and {worse} worse. With published numbers taken as exact, "
        f"{within_exact} are within error, {better_exact} better and {worse_exact} worse.**",
        COUNTED,
        "In each cell: by the first yardstick / with published numbers as exact.",
        markdown_table(headings, lines),
        f"{again} numbers of [LL05] stand in both of its tables and count once." if again else "",
        *(f"Not counted: {table.title}, {', '.join(rows)}: {why}" for table, why, rows in _uncounted(tables)),
    ]


def _both(lines: pd.DataFrame) -> list[str]:
    first, second = count(lines), count(lines, "exact")
    pairs = zip(first[1:4], second[1:4], strict=True)
    return [str(first[0]), *(f"{a} / {b}" for a, b in pairs), str(first[4])]


def _span(values: Iterable[Any]) -> str:
    there = sorted(set(filter(None, values)))
    return NOTHING if not there else f"{there[0]}" if len(there) == 1 else f"{there[0]} to {there[-1]}"


def _uncounted(tables: Iterable[Table]) -> Iterable[tuple[Table, str, list[str]]]:
    for table in tables:
        for why in dict.fromkeys(table.uncounted.values()):
            yield table, why, [row for row, reason in table.uncounted.items() if reason == why]


def _not_as_published(tables: Sequence[Table], judged: pd.DataFrame) -> list[str]:
    """Return the numbers that are not as published, each with its cause, and those that are far off."""
    own = judged[(judged.kind == "method") & ~judged.again]
    worse = own[(own.verdict == "worse") | (own.exact == "worse")]
    better = own[(own.verdict == "better") & (own.exact == "better")]
    return [
        "## What is not as published, and why",
        f"**Worse** ({len(worse)}, by one yardstick or both):",
        _causes(tables, worse),
        f"**Better** ({len(better)}, by both yardsticks):",
        _causes(tables, better),
        f"**Within error, but more than {FAR:.0%} off** ({int(own.far.sum())}; of an accuracy, its error):",
        "\n".join(f"- {_title(tables, c.table)}: {_say(c)}" for c in own[own.far].itertuples()) or "None.",
    ]


def _causes(tables: Sequence[Table], lines: pd.DataFrame) -> str:
    """Return a line for each cause, with the numbers that it explains."""
    found = []
    for (key, cause), group in lines.groupby(["table", "cause"], sort=False):
        numbers = "; ".join(map(_say, group.itertuples()))
        found.append(f"- {_title(tables, key)}: {numbers}. **Cause:** {cause}")
    return "\n".join(found) or "None."


def _title(tables: Iterable[Table], key: str) -> str:
    return next(table.title.split(",")[0] for table in tables if table.key == key)


def _say(cell: Any) -> str:
    mark = "" if cell.verdict == cell.exact else f" ({cell.verdict}; {cell.exact} if exact)"
    error = None if pd.isna(cell.error) else cell.error
    return f"{cell.row}, {cell.column}, {number((cell.ours, error))}, published {cell.published:g}{mark}"


def _fresh(record: pd.DataFrame) -> list[str]:
    """Return fresh draws beside the docs' own."""
    lines = fresh(record)
    if lines.empty:
        return []
    near = int((lines.errors <= 2).sum())
    rows = [
        [
            f"`{line.table}`",
            line.row,
            line.column,
            f"{number((line.value_docs, line.error_docs))} ({line.repeats_docs})",
            f"{number((line.value, line.error))} ({line.repeats})",
            f"`--first-repeat {line.first} --seed {line.seed}`",
            f"{line.errors:.1f}",
        ]
        for line in lines.itertuples()
    ]
    headings = ("table", "data", "method", "docs (repeats)", "fresh (repeats)", "draws", "joint errors apart")
    return [
        "## Fresh repeats",
        f"Of {len(lines)} numbers that were drawn again with seeds that nothing was decided on, {near} are "
        "within two joint standard errors of the docs' own.",
        markdown_table(headings, rows),
        (NOTES / "fresh.md").read_text(encoding="utf-8").strip(),
    ]


def _claims(claims: Sequence[Claim], numbers: Numbers) -> list[str]:
    """Return what the papers claim, and whether it holds."""
    found = [(claim, *claim.judge(numbers)) for claim in claims]
    verdicts = [verdict for _, verdict, _ in found]
    total = ", ".join(f"{verdicts.count(verdict)} {verdict}" for verdict in CLAIM_VERDICTS)
    lines = [
        [claim.where, claim.sentence.replace("|", "\\|"), f"**{verdict}**", note, _command(claim.shown_by)]
        for claim, verdict, note in found
    ]
    return [
        "## What the papers claim",
        f"{len(found)} sentences: {total}. Verdicts about numbers are computed from what was measured: one "
        "number is better than another if it is so by more than two joint standard errors.",
        markdown_table(("paper", "it says", "verdict", "here", "shown by"), lines),
    ]


def _command(shown_by: str) -> str:
    if not shown_by:
        return NOTHING
    if shown_by.startswith("test_"):
        return f"`pytest -k {shown_by}`"
    return f"`python -m {'' if shown_by.startswith('benchmarks ') else 'reproduction '}{shown_by}`"


def _table(table: Table, judged: pd.DataFrame, record: pd.DataFrame) -> list[str]:
    """Return the section of a table: ours, with the published numbers in parentheses, and its notes."""
    ours = places_of(record, table.key)
    if not ours:
        return []
    verdicts = {(c.row, c.column): c.verdict for c in judged[judged.table == table.key].itertuples()}
    rows = dict.fromkeys(row for row, _ in ours)
    columns = [column for column in dict.fromkeys(column for _, column in ours) if not _is_detail(column)]
    lines = []
    for row in rows:
        texts = []
        for column in columns:
            text = number(ours.get((row, column)))
            if (row, column) in table.published:
                text += f" ({table.published[row, column][0]:g})"
            texts.append(f"**{text}**" if verdicts.get((row, column)) == "worse" else text)
        lines.append([row, *texts])
    own = record[(record.table == table.key) & (record["first"] == 0) & (record.seed == 0)]
    commits = ", ".join(f"`{commit}`" for commit in dict.fromkeys(filter(None, own.commit)))
    notes = NOTES / f"{table.key}.md"
    return [
        f"## {table.title}",
        f"{table.quantity[0].upper()}{table.quantity[1:]}, {table.average} ± standard error, the "
        f"published number "
        f"in parentheses, what is worse in bold. Repeats: {_span(own.repeats)}; run "
        f"{_span(own.date)}; commits "
        f"{commits}; `python -m reproduction {table.key}`.",
        markdown_table(*_upright(("data", *columns), lines)),
        notes.read_text(encoding="utf-8").strip() if notes.exists() else "",
    ]


def _upright(headings: Sequence[str], lines: list[list[str]]) -> tuple[Sequence[str], list[list[str]]]:
    """Return a table of one row with a line for each column."""
    if len(lines) > 1:
        return headings, lines
    return ("", lines[0][0]), [list(pair) for pair in zip(headings[1:], lines[0][1:], strict=True)]


def _is_detail(column: str) -> bool:
    """Whether a column is only for the claims: times, terms and what is kept of every epoch."""
    return any(part in column for part in (" CPU s", " terms", " used", " ep=", "Avg-", " unseparated"))
