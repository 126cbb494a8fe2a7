"""The first part of the page: what the model is, how good it is, and how all candidates did."""

from mercer.kernels.description import count, describe_kernel
from mercer.report.content import Section, Table
from mercer.report.digits import duration, unbroken
from mercer.report.picture import draw_picture
from mercer.report.plots.leaderboard import figure_size, plot_leaderboard, scored_candidates
from mercer.report.subject import Subject
from mercer.search import CandidateResult, SearchResult
from mercer.search.result import OUT_OF_TIME
from mercer.search.words import (
    MEANINGS,
    best_of,
    compare_with_baseline,
    compare_with_reference,
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
    reference_name,
)

CORRECTED = "Each value is corrected for the selection among the candidate's own settings."
FOLDS = (
    "All candidates are scored on the same folds; who falls behind or runs out of time, on the first only."
)
BUDGET = "The time budget ended the comparison: another machine may compare more or fewer folds."


def describe_winner(subject: Subject) -> str:
    """Say what the model is, and its main member."""
    result, kernel = subject.result, subject.search.best_kernel_
    name = str(result.winner)
    meaning = f": {MEANINGS[name]}" if name in MEANINGS else ""
    described = "" if kernel is None else describe_kernel(kernel.base)
    is_said = described.partition(" (")[0] in meaning
    described = f" Its kernel: {described}." if described and not is_said else ""
    if not is_blend(result):
        return f"The model is {name}{meaning}.{described}"
    return f"The model is {name_blend(result)}. Its main member is {name}{meaning}.{described}"


def show_ranking(subject: Subject) -> Section:
    """Return the leaderboard, as a picture and as a table."""
    result = subject.result
    text = [expected_on_new_samples(result), explain_selection(result), describe_end(result)]
    if result.n_fitted < len(subject.frame) and subject.kind != "pairs":
        text.append(f"It was fitted to {result.n_fitted} of {len(subject.frame)} samples.")
    if is_blend(result) and result.measure is not None:
        value = describe_value(result.measure)
        text.append(
            f"Below are the candidates one by one; the {result.metric.name} of {value} is the blend's."
        )
    is_cut = result.stopped == "budget" or any(one.status == OUT_OF_TIME for one in result.candidates)
    corrected = "" if subject.kind == "pairs" else CORRECTED
    notes = [describe_metric(result.metric), corrected, describe_comparison(result), FOLDS]
    notes += [BUDGET if is_cut else "", describe_rule(result)]
    itself = f"It is {reference_name(result)} itself." if result.winner == result.reference else ""
    versus = [compare_with_reference(result) or itself or "No other model was compared with it."]
    versus += [compare_with_baseline(result)]
    scored = len(scored_candidates(result))
    picture = draw_picture(
        lambda figure: plot_leaderboard(result, figure.subplots()),
        figure_size(scored),
        alt=f"The {result.metric.name} of {count(scored, 'candidate')} with error bars, the "
        f"{best_of(result.metric)} on top; starred members: {', '.join(sorted(result.stars()))}. "
        "The numbers are in the table below.",
    )
    said, more = ([sentence for sentence in some if sentence] for some in (text, notes))
    answer = "Better than what?", " ".join(filter(None, versus))
    return Section("leaderboard", "Ranking", said, [picture], [tabulate_candidates(result)], more, answer)


def tabulate_candidates(result: SearchResult) -> Table:
    """Return a line for each candidate, without columns that are empty."""
    columns = ["candidate", "share", result.metric.name, f"against {result.reference}"]
    columns += ["folds", "what it is", "fit, predict", "settings", "note"]
    rows = [_cells(one, result) for one in result.candidates]
    kept = [k for k in range(len(columns)) if any(row[k] for row in rows)]  # the others are empty
    first = best_of(result.metric)
    return Table(
        f"All candidates, ± one standard error, the {first} first; a star marks members of the model",
        [columns[k] for k in kept],
        [[row[k] for k in kept] for row in rows],
        best=[k for k, name in enumerate(result.names()) if name in result.stars()],
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
        f"{duration(one.fit_seconds)}, {duration(one.predict_seconds)}" if one.measure.is_known else "",
        describe_settings(one.settings),
        one.note,
    ]
