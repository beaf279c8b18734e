"""Types of arguments of verbs and objects: what Python takes, and the kind of value that a text model has.

Readers and writers of text models find the kind in the annotation (``argument_kinds``), so that a signature
is the one list of the arguments. What has another kind is annotated ``Annotated[type, KIND]``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

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
