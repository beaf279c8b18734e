"""The data of a shape: a kind with sizes about its own centre, and further constants."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from armillary.algebra.units import LENGTH
from armillary.errors import ModelError
from armillary.model.reading.references import constant_reader
from armillary.untyped import DataTable, Given

if TYPE_CHECKING:
    from armillary.model.description import Description


class Figure:
    """A figure: its kind, the names of its sizes, and what they are."""

    kind: ClassVar[str] = ""
    names: ClassVar[tuple[str, ...]] = ()
    between: ClassVar[bool] = False  # drawn from point to point instead of on a body

    sizes: tuple[Given, ...] = ()
    axis: Given = None  # of figures that are round about one, in the axes of the shape

    def __init__(self, *sizes: object, axis: object = None) -> None:
        self.sizes = sizes
        self.axis = axis

    def details(self, system: Description, where: str) -> DataTable:
        """Further data besides sizes, as constants of a system."""
        return {}

    def __repr__(self) -> str:
        about = "" if self.axis is None else f", axis={self.axis!r}"
        return f"{type(self).__name__}({', '.join(map(repr, self.sizes))}{about})"


def radius_of(given: object, system: Description, where: str) -> DataTable:
    """The detail "radius", where one is given."""
    if given is None:
        return {}
    radius = constant_reader(system, where, LENGTH)(given)
    if radius.kind == "number" and not radius.data > 0:
        raise ModelError(f"{where}: its radius is {radius.data:g}; give a positive length")
    return {"radius": radius}
