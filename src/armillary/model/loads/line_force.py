"""The variables of a force along a line: distance, nominal distance and velocity.

    x = p · e,   x₀ = x with all coordinates zero,   v = ṗ · e

for the vector p from one point to the other and a direction e: x is the distance of the second point from the
plane through the first that is perpendicular to e.

Source: Sayers (1990), Appendix A, add-line-force, with his dummy variables x, x0 and v.
"""

from __future__ import annotations

import re

from armillary.algebra import functions as fn
from armillary.algebra import vectors as vec
from armillary.algebra.expression import Expr, as_expr, number
from armillary.algebra.vectors import Vector
from armillary.algebra.walk import substitute
from armillary.model.bodies import motion
from armillary.model.bodies.body import Point
from armillary.model.description import Description

_WORD = re.compile(r"(?<![\w.`])(x0?|v)(?![\w.`])")


def line_variables(
    system: Description, name: str, text: str, ends: tuple[Point, Point], direction: Vector
) -> dict[str, Expr]:
    """Those of x, x0 and v that a text uses and that are no names of the system's own."""
    tables = (system.parameters, system.bodies, system.memories, system.states, system.loads)
    taken = {known for table in (*tables, system.definitions) for known in table}
    used = set(_WORD.findall(text)) - taken
    if not used:
        return {}
    distance = as_expr(vec.dot(motion.position(ends[1], ends[0]), direction))
    found = {"x": fn.named(distance, f"{name}_length")}
    if "x0" in used:
        found["x0"] = substitute(distance, _nominal(system))
    if "v" in used:
        found["v"] = fn.named(vec.dot(motion.velocity(ends[1], ends[0]), direction), f"{name}_rate")
    return {word: found[word] for word in used}


def _nominal(system: Description) -> dict[Expr, Expr]:
    """All coordinates at zero, Euler parameters at no rotation."""
    values = {q: number(0, q.dimension) for q in system.coordinates}
    for body in system.bodies.values():
        for start in body.assembly.quaternions:
            values[body.coordinates[start]] = number(1, body.coordinates[start].dimension)
    return values
