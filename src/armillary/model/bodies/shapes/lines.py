"""Lines: one through places of a body, and springs, dampers, rods and cables between points that move.

In text models:

    shape = { polyline = [[0, 0, 0], [1, 0, 0], [1, 1, 0]], closed = true }
    shape = { spring = 0.03, coils = 6 }, between = ["upright.foot", "chassis.tower"]
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, ClassVar

from armillary.algebra.arguments import count, item_count, records_arguments
from armillary.algebra.units import LENGTH
from armillary.errors import ModelError
from armillary.model.bodies.shapes.figure import Figure, radius_of
from armillary.model.reading.argument_types import Count, ExpressionLike, Flag, GivenScalar, TripleLike
from armillary.model.reading.kinds import EXPRESSION, FLAG, TRIPLE, Either, ListOf, ObjectForm
from armillary.model.reading.references import constant_reader, triple
from armillary.untyped import DataTable

if TYPE_CHECKING:
    from armillary.model.description import Description

_Radius = Annotated[GivenScalar | None, Either((FLAG, EXPRESSION))]  # true: one that suits the system


@records_arguments
class Polyline(Figure):
    """A line through places of a body, in its axes; ``radius`` is that of a tube around it."""

    kind: ClassVar[str] = "polyline"

    def __init__(
        self,
        points: Annotated[Sequence[TripleLike], ListOf(TRIPLE)],
        radius: ExpressionLike | None = None,
        closed: Flag = False,
    ) -> None:
        self.points, self.radius, self.closed = points, radius, closed

    def details(self, system: Description, where: str) -> DataTable:
        if item_count(self.points) < 2:
            raise ModelError(
                f"{where}: {self.points!r} are not two points or more, e.g. [(0, 0, 0), (1, 0, 0)]"
            )
        if not isinstance(self.closed, bool):
            raise ModelError(f"{where}: closed={self.closed!r} is neither True nor False")
        places = tuple(triple(system, p, f"a point of {where}") for p in self.points)
        return {"points": places, "closed": self.closed, **radius_of(self.radius, system, where)}

    def __repr__(self) -> str:
        return f"Polyline({self.points!r})"


class ConnectingLine(Figure):
    """A figure from point to point, of this radius or of one that suits the system."""

    between = True

    def __init__(self, radius: _Radius = None) -> None:
        self.radius = radius

    def details(self, system: Description, where: str) -> DataTable:
        return radius_of(self.radius, system, where)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({'' if self.radius is None else repr(self.radius)})"


@records_arguments
class Spring(ConnectingLine):
    """A coil spring, which stretches between its ends."""

    kind: ClassVar[str] = "spring"

    def __init__(self, radius: _Radius = None, coils: Count = 9) -> None:
        super().__init__(radius)
        self.coils = coils

    def details(self, system: Description, where: str) -> DataTable:
        coils = min(max(count(self.coils, f"the number of coils of {where}", ModelError), 1), 200)
        return {**super().details(system, where), "coils": coils}


@records_arguments
class Damper(ConnectingLine):
    """A cylinder on the first point with a piston rod from the second."""

    kind: ClassVar[str] = "damper"


@records_arguments
class Rod(ConnectingLine):
    """A straight rod."""

    kind: ClassVar[str] = "rod"


@records_arguments
class Cable(ConnectingLine):
    """A cable; one whose ``length`` is more than the distance of its ends hangs down between them."""

    kind: ClassVar[str] = "cable"

    def __init__(self, radius: _Radius = None, length: ExpressionLike | None = None) -> None:
        super().__init__(radius)
        self.length = length

    def details(self, system: Description, where: str) -> DataTable:
        found = super().details(system, where)
        if self.length is not None:
            found["length"] = constant_reader(system, where, LENGTH)(self.length)
        return found


LINES = (
    ObjectForm("polyline", Polyline, "points"),
    *(ObjectForm(made.kind, made, "radius") for made in (Spring, Damper, Rod, Cable)),
)
