"""A one-hot encoder whose attributes do not fit together is refused: SciPy would write beyond its array."""

import numpy as np
import pytest
from sklearn.preprocessing import OneHotEncoder

import mercer
from forgery import ends_of_loading, save_unchecked
from mercer.persistence import ModelFileError

TABLE = np.array([["a", 1], ["b", 2], ["c", 3], ["a", 1], ["a", 2], ["b", 1]], dtype=object)


def fitted(**settings):
    return OneHotEncoder(sparse_output=False, **settings).fit(TABLE)


def rare():
    return fitted(max_categories=2, handle_unknown="infrequent_if_exist")


TAMPERED = {
    "fewer columns": (fitted, lambda a: a.update(_n_features_outs=[1, 3])),
    "more categories": (fitted, lambda a: a.update(categories_=[np.array(list("abcdefg"), object)] * 2)),
    "numbers in another order": (
        lambda: OneHotEncoder(sparse_output=False).fit(TABLE[:, 1:].astype(float)),
        lambda a: a.update(categories_=[np.array([3.0, 1.0, 2.0])]),
    ),
    "no categories": (fitted, lambda a: a.update(categories_=[np.array([], object)] * 2)),
    "another number of features": (fitted, lambda a: a.update(n_features_in_=3)),
    "a place beyond the columns": (
        rare,
        lambda a: a.update(_default_to_infrequent_mappings=[np.array([0, 10**6, 1]), None]),
    ),
    "a place before the columns": (
        rare,
        lambda a: a.update(_default_to_infrequent_mappings=[np.array([0, -9, 1])] * 2),
    ),
    "rare categories without places": (
        rare,
        lambda a: a.update(_default_to_infrequent_mappings=[None, None]),
    ),
    "a rare category that is none": (rare, lambda a: a.update(_infrequent_indices=[np.array([99])] * 2)),
    "rare categories, switched off": (rare, lambda a: a.update(_infrequent_enabled=False)),
    "a category before the first is dropped": (
        lambda: fitted(drop="first"),
        lambda a: a.update(_drop_idx_after_grouping=np.array([-1, 0], object)),
    ),
    "a category beyond the last is dropped": (
        lambda: fitted(drop="first"),
        lambda a: a.update(_drop_idx_after_grouping=np.array([7, 0], object)),
    ),
    "nothing is dropped": (
        lambda: fitted(drop="first"),
        lambda a: a.update(_drop_idx_after_grouping=None),
    ),
}


@pytest.mark.parametrize(("make", "tamper"), TAMPERED.values(), ids=TAMPERED)
def test_what_does_not_fit_together_is_refused(tmp_path, make, tamper):
    encoder = make()
    tamper(vars(encoder))
    save_unchecked(encoder, tmp_path / "bad")
    with pytest.raises(ModelFileError, match="of a one-hot encoder in it does not fit"):
        mercer.load(tmp_path / "bad")


def test_python_does_not_crash_of_it(tmp_path):
    """The oracle: skops alone loads such a file, and Python ends by a signal or with wrong numbers."""
    encoder = rare()
    encoder._default_to_infrequent_mappings = [np.array([10**9, 10**9, 10**9]), None]
    ends = ends_of_loading(encoder, tmp_path, "transform(numpy.array([['a', 1]], dtype=object))")
    assert ends["skops"].returncode < 0  # if it no longer crashes, the check may not be needed any more
    assert ends["mercer"].returncode == 1
    assert "ModelFileError" in ends["mercer"].stderr


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"drop": "first"},
        {"drop": "if_binary"},
        {"max_categories": 2},
        {"min_frequency": 2, "drop": "first"},
        {"handle_unknown": "ignore"},
        {"categories": [["c", "a", "b"], [1, 2, 3, 4]]},
    ],
    ids=str,
)
@pytest.mark.parametrize("kind", [object, float, "missing"])
def test_what_scikit_learn_fits_is_loaded(tmp_path, settings, kind):
    table = TABLE if kind is object else TABLE[:, [1, 1]].astype(float)
    if kind == "missing":
        table = np.where(table == 2, np.nan, table)
    if "categories" in settings and kind is not object:
        settings = {"categories": [[1.0, 2.0, 3.0, np.nan]] * 2}
    encoder = OneHotEncoder(sparse_output=False, **settings).fit(table)
    mercer.save(encoder, tmp_path / "out")
    np.testing.assert_array_equal(mercer.load(tmp_path / "out").transform(table), encoder.transform(table))


def test_an_encoder_that_is_not_fitted_is_loaded(tmp_path):
    mercer.save(OneHotEncoder(drop="first"), tmp_path / "out")
    assert mercer.load(tmp_path / "out").drop == "first"
