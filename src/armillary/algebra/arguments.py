"""Checks of arguments of public calls, and records of arguments for saving.

A check raises an error that names the argument by the noun phrase ``what``.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from functools import wraps
from pathlib import Path
from typing import TypeVar

import numpy as np

from armillary.algebra.node import plain_float, positive_whole
from armillary.errors import ArmillaryError, UnknownNameError, nearest, shown, there_are
from armillary.untyped import AnyFunction, DataTable, Given

Error = type[ArmillaryError]
Kind = TypeVar("Kind")
Item = TypeVar("Item")
_FEW = 12  # names that an error lists
_LONGEST = 255  # bytes of the name of a file, on all usual file systems


def real(value: object, what: str, error: Error = ArmillaryError) -> float:
    """Return the value as a float, which may be infinite."""
    found = plain_float(value)
    if found is None:
        raise error(f"{what} must be a number, not {shown(value)}")
    return found


def reals(value: Given, what: str, error: Error = ArmillaryError) -> np.ndarray:
    """Return one number or several as an array."""
    try:
        if value is None or np.iscomplexobj(value):
            raise TypeError
        return np.asarray(value, dtype=float)
    except (TypeError, ValueError, OverflowError):
        raise error(f"{what} must be a number or an array of numbers, not {shown(value)}") from None


def check_finite_elements(values: np.ndarray, what: str, error: Error = ArmillaryError) -> None:
    """Raise an error if an element is infinite or not a number."""
    if not np.isfinite(values).all():
        raise error(f"{what} has an element that is not a finite number")


def exact_key(value: object) -> object:
    """Return a key of an argument; two keys are equal only if the arguments have equal types and values."""
    kind = type(value)
    if value is None or kind in (float, int, str, bool, np.float64):
        return kind, value
    if isinstance(value, dict):
        return kind, tuple(value), tuple(map(exact_key, value.values()))
    if isinstance(value, tuple | list):
        return kind, tuple(map(exact_key, value))
    if isinstance(value, np.ndarray) and not value.dtype.hasobject:
        return value.dtype.str, value.shape, value.tobytes()
    return object()  # equal to no other


def from_zero(value: object, what: str, most: float = np.inf) -> float:
    """Return the value as a float if it is a number from 0 to ``most``."""
    found = plain_float(value)
    if found is None or not 0 <= found <= most:
        ends = ", zero or more" if most == np.inf else f" from 0 to {most:g}"
        raise ArmillaryError(f"{what} must be a number{ends}, not {shown(value)}")
    return found


def positive_number(value: object, what: str, error: Error = ArmillaryError, *, finite: bool = True) -> float:
    """Return the value as a float if it is above zero; it may be infinite if ``finite`` is false."""
    found = plain_float(value)
    if found is None or not found > 0.0 or (finite and found == np.inf):
        raise error(f"{what} must be a positive number, not {shown(value)}")
    return found


def whole_number(value: object, what: str, error: Error = ArmillaryError, *, least: int = 0) -> int:
    """Return the value as an int if it is a whole number of at least ``least``."""
    found = None if isinstance(value, bool) else plain_float(value)
    if found is None or not found.is_integer() or found < least:
        raise error(f"{what} must be a whole number of {least} or more, not {shown(value)}")
    return int(value if isinstance(value, int | np.integer) else found)  # a float would round it


def count(value: object, what: str, error: Error = ArmillaryError) -> int:
    """Return the value as an int if it is a positive whole number."""
    found = positive_whole(value)
    if found is None:
        raise error(f"{what} must be a positive whole number, not {shown(value)}")
    return found


def index(value: Given, length: int, what: str, error: Error = ArmillaryError) -> int:
    """Return an index into ``length`` items, counted from 0; −1 is the last item."""
    whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if not whole or not -length <= value < length:
        numbers = f"; they are numbered 0 to {length - 1}" if length else ""
        raise error(f"there is no {what} {shown(value)}{numbers}")
    return int(value) % length


def text(value: object, what: str, error: Error = ArmillaryError) -> str:
    """Return the value if it is a text that can be written to a file."""
    if not isinstance(value, str):
        raise error(f"{what} must be a text, not {shown(value)}")
    if not value.isascii() and any("\ud800" <= c <= "\udfff" for c in value):
        raise error(f"{what} has a single surrogate character, which cannot be written: {shown(value)}")
    return value


def flag(value: object, what: str, error: Error = ArmillaryError) -> bool:
    """Return True or False, given as a bool of Python or NumPy."""
    if not isinstance(value, bool | np.bool_):
        raise error(f"{what} must be True or False, not {shown(value)}")
    return bool(value)


def function(value: object, what: str, error: Error = ArmillaryError) -> AnyFunction:
    """Return the value if it can be called."""
    if not callable(value):
        raise error(f"{what} must be a function, not {shown(value)}")
    found: AnyFunction = value
    return found


def one_of(value: object, known: Collection[str], what: str, error: Error = ArmillaryError) -> str:
    """Return the value if it is one of the known words; ``what`` begins the error."""
    if not isinstance(value, str) or value not in known:
        raise error(f"{what}{shown(value)}{nearest(value, known)}; {there_are(known)}")
    return value


def index_of_name(name: object, known: Sequence[str], missing: str) -> int:
    """Return the index of a name in ``known``; the error begins with ``missing``, such as "A has no"."""
    if not isinstance(name, str) or name not in known:
        raise unknown_name(name, known, missing)
    return known.index(name)


def unknown_name(name: object, known: Collection[str], missing: str) -> UnknownNameError:
    """Return the error about a name that is not known; ``missing`` begins it."""
    given = name if isinstance(name, str) else shown(name)
    hint = nearest(name, known) or (f"; {there_are(known)}" if len(known) <= _FEW else "")
    return UnknownNameError(f"{missing} '{given}'{hint}")


def checked_names(
    given: Iterable[object],
    known: Collection[str],
    missing: str,
    error: Error = ArmillaryError,
    *,
    after: str = "",
    listed: bool = False,
) -> DataTable:
    """Return the given values by name, after checking that every name is known.

    ``given`` is a mapping, or the names or symbols themselves. The error about an unknown name consists of
    ``missing``, the name, ``after``, the nearest known name and, if ``listed``, all known names.
    """
    found = {str(key): given[key] if isinstance(given, Mapping) else key for key in given}
    for name in found:
        if name not in known:
            all_of_them = f"; {there_are(known)}" if listed else ""
            raise error(f"{missing} '{name}'{after}{nearest(name, known)}{all_of_them}") from None
    return found


def check_keywords(verb: AnyFunction, given: Iterable[str], error: Error = ArmillaryError) -> None:
    """Raise an error for a keyword that a function does not take; the first parameter is no keyword."""
    checked_names(
        given, [*inspect.signature(verb).parameters][1:], f"{verb.__name__}() takes no", error, listed=True
    )


class NamedTable(dict[str, Item]):
    """Objects of one kind by name; the error about an unknown name suggests a known name."""

    def __init__(self, kind: str, things: Mapping[str, Item] | None = None) -> None:
        super().__init__(things or {})
        self.kind = kind

    def __missing__(self, name: object) -> Item:
        raise unknown_name(name, self.keys(), f"there is no {self.kind}")

    def copy(self) -> NamedTable[Item]:
        return NamedTable(self.kind, self)


def table(value: object, what: str, error: Error = ArmillaryError) -> DataTable:
    """Return a mapping with its keys, names or symbols, as text; an empty table for None."""
    if value is not None and not isinstance(value, Mapping):
        raise error(f"{what} must hold values by name, {{'name': value, …}}, not {shown(value)}")
    return {str(name): item for name, item in (value or {}).items()}


def names_by_number(value: object) -> Mapping[int, Given]:
    """Return the value if it is a mapping, such as one from numbers to names."""
    if not isinstance(value, Mapping):
        raise ArmillaryError(f"a mapping of numbers to names, {{0: 'weave'}}, is needed, not {shown(value)}")
    return value


def item_count(value: Given) -> int:
    """Return the number of items of a list, tuple or array; −1 for a text or an object without items."""
    if isinstance(value, str):
        return -1
    try:
        return len(value)
    except TypeError:  # numbers and expressions, and arrays without axes
        return -1


def several(value: object, what: str, error: Error = ArmillaryError) -> list[Given]:
    """Return the items of any iterable as a list; a single text becomes a list of one item."""
    if isinstance(value, str):
        return [value]
    if not isinstance(value, Iterable):
        raise error(f"{what} must be a list, not {shown(value)}")
    return list(value)


def pair(value: object, what: str) -> tuple[Given, Given]:
    """Return the value if it is a tuple of two items, such as the names of a row and a column."""
    if not isinstance(value, tuple) or len(value) != 2:
        raise ArmillaryError(f"{what} are given by two names, ['of', 'by'], not by {shown(value)}")
    return value


def core_of(given: Given) -> Given:
    """Return the object behind a user's equations or model; any other value unchanged."""
    return getattr(given, "_core", given)


def instance(value: object, kind: type[Kind], what: str, error: Error = ArmillaryError) -> Kind:
    """Return the value if it is an object of the class ``kind``."""
    if not isinstance(value, kind):
        raise error(f"{what} is needed, not {shown(value)}")
    return value


def unsigned_zeros(values: object) -> np.ndarray:
    """Return numbers with 0.0 in place of −0.0, for results; a writeable array is changed in place."""
    found = np.asarray(values)
    if found.dtype.kind != "f" or not found.flags.writeable:
        return found + 0.0 if found.dtype.kind == "f" else found
    found += 0.0
    return found


def file_path(value: Given, what: str, error: Error = ArmillaryError) -> Path:
    """Return a path that a user gave."""
    try:
        name = os.fspath(value)
    except TypeError:
        name = None
    if not isinstance(name, str) or "\0" in name:
        raise error(f"{what} must be the path of a file or folder, not {shown(value)}")
    try:
        longest = max((len(os.fsencode(part)) for part in Path(name).parts), default=0)
    except UnicodeEncodeError as problem:
        strange = shown(problem.object[problem.start])
        raise error(
            f"{what}: {shown(name)} has the character {strange}, which file names cannot have"
        ) from None
    if longest > _LONGEST:
        raise error(f"{what}: {shown(name)} has a name of more than {_LONGEST} bytes, too long for a file")
    return Path(name)


def read_only(values: object) -> np.ndarray:
    """Return a read-only copy of an array."""
    found = np.array(values)
    found.setflags(write=False)
    return found


# Objects that record their arguments, so that a description is saved as the user gave it.

Class = TypeVar("Class", bound=type)


def records_arguments(cls: Class) -> Class:
    """Change a class so that its objects keep the arguments of their first ``__init__`` (a subclass's)."""
    # mypy: the initialiser of a class is replaced by one that records.
    make = cls.__init__  # type: ignore[misc]

    @wraps(make)
    def recording(self: object, *args: object, **options: object) -> None:
        self.__dict__.setdefault("_given", (type(self), independent_copy(args), independent_copy(options)))
        make(self, *args, **options)

    cls.__init__ = recording  # type: ignore[misc]  # as above
    return cls


def arguments_of(made: object) -> DataTable | None:
    """Return, by name, the arguments from which an object was made; None if it does not record them."""
    if is_dataclass(made) and not isinstance(made, type):
        return {f.name: getattr(made, f.name) for f in fields(made)}
    given = getattr(made, "__dict__", {}).get("_given")
    if given is None:
        return None
    cls, args, options = given
    return bound_arguments(inspect.signature(cls.__init__), (made, *args), options)


def bound_arguments(signature: inspect.Signature, args: tuple[object, ...], options: DataTable) -> DataTable:
    """Return the arguments by name, without ``self``; keywords in ``**options`` keep their own names."""
    found = dict(list(signature.bind(*args, **options).arguments.items())[1:])
    for parameter in signature.parameters.values():
        if parameter.kind is parameter.VAR_KEYWORD and parameter.name in found:
            found |= found.pop(parameter.name)
    return found


def independent_copy(value: Given) -> Given:
    """Return a value with its lists, tables and arrays copied, so that the user's changes do not reach it."""
    if isinstance(value, dict):
        return {key: independent_copy(item) for key, item in value.items()}
    if type(value) in (list, tuple):
        return type(value)([independent_copy(item) for item in value])
    return value.copy() if isinstance(value, np.ndarray) else value
