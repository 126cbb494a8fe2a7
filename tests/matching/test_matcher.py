"""Matches, groups, questions and explanations of generated customers."""

import numpy as np
import pandas as pd
import pytest
from scipy.cluster.hierarchy import fcluster, linkage
from sklearn.base import clone

import mercer
from matching.tables import fitted, judge, judged_customers
from mercer import PairMatcher, Pairs
from mercer.matching import candidates
from mercer.matching.asking import not_judged
from mercer.matching.candidates import find_candidates, nearest_candidates
from mercer.matching.groups import Links, group_pairs
from mercer.preprocessing import TableError


def all_pairs(matcher, table):
    i, j = np.triu_indices(len(table), 1)
    records = matcher.comparison_.prepare(table, "X")
    return i, j, matcher.decision_.score(matcher.comparison_.paired(records, records, i, j))


def test_match_finds_just_the_pairs_above_the_threshold(monkeypatch):
    monkeypatch.setattr(candidates, "BLOCK", 1000)  # several blocks
    matcher, table, _, _ = fitted()
    i, j, score = all_pairs(matcher, table)
    for above in (0.2, 0.5, 0.9):
        expected = set(zip(*(side[matcher.probability_(score) >= above] for side in (i, j)), strict=True))
        found = matcher.match(table, above=above)
        assert set(zip(found["row"], found["other"], strict=True)) == expected
        assert (np.diff(found["probability"]) <= 0.0).all()


def test_nearly_all_twins_are_found_and_nearly_nothing_else():
    matcher, table, person, _ = fitted()
    found = matcher.match(table)
    right = person[found["row"]] == person[found["other"]]
    assert right.mean() > 0.9
    assert right.sum() > 0.9 * 40


def test_matches_of_two_tables_are_those_of_one_between_its_halves():
    matcher, table, _, _ = fitted()
    one = matcher.match(table)
    across = one[(one["row"] < 60) & (one["other"] >= 60)]
    two = matcher.match(table[:60], table[60:])
    assert set(zip(two["row"], two["other"] + 60, strict=True)) == set(
        zip(across["row"], across["other"], strict=True)
    )


def test_neighbours_are_those_of_the_kernel_and_hold_the_matches():
    matcher, table, _, _ = fitted()
    records = matcher.comparison_.prepare(table, "X")
    near = {
        tuple(pair) for pair in np.column_stack(nearest_candidates(records, None, matcher.decision_)).tolist()
    }
    found = matcher.match(table)
    hit = [pair in near for pair in zip(found["row"], found["other"], strict=True)]
    assert np.mean(hit) > 0.98
    assert len(near) <= 25 * len(table)


def test_large_tables_go_by_neighbours(monkeypatch):
    matcher, table, _, _ = fitted()
    exact = matcher.match(table)
    monkeypatch.setattr(candidates, "MOST_EXACT", 0)
    pd.testing.assert_frame_equal(matcher.match(table), exact)
    monkeypatch.setattr(candidates, "WORK", 2000)  # only the rarest terms
    records = matcher.comparison_.prepare(table, "X")
    few = find_candidates(records, None, matcher.decision_, 0.0)
    assert len(few.i) < len(nearest_candidates(records, records, matcher.decision_).i)
    assert (few.i < few.j).all()


def test_a_missing_cell_counts_the_same_whatever_the_other_is():
    matcher, table, _, _ = fitted()
    gap = table[:1].assign(last=np.nan)

    def added(one, name):
        lines = matcher.explain(one, table[:1].assign(last=name)).set_index("column")
        return lines.loc["last", "adds"]

    adds = [added(gap, name) for name in ("Meyer", "Orr", np.nan)]
    assert adds[0] == adds[1] == adds[2]
    assert added(table[:1], "Xyz") < adds[0] < added(table[:1], table["last"][0])


def test_what_columns_add_makes_the_score():
    matcher, table, _, _ = fitted()
    lines = matcher.explain(table.iloc[3], table.iloc[7].to_dict())
    score = lines["adds"].sum() + matcher.decision_.intercept
    chance = matcher.match_proba(table[3:4], table[7:8])[0]
    assert matcher.probability_(np.array([score]))[0] == pytest.approx(chance)
    assert set(lines["column"]) == {*table.columns, "(all columns)"}


def test_average_linkage_without_links_is_that_of_scipy():
    rng = np.random.default_rng(0)
    points = rng.normal(size=(30, 2))
    i, j = np.triu_indices(30, 1)
    distance = np.linalg.norm(points[i] - points[j], axis=1)
    for n_groups in (2, 5, 12):
        ours = group_pairs(
            30, np.column_stack([i, j]), -distance, Links(), least=-np.inf, average=True, n_groups=n_groups
        )
        theirs = fcluster(linkage(distance, "average"), n_groups, "maxclust")
        assert len(set(zip(ours, theirs, strict=True))) == n_groups


def test_components_are_those_of_the_pairs_that_are_alike():
    pairs, likeness = np.array([(0, 1), (1, 2), (3, 4), (2, 3)]), np.array([0.9, 0.8, 0.7, 0.2])
    found = group_pairs(6, pairs, likeness, Links(), least=0.5, average=False)
    assert found.tolist() == [0, 0, 0, 1, 1, 2]


@pytest.mark.parametrize("average", [True, False])
def test_groups_respect_links(average):
    rng = np.random.default_rng(0)
    i, j = np.triu_indices(40, 1)
    pairs, likeness = np.column_stack([i, j]), rng.random(len(i)) ** 0.3
    links = Links(np.array([(0, 20), (20, 30)]), np.array([(0, 5), (7, 8), (7, 9), (8, 9)]))
    found = group_pairs(40, pairs, likeness, links, least=0.3, average=average)
    assert found[0] == found[20] == found[30]
    assert all(found[a] != found[b] for a, b in links.cannot)
    assert found.max() + 1 < 10


def test_links_that_contradict_each_other_are_named():
    links = Links(np.array([(0, 1), (1, 2)]), np.array([(0, 2)]))
    with pytest.raises(ValueError, match="rows 0 and 2 are judged different"):
        group_pairs(3, np.empty((0, 2), dtype=int), np.empty(0), links, least=0.5, average=True)


def test_groups_of_a_table_keep_what_was_judged_and_find_the_twins():
    matcher, table, person, pairs = fitted()
    for settings in ({}, {"average": False}, {"n_groups": len(set(person))}):
        group = matcher.group(table, **settings)
        assert (group[pairs.similar[:, 0]] == group[pairs.similar[:, 1]]).all()
        assert (group[pairs.dissimilar[:, 0]] != group[pairs.dissimilar[:, 1]]).all()
        twins = Pairs.from_labels(person).similar
        assert np.mean(group[twins[:, 0]] == group[twins[:, 1]]) > 0.9
    assert group.max() + 1 == len(set(person))


def test_links_follow_records_into_another_order():
    matcher, table, _, pairs = fitted()
    order = np.random.default_rng(1).permutation(len(table))
    group = matcher.group(table.iloc[order])[np.argsort(order)]
    assert (group[pairs.similar[:, 0]] == group[pairs.similar[:, 1]]).all()
    assert (group[pairs.dissimilar[:, 0]] != group[pairs.dissimilar[:, 1]]).all()


def test_asking_begins_with_nothing_never_repeats_and_learns():
    table, person, _ = judged_customers()
    matcher, asked = PairMatcher().fit(table), set()
    for round_ in range(4):
        rows = matcher.ask(table, 10)
        assert len(rows) == 10
        assert len(set(rows.ravel())) == 20  # no record twice
        assert not asked & {tuple(pair) for pair in rows.tolist()}
        asked |= {tuple(pair) for pair in rows.tolist()}
        doubted = rows[:1] if round_ == 0 else rows[:0]
        matcher.tell(table, judge(person, rows[len(doubted) :]), unsure=doubted)
    found = matcher.match(table)
    right = person[found["row"]] == person[found["other"]]
    assert 2 * right.sum() / (len(found) + 40) > 0.9


@pytest.mark.parametrize("n", [1, 2, 5])
def test_so_many_are_asked_as_wanted(n):
    matcher, table, _, _ = fitted()
    assert len(matcher.ask(table, n)) == len(PairMatcher().fit(table).ask(table, n)) == n


def test_what_was_judged_is_known_in_either_order():
    judged = np.array([(3, 1)], dtype=np.uint64)
    assert not_judged(np.array([(1, 3), (3, 1), (1, 2)], dtype=np.uint64), judged).tolist() == [
        False,
        False,
        True,
    ]


def test_asking_among_given_pairs_ends_when_there_are_no_more():
    table, person, _ = judged_customers()
    among = np.array([(0, 1), (2, 3), (4, 5)])
    matcher = PairMatcher().fit(table)
    assert {tuple(pair) for pair in matcher.ask(table, 10, among=among).tolist()} == {(0, 1), (2, 3), (4, 5)}
    matcher.tell(table, judge(person, among))
    assert matcher.ask(table, 10, among=among).shape == (0, 2)


def test_a_matcher_is_saved_and_goes_on_learning(tmp_path):
    matcher, table, person, _ = fitted()
    mercer.save(matcher, tmp_path / "model")
    again = mercer.load(tmp_path / "model")
    pd.testing.assert_frame_equal(again.match(table), matcher.match(table))
    rows = again.ask(table, 5)
    again.tell(table, judge(person, rows))
    assert len(again.judged_.answer) == len(matcher.judged_.answer) + 5


def test_a_matcher_is_cloned_and_refuses_what_it_cannot_use():
    table, _, pairs = judged_customers()
    assert clone(PairMatcher(cost=2.0)).cost == 2.0
    for settings, words in (
        ({"cost": 0.0}, "cost must be positive"),
        ({"precision": 1.5}, "precision must be"),
    ):
        with pytest.raises(ValueError, match=words):
            PairMatcher(**settings).fit(table, pairs=pairs)
    matcher = PairMatcher().fit(table, pairs=pairs)
    with pytest.raises(TableError, match="lacks 'zip'"):
        matcher.match(table.drop(columns="zip"))
    with pytest.raises(ValueError, match="row k is compared with row k"):
        matcher.match_proba(table[:2], table[:3])
    with pytest.raises(TableError, match="no column in common"):
        PairMatcher().fit(table[["zip"]], right=table[["year"]])


def test_results_depend_on_the_seed_alone():
    table, _, pairs = judged_customers()
    first, second = (PairMatcher(random_state=3).fit(table, pairs=pairs) for _ in range(2))
    pd.testing.assert_frame_equal(first.match(table), second.match(table))
    assert first.error_ == second.error_
    np.testing.assert_array_equal(first.ask(table, 5), second.ask(table, 5))
