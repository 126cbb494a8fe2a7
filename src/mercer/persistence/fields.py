"""What a field of a declared class may hold: each kind of field reads its value from a file, and checks it.

In a file a value is JSON: a number, a text, a truth value, null or a list; or an object that says what it
is: ``{"array": 3}``, ``{"tuple": [...]}``, ``{"map": [[key, value], ...]}``, ``{"objects": [...]}`` (an array
of texts), ``{"is": class, field: value, ...}``, ``{"again": 5}`` (the sixth of these, once more). There is
nothing else. A field is called with what stands there, the reader, and the lengths that are known so far.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, final

import numpy as np
from numpy.typing import NDArray

from mercer.persistence.errors import ModelFileError

if TYPE_CHECKING:
    from mercer.persistence.objects import Reader

Lengths = dict[str, int]  # what the letters of shapes stand for, within one object
MOST_LETTERS = 2**20  # of a text
TINY = float(np.finfo(np.float64).tiny)
HUGE = float(np.finfo(np.float64).max)
EXACT = 2**53  # whole numbers up to it are floats, too
SCALARS = (type(None), bool, int, float, str)


class Field(ABC):
    """What a field may hold."""

    sometimes = False  # whether a fitted estimator may do without it

    @abstractmethod
    def __call__(self, raw: Any, file: "Reader", lengths: Lengths) -> Any:
        """Return the value, or refuse it."""


@final
class Number(Field):
    """A finite number between bounds; or any, NaN and infinity too."""

    def __init__(self, least: float = -HUGE, most: float = HUGE, *, any_at_all: bool = False) -> None:
        self.least, self.most, self.any_at_all = least, most, any_at_all

    def __call__(self, raw: Any, file: "Reader", lengths: Lengths) -> float:
        refuse(type(raw) not in (int, float), "is not a number")
        refuse(not (self.any_at_all or self.least <= raw <= self.most), "is out of range")
        return raw if type(raw) is int and abs(raw) <= EXACT else float(raw)


@final
class Whole(Field):
    """A whole number between bounds, which may be the length that a letter stands for."""

    def __init__(self, least: int = 0, most: int = 2**62, *, length: str = "") -> None:
        self.least, self.most, self.length = least, most, length

    def __call__(self, raw: Any, file: "Reader", lengths: Lengths) -> int:
        refuse(
            type(raw) is not int or not self.least <= raw <= self.most, "is not a whole number in its range"
        )
        if self.length:
            _agree(lengths, self.length, raw)
        return int(raw)


@final
class Truth(Field):
    """True or False."""

    def __call__(self, raw: Any, file: "Reader", lengths: Lengths) -> bool:
        refuse(type(raw) is not bool, "is neither true nor false")
        return bool(raw)


@final
class Text(Field):
    """A text; if there are options, one of these."""

    def __init__(self, *options: str) -> None:
        self.options = options

    def __call__(self, raw: Any, file: "Reader", lengths: Lengths) -> str:
        refuse(type(raw) is not str or len(raw) > MOST_LETTERS, "is not a text, or one that is too long")
        refuse(bool(self.options) and raw not in self.options, "is none of its options")
        return str(raw)


@final
class Maybe(Field):
    """A value, or None."""

    def __init__(self, field: Field) -> None:
        self.field = field

    def __call__(self, raw: Any, file: "Reader", lengths: Lengths) -> Any:
        return None if raw is None else self.field(raw, file, lengths)


@final
class Sometimes(Field):
    """A value that a fitted estimator has after some ways to fit it."""

    sometimes = True

    def __init__(self, field: Field) -> None:
        self.field = field

    def __call__(self, raw: Any, file: "Reader", lengths: Lengths) -> Any:
        return self.field(raw, file, lengths)


@final
class Either(Field):
    """One of several kinds of values."""

    def __init__(self, *fields: Field) -> None:
        self.fields = fields

    def __call__(self, raw: Any, file: "Reader", lengths: Lengths) -> Any:
        for field in self.fields[:-1]:
            try:
                return field(raw, file, lengths)
            except FieldError:
                continue
        return self.fields[-1](raw, file, lengths)


@final
class Several(Field):
    """A list or a tuple of values of one kind; its length may be what a letter stands for."""

    def __init__(self, field: Field, length: str = "", *, least: int = 0) -> None:
        self.field, self.length, self.least = field, length, least

    def __call__(self, raw: Any, file: "Reader", lengths: Lengths) -> Any:
        items: Any = raw.get("tuple") if isinstance(raw, dict) and len(raw) == 1 else raw
        refuse(not isinstance(items, list) or len(items) < self.least, "is not a list, or is too short")
        if self.length:
            _agree(lengths, self.length, len(items))
        with file.within(len(items)):
            read = [self.field(item, file, lengths) for item in items]
        return tuple(read) if isinstance(raw, dict) else read


@final
class Row(Field):
    """A tuple with a field for each place."""

    def __init__(self, *fields: Field) -> None:
        self.fields = fields

    def __call__(self, raw: Any, file: "Reader", lengths: Lengths) -> tuple[Any, ...]:
        items: Any = raw.get("tuple") if isinstance(raw, dict) else None
        refuse(not isinstance(items, list) or len(items) != len(self.fields), "is not a tuple of its length")
        with file.within(len(self.fields)):
            return tuple(field(item, file, lengths) for field, item in zip(self.fields, items, strict=True))


@final
class Map(Field):
    """A dictionary with plain keys."""

    def __init__(self, field: Field) -> None:
        self.field = field

    def __call__(self, raw: Any, file: "Reader", lengths: Lengths) -> dict[Any, Any]:
        pairs: Any = raw.get("map") if isinstance(raw, dict) and len(raw) == 1 else None
        fits = isinstance(pairs, list) and all(isinstance(pair, list) and len(pair) == 2 for pair in pairs)
        refuse(not fits or not all(type(key) in SCALARS for key, _ in pairs), "is not a map")
        with file.within(2 * len(pairs)):
            found = {key: self.field(value, file, lengths) for key, value in pairs}
        refuse(len(found) != len(pairs), "has a key twice")
        return found


@final
class Array(Field):
    """An array.

    Parameters
    ----------
    shape : str
        A word for each dimension: the same letter is the same length everywhere in an object, ``c-1`` is one
        less, ``c:2`` the number of pairs, 65 itself; ``|`` is or; an empty shape is a plain number.
    kinds : str
        NumPy's letters for the types that it may have.
    least, most : float
        Bounds of the values, which are finite unless `any_at_all`.
    below : str
        A length that all values are below.
    compiled : bool
        Whether compiled code takes it: of another type than double precision it would compile once more.
    """

    def __init__(
        self, shape: str, kinds: str, least: float = -HUGE, most: float = HUGE, *,
        below: str = "", may_be_empty: bool = True, any_at_all: bool = False, compiled: bool = False,
    ) -> None:  # fmt: skip
        self.shapes = [one.split() for one in shape.split("|")]
        self.kinds, self.least, self.most, self.below = kinds, least, most, below
        self.may_be_empty, self.any_at_all, self.compiled = may_be_empty, any_at_all, compiled

    def __call__(self, raw: Any, file: "Reader", lengths: Lengths) -> Any:
        is_number = [] in self.shapes and type(raw) in (int, float)
        array = np.asarray(raw) if is_number else file.array(raw)
        fits = array.dtype.kind in self.kinds and not (self.compiled and array.dtype != np.float64)
        refuse(not fits, f"holds {array.dtype}, not its kind of values")
        matches = (_match(shape, array.shape, lengths) for shape in self.shapes)
        found = next((one for one in matches if one is not None), None)
        refuse(
            found is None or not (array.size or self.may_be_empty),
            f"has the shape {array.shape}, which does not fit the other arrays",
        )
        lengths.update(found or {})
        if array.size and array.dtype.kind in "iuf" and not self.any_at_all:
            most = min(self.most, lengths[self.below] - 1 if self.below else math.inf)
            low, high = array.min().item(), array.max().item()  # NaN if any is
            refuse(not (self.least <= low and high <= most), "has values that are out of range")
        return raw if is_number else array


def reals(shape: str, least: float = -HUGE, **options: Any) -> Array:
    """Return the field of an array of finite numbers."""
    return Array(shape, "fiu", least, **options)


def indices(shape: str, **options: Any) -> Array:
    """Return the field of an array of whole numbers from 0."""
    return Array(shape, "iu", 0, **options)


def flags(shape: str) -> Array:
    """Return the field of an array of truth values."""
    return Array(shape, "b")


def labels(shape: str) -> Array:
    """Return the field of an array of classes, or of names."""
    return Array(shape, "biufUO", may_be_empty=False)


@final
class Plain(Field):
    """What decides on nothing that is computed of new rows: settings, and reports of a fit.

    Numbers, texts, arrays, and lists and maps of these; parts too if any are allowed.
    """

    def __init__(self, *allowed: str) -> None:
        self.allowed = allowed

    def __call__(self, raw: Any, file: "Reader", lengths: Lengths) -> Any:
        if type(raw) in SCALARS:
            refuse(type(raw) is str and len(raw) > MOST_LETTERS, "is too long")
            return raw
        if isinstance(raw, list) or "tuple" in raw:
            return Several(self)(raw, file, {})
        if "map" in raw:
            return Map(self)(raw, file, {})
        if "is" in raw or "again" in raw:
            return Part(*self.allowed)(raw, file, {})
        return file.array(raw)


@final
class Part(Field):
    """An object of a declared class: one of some classes, or of groups of them.

    Lengths that the letters of its fields stand for may be lengths of the whole, by other letters.
    """

    def __init__(self, *allowed: str, **letters: str) -> None:
        self.allowed, self.letters = allowed, letters

    def __call__(self, raw: Any, file: "Reader", lengths: Lengths) -> Any:
        part = file.part(raw, self.allowed)
        for its, ours in self.letters.items():
            if its in part.lengths:
                _agree(lengths, ours, part.lengths[its])
        return part.value


class FieldError(ModelFileError):
    """The value of a field is not what is declared."""


def refuse(wrong: object, why: str) -> None:
    """Refuse the value of a field, in half a sentence after its name."""
    if wrong:
        raise FieldError(why)


def _agree(lengths: Lengths, letter: str, length: int) -> None:
    refuse(
        lengths.setdefault(letter, length) != length,
        f"has the length {length}, which does not fit the others",
    )


def _match(shape: list[str], found: tuple[int, ...], lengths: Mapping[str, int]) -> Lengths | None:
    """Return the lengths that the letters of a shape stand for, if it is that of the array."""
    if len(shape) != len(found):
        return None
    known = {**lengths, **{word: int(word) for word in shape if word.isdigit()}}
    for word, length in zip(shape, found, strict=True):
        letter, of_pairs, _ = word.partition(":")
        letter, less, _ = letter.partition("-")
        n = known.get(letter)
        if of_pairs or less:
            n = None if n is None else n - 1 if less else n * (n - 1) // 2
        if known.setdefault(word, length) != length if n is None else n != length:
            return None
    return known


def texts_of(raw: Any) -> NDArray[np.object_]:
    """Return an array of texts and other plain values, which NumPy keeps as objects."""
    refuse(
        not isinstance(raw, list) or not all(type(one) in SCALARS for one in raw), "is not an array of texts"
    )
    array = np.empty(len(raw), dtype=object)
    array[:] = raw
    return array
