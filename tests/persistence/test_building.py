"""Of a checked schema mercer builds what skops does."""

import numpy as np
import pytest
import skops.io
from numpy.testing import assert_array_equal
from sklearn.preprocessing import FunctionTransformer, StandardScaler

import mercer
from mercer.kernels import Stump
from mercer.persistence.allowed_types import from_file, to_file
from mercer.persistence.archive import SCHEMA, pack
from mercer.persistence.building import build
from mercer.persistence.model_file import _to_skops
from mercer.persistence.schema import COPIERS, rebuild

SHARED = np.arange(3.0)
VALUES = {
    "numbers and texts": [1, -2.5, True, None, "ü", float("nan")],
    "a tuple, and one with names": ((1, "a"), mercer.Pairs(np.array([[0, 1]]), np.array([[1, 2]]))),
    "keys of every kind": {"a": 1, 2: [3], 0.5: (), True: "x", np.int64(7): 7, np.str_("s"): 8, False: 9},
    "arrays": [np.arange(6).reshape(2, 3).T, np.array(["a", "bc"]), np.array(2.0), np.empty((0, 2))],
    "numbers of NumPy's": [np.float32(0.1), np.int8(3), np.bool_(True), np.str_("text")],
    "arrays of objects": [
        np.array(["a", None, 3], dtype=object),
        np.array([["a", 1], [2, "b"]], dtype=object),
        np.array([[], [1, 2]], dtype=object),
    ],
    "types": [np.dtype("float32"), np.dtype("U5"), np.float64, str],
    "slices": [slice(None), slice(1, 5, 2), slice("a", "b")],
    "a function": np.log1p,
    "the same array twice": [SHARED, SHARED],
    "objects": [StandardScaler().fit(np.eye(3)), Stump(), mercer.StumpSVC()],
}


def nested_lists_in_a_row():
    """An array of one dimension whose entries are lists of one length, which NumPy would make two of."""
    array = np.empty(2, dtype=object)
    array[0], array[1] = [1, 2], [3, 4]
    return array


def assert_same(found, expected):
    assert type(found) is type(expected)
    if isinstance(expected, dict):
        assert [(type(key), key) for key in found] == [(type(key), key) for key in expected]
        assert_same(list(found.values()), list(expected.values()))
    elif isinstance(expected, list | tuple):
        assert len(found) == len(expected)
        for one, other in zip(found, expected, strict=True):
            assert_same(one, other)
    elif isinstance(expected, np.ndarray):
        assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
        assert found.flags.f_contiguous == expected.flags.f_contiguous
        if expected.dtype == object:
            assert_same(found.tolist(), expected.tolist())
        else:
            assert_array_equal(found, expected)
    elif isinstance(expected, np.random.RandomState):
        assert_same(found.get_state(legacy=False), expected.get_state(legacy=False))
    elif hasattr(expected, "get_params"):
        assert_same(vars(found), vars(expected))
    else:
        assert found == expected or found != found  # NaN is neither


def both(value):
    """Return what mercer and skops make of an estimator that holds a value."""
    schema, arrays = rebuild(*_to_skops(FunctionTransformer(kw_args={"value": value})), to_file)
    schema, arrays = rebuild(schema, arrays, from_file)
    content = pack({SCHEMA: schema}, arrays)
    theirs = skops.io.loads(content, trusted=skops.io.get_untrusted_types(data=content))
    return build(schema, arrays), theirs


@pytest.mark.parametrize(
    "value",
    [*VALUES.values(), nested_lists_in_a_row(), np.random.RandomState(3)],
    ids=[*VALUES, "lists in an array", "a random state"],
)
def test_mercer_builds_what_skops_does(value):
    ours, theirs = both(value)
    assert_same(ours, theirs)


def test_what_was_one_object_is_one_object():
    ours, _ = both(VALUES["the same array twice"])
    first, second = ours.kw_args["value"]
    assert first is second


def test_the_values_above_are_of_every_kind():
    kinds = set()

    def collect(node):
        if isinstance(node, dict):
            kinds.update([node["__loader__"]] if "__loader__" in node else [])
            node = list(node.values())
        for part in node if isinstance(node, list) else []:
            collect(part)

    everything = [*VALUES.values(), np.random.RandomState(3)]
    collect(rebuild(*_to_skops(FunctionTransformer(kw_args={"value": everything})), to_file).schema)
    assert kinds == set(COPIERS)
