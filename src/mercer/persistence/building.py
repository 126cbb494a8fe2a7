"""The objects of a schema that has been checked, as `skops.io.loads` would build them.

skops lists all of scikit-learn when it is imported, which takes longer than to load and to predict; we have
it for saving alone. A builder takes the building, and a node that `schema` has copied; it trusts both.
"""

import io
import json
from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np

from mercer.persistence.schema import Node


def build(schema: Node, arrays: dict[str, bytes]) -> Any:
    """Return the object of a schema that `schema.rebuild` has returned, with its arrays."""
    return Building(arrays).node(schema)


class Building:
    """Objects in the making: a second node of the same id is the same object."""

    def __init__(self, arrays: dict[str, bytes]) -> None:
        self.arrays = arrays
        self.done: dict[int, Any] = {}

    def node(self, node: Node) -> Any:
        """Return the object of a node."""
        number = node["__id__"]
        if number not in self.done:
            self.done[number] = BUILDERS[node["__loader__"]](self, node)
        return self.done[number]

    def each(self, nodes: list[Node]) -> list[Any]:
        """Return the objects of some nodes."""
        return [self.node(node) for node in nodes]


def build_tuple(building: Building, node: Node) -> Any:
    """Build a tuple, or a named one of its fields."""
    kind, content = _named(node), building.each(node["content"])
    return tuple(content) if kind is tuple else kind(*content)


def build_dict(building: Building, node: Node) -> dict[Any, Any]:
    """Build a dictionary: JSON's keys are texts, of which their types make what they were."""
    kinds, content = building.node(node["key_types"]), node["content"].items()
    return {kind(key): building.node(value) for kind, (key, value) in zip(kinds, content, strict=True)}


def build_array(building: Building, node: Node) -> Any:
    """Build an array of objects, which are nodes, or an array or a number of NumPy's, which is bytes."""
    if node["type"] == "json":
        shape, content = building.node(node["shape"]), building.each(node["content"])
        if len(shape) > 1:
            return np.array(content, dtype=object)
        array = np.empty(len(content), dtype=object)
        for i, value in enumerate(content):  # each a value, even where it is a list
            array[i] = value
        return array
    stored = np.load(io.BytesIO(building.arrays[node["file"]]), allow_pickle=False)
    return stored if node["__class__"] == "ndarray" else _named(node)(stored)


def build_random_state(building: Building, node: Node) -> np.random.RandomState:
    """Build a RandomState."""
    random_state = np.random.RandomState()
    random_state.set_state(building.node(node["content"]))
    return random_state


def build_object(building: Building, node: Node) -> Any:
    """Build an estimator, a kernel or a part of one, without its `__init__`, and give it its attributes."""
    kind = _named(node)
    instance = kind.__new__(kind)
    attributes = building.node(node["content"]) if "content" in node else None
    if attributes is not None:
        if hasattr(instance, "__setstate__"):
            instance.__setstate__(attributes)
        else:
            vars(instance).update(attributes)
    return instance


BUILDERS: dict[str, Callable[[Building, Node], Any]] = {
    "JsonNode": lambda building, node: json.loads(node["content"]),
    "ListNode": lambda building, node: building.each(node["content"]),
    "TupleNode": build_tuple,
    "DictNode": build_dict,
    "NdArrayNode": build_array,
    "DTypeNode": lambda building, node: building.node(node["content"]).dtype,
    "RandomStateNode": build_random_state,
    "SliceNode": lambda building, node: slice(*(node["content"][end] for end in ("start", "stop", "step"))),
    "TypeNode": lambda building, node: _named(node),
    "FunctionNode": lambda building, node: _named(node),
    "ObjectNode": build_object,
}


def _named(node: Node) -> Any:
    return getattr(import_module(node["__module__"]), node["__class__"])
