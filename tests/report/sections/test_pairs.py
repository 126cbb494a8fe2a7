"""The page of a search that was fitted to pairs."""

import re

import pytest

from mercer import BoostedKernel, KernelSearchCV, Pairs
from report.html_page import report

pytestmark = pytest.mark.usefixtures("coarse_pictures")


def test_a_search_among_pairs_has_a_page_without_classes(tmp_path, iris):
    X, y = iris
    pairs = Pairs.from_labels(y)
    kinds = {"plain": None, "boosted": BoostedKernel(n_rounds=3, random_state=0)}
    search = KernelSearchCV(kinds, cv=2, random_state=0).fit(X, pairs=pairs)
    found = report(tmp_path, search, X)
    assert found.sections == {"leaderboard", "map", "pairs", "columns", "computed"}
    assert len(search.held_out_.rows) == len(search.held_out_.said)
    assert f"{search.auc_:.3f}" in found.text
    assert len(found.all("img")) == 1 + 2 + 2
    for (name, line), cells in zip(search.leaderboard_.iterrows(), found.rows("All candidates"), strict=True):
        shown = [cell.replace("\N{NO-BREAK SPACE}", " ").replace("−", "-") for cell in cells]
        assert shown[:2] == [name, f"{line['auc']:.3f} ± {line['std_error']:.3f}"]
        if name != "plain":
            assert shown[2] == f"{line['difference']:+.3f} [{line['low']:+.3f}, {line['high']:+.3f}]"
    _, plain, learned = re.findall(r"kernel \([\w ]+\): AUC ([\d.]+\d)", found.text)  # first at the top
    assert float(plain) < float(learned)  # which is why it won


def test_where_the_plain_distance_wins_it_is_shown_once(tmp_path, iris):
    pairs = Pairs.from_labels(iris[1])
    search = KernelSearchCV({"plain": None}, cv=2, random_state=0).fit(iris[0], pairs=pairs)
    found = report(tmp_path, search, iris[0])
    assert len(found.all("img")) == 1 + 1 + 1
    assert found.text.count("The winner is the plain kernel itself") == 2
