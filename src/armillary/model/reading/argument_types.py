"""Types of the arguments of verbs: what Python takes, and the kind of value that a text model has for it.

Readers and writers of text models find the kind in the annotation (``argument_kinds``), so that the signature
of a verb is the one list of its arguments. What has another kind is annotated ``Annotated[type, KIND]``.
"""

from __future__ import annotations

import builtins
import inspect
from collections import ChainMap, defaultdict
from collections.abc import Callable, Sequence
from typing import Annotated, Any, get_args

from armillary.model.reading.kinds import (
    AXIS,
    BODY,
    COUNT,
    EXPRESSION,
    FLAG,
    NAME,
    NUMBER,
    POINT,
    TRIPLE,
    UNITS,
    VECTOR,
    WORDS,
    Kind,
    ListOf,
)

Number = Annotated[float, NUMBER]
Count = Annotated[int, COUNT]
Flag = Annotated[bool, FLAG]
Words = Annotated[str, WORDS]
UnitText = Annotated[str, UNITS]
# A text, or the object that it stands for.
ExpressionLike = Annotated[Any, EXPRESSION]
ExpressionsLike = Annotated[Sequence[Any], ListOf(EXPRESSION)]
VectorLike = Annotated[Any, VECTOR]
PointLike = Annotated[Any, POINT]
BodyLike = Annotated[Any, BODY]
VariableLike = Annotated[Any, NAME]
AxisLike = Annotated[Any, AXIS]
TripleLike = Annotated[Any, TRIPLE]


def argument_kinds(function: Callable[..., Any]) -> dict[str, Kind]:
    """The kinds of a function's arguments, of those that have one, in the order of its signature."""
    # Names that only type checkers import are of no kind.
    own = inspect.unwrap(function).__globals__
    names = ChainMap(own, vars(builtins), defaultdict(lambda: Any))
    found: dict[str, Kind] = {}
    for p in inspect.signature(function).parameters.values():
        meant = eval(p.annotation, {}, names) if isinstance(p.annotation, str) else p.annotation
        for part in (meant, *get_args(meant)):  # Words, or Words | None
            for mark in getattr(part, "__metadata__", ()):
                found[p.name] = mark
    return found
