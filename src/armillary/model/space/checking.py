"""Reading and checking of what the space environment's verbs are given."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from armillary.algebra.expression import Expr
from armillary.algebra.triples import Triple
from armillary.algebra.units.dimension import LENGTH, Dimension
from armillary.algebra.vectors import Vector
from armillary.algebra.walk import symbols
from armillary.errors import ModelError
from armillary.model.reading.references import constant_reader
from armillary.model.unit_system import default_value

if TYPE_CHECKING:
    from armillary.model.system import System


def known(node: Expr) -> float | None:
    """The value of a number, or the default of a parameter, in the units of the model."""
    if node.kind == "number":
        return float(node.data)
    return default_value(node) if node.kind == "symbol" and node.data.role == "parameter" else None


def bounded(system: System, value: Any, where: str, dimension: Dimension, *, positive: bool = False) -> Expr:
    """A constant that is not negative, or is positive, as far as that is known here."""
    node = constant_reader(system, where, dimension)(value)
    size = known(node)
    if size is not None and (size < 0 or (positive and size == 0)):
        raise ModelError(f"the {where} is {size:g}; give a {'positive number' if positive else 'number ≥ 0'}")
    return node


def timed(system: System, value: Any, where: str, dimension: Dimension) -> Expr:
    """A function of time and parameters."""
    node = system.expression(value, where, dimension)
    moving = [s for s in symbols(node) if s.data.role not in ("parameter", "time")]
    if moving:
        raise ModelError(f"{where}: '{node}' may depend on time and parameters only, not on '{moving[0]}'")
    return node


def ground_place(system: System, value: Any, where: str, dimension: Dimension = LENGTH) -> Triple:
    """Three functions of time and parameters in the ground's axes, from three values or a vector."""
    if isinstance(value, Vector):
        frames = {frame for frame, _ in value.terms}
        if frames - {system.ground.frame}:
            raise ModelError(f"{where}: the vector {value} is not in the ground's axes alone")
        value = value.components(system.ground.frame)
    if isinstance(value, str | Expr) or not hasattr(value, "__len__") or len(value) != 3:
        raise ModelError(f"{where}: three values are needed, e.g. (0, 0, 1), not {value!r}")
    return tuple(timed(system, x, where, dimension) for x in value)  # type: ignore[return-value]


def choices(kinds: Sequence[str]) -> str:
    """Words in quotes, for messages."""
    return ", ".join(f"'{kind}'" for kind in kinds)
