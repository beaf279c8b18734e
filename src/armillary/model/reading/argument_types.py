"""Types of arguments of verbs and objects: what Python takes, and the kind of value that a text model has.

Readers and writers of text models find the kind in the annotation (``argument_kinds``), so that a signature
is the one list of the arguments. What has another kind is annotated ``Annotated[type, KIND]``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, SupportsFloat, TypeAlias

import numpy as np

from armillary.algebra.expression import Expr
from armillary.algebra.vectors import Vector
from armillary.model.reading.kinds import (
    AXIS,
    COUNT,
    EXPRESSION,
    FLAG,
    MATRIX,
    NAME,
    NUMBER,
    TRIPLE,
    UNITS,
    VECTOR,
    WORDS,
    Either,
    ListOf,
    Turned,
)

Number = Annotated[float, NUMBER]
Count = Annotated[int, COUNT]
Flag = Annotated[bool, FLAG]
Words = Annotated[str, WORDS]
UnitText = Annotated[str, UNITS]
# A text, or what it stands for. Quantities of Pint have ``__float__``, too.
GivenScalar: TypeAlias = Expr | SupportsFloat | str
GivenTriple: TypeAlias = Sequence[GivenScalar] | np.ndarray
GivenMatrix: TypeAlias = Sequence[GivenTriple] | np.ndarray
ExpressionLike = Annotated[GivenScalar, EXPRESSION]
ExpressionsLike = Annotated[Sequence[GivenScalar], ListOf(EXPRESSION)]
VectorLike = Annotated[Vector | str, VECTOR]
VariableLike = Annotated[Expr | str, NAME]
AxisLike = Annotated[str | GivenTriple, AXIS]
TripleLike = Annotated[GivenTriple, TRIPLE]
OrientationLike = Annotated[GivenMatrix | Sequence[GivenScalar], Either((MATRIX, Turned(EXPRESSION)))]
GivenValues: TypeAlias = (
    Mapping[str, GivenScalar] | Mapping[Expr, GivenScalar] | Mapping[Expr | str, GivenScalar]
)
