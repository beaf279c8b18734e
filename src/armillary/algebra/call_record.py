"""Objects that record the arguments they were made with, so that a description can be saved as it was
given.
"""

from __future__ import annotations

import inspect
from dataclasses import fields, is_dataclass
from functools import wraps
from typing import TypeVar

import numpy as np

from armillary.untyped import DataTable, Given

Class = TypeVar("Class", bound=type)


def records_arguments(cls: Class) -> Class:
    """A class whose objects keep the arguments of their outermost ``__init__``."""
    # mypy: the initialiser of a class is replaced by one that records.
    make = cls.__init__  # type: ignore[misc]

    @wraps(make)
    def recording(self: object, *args: object, **options: object) -> None:
        self.__dict__.setdefault("_given", (type(self), independent_copy(args), independent_copy(options)))
        make(self, *args, **options)

    cls.__init__ = recording  # type: ignore[misc]  # as above
    return cls


def arguments_of(made: object) -> DataTable | None:
    """The arguments that an object was made with, by name; None for one that does not record them."""
    if is_dataclass(made) and not isinstance(made, type):
        return {f.name: getattr(made, f.name) for f in fields(made)}
    given = getattr(made, "__dict__", {}).get("_given")
    if given is None:
        return None
    cls, args, options = given
    return bound_arguments(inspect.signature(cls.__init__), (made, *args), options)


def bound_arguments(signature: inspect.Signature, args: tuple[object, ...], options: DataTable) -> DataTable:
    """Arguments by name without the first, ``self``; what ``*values`` and ``**options`` took, among them."""
    found = dict(list(signature.bind(*args, **options).arguments.items())[1:])
    for parameter in signature.parameters.values():
        if parameter.kind is parameter.VAR_KEYWORD and parameter.name in found:
            found |= found.pop(parameter.name)
    return found


def independent_copy(value: Given) -> Given:
    """A value that later changes of the user's lists, tables and arrays do not reach."""
    if isinstance(value, dict):
        return {key: independent_copy(item) for key, item in value.items()}
    if type(value) in (list, tuple):
        return type(value)([independent_copy(item) for item in value])
    return value.copy() if isinstance(value, np.ndarray) else value
