"""The skops schema of an estimator, written anew from what is known to be harmless.

skops describes an object as a tree of nodes in JSON: ``__loader__`` says how a node is turned into an object,
``__module__`` and ``__class__`` into what, and a second node of the same ``__id__`` is the same object. skops
checks the types of such a tree before it builds it, but not what may stand where, nor how often. We do not
only check the tree: `rebuild` copies it, node by node, field by field, and skops is given the copy. There is
thus nothing in it that was overlooked, and no second way to read it. On the way classes change their names:
in files they have stable ones, and skops is told where they are.
"""

import json
from collections.abc import Callable
from typing import Any, NamedTuple

from mercer.persistence.allowed_types import KnownClass, Name
from mercer.persistence.errors import ModelFileError, UnknownTypeError
from mercer.persistence.npy import ArrayForm, read_form
from mercer.persistence.schema_nodes import COPIERS, Node, children, of

PROTOCOL = 2  # of skops: what the loaders mean
DEEPEST = 120  # nodes within nodes; skops takes up to six of Python's thousand stack frames for each
BYTES_OF_A_NODE = 50  # at least, in JSON


class Rebuilt(NamedTuple):
    """The copy of a schema, its arrays, and the names of all types in it, for skops to trust."""

    schema: Node
    arrays: dict[str, bytes]
    trusted: list[str]


def rebuild(raw: Node, arrays: dict[str, bytes], find_class: Callable[[Name], KnownClass | None]) -> Rebuilt:
    """Copy the schema of an estimator and its arrays, or refuse them.

    Parameters
    ----------
    raw : dict
        The schema, as it is in a file, or as skops writes it.
    arrays : dict
        The stored arrays, by the names that the schema has for them.
    find_class : function of a name
        What the copy calls a class: `allowed_types.from_file` or `to_file`.
    """
    if raw.get("protocol") != PROTOCOL:
        raise ModelFileError(f"it has another protocol of skops than {PROTOCOL}: update mercer and skops")
    copy = Rebuilding(arrays, find_class)
    schema = copy.node(raw)
    if schema["__loader__"] != "ObjectNode":
        raise UnknownTypeError(f"{schema['__module__']}.{schema['__class__']} in the place of an estimator")
    # skops writes a node out wherever it occurs. Of a few nodes that contain one another many times over, its
    # check of the types would never end.
    if copy.size[schema["__id__"]] > len(json.dumps(raw)) // BYTES_OF_A_NODE:
        raise ModelFileError("it has few nodes that stand for very many")
    return Rebuilt({**schema, "protocol": PROTOCOL, "_skops_version": ""}, copy.arrays, sorted(copy.trusted))


class Rebuilding:
    """A copy in the making: nodes and arrays get new numbers, in the order of their first occurrence."""

    def __init__(self, arrays: dict[str, bytes], find_class: Callable[[Name], KnownClass | None]) -> None:
        self.given = dict(arrays)
        self.find_class = find_class
        self.arrays: dict[str, bytes] = {}
        self.trusted: set[str] = set()
        self.done: dict[int, Node | None] = {}  # by the old id; None while it is being copied
        self.size: dict[int, int] = {}  # by the new id: the node and all in it, as often as they occur
        self.depth = 0

    def node(self, raw: Any) -> Node:
        """Return the copy of a node: the same one for the same id."""
        old_id, loader = of(int, raw["__id__"]), of(str, raw["__loader__"])
        if old_id not in self.done:
            self.done[old_id] = None
            self.done[old_id] = self._copy(raw, loader, len(self.done))
        copy = self.done[old_id]
        if copy is None or copy["__loader__"] != loader:
            raise ModelFileError("its nodes contain themselves, or one is of two kinds")
        return copy

    def _copy(self, raw: Node, loader: str, new_id: int) -> Node:
        module, name = of(str, raw["__module__"]), of(str, raw["__class__"])
        if loader not in COPIERS:
            raise UnknownTypeError(f"{module}.{name} ({loader})")
        self.depth += 1
        if self.depth > DEEPEST:
            raise ModelFileError(f"it is nested more than {DEEPEST} nodes deep")
        head = {"__loader__": loader, "__module__": module, "__class__": name, "__id__": new_id}
        copy: Node = {**head, **COPIERS[loader](self, raw, (module, name))}
        self.depth -= 1
        self.size[new_id] = 1 + sum(self.size[child["__id__"]] for child in children(copy))
        self.trusted.add(f"{copy['__module__']}.{copy['__class__']}")
        return copy

    def array(self, old_name: str) -> tuple[str, ArrayForm]:
        """Copy a stored array, which belongs to one node alone, and return its new name and its form."""
        data = self.given.pop(old_name)
        name = f"{len(self.arrays) + 1}.npy"
        self.arrays[name] = data
        return name, read_form(data)
