"""The objects of a file: what stands for each declared class, and what is built of it."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache, cached_property
from importlib import import_module
from inspect import signature
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mercer.array_api import is_of_torch, to_numpy
from mercer.persistence.declared import DECLARED, Declaration
from mercer.persistence.errors import ModelFileError, UnknownTypeError, quote
from mercer.persistence.fields import SCALARS, Field, FieldError, Lengths, Plain, refuse, texts_of

DEEPEST = 60  # objects and lists within one another
MOST_PARTS = 2**20  # values, where what stands there again counts as often as it does
OF_MACHINES = ("n_jobs", "verbose")  # settings that say how this machine shall work, not what is computed
SETTING = Plain()


class Built(NamedTuple):
    """An object, the lengths that its shapes' letters stand for, and how many values are in it."""

    value: Any
    name: str
    lengths: Lengths
    size: int


class Reader:
    """Objects in the making: what is read is checked, and then built."""

    def __init__(self, arrays: Sequence[NDArray[Any]]) -> None:
        self.arrays = arrays
        self.built: list[Built] = []
        self.depth = 0
        self.size = 0

    def array(self, raw: Any) -> NDArray[Any]:
        """Return an array."""
        refuse(not isinstance(raw, dict) or len(raw) != 1, "is not an array")
        if "objects" in raw:
            return texts_of(raw["objects"])
        place = raw.get("array")
        refuse(type(place) is not int or not 0 <= place < len(self.arrays), "is not an array")
        return self.arrays[place]

    @contextmanager
    def within(self, n_values: int) -> Iterator[None]:
        """Count values, and how deep they are."""
        self.depth += 1
        self.size += n_values
        if self.depth > DEEPEST:
            raise ModelFileError(f"it is nested more than {DEEPEST} deep")
        if self.size > MOST_PARTS:
            raise ModelFileError("it has few values that stand for very many")
        yield
        self.depth -= 1

    def part(self, raw: Any, allowed: Sequence[str]) -> Built:
        """Return an object of a class that is allowed here."""
        refuse(not isinstance(raw, dict) or not {"is", "again"} & set(raw), "is not an object")
        if "again" in raw:
            place = raw["again"]
            refuse(
                type(place) is not int or not 0 <= place < len(self.built), "is an object that is not there"
            )
            part = self.built[place]
            with self.within(part.size):
                _check_allowed(part.name, allowed)
            return part
        name = raw["is"]
        if not isinstance(name, str) or name not in DECLARED:
            raise UnknownTypeError(str(name))
        _check_allowed(name, allowed)
        before, lengths = self.size, Lengths()
        with self.within(len(raw)):
            value = self._build(name, {key: one for key, one in raw.items() if key != "is"}, lengths)
        part = Built(value, name, lengths, self.size - before)
        self.built.append(part)
        return part

    def _build(self, name: str, raw: dict[str, Any], lengths: Lengths) -> Any:
        form = form_of(name)
        unknown = sorted(raw.keys() - form.fields.keys())
        if unknown:
            raise ModelFileError(
                f"a {name} in it has a field {quote(unknown[0])}, which mercer does not know"
            )
        values = {}
        for key, field in form.fields.items():
            if key in raw:
                try:
                    values[key] = field(raw[key], self, lengths)
                except FieldError as error:
                    raise ModelFileError(f"{key} of a {name} in it {error}") from error
        learned = {key: value for key, value in values.items() if key not in form.settings}
        is_fitted = any(key[0] == "_" or key[-1] == "_" for key in learned)
        missing = form.needed - values.keys() if is_fitted else frozenset()
        if missing:
            raise ModelFileError(f"a {name} in it has no {min(missing)}")
        built = form.kind(**{key: value for key, value in values.items() if key in form.settings})
        if learned:
            vars(built).update(learned)
        try:
            form.check(built)
        except FieldError as error:
            raise ModelFileError(f"a {name} in it {error}") from error
        return built


class Form(NamedTuple):
    """A declared class: its fields, which of them it is made with, and which it needs once it has learned."""

    kind: Any
    fields: dict[str, Field]
    settings: tuple[str, ...]
    needed: frozenset[str]
    check: Any


@cache
def form_of(name: str) -> Form:
    """Return what is declared of a class; what it is made with is a setting unless there is more to say."""
    declaration: Declaration = DECLARED[name]
    module, _, kind_name = declaration.place.rpartition(".")
    kind = getattr(import_module(module), kind_name)
    settings = tuple(signature(kind).parameters)
    fields = dict(declaration.fields)
    if module.startswith("mercer"):  # of scikit-learn's each is declared: some name functions and folders
        fields |= {key: SETTING for key in settings if key not in (*fields, *OF_MACHINES)}
    needed = frozenset(
        key for key, field in declaration.fields.items() if key not in settings and not field.sometimes
    )
    return Form(kind, fields, settings, needed, declaration.check)


def name_of(kind: type) -> str | None:
    """Return what a class is called in files; None if it is not declared."""
    for name, declaration in DECLARED.items():
        if declaration.place.rpartition(".")[2] == kind.__name__ and form_of(name).kind is kind:
            return name
    return None


class Writer:
    """Objects as JSON, and their arrays aside; what is the same object is written once."""

    def __init__(self) -> None:
        self.arrays: list[NDArray[Any]] = []
        self.places: dict[int, int] = {}  # of arrays, by id
        self.written: dict[int, int] = {}  # objects, by id: the how-manieth each is
        self.open: set[int] = set()
        self.kept: list[Any] = []  # an id is that of one object as long as it lives

    def write(self, value: Any, where: str = "") -> Any:
        """Return what stands for a value."""
        if isinstance(value, np.generic):
            value = value.item()
        if is_of_torch(value):
            value = to_numpy(value)
            value = value if value.ndim else value.item()
        if type(value) in SCALARS:
            return value
        if type(value) is list:
            return [self.write(one, where) for one in value]
        if type(value) is tuple:
            return {"tuple": [self.write(one, where) for one in value]}
        if type(value) is dict:
            return {"map": [[self._key(key, where), self.write(one, where)] for key, one in value.items()]}
        if type(value) in (np.ndarray, np.memmap):  # joblib's workers leave memory maps behind
            return self._array(np.asarray(value), where)
        return self._part(value, where)

    def _key(self, key: Any, where: str) -> Any:
        key = key.item() if isinstance(key, np.generic) else key
        if type(key) not in SCALARS:
            raise UnknownTypeError(type(key).__name__, f" as a key in {where}")
        return key

    def _array(self, array: NDArray[Any], where: str) -> Any:
        if array.dtype == object and array.ndim == 1:
            return {"objects": [self._key(one, where) for one in array.tolist()]}
        if array.dtype.kind not in "biufU":
            raise UnknownTypeError(f"array of {array.dtype}", f" as {where}")
        if id(array) not in self.places:
            self.places[id(array)] = len(self.arrays)
            self.arrays.append(array if array.itemsize else array.astype("U1"))
        return {"array": self.places[id(array)]}

    def _part(self, value: Any, where: str) -> Any:
        if id(value) in self.written:
            return {"again": self.written[id(value)]}
        kind, name = type(value), name_of(type(value))
        if name is None:
            raise UnknownTypeError(f"{kind.__module__}.{kind.__qualname__}", f" as {where}" if where else "")
        if id(value) in self.open:
            raise RecursionError
        self.open.add(id(value))
        fields, state, parameters = form_of(name).fields, _state(value), signature(kind).parameters
        for key in sorted(state.keys() - fields.keys() - set(OF_MACHINES)):
            if key not in parameters or state[key] is not parameters[key].default:
                raise ModelFileError(
                    f"a {name} in it has {key}={quote(state[key])}, which files have no field for"
                )
        written: dict[str, Any] = {"is": name}  # in the order in which it is read
        for key in fields:
            if key in state:
                written[key] = self.write(state[key], f"{key} of a {name}")
        self.kept.append(value)
        self.written[id(value)] = len(self.written)
        return written


def _state(value: Any) -> dict[str, Any]:
    """Return the attributes of an object, without those that it computes when they are needed."""
    if isinstance(value, tuple):
        return value._asdict()  # type: ignore[attr-defined]
    kind = type(value)
    return {
        key: one
        for key, one in vars(value).items()
        if not isinstance(getattr(kind, key, None), cached_property)
    }


def _check_allowed(name: str, allowed: Sequence[str]) -> None:
    if name not in allowed and DECLARED[name].group not in allowed:
        raise FieldError(f"is a {name}, which cannot stand there")
