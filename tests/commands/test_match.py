"""From judged pairs to matches and groups, on the command line."""

import json

import pandas as pd
import pytest
from typer.testing import CliRunner

import mercer
from matching.tables import judge, judged_customers
from mercer.cli import make_app

COLUMNS = ["first", "second", "answer"]


@pytest.fixture
def files(tmp_path):
    table, person, pairs = judged_customers()
    table.insert(0, "id", [f"c{row}" for row in range(len(table))])
    table.to_csv(tmp_path / "customers.csv", index=False)
    lines = [(f"c{a}", f"c{b}", "yes") for a, b in pairs.similar] + [
        (f"c{a}", f"c{b}", "no") for a, b in pairs.dissimilar
    ]
    pd.DataFrame(lines, columns=COLUMNS).to_csv(tmp_path / "judged.csv", index=False)
    return tmp_path, table, person


def run(folder, *words, answers=None):
    return CliRunner().invoke(make_app(), [word.format(folder) for word in words], input=answers)


def learn(folder):
    return run(
        folder, "match", "{}/out.mercer", "{}/customers.csv", "--pairs", "{}/judged.csv", "--id", "id",
        "-o", "{}/matches.csv",
    )  # fmt: skip


def test_match_learns_and_writes_both_rows_side_by_side(files):
    folder, table, person = files
    done = learn(folder)
    assert done.exit_code == 0, done.output
    assert "held-out pairs" in done.stderr
    found = pd.read_csv(folder / "matches.csv", dtype=str)
    of = dict(zip(table["id"], person, strict=True))
    right = found["row"].map(of) == found["other"].map(of)
    assert right.mean() > 0.9
    assert right.sum() > 36
    place = table.set_index("id")["place"]
    assert found["right_place"].fillna("").tolist() == place[found["other"]].fillna("").tolist()
    assert "left_id" not in found


def test_group_writes_a_column_of_groups_before_all_others(files):
    folder, table, person = files
    learn(folder)
    done = run(folder, "group", "{}/out.mercer", "{}/customers.csv", "-o", "{}/groups.csv")
    assert done.exit_code == 0, done.output
    found = pd.read_csv(folder / "groups.csv")
    assert list(found) == ["group", *table]
    done = run(folder, "group", "{}/out.mercer", "{}/customers.csv", "--k", "80", "-o", "{}/groups.csv")
    assert pd.read_csv(folder / "groups.csv")["group"].nunique() == 80 == len(set(person))


def test_ask_writes_pairs_whose_answers_can_be_read_again(files):
    folder, _, person = files
    done = run(
        folder, "ask", "{}/new.mercer", "{}/customers.csv", "--drop", "id", "-n", "6", "-o", "{}/judge.csv"
    )
    assert done.exit_code == 0, done.output
    asked = pd.read_csv(folder / "judge.csv", dtype=str)
    rows = asked[["row", "other"]].astype(int).to_numpy()
    same = person[rows[:, 0]] == person[rows[:, 1]]
    asked["answer"] = pd.Series(same).map({True: "yes", False: "No"})
    asked.loc[5, "answer"] = None
    asked.to_csv(folder / "judge.csv", index=False)
    done = run(
        folder, "ask", "{}/new.mercer", "{}/customers.csv", "--pairs", "{}/judge.csv", "-o", "{}/more.csv"
    )
    assert done.exit_code == 0, done.output
    assert "5 judged pairs are too few" in done.stderr
    more = pd.read_csv(folder / "more.csv")[["row", "other"]]
    assert not {tuple(pair) for pair in more.to_numpy().tolist()} & {
        tuple(pair) for pair in rows[:5].tolist()
    }
    assert judge(person, rows).similar.size


def test_the_dialogue_takes_answers_back_and_can_be_finished(files):
    folder, _, _ = files
    done = run(
        folder, "ask", "{}/new.mercer", "{}/customers.csv", "--drop", "id", answers="y\nwhat\nn\nb\nu\nf\n"
    )
    assert done.exit_code == 0, done.output
    assert "2 answers are in" in done.stderr
    assert done.stdout.count("The same?") == 6
    done = run(folder, "ask", "{}/new.mercer", "{}/customers.csv", "-n", "2", answers="n\nn\n")
    assert "2 answers are in" in done.stderr
    assert "3 judged pairs are too few" in done.stderr  # and one of which nobody can tell


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("match", "{}/none.mercer", "{}/customers.csv"), "learn it from judged pairs with --pairs"),
        (("match", "{}/out.mercer", "{}/customers.csv", "--above", "1.5"), "--above must be between 0 and 1"),
        (
            ("match", "{}/new.mercer", "{}/customers.csv", "--pairs", "{}/judged.csv"),
            "name their column of ids with --id",
        ),
        (
            ("match", "{}/new.mercer", "{}/customers.csv", "--pairs", "{}/both.csv"),
            "listed as similar and as dis",
        ),
        (
            ("match", "{}/new.mercer", "{}/customers.csv", "--pairs", "{}/no.csv"),
            "knows no two rows that are the",
        ),
        (("match", "{}/new.mercer", "{}/customers.csv", "--pairs", "{}/maybe.csv"), "has the answer 'maybe'"),
        (("match", "{}/new.mercer", "{}/customers.csv", "--pairs", "{}/blank.csv"), "has no answers"),
        (("group", "{}/out.mercer", "{}/customers.csv", "--k", "3", "--above", "0.5"), "leave out --above"),
        (("match", "{}/svm.mercer", "{}/customers.csv"), "does not match records"),
    ],
)
def test_wrong_use_has_its_sentence(files, words, sentence):
    folder, _, _ = files
    for name, lines in (
        ("both", [(0, 1, 1), (1, 0, 0)]),
        ("no", [(0, 1, "no"), (2, 3, "different")]),
        ("maybe", [(0, 1, "maybe")]),
        ("blank", [(0, 1, None)]),
    ):
        pd.DataFrame(lines, columns=COLUMNS).to_csv(folder / f"{name}.csv", index=False)
    if "out" in words[1]:
        learn(folder)
    if "svm" in words[1]:
        mercer.save(mercer.StumpSVC(), folder / "svm.mercer")
    done = run(folder, *words)
    assert done.exit_code == 2
    assert sentence in " ".join(done.stderr.split())


def test_tables_without_twins_have_no_match_and_say_so(files):
    folder, table, person = files
    learn(folder)
    table[~pd.Series(person).duplicated(keep=False)].to_csv(folder / "alone.csv", index=False)
    done = run(folder, "match", "{}/out.mercer", "{}/alone.csv", "--above", "0.99")
    assert done.exit_code == 0
    assert "No two rows match with a probability of 0.99 or more." in done.stderr


def test_learn_compares_records_where_there_are_names(files):
    folder, _, _ = files
    done = run(
        folder, "learn", "{}/customers.csv", "--pairs", "{}/judged.csv", "--id", "id", "--task", "match",
        "--model", "{}/learned.mercer",
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    assert "held-out pairs" in done.stdout
    assert "mercer match" in done.stdout
    found = run(folder, "match", "{}/learned.mercer", "{}/customers.csv", "-o", "{}/matches.csv")
    assert found.exit_code == 0, found.output
    refused = run(
        folder, "learn", "{}/customers.csv", "--pairs", "{}/judged.csv", "--id", "id", "--task", "match",
        "--report", "{}/page.html",
    )  # fmt: skip
    assert refused.exit_code == 2
    assert "--report is not for records" in " ".join(refused.stderr.split())


def test_similar_takes_several_queries_and_all_from_another_file(files):
    folder, table, person = files
    learn(folder)
    model = mercer.load(folder / "out.mercer")
    done = run(
        folder, "similar", "{}/out.mercer", "{}/customers.csv", "--all", "--top", "1", "-o", "{}/near.csv"
    )
    assert done.exit_code == 0, done.output
    near = pd.read_csv(folder / "near.csv", dtype=str)
    of = dict(zip(table["id"], person, strict=True))
    best = model.nearest(table, n=1)
    assert near["id"].tolist() == table["id"].iloc[best["other"]].tolist()
    has_twin = pd.Series(person).duplicated(keep=False).to_numpy()
    assert (near["id"].map(of) == near["query"].map(of))[has_twin].mean() > 0.95
    table[:3].to_csv(folder / "new.csv", index=False)
    words = ("similar", "{}/out.mercer", "{}/customers.csv", "--from", "{}/new.csv", "--top", "1", "--json")
    found = json.loads(run(folder, *words, "--query", "c0", "--query", "c2").stdout)
    assert [one["query"] for one in found] == [0, 2]
    assert [one["neighbours"][0]["id"] for one in found] == ["c0", "c2"]  # the rows themselves
    assert run(folder, *words).exit_code == 2
