"""A search's result in words: the same in the terminal, in the report and in a notebook."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from mercer.notebook import Line, paragraphs, show_bars
from mercer.search.result import (
    FINISHED,
    Difference,
    Measure,
    Metric,
    SearchResult,
)

REFERENCES = {
    "RBF-SVM": "a tuned RBF-SVM",
    "RBF-ridge": "a tuned RBF ridge regression",
    "plain": "the plain distance",
}
STOPPED = {"budget": "the time budget was used up", "interrupt": "it was interrupted"}
MEANINGS = {  # of the candidates that come with mercer
    "tree-svm": "all decision trees at once, of every depth",
    "tree": "all decision trees at once, of every depth",
    "tree-ranks": "all decision trees at once, on the ranks of the values",
    "perceptron": "all perceptrons at once: smooth, and C alone to choose",
    "superkernel": "a weighted sum of Gaussian kernels of several widths",
    "RBF-SVM": "a Gaussian kernel, width and C tuned: what people use",
    "RBF-ridge": "a Gaussian kernel, width and penalty tuned: what people use",
    "stump": "all decision stumps at once: a sum of one curve for each feature",
    "relevance": "decision trees with a learned weight for each feature",
    "linear": "a linear model",
    "boosted": "a linear kernel that boosting builds from pairs of samples",
    "idealized": "a metric that pulls samples of a class together",
    "RBF-squares": "a Gaussian kernel, least squares",
    "forest": "a forest of scikit-learn's trees",
    "boosting": "scikit-learn's gradient boosting of trees",
    "kernelboost": "which samples share a Gaussian cluster",
    "plain": "the distance of standardised features: nothing is learned",
}
PAIRS_DRAWN = "No dissimilar pairs were listed: those used for scoring were drawn at random."


def percent(share: float) -> str:
    """Return a share in percent, with one digit after the decimal point."""
    return f"{100 * share:.1f} %" if np.isfinite(share) else "–"


def signed(value: float, digits: int) -> str:
    """Return a number with its sign and this many digits after the decimal point; zero has no sign."""
    if not np.isfinite(value):
        return "–"
    rounded = round(value, digits)
    return f"{rounded:+.{digits}f}".replace("-", "−") if rounded else f"{0.0:.{digits}f}"


def describe_settings(settings: Mapping[str, Any]) -> str:
    """Return settings by their own names, whatever they are settings of, with floats shortened."""
    return ", ".join(f"{name.rpartition('__')[2]}={_brief(value)}" for name, value in settings.items())


def describe_measure(measure: Measure) -> str:
    """Return a value with its standard error; nothing if it was not measured."""
    if not measure.is_known:
        return ""
    factor, digits, unit = _scale(measure.metric, measure.std_error)
    spread = f" ± {factor * measure.std_error:.{digits}f}" if np.isfinite(measure.std_error) else ""
    return f"{_fixed(factor * measure.value, digits)}{spread}{unit}"


def describe_value(measure: Measure) -> str:
    """Return a value alone."""
    factor, digits, unit = _scale(measure.metric, measure.std_error)
    return f"{_fixed(factor * measure.value, digits)}{unit}" if measure.is_known else "–"


def interval_of(measure: Measure) -> str:
    """Return the 95 % interval; nothing if it is not known."""
    return _interval(measure).strip(" ()")


def describe_difference(difference: Difference, metric: Metric) -> str:
    """Return a difference with its 95 % interval; nothing if nothing was compared."""
    if not np.isfinite(difference.value):
        return ""
    factor, digits, _ = _scale(metric, difference.high - difference.low)
    middle, low, high = (signed(factor * value, digits) for value in difference)
    return f"{middle} [{low}, {high}]" if difference.is_known else middle


def describe_metric(metric: Metric) -> str:
    """Say what the numbers of a ranking are."""
    return f"{metric.name[0].upper()}{metric.name[1:]}: {metric.meaning}, ± one standard error."


def describe_comparison(result: SearchResult) -> str:
    """Say what the differences of a ranking are; nothing if nothing was compared."""
    if not result.is_compared():
        return ""
    unit = " in percentage points" if result.metric.percent else ""
    better = "above" if result.metric.greater_is_better else "below"
    shared = " on the folds that both have" if folds_differ(result) else ""
    return (
        f"Against {result.reference}: difference to {reference_name(result)}{unit}{shared} [95 % confidence "
        f"interval]; {better} zero is better."
    )


def folds_differ(result: SearchResult) -> bool:
    """Return whether some candidates were scored on fewer folds than others."""
    return len({one.measure.n_folds for one in result.compared()}) > 1


def describe_end(result: SearchResult) -> str:
    """Say why the search ended early; nothing if it did not."""
    if result.stopped is None:
        return ""
    return f"The search ended early ({STOPPED.get(result.stopped, result.stopped)}): what was done is ranked."


def best_of(metric: Metric) -> str:
    """Return what the best candidate has."""
    return f"{'highest' if metric.greater_is_better else 'lowest'} {metric.name}"


def reference_name(result: SearchResult) -> str:
    """Return what the candidates are compared with."""
    return REFERENCES.get(result.reference or "", result.reference or "")


def expected_on_new_samples(result: SearchResult) -> str:
    """Say how good the model is expected to be."""
    measure = result.measure
    if measure is None or not measure.is_known:
        return ""
    said = measure.metric.expectation.format(
        measure=describe_measure(measure), share=percent(measure.value), value=measure.value
    )
    return f"{said}{_interval(measure)}, corrected for all choices{_basis(result)}."


def describe_model(result: SearchResult) -> str:
    """Say what predicts: the members of the blend with their shares and settings."""
    if not result.blend:  # of pairs there is a kernel
        return f"Selected: {result.winner}{_with(describe_settings(result.settings))}."
    settings = {one.name: describe_settings(one.settings) for one in result.candidates}
    if len(result.blend) == 1:
        name = next(iter(result.blend))
        return f"The model: {name}{_with(settings[name])}."
    main = f"{result.winner}{_with(settings[result.winner or ''])}"
    return f"The model: {name_blend(result)}. Its main member: {main}."


def _with(settings: str) -> str:
    return f" with {settings}" if settings else ""


def is_blend(result: SearchResult) -> bool:
    """Return whether the model has several members."""
    return len(result.blend) > 1


def name_blend(result: SearchResult) -> str:
    """Return the model's members with their shares, the main one first."""
    order = sorted(result.blend, key=lambda name: -result.blend[name])
    if len(order) == 1:
        return order[0]
    return f"a blend of {', '.join(f'{name} {100 * result.blend[name]:.0f} %' for name in order)}"


def describe_candidate(name: str, result: SearchResult) -> str:
    """Say what a candidate is; nothing if it is the user's own."""
    return MEANINGS.get(name, "no model: the same for every sample" if name == result.baseline else "")


def doubts(result: SearchResult) -> list[str]:
    """Say what the numbers do not rest on: too few folds, no comparison, or no more than the majority."""
    measure, name = result.measure, result.metric.name
    if result.winner is None or measure is None:
        return []
    said = []
    if 0 < measure.n_folds < result.n_splits:
        said.append(f"The {name} rests on {measure.n_folds} of {result.n_splits} folds: it is less certain.")
    if len(result.compared()) < 2 <= len(result.listed):
        said.append(f"No other candidate was compared with {result.winner}: more time allows for that.")
    return [*said, *filter(None, [compare_with_baseline(result)])]


def compare_with_baseline(result: SearchResult) -> str:
    """Say so if the model is not clearly better than what takes no learning; otherwise nothing."""
    gain = result.gain
    if result.baseline is None or not gain.is_known or _is_better(gain, result.metric):
        return ""
    advice = (
        ""
        if result.metric.key != "error"
        else ": if classes are rare, judge by another score, such as balanced accuracy"
    )
    return (
        f"The model is not significantly better than {result.baseline} (difference "
        f"{describe_difference(gain, result.metric)}){advice}."
    )


def compare_with_reference(result: SearchResult) -> str:
    """Say whether the model is better than the reference; nothing if they were not compared."""
    reference, difference = reference_name(result), result.versus
    if result.winner is None or result.reference is None:
        return ""
    if not result.blend and result.winner != result.reference:
        difference = result.candidate(result.winner).difference
    if not difference.is_known:
        return ""
    factor, digits, _ = _scale(result.metric, difference.high - difference.low)
    low, high = (signed(factor * value, digits) for value in (difference.low, difference.high))
    interval = f"95 % interval {low} to {high}{' percentage points' if result.metric.percent else ''}"
    if difference.low <= 0.0 <= difference.high:
        return f"Not significantly different from {reference} ({interval}), both corrected for their choices."
    how = "better" if _is_better(difference, result.metric) else "worse"
    return f"Significantly {how} than {reference} ({interval}), both corrected for their choices."


def describe_rule(result: SearchResult) -> str:
    """Say how the model comes about."""
    said = f"The candidate with the {best_of(result.metric)}"
    if not result.blend:
        return f"{said} is selected, on what all were scored on."
    loss = (
        "squared error"
        if result.metric.key in ("r2", "rmse", "mse") or result.metric.of_target
        else "log loss"
    )
    return (
        f"Members are chosen one after the other, so that the {loss} of their sum is lowest on held-out "
        "samples; a setting is chosen by the samples that all were scored on."
    )


def explain_selection(result: SearchResult) -> str:
    """Say why another candidate than the first counts most; nothing if the first does."""
    first, winner = result.candidates[0], result.winner
    if winner is None or winner == first.name:
        return ""
    verb = "counts most" if result.blend else "was selected"
    although = f"{winner} {verb} although {first.name} has the {best_of(result.metric)}"
    if first.name == result.baseline:
        return f"{although}: that is no model."
    if first.status != FINISHED:
        return f"{although}: {first.name} did not finish ({first.note})."
    if first.name in result.blend:
        return f"{although}: the blend is judged as a whole, and both are members."
    return (
        f"{although}: the ranking is corrected for choices among settings, and what members add to each "
        "other counts."
    )


def as_text(result: SearchResult) -> str:
    """Return the headline and the ranking, for ``print``; members of the model have an asterisk."""
    said = [describe_model(result), expected_on_new_samples(result), compare_with_reference(result)]
    lines = [["candidate", result.metric.name, f"against {result.reference}" if result.reference else ""]]
    for one in result.candidates:
        name = f"{one.name} *" if one.name in result.stars() else one.name
        lines.append(
            [name, describe_measure(one.measure), describe_difference(one.difference, result.metric)]
        )
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    table = ["  ".join(map(str.ljust, line, widths)).rstrip() for line in lines]
    return "\n".join([*filter(None, said if result.winner else []), "", *table])


def as_html(result: SearchResult) -> str:
    """Return the headline and the ranking with bars, for a notebook."""
    head = []
    if result.winner:
        head = [describe_model(result), expected_on_new_samples(result), compare_with_reference(result)]
        head += [result.decision, explain_selection(result)]
    said = [*head, *doubts(result)]
    notes = [describe_metric(result.metric), describe_comparison(result), describe_end(result)]
    heads = [
        "share of the model",
        "± one standard error",
        f"against {result.reference}",
        "what it is",
        "settings",
        "note",
    ]
    lines = _lines(result)
    kept = [k for k in range(len(heads)) if any(line.cells[k] for line in lines)]  # the others are empty
    lines = [line._replace(cells=[line.cells[k] for k in kept]) for line in lines]
    table = show_bars(lines, ["candidate", result.metric.name, *(heads[k] for k in kept)])
    return paragraphs(*said) + table + paragraphs(*notes)


def _lines(result: SearchResult) -> list[Line]:
    """Return a bar for each candidate; the longest is as long as there is room."""
    known = [one.measure.value for one in result.candidates if one.measure.is_known]
    longest = max((abs(value) for value in known), default=0.0) or 1.0
    lines = []
    for one in result.candidates:
        value, error = (
            np.nan_to_num(number) / longest for number in (one.measure.value, one.measure.std_error)
        )
        cells = [
            percent(result.blend[one.name]) if one.name in result.blend else "",
            describe_measure(one.measure).replace(" ", "\N{NO-BREAK SPACE}"),
            describe_difference(one.difference, result.metric).replace(" ", "\N{NO-BREAK SPACE}"),
            describe_candidate(one.name, result),
            describe_settings(one.settings),
            one.note,
        ]
        low, high = (value - error, value + error) if one.measure.is_known else (None, None)
        lines.append(Line(one.name, value, cells, low, high, one.name in result.stars()))
    return lines


def _interval(measure: Measure) -> str:
    """Return the 95 % interval in brackets, if it is known."""
    if not np.isfinite([measure.low, measure.high]).all():
        return ""
    factor, digits, unit = _scale(measure.metric, measure.std_error)
    low, high = (_fixed(factor * value, digits) for value in (measure.low, measure.high))
    return f" (95 % interval {low} to {high}{unit})"


def _basis(result: SearchResult) -> str:
    """Say what the model's measure rests on, if that is known."""
    measure = result.measure
    if measure is None or not measure.n_samples:
        return ""
    folds = "1 fold" if measure.n_folds == 1 else f"{measure.n_folds} folds"
    said = f"; scored on {measure.n_samples} samples in {folds}"
    if result.blend and 2 * result.n_trained < result.n_fitted:
        said += f", by fits to {result.n_trained} (the model, with {result.n_fitted}, may be better)"
    return said


def _is_better(difference: Difference, metric: Metric) -> bool:
    """Return whether the whole interval is on the better side of zero."""
    if not difference.is_known:
        return False
    return difference.low > 0.0 if metric.greater_is_better else difference.high < 0.0


def _scale(metric: Metric, spread: float) -> tuple[float, int, str]:
    """Return the factor, the digits after the decimal point, and the unit that a metric is shown with.

    In units of the target, which may be large or small, the first two digits of the spread are shown.
    """
    if metric.percent:
        return 100.0, 1, " %"
    if not metric.of_target or not 0.0 < spread < np.inf:
        return 1.0, 3, ""
    return 1.0, max(0, 1 - int(np.floor(np.log10(spread)))), ""


def _fixed(value: float, digits: int) -> str:
    return f"{value:.{digits}f}".replace("-", "−")


def _brief(value: Any) -> str:
    if isinstance(value, float | np.floating):
        return f"{value:.4g}"
    return repr(value.item() if isinstance(value, np.generic) else value)
