"""The skops schema of an estimator, written anew from what is known to be harmless.

skops describes an object as a tree of nodes in JSON: ``__loader__`` says how a node is turned into an object,
``__module__`` and ``__class__`` into what, and a second node of the same ``__id__`` is the same object. skops
checks the types of such a tree before it builds it, but not what may stand where, nor how often. We do not
only check the tree: `rebuild` copies it, node by node, field by field, and `building` is given the copy.
There is thus nothing in it that was overlooked, and no second way to read it. On the way classes change their
names: in files they have stable ones, and the copy says where they are.

A copier takes the copy in the making, the node, and the name of the node's type; it returns the fields of the
copied node that depend on its kind. There is none for methods, partial functions, operators, bytes, sets,
losses, masked arrays, trees, and whatever else skops knows: such nodes are refused.
"""

import json
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, TypeVar

from mercer.persistence import allowed_types
from mercer.persistence.allowed_types import KnownClass, Name
from mercer.persistence.errors import ModelFileError, UnknownTypeError
from mercer.persistence.npy import ArrayForm, read_form

Node = dict[str, Any]
Value = TypeVar("Value")

PROTOCOL = 2  # of skops: what the loaders mean
DEEPEST = 120  # nodes within nodes; skops takes up to six of Python's thousand stack frames for each
BYTES_OF_A_NODE = 50  # at least, in JSON
MERSENNE_WORDS = 624  # in the state of NumPy's RandomState


class Rebuilt(NamedTuple):
    """The copy of a schema, and its arrays."""

    schema: Node
    arrays: dict[str, bytes]


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
    # skops writes a node out wherever it occurs. Of a few nodes that contain one another many times over,
    # whatever goes through the object, such as to print it, would never end.
    if copy.size[schema["__id__"]] > len(json.dumps(raw)) // BYTES_OF_A_NODE:
        raise ModelFileError("it has few nodes that stand for very many")
    return Rebuilt({**schema, "protocol": PROTOCOL, "_skops_version": ""}, copy.arrays)


class Rebuilding:
    """A copy in the making: nodes and arrays get new numbers, in the order of their first occurrence."""

    def __init__(self, arrays: dict[str, bytes], find_class: Callable[[Name], KnownClass | None]) -> None:
        self.given = dict(arrays)
        self.find_class = find_class
        self.arrays: dict[str, bytes] = {}
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
        return copy

    def array(self, old_name: str) -> tuple[str, ArrayForm]:
        """Copy a stored array, which belongs to one node alone, and return its new name and its form."""
        data = self.given.pop(old_name)
        name = f"{len(self.arrays) + 1}.npy"
        self.arrays[name] = data
        return name, read_form(data)


def of(kind: type[Value], value: Any) -> Value:
    """Return the value, which must be of just this type."""
    if type(value) is not kind:
        raise ModelFileError(f"a node has a {type(value).__name__} in the place of a {kind.__name__}")
    return value


def children(node: Node) -> Iterator[Node]:
    """Go over the nodes that a copied node holds."""
    for field in node.values():
        parts = field if isinstance(field, list) else [field]
        for part in parts:
            if isinstance(part, dict) and "__id__" in part:
                yield part
            elif isinstance(part, dict):  # the values of a dictionary
                yield from (value for value in part.values() if isinstance(value, dict))


def copy_value(copy: Rebuilding, raw: Node, name: Name) -> Node:
    """Copy a number, a text, a truth value or None."""
    _require(name == ("builtins", "str"), name)
    value = json.loads(of(str, raw["content"]))
    if isinstance(value, dict | list):
        raise ModelFileError("a node that should be one value is many")
    return {"content": json.dumps(value), "is_json": True}


def copy_list(copy: Rebuilding, raw: Node, name: Name) -> Node:
    """Copy a list."""
    _require(name == ("builtins", "list"), name)
    return {"content": _copy_all(copy, raw["content"])}


def copy_tuple(copy: Rebuilding, raw: Node, name: Name) -> Node:
    """Copy a tuple, which may be a named one of mercer's."""
    content = {"content": _copy_all(copy, raw["content"])}
    return content if name == ("builtins", "tuple") else {**_class(copy, name, is_tuple=True), **content}


def copy_dict(copy: Rebuilding, raw: Node, name: Name) -> Node:
    """Copy a dictionary. JSON's keys are texts: the `key_types` are called to make of them what they were."""
    _require(name == ("builtins", "dict"), name)
    key_types = _of_kind("ListNode", copy.node(raw["key_types"]))
    kinds = [_name(_of_kind("TypeNode", node)) for node in key_types["content"]]
    for kind in kinds:
        _require(kind in allowed_types.KEY_TYPES, kind)
    items = of(dict, raw["content"]).items()
    if len(items) != len(kinds):  # of keys that only their types distinguish, JSON keeps one
        raise ModelFileError("a dictionary has keys that are alike, or another number of keys than it says")
    content = {_key(key, kind): copy.node(value) for kind, (key, value) in zip(kinds, items, strict=True)}
    return {"key_types": key_types, "content": content}


def _key(key: str, kind: Name) -> str:
    """Return a key of which its type makes the right value: bool("false") is True, but bool("") is False."""
    return "" if kind in allowed_types.TRUTH_VALUES and key == "false" else key


def copy_array(copy: Rebuilding, raw: Node, name: Name) -> Node:
    """Copy an array or a number of NumPy's; an array of objects holds nodes, any other one bytes."""
    is_array = name in allowed_types.ARRAYS
    _require(is_array or name in allowed_types.NUMPY_SCALARS, name)
    head = {"__class__": "ndarray"} if is_array else {}
    if raw["type"] == "json" and is_array:
        shape = [_value_of(size) for size in _of_kind("TupleNode", copy.node(raw["shape"]))["content"]]
        content = _copy_all(copy, raw["content"])
        if not shape or shape[0] != len(content):
            raise ModelFileError("an array of objects has another shape than it says")
        return {**head, "type": "json", "shape": copy.node(raw["shape"]), "content": content}
    file, form = copy.array(raw["file"])
    if raw["type"] != "numpy" or (form.shape and not is_array):
        raise ModelFileError("a number is an array, or an array of an unknown kind")
    return {**head, "type": "numpy", "file": file}


def copy_dtype(copy: Rebuilding, raw: Node, name: Name) -> Node:
    """Copy a dtype: that of an empty array."""
    _require(name == ("numpy", "dtype"), name)
    return {"content": _of_kind("NdArrayNode", copy.node(raw["content"]))}


def copy_random_state(copy: Rebuilding, raw: Node, name: Name) -> Node:
    """Copy a RandomState, if it points into its words: NumPy itself would read beyond them."""
    _require(name in allowed_types.RANDOM_STATES, name)
    content = _of_kind("DictNode", copy.node(raw["content"]))
    state = _of_kind("DictNode", content["content"]["state"])
    if not 0 <= of(int, _value_of(state["content"]["pos"])) <= MERSENNE_WORDS:
        raise ModelFileError("a random state is not one")
    return {"__module__": "numpy.random", "content": content}


def copy_slice(copy: Rebuilding, raw: Node, name: Name) -> Node:
    """Copy a slice of numbers or names."""
    _require(name == ("builtins", "slice"), name)
    ends = {end: raw["content"][end] for end in ("start", "stop", "step")}
    if not all(end is None or isinstance(end, int | str) for end in ends.values()):
        raise ModelFileError("a slice has ends that are neither numbers nor names")
    return {"content": ends}


def copy_type(copy: Rebuilding, raw: Node, name: Name) -> Node:
    """Copy a type that is a value, such as np.float64."""
    _require(name in allowed_types.VALUE_TYPES, name)
    return {}


def copy_function(copy: Rebuilding, raw: Node, name: Name) -> Node:
    """Copy the name of a function, as that under which it is public."""
    found = allowed_types.find_function(name)
    if found is None:
        raise UnknownTypeError(".".join(name))
    return {"__module__": found[0], "__class__": found[1]}


def copy_object(copy: Rebuilding, raw: Node, name: Name) -> Node:
    """Copy an estimator, a kernel or a part of one, with its attributes."""
    head = _class(copy, name, is_tuple=False)
    if raw.get("content") is None:
        return head
    content = copy.node(raw["content"])
    if content["__loader__"] == "JsonNode" and _value_of(content) is None:
        return {**head, "content": content}
    attributes = _of_kind("DictNode", content)["content"]
    if any(_name(kind) != ("builtins", "str") for kind in content["key_types"]["content"]):
        raise ModelFileError("an object has attributes without names")
    for attribute, value in attributes.items():
        if attribute.startswith("__"):
            raise UnknownTypeError(f"{'.'.join(name)} with an attribute {attribute}")
        # what joblib has cached in a folder it unpickles
        if attribute == "memory" and value != {**value, "__loader__": "JsonNode", "content": "null"}:
            raise UnknownTypeError(f"{'.'.join(name)} with a folder as its memory (set memory=None)")
    return {**head, "content": content}


COPIERS: dict[str, Callable[[Rebuilding, Node, Name], Node]] = {
    "JsonNode": copy_value,
    "ListNode": copy_list,
    "TupleNode": copy_tuple,
    "DictNode": copy_dict,
    "NdArrayNode": copy_array,
    "DTypeNode": copy_dtype,
    "RandomStateNode": copy_random_state,
    "SliceNode": copy_slice,
    "TypeNode": copy_type,
    "FunctionNode": copy_function,
    "ObjectNode": copy_object,
}


def _copy_all(copy: Rebuilding, raw: Any) -> list[Node]:
    return [copy.node(item) for item in of(list, raw)]


def _require(is_known: bool, name: Name) -> None:
    if not is_known:
        raise UnknownTypeError(".".join(name))


def _class(copy: Rebuilding, name: Name, *, is_tuple: bool) -> Node:
    known = copy.find_class(name)
    if known is None or known.is_tuple is not is_tuple:
        raise UnknownTypeError(".".join(name))
    return {"__module__": known.name[0], "__class__": known.name[1]}


def _of_kind(loader: str, node: Node) -> Node:
    if node["__loader__"] != loader:
        raise UnknownTypeError(f"{'.'.join(_name(node))} in the place of a {loader}")
    return node


def _name(node: Node) -> Name:
    return node["__module__"], node["__class__"]


def _value_of(node: Node) -> Any:
    return json.loads(_of_kind("JsonNode", node)["content"])
