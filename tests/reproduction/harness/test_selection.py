import pytest

from reproduction.harness.experiment import Figure
from reproduction.harness.selection import UnknownNameError, choose
from toy_table import make_figure, make_table

OTHER = make_table(
    key="other-table",
    rows=("mild",),
    published={("mild", "mean"): (0.0, None)},
    methods=make_table().methods[:1],
)
CATALOGUE = {item.key: item for item in (make_table(), OTHER, make_figure())}


def chosen(*keys, **names):
    return [
        item.key
        if isinstance(item, Figure)
        else (item.table.key, item.rows, tuple(m.name for m in item.methods))
        for item in choose(CATALOGUE, keys, **names)
    ]


def test_without_names_a_table_is_what_the_paper_has():
    assert chosen("toy-table") == [("toy-table", ("calm", "wild"), ("Mean", "Both"))]
    assert choose(CATALOGUE, ["toy-table"])[0].repeats == 3


def test_names_choose_rows_and_methods_in_the_order_of_the_table():
    assert chosen("toy-table", data=["extra", "calm"], methods=["Both"]) == [
        ("toy-table", ("calm", "extra"), ("Both",))
    ]


def test_a_column_chooses_the_method_that_fills_it_in():
    assert chosen("toy-table", methods=["long"]) == [("toy-table", ("calm", "wild"), ("Both",))]


def test_of_several_tables_those_without_the_name_are_left_out():
    assert chosen("toy-table", "other-table", "toy-figure", data=["mild"]) == [
        ("other-table", ("mild",), ("Mean",)),
        "toy-figure",
    ]


def test_a_key_given_twice_runs_once():
    assert chosen("toy-figure", "toy-figure") == ["toy-figure"]


def test_the_number_of_repeats_can_be_chosen():
    assert choose(CATALOGUE, ["toy-table"], repeats=7)[0].repeats == 7


@pytest.mark.parametrize(
    ("keys", "names", "sentence"),
    [
        (["nope"], {}, "no table or figure 'nope'; choose from: toy-table, other-table, toy-figure."),
        (
            ["toy-table"],
            {"data": ["calm", "nope"]},
            "no data set 'nope'; choose from: calm, wild, extra, absent.",
        ),
        (
            ["toy-table"],
            {"methods": ["nope"]},
            "no method 'nope'; choose from: Mean, mean, Both, short, long.",
        ),
        (["toy-figure"], {"data": ["calm"]}, "no data set 'calm'; choose from: none here."),
    ],
)
def test_an_unknown_name_is_answered_with_those_that_there_are(keys, names, sentence):
    with pytest.raises(UnknownNameError) as caught:
        choose(CATALOGUE, keys, **names)
    assert str(caught.value) == f"There is {sentence}"
