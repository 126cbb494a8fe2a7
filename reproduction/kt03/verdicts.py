"""The numbers of [KT03] beside ours. The paper gives no standard errors: ours are used for both."""

from collections.abc import Mapping, Sequence

from reproduction.harness import Number, Result, Verdict, by_column, judge, mean_with_error, published

COLUMNS = ("Euclidean", "learned", "Xing")  # of Tables 2 to 4
IN_PAPER = {  # our columns, and those of the paper beside which they stand
    "Euclidean": "Euclidean",
    "Exact": "learned",
    "Exact R": "learned",
    "Clip": "learned",
    "Exact rest": "learned",
    "Xing": "Xing",
    "Xing rest": "Xing",
}


def numbers_beside(columns: Mapping[str, str], numbers: str) -> dict[tuple[str, str], Number]:
    """Return the published numbers under our columns, given the column of the paper for each."""
    in_paper = published(COLUMNS, numbers)
    return {
        (row, ours): number
        for ours, theirs in columns.items()
        for (row, column), number in in_paper.items()
        if column == theirs
    }


def count_matches(
    results: Sequence[Result], table: Mapping[tuple[str, str], Number], columns: Sequence[str]
) -> list[str]:
    """Return a sentence for each of the columns that has rows of two repeats or more."""
    values = {place: list(scores.values()) for place, scores in by_column(results).items()}
    sentences = []
    for column in columns:
        rows = [row for row, name in table if name == column and len(values.get((row, column), ())) > 1]
        verdicts = [judge_with_our_error(table[row, column][0], values[row, column]) for row in rows]
        if verdicts:
            sentences.append(
                f"{column}: within two joint standard errors of the paper, or better, on "
                f"{len(verdicts) - verdicts.count('worse')} of {len(verdicts)} rows (the paper gives no "
                "standard errors; ours are used for both)."
            )
    return sentences


def judge_with_our_error(published: float, scores: Sequence[float]) -> Verdict:
    """Return the verdict on a published number whose standard error is taken to be that of our scores."""
    ours = mean_with_error(scores)
    return judge((published, ours[1]), ours)
