import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

import mercer
from mercer import ClippedScaler, TableEncoder
from mercer.preprocessing import TableError
from mercer.preprocessing.encoder import count_missing

GOOD = ("great fast friendly service", "really great and friendly staff", "fast delivery and great price")
BAD = ("slow broken awful service", "awful staff and broken product", "very slow delivery and awful price")


def table_of(**columns):
    return pd.DataFrame(
        {
            name: np.array([np.nan if cell is None else cell for cell in cells], dtype=object)
            for name, cells in columns.items()
        }
    )


def messy(n_rows=60, seed=0):
    """Return a table with a column of each kind, and classes that depend on all of them."""
    rng = np.random.default_rng(seed)
    y = rng.random(n_rows) < 0.5
    reviews = [(GOOD if good else BAD)[rng.integers(3)] + f" {rng.integers(1000)}" for good in y]
    days = pd.to_datetime("2024-01-01") + pd.to_timedelta(rng.integers(0, 900, n_rows), unit="D")
    table = pd.DataFrame(
        {
            "price": [f"{1000 * value:,.2f}" for value in rng.normal(size=n_rows) + 5 + y],
            "day": days.strftime("%d.%m.%Y"),
            "kind": rng.choice(["a", "b", "c"], n_rows),
            "review": reviews,
            "id": [f"i{k}" for k in rng.permutation(n_rows)],
        },
        dtype=object,
    )
    table.loc[[1, 5], "kind"] = np.nan
    table.loc[[2, 7, 9], "price"] = np.nan
    table.loc[3, "day"] = np.nan
    return table, y


def test_numbers_get_medians_and_categories_ones():
    table = table_of(size=["1", "2", None, "9"], kind=["b", None, "a", "b"])
    found = TableEncoder().fit_transform(table)
    assert_array_equal(found, [[1, 0, 1, 0], [2, 0, 0, 1], [2, 1, 0, 0], [9, 0, 1, 0]])


def test_many_gaps_have_a_feature_of_their_own():
    cells = [None if k % 10 == 0 else str(k * k) for k in range(40)]
    encoder = TableEncoder().fit(table_of(x=cells))
    assert list(encoder.get_feature_names_out()) == ["x", "x is missing"]
    found = encoder.transform(table_of(x=[None, "4"]))
    median = np.median([k * k for k in range(40) if k % 10])
    assert_array_equal(found, [[median, 1], [4, 0]])


def test_dates_become_the_parts_that_vary():
    encoder = TableEncoder().fit(table_of(day=["2024-01-31", "2024-02-01", None, "2024-02-05"]))
    parts = ["month", "day of the year", "weekday", "days"]
    assert list(encoder.get_feature_names_out()) == [f"day: {part}" for part in parts]
    found = encoder.transform(table_of(day=["31.01.2024", "07.02.2024", None]))  # also in another format
    assert_array_equal(found[:2], [[1, 31, 2, 0], [2, 38, 2, 7]])
    assert_array_equal(found[2], [2, 32, 2, 1])  # medians


def test_text_becomes_components_of_word_frequencies():
    table, _ = messy()
    encoder = TableEncoder().fit(table[["review"]])
    words = TfidfVectorizer(token_pattern=r"\b[a-z]{2,}\b", sublinear_tf=True, min_df=2, max_df=0.9)
    weights = words.fit_transform(table["review"])
    expected = TruncatedSVD(10, random_state=0).fit_transform(weights)
    assert_allclose(encoder.transform(table[["review"]]), expected, atol=1e-10)
    assert encoder.get_feature_names_out()[0].startswith("review 1 (")
    assert_array_equal(encoder.transform(table_of(review=["zzz 12", None])), np.zeros((2, 10)))


def test_what_is_learned_from_all_kinds_is_useful():
    train, new = messy(200), messy(200, seed=1)
    model = make_pipeline(TableEncoder(), ClippedScaler(), LogisticRegression()).fit(*train)
    assert model.score(*new) > 0.9


def test_the_encoder_is_saved_and_loaded(tmp_path):
    table, _ = messy()
    encoder = TableEncoder().fit(table)
    kinds = encoder.by_kind
    assert (kinds.numbers, kinds.dates, kinds.categories, kinds.texts) == (
        ["price"],
        ["day"],
        ["kind"],
        ["review"],
    )
    assert set(kinds.dropped) == {"id"}
    mercer.save(encoder, tmp_path / "encoder")
    loaded = mercer.load(tmp_path / "encoder")
    new, _ = messy(seed=2)
    assert_array_equal(loaded.transform(new), encoder.transform(new))
    assert list(loaded.get_feature_names_out()) == list(encoder.get_feature_names_out())


def test_new_tables_may_have_columns_in_any_order_and_numbers_in_any_type():
    encoder = TableEncoder().fit(table_of(size=["1,5", "2", "7,25"], code=["1", "A", "1"]))
    as_csv = encoder.transform(table_of(code=["1", "2"], size=["3", "4,5"]))
    as_numbers = encoder.transform(pd.DataFrame({"size": [3, 4.5], "code": [1.0, 2.0]}))
    with_points = encoder.transform(table_of(code=["1", "2"], size=["3", "4.5"]))
    assert_array_equal(as_csv, [[3, 1, 0], [4.5, 0, 0]])
    assert_array_equal(as_numbers, as_csv)
    assert_array_equal(with_points, as_csv)


@pytest.mark.parametrize(
    ("new", "sentence"),
    [
        (table_of(day=["2024-01-01"]), "the table lacks the column 'size', which the model needs"),
        (
            table_of(day=["2024-01-01"] * 3, size=["1", "2", "heavy"]),
            "Column 'size' of the table should hold numbers but has 'heavy' in row 2",
        ),
        (
            table_of(day=["2024-01-01", "soon", "later"], size=["1", "2", "3"]),
            "Column 'day' of the table should hold dates but has 'soon' in row 1",
        ),
    ],
)
def test_new_tables_that_do_not_fit_get_a_sentence(new, sentence):
    encoder = TableEncoder().fit(
        table_of(day=["2024-01-01", "2024-02-07", "2024-03-01"], size=["1", "2", "5"])
    )
    with pytest.raises(TableError, match=sentence):
        encoder.transform(new)


def test_frames_of_pandas_types_are_encoded():
    table = pd.DataFrame(
        {
            "whole": pd.array([4, 2, None, 9], dtype="Int64"),
            "truth": [True, False, True, True],
            "kind": pd.Categorical([1, 2, 1, 2]),
            "day": pd.to_datetime(["2024-01-01", "2024-01-02", None, "2024-01-05"]),
            "span": pd.to_timedelta([1, 2, 3, 5], unit="h"),
            "text": pd.array(["u", "v", "u", None], dtype="string"),
        }
    )
    encoder = TableEncoder().fit(table)
    kinds = encoder.by_kind
    assert kinds.numbers == ["whole", "span"]
    assert kinds.categories == ["truth", "kind", "text"]
    assert kinds.dates == ["day"]
    assert np.isfinite(encoder.transform(table)).all()


def test_two_columns_of_one_name_are_refused():
    with pytest.raises(TableError, match="several columns of the same name"):
        TableEncoder().fit(pd.DataFrame([[1, 2], [2, 3], [4, 9]], columns=["a", "a"]))


def test_work_that_does_not_fit_into_memory_says_so_before_it_starts(have_memory):
    encoder = TableEncoder().fit(table_of(size=["1", "2", "5", "4"]))
    have_memory(100)
    with pytest.raises(MemoryError, match="Take fewer rows"):
        encoder.transform(table_of(size=["1", "2", "3", "4"]))


def test_missing_cells_are_counted_in_columns_of_any_type():
    n = 30
    table = pd.DataFrame({
        "day": pd.Series(pd.date_range("2024-01-01", periods=n)).where(np.arange(n) > 1),
        "kind": pd.Categorical(["a", "b", None] * 10),
        "number": np.where(np.arange(n) % 10 == 0, np.nan, np.arange(n) ** 2),
        "word": ["?", "x", "y"] * 10,
    })  # fmt: skip
    encoder = TableEncoder().fit(table)
    assert count_missing(encoder, table) == {"day": 2, "kind": 10, "number": 3, "word": 10}
