"""The first part of the page: what the model is, how good it is, and how all candidates did."""

from typing import Any

from mercer.kernels import Rescaled
from mercer.kernels.description import count, describe_kernel
from mercer.report.content import Section, Subject, Table, duration, unbroken
from mercer.report.picture import Picture, draw_picture
from mercer.report.plots.leaderboard import figure_size, plot_leaderboard, scored_candidates
from mercer.search import CandidateResult, SearchResult
from mercer.search.result import OUT_OF_TIME
from mercer.search.words import (
    MEANINGS,
    PAIRS_DRAWN,
    best_of,
    describe_candidate,
    describe_comparison,
    describe_difference,
    describe_end,
    describe_measure,
    describe_metric,
    describe_rule,
    describe_settings,
    describe_value,
    expected_on_new_samples,
    explain_selection,
    folds_differ,
    is_blend,
    name_blend,
    percent,
)

CORRECTED = "Each value is corrected for the selection among the candidate's own settings."

BUDGET = "The time budget ended the comparison: another machine may compare more or fewer folds."


def describe_winner(subject: Subject) -> str:
    """Say what the model is, and its main member."""
    result, kernel = subject.result, winning_kernel(subject.search)
    name = str(result.winner)
    meaning = f": {MEANINGS[name]}" if name in MEANINGS else ""
    described = "" if kernel is None else describe_kernel(kernel)
    is_said = described.partition(" (")[0] in meaning
    described = f" Its kernel: {described}." if described and not is_said else ""
    if not is_blend(result):
        return f"The model is {name}{meaning}.{described}"
    return f"The model is {name_blend(result)}. Its main member is {name}{meaning}.{described}"


def show_ranking(subject: Subject) -> Section:
    """Return the leaderboard, as a picture and as a table."""
    result = subject.result
    text = [explain_selection(result), _set_apart_blend(result), describe_end(result)]
    notes = [
        expected_on_new_samples(result),
        "All candidates are scored on the same folds; those that fall behind or run out of time, on the "
        "first ones only.",
        BUDGET if result.stopped == "budget" or _ran_out(result) else "",
        *_describe_scores(subject),
        describe_rule(result),
    ]
    said, more = ([sentence for sentence in some if sentence] for some in (text, notes))
    return Section("leaderboard", "Ranking", said, [_draw(result)], [tabulate_candidates(result)], more)


def _ran_out(result: SearchResult) -> bool:
    return any(one.status == OUT_OF_TIME for one in result.candidates)


def _set_apart_blend(result: SearchResult) -> str:
    """Say that the blend is not in the ranking; nothing if the winner alone predicts."""
    if not is_blend(result) or result.measure is None:
        return ""
    value = describe_value(result.measure)
    return (
        f"These are the candidates one by one. What predicts, and has the expected {result.metric.name} of "
        f"{value} at the top of the page, is {name_blend(result)}."
    )


def pairs_were_drawn(subject: Subject) -> bool:
    """Return whether dissimilar pairs had to be drawn, because none were listed."""
    pairs = subject.pairs
    return pairs is not None and len(pairs.similar) > 0 and len(pairs.dissimilar) == 0


def winning_kernel(search: Any) -> Any:
    """Return the kernel of the winner for standardised samples, or None if it is not known."""
    kernel = search.best_kernel_
    return kernel.base if isinstance(kernel, Rescaled) else kernel


def _describe_scores(subject: Subject) -> list[str]:
    """Say what is measured, and what it is compared with."""
    said = [describe_metric(subject.result.metric)]
    said += [] if subject.kind == "pairs" else [CORRECTED]
    said += [PAIRS_DRAWN] if pairs_were_drawn(subject) else []
    return [*said, describe_comparison(subject.result)]


def _draw(result: SearchResult) -> Picture:
    n_scored = len(scored_candidates(result))
    return draw_picture(
        lambda figure: plot_leaderboard(result, figure.subplots()),
        figure_size(n_scored),
        alt=f"The {result.metric.name} of {count(n_scored, 'candidate')} with error bars, the "
        f"{best_of(result.metric)} on top; starred members: {', '.join(sorted(result.stars()))}. "
        "The numbers are in the table below.",
    )


def tabulate_candidates(result: SearchResult) -> Table:
    """Return a line for each candidate, without columns that are empty."""
    columns = ["candidate", "share", result.metric.name, f"against {result.reference}"]
    columns += ["folds", "what it is", "fit time", "predict time", "settings", "note"]
    rows = [_cells(one, result) for one in result.candidates]
    kept = [k for k in range(len(columns)) if any(row[k] for row in rows)]  # the others are empty
    first = best_of(result.metric)
    return Table(
        f"All candidates, ± one standard error, the {first} first; a star marks members of the model",
        [columns[k] for k in kept],
        [[row[k] for k in kept] for row in rows],
        best=None if result.winner is None else result.names().index(result.winner),
        stacks=True,
    )


def _cells(one: CandidateResult, result: SearchResult) -> list[str]:
    return [
        one.name,
        percent(result.blend[one.name]) if one.name in result.blend else "",
        unbroken(describe_measure(one.measure) or "–"),
        unbroken(describe_difference(one.difference, one.measure.metric)),
        str(one.measure.n_folds) if folds_differ(result) and one.measure.n_folds else "",
        describe_candidate(one.name, result),
        duration(one.fit_seconds),
        duration(one.predict_seconds),
        describe_settings(one.settings),
        one.note,
    ]
