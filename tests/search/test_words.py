"""The words on a search's result agree with the rule that selected the winner, and with the numbers."""

import numpy as np
import pytest

from mercer.search.pairs import AUC
from mercer.search.result import (
    BEST,
    FAILED,
    WITH_NEIGHBOURS,
    CandidateResult,
    Difference,
    Measure,
    SearchResult,
    rank_candidates,
)
from mercer.search.scoring import ERROR
from mercer.search.words import (
    compare_with_reference,
    describe_difference,
    describe_measure,
    describe_model,
    describe_settings,
    doubts,
    expected_on_new_samples,
    explain_selection,
    signed,
)


def scored(name, value, folds=5, metric=ERROR, difference=()):
    return CandidateResult(name, {}, Measure(metric, value, n_folds=folds), Difference(*difference))


def result_of(*candidates, winner="a", listed=("b", "a"), reference=None):
    metric = candidates[0].measure.metric
    rule = WITH_NEIGHBOURS if metric is ERROR else BEST
    return SearchResult(metric, rank_candidates(candidates), listed, rule, reference, winner)


def test_a_winner_that_ranks_first_needs_no_words():
    assert explain_selection(result_of(scored("a", 0.1), scored("b", 0.2))) == ""


@pytest.mark.parametrize(
    ("metric", "difference", "words"),
    [
        (
            ERROR,
            (-0.02, -0.03, -0.01),
            "Significantly better than a tuned RBF-SVM (95 % interval −3.0 to −1.0",
        ),
        (ERROR, (0.02, 0.01, 0.03), "Significantly worse than a tuned RBF-SVM"),
        (
            ERROR,
            (0.0, -0.01, 0.01),
            "Not significantly different from a tuned RBF-SVM (95 % interval −1.0 to +1.0",
        ),
        (
            AUC,
            (0.02, 0.01, 0.03),
            "Significantly better than the plain distance (95 % interval +0.010 to +0.030",
        ),
        (AUC, (-0.02, -0.03, -0.01), "Significantly worse than the plain distance"),
    ],
)
def test_the_verdict_follows_the_interval_and_the_direction_of_the_metric(metric, difference, words):
    reference = "RBF-SVM" if metric is ERROR else "plain"
    ours = scored("a", 0.5, metric=metric, difference=difference)
    result = result_of(ours, scored(reference, 0.5, metric=metric), reference=reference)
    assert compare_with_reference(result).startswith(words)


def test_a_candidate_that_did_not_finish_is_no_rival():
    failed = scored("b", 0.1, difference=(-0.1, -0.15, -0.05))._replace(status=FAILED, note="no memory")
    assert explain_selection(result_of(failed, scored("a", 0.2))) == (
        "a was selected although b has the lowest error: b did not finish (no memory)."
    )


def test_a_member_that_ranks_second_counts_most_because_the_blend_is_judged_as_a_whole():
    result = result_of(scored("b", 0.1), scored("a", 0.2))
    both = result._replace(blend={"a": 0.6, "b": 0.4})
    assert "the blend is judged as a whole" in explain_selection(both)
    assert describe_model(both) == "The model: a blend of a 60 %, b 40 %. Its main member: a."
    assert both.stars() == {"a", "b"}
    assert "what members add to each other" in explain_selection(result._replace(blend={"a": 1.0}))


def test_model_and_reference_are_compared_as_they_are_measured_both_corrected():
    result = result_of(scored("a", 0.1), scored("RBF-SVM", 0.12), reference="RBF-SVM")
    model = result._replace(blend={"a": 1.0}, versus=Difference(-0.02, -0.03, -0.01))
    assert compare_with_reference(model) == (
        "Significantly better than a tuned RBF-SVM (95 % interval −3.0 to −1.0 percentage points), both "
        "corrected for their choices."
    )


def test_numbers_are_shown_in_the_unit_of_the_metric():
    error = Measure(ERROR, 0.0256, 0.0071, n_folds=5)
    assert describe_measure(error) == "2.6 ± 0.7 %"
    assert describe_measure(Measure(AUC, 0.91234, 0.01)) == "0.912 ± 0.010"
    assert describe_measure(Measure(AUC, 0.91234)) == "0.912"
    assert describe_measure(Measure(ERROR)) == ""
    price = AUC._replace(of_target=True)
    assert describe_measure(Measure(price, 53421.3, 1234.5)) == "53421 ± 1234"
    assert describe_measure(Measure(price, 0.000123456, 0.0000031)) == "0.0001235 ± 0.0000031"
    assert describe_difference(Difference(-0.0123, -0.02, 0.0), ERROR) == "−1.2 [−2.0, 0.0]"
    assert describe_difference(Difference(), ERROR) == ""
    result = SearchResult(ERROR, (), (), measure=error)
    assert expected_on_new_samples(result) == (
        "Expected error on new samples: 2.6 ± 0.7 %, corrected for all choices."
    )


@pytest.mark.parametrize(
    ("value", "digits", "text"),
    [
        (0.04, 1, "0.0"),
        (-0.04, 1, "0.0"),
        (0.06, 1, "+0.1"),
        (-1.5, 2, "−1.50"),
        (np.nan, 1, "–"),
        (0, 0, "0"),
    ],
)
def test_a_number_has_its_sign_unless_it_is_shown_as_zero(value, digits, text):
    assert signed(value, digits) == text


def test_settings_go_by_their_own_names():
    assert describe_settings({"learner__penalty": np.float64(100.0), "C": 0.0625}) == "penalty=100, C=0.0625"


def test_a_notebook_shows_the_ranking_and_takes_names_as_text():
    result = result_of(
        scored("<b>a</b>", 0.1, difference=(-0.02, -0.03, -0.01)),
        scored("RBF-SVM", 0.12),
        winner="<b>a</b>",
        listed=("<b>a</b>", "RBF-SVM"),
        reference="RBF-SVM",
    )
    html = result._repr_html_().replace("\N{NO-BREAK SPACE}", " ")
    assert "<b>" not in html
    assert "&lt;b&gt;a&lt;/b&gt; ★" in html
    for words in ("10.0 %", "−2.0 [−3.0, −1.0]", "Significantly better than a tuned RBF-SVM"):
        assert words in html
    assert "what it is" in html
    assert ">note<" not in html  # which would be empty
    assert ">against " not in result_of(scored("a", 0.1), winner="a")._repr_html_()
    second = result._replace(winner="RBF-SVM")._repr_html_()
    assert "RBF-SVM was selected although &lt;b&gt;a&lt;/b&gt; has the lowest error" in second
    running = result._replace(winner=None)._repr_html_()
    assert "Selected" not in running


def test_doubts_are_told_of_folds_of_rivals_and_of_the_majority():
    measure = Measure(ERROR, 0.0, 0.01, 0.0, 0.2, n_folds=1, n_samples=36)
    majority = scored("always 'ok'", 0.011)
    alone = result_of(scored("a", 0.0, folds=1), majority, listed=("a", "b"))._replace(
        measure=measure, baseline="always 'ok'", n_splits=5, gain=Difference(-0.002, -0.005, 0.001)
    )
    few, rival, nothing = doubts(alone)
    assert few == "The error rests on 1 of 5 folds: it is less certain."
    assert rival == "No other candidate was compared with a: more time allows for that."
    assert nothing.startswith(
        "The model is not significantly better than always 'ok' (difference −0.2 [−0.5, +0.1])"
    )
    assert "balanced accuracy" in nothing
    assert expected_on_new_samples(alone) == (
        "Expected error on new samples: 0.0 ± 1.0 % (95 % interval 0.0 to 20.0 %), corrected for all "
        "choices; scored on 36 samples in 1 fold."
    )
    well = result_of(scored("a", 0.0), scored("b", 0.1), majority)._replace(
        measure=measure._replace(n_folds=5),
        baseline="always 'ok'",
        n_splits=5,
        gain=Difference(-0.01, -0.015, -0.005),
    )
    assert doubts(well) == []
    assert doubts(well._replace(winner=None)) == []
    better = well._replace(candidates=(majority._replace(name="always 'ok'"), *well.candidates[:2]))
    assert explain_selection(better).endswith("that is no model.")


def test_a_printed_result_says_what_predicts_how_good_it_is_and_who_was_compared():
    result = result_of(scored("a", 0.1), scored("b", 0.2), reference="b")
    result = result._replace(blend={"a": 1.0}, measure=Measure(ERROR, 0.125, n_folds=5))
    head, expected, empty, heading, *lines = str(result).splitlines()
    assert head == "The model: a."
    assert expected.startswith("Expected error on new samples: 12.5 %")
    assert (empty, heading.split()) == ("", ["candidate", "error", "against", "b"])
    assert [line.split()[:2] for line in lines] == [["a", "*"], ["b", "20.0"]]
    assert str(result._replace(winner=None)).startswith("\ncandidate")
