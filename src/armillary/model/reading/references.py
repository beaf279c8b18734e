"""Readers of references to bodies, points, directions, speeds and constants, given as objects or texts.

A constant orientation is a matrix, or a sequence of turns about body-fixed axes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from armillary.algebra import functions as fn
from armillary.algebra import vectors as vec
from armillary.algebra.arguments import item_count
from armillary.algebra.expression import Expr, as_expr
from armillary.algebra.triples import IDENTITY, ExprTriple, Matrix, joined, matrix_product, transposed
from armillary.algebra.units import LENGTH, Dimension, parse_unit
from armillary.algebra.vectors import Vector
from armillary.algebra.walk import symbols
from armillary.errors import ModelError, nearest
from armillary.model.bodies.body import Body, Point
from armillary.model.joints import JointType
from armillary.model.joints.base import UNIT_AXES, as_scalar, check_axis, check_sequence, sequence_rotation
from armillary.model.reading.expressions import check_owner, finite_number, parse_text, read_expression
from armillary.model.units import default_value
from armillary.untyped import Given

if TYPE_CHECKING:
    from armillary.model.description import Description


def find_body(system: Description, body: object, where: str) -> Body:
    """Return a body of the system that is given as a body, by its name, or as a node "body.node"."""
    if isinstance(body, str):
        if body in ("ground", "world") and body not in system.bodies:
            return system.ground
        owner, _, node = body.partition(".")
        if node and owner in system.bodies:
            return system.bodies[owner].node(node)
        if body not in system.bodies:
            raise ModelError(f"{where}: there is no body '{body}'{nearest(body, [*system.bodies, 'ground'])}")
        return system.bodies[body]
    if isinstance(body, JointType):
        raise ModelError(f"{where}: a joint is not a body; give it by name, joint={type(body).__name__}(…)")
    if not isinstance(body, Body):
        raise ModelError(f"{where}: {body!r} is not a body")
    if body.system is not system and body.system.identity is system.identity:
        return find_body(system, body.name, where)  # the same body in another copy of the system
    if body.system is not system:
        raise ModelError(
            f"{where}: body '{body.name}' belongs to system '{body.system.name}', not to '{system.name}'"
        )
    return body


def find_point(system: Description, point: object, where: str) -> Point:
    """Return a point of the system that is given as a point, as a text, or as a body, for its origin."""
    found = parse_text(system, point, where, {}) if isinstance(point, str) else point
    if isinstance(found, Body):
        found = found.origin
    if not isinstance(found, Point):
        raise ModelError(
            f"{where}: {point!r} is not a point; give one such as body.origin or body.point((0, 1, 0))"
        )
    find_body(system, found.body, where)
    return found


def unit_direction(system: Description, value: object, where: str) -> Vector:
    """Return a unit vector along a direction that is fixed in a body of the system."""
    vector = parse_text(system, value, where, {}) if isinstance(value, str) else value
    if not isinstance(vector, Vector):
        raise ModelError(
            f"{where}: its direction {value!r} is not a vector; give one such as body.x or '-ground.y'"
        )
    if not vector.terms:
        raise ModelError(f"{where}: its direction is the zero vector")
    # Numbers in texts become Python numbers, so that texts and objects give the same unit vector.
    vector = vector.map(lambda c: c.data if isinstance(c, Expr) and c.kind == "number" else c)
    for (frame, _), size in vector.terms.items():
        if system.ground.frame not in vec.ancestors(frame):
            raise ModelError(
                f"{where}: its direction {vector} is not fixed in a body of system '{system.name}'"
            )
        if isinstance(size, Expr):
            check_owner(system, size, where)
        else:
            finite_number(size, f"{where}: a component of its direction")
    return vec.direction(vector)


def triple(system: Description, values: Given, where: str, units: str = "m") -> ExprTriple:
    """Return three constants as expressions with the dimension of ``units``."""
    if item_count(values) != 3:
        raise ModelError(f"{where}: three values are needed, e.g. (0, 0, 1), not {values!r}")
    reader = constant_reader(system, where, LENGTH if units == "m" else parse_unit(units).dimension)
    return joined(reader(v) for v in values)


def constant_reader(system: Description, where: str, dimension: Dimension | None) -> Callable[[Given], Expr]:
    """Return a function that reads a constant, an expression of parameters alone, of a ``dimension``."""

    def read(value: object) -> Expr:
        node = read_expression(system, value, where, dimension)
        if not node.constant:
            raise ModelError(f"{where}: '{node}' varies with the motion or time; a constant is needed here")
        return node

    return read


def unit_triple(system: Description, axis: object, where: str) -> Given:
    """Return a unit vector in a body's axes, from a letter or three constants."""
    if isinstance(axis, Vector):
        raise ModelError(f"{where}: give the axis as 'x', 'y', 'z' or three numbers in the body's axes")
    checked = check_axis(axis, where)
    if isinstance(checked, str):
        return UNIT_AXES[checked]
    values = [constant_reader(system, where, None)(v) for v in checked]
    length = fn.sqrt(sum((v * v for v in values), as_expr(0)))
    return tuple(v / length for v in values)


def find_speed(system: Description, thing: object, where: str) -> Expr:
    """Return the speed that is given, or the speed that is the rate of a given coordinate."""
    node = read_expression(system, thing, where)
    if node in system.speeds:
        return node
    if node in system.coordinates:
        rate = system.rates[node]
        if rate in system.speeds:
            return rate
        raise ModelError(f"{where}: the rate of '{node}' is not a speed by itself; name a speed")
    known = [str(s) for s in (*system.speeds, *system.coordinates)]
    raise ModelError(
        f"{where}: '{node}' is not a speed or coordinate of this system{nearest(str(node), known)}"
    )


def find_speeds(system: Description, things: object, where: str) -> tuple[Expr, ...]:
    """Return the speeds (see ``find_speed``) that are given by one value or by a list of values."""
    return tuple(find_speed(system, thing, where) for thing in several(things))


def several(things: object) -> list[Given]:
    """Return the items of a list or tuple as a list, any other item as a list of one, and [] for `None`."""
    if things is None:
        return []
    return list(things) if isinstance(things, list | tuple) else [things]


def known_value(node: Expr) -> float | None:
    """Return the value of a number, or the default of a parameter, in the units of the model."""
    if node.kind == "number":
        return float(node.data)
    return default_value(node) if node.kind == "symbol" and node.data.role == "parameter" else None


def bounded_constant(
    system: Description, value: object, where: str, dimension: Dimension, *, positive: bool = False
) -> Expr:
    """Return a constant; raise an error if it is known to be negative or, with ``positive``, zero."""
    node = constant_reader(system, where, dimension)(value)
    check_sign(node, where, positive=positive)
    return node


def check_sign(node: Expr, where: str, *, positive: bool = False) -> None:
    """Raise an error if a value is known to be negative or, with ``positive``, zero."""
    size = known_value(node)
    if size is not None and (size < 0 or (positive and size == 0)):
        raise ModelError(f"the {where} is {size:g}; give a {'positive number' if positive else 'number ≥ 0'}")


def function_of_time(system: Description, value: object, where: str, dimension: Dimension) -> Expr:
    """Return a function of time and parameters."""
    node = read_expression(system, value, where, dimension)
    moving = [s for s in symbols(node) if s.data.role not in ("parameter", "time")]
    if moving:
        raise ModelError(f"{where}: '{node}' may depend on time and parameters only, not on '{moving[0]}'")
    return node


def ground_place(system: Description, value: Given, where: str, dimension: Dimension = LENGTH) -> ExprTriple:
    """Return three components in the ground's axes, given as a triple or a vector.

    They may be functions of time and parameters.
    """
    if isinstance(value, Vector):
        frames = {frame for frame, _ in value.terms}
        if frames - {system.ground.frame}:
            raise ModelError(f"{where}: the vector {value} is not in the ground's axes alone")
        value = value.components(system.ground.frame)
    if item_count(value) != 3:
        raise ModelError(f"{where}: three values are needed, e.g. (0, 0, 1), not {value!r}")
    return joined(function_of_time(system, x, where, dimension) for x in value)


def orientation_matrix(orient: Given, where: str, read: Callable[[Given], Expr]) -> Matrix | None:
    """Return R with v_parent = R v_child from a matrix or a sequence with angles; `None` if ``orient`` is."""
    if orient is None:
        return None
    items = list(orient) if item_count(orient) > 0 else []
    if items and isinstance(items[0], str) and len(items) == len(items[0]) + 1:
        sequence = check_sequence(items[0], (1, 2, 3), f"{where}: orient")
        turned = sequence_rotation(sequence, [read(a) for a in items[1:]], "")
        return _plain_matrix(turned)
    if len(items) != 3 or any(item_count(row) != 3 for row in items):
        raise ModelError(
            f"{where}: orient is a 3×3 matrix or a sequence with its angles, e.g. ('zx', 0.1, 0.2), "
            f"not {orient!r}"
        )
    matrix = _plain_matrix(tuple(tuple(read(value) for value in row) for row in items))
    _check_rotation(matrix, where)
    return matrix


def _plain_matrix(matrix: Given) -> Matrix:
    return joined(joined(as_scalar(v) if isinstance(v, Expr) else v for v in row) for row in matrix)


def _check_rotation(matrix: Matrix, where: str) -> None:
    if any(isinstance(v, Expr) for row in matrix for v in row):
        return
    product = matrix_product(transposed(matrix), matrix)
    worst = max(abs(float(product[i][j] - IDENTITY[i][j])) for i in range(3) for j in range(3))
    (a, b, c), (d, e, f), (g, h, i) = matrix
    determinant = a * (e * i - f * h) - b * (d * i - f * g) + c * (d * h - e * g)
    if not worst <= 1e-9 or determinant < 0:
        raise ModelError(
            f"{where}: orient is not a rotation matrix (RᵀR differs from 1 by {worst:.2g}, "
            f"determinant {determinant:.3g})"
        )
