"""Generalised forces of single loads, weights and elasticities along independent speeds, and their changes.

    Q_k = ∂P/∂u_k          P the power of the load

Weights are those of the user's bodies, not of regrouped ones, so that each has a share of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import NamedTuple

from armillary.algebra.derivatives.tangents import tangents
from armillary.algebra.expression import ZERO, Expr, as_expr, symbol
from armillary.algebra.vectors.scalars import Scalar, plus, sum_of_products, times
from armillary.algebra.vectors.triples import add, cross_triples
from armillary.algebra.vectors.vectors import Vector, cross, dot
from armillary.algebra.walk import transform
from armillary.model.bodies import motion
from armillary.model.bodies.body import Body
from armillary.model.description import Description
from armillary.model.flexible.deformation import flexible_momenta
from armillary.model.mass_properties import carried
from armillary.model.quantities import body_motions
from armillary.model.space.attraction import all_gravities, all_loads, modal_forces
from armillary.program.equations import DerivedEquations
from armillary.untyped import DataTable


class LoadWorks(NamedTuple):
    """Σ_k Σ_j a_k ∂Q_k/∂y_j b_j of every load, in symbols a of independent speeds and b of states."""

    names: tuple[str, ...]
    works: list[Expr]
    along: list[Expr]  # a
    moved: list[Expr]  # b


def load_works(equations: DerivedEquations) -> LoadWorks:
    """Those of all loads: derivatives along two directions, at a cost that is linear in a chain's length."""
    system, reduction, y = equations.system, equations.reduction, equations.targets.integrated
    factors = reduction.elimination.factors

    def direction(kind: str, names: Sequence[str]) -> list[Expr]:
        return [symbol(f"{kind}({name})", "variable", owner=system.identity) for name in names]

    powers = _powers(equations)
    every = direction("a", [u.data.name for u in system.speeds])
    moved = direction("b", [s.data.name for s in y])
    free = [k for k, u in enumerate(system.speeds) if u not in reduction.given and k not in factors]
    held = {a: ZERO for k, a in enumerate(every) if k not in free}
    for d, row in factors.items():
        terms = [times(x, every[k]) for k, x in row.items() if k in free]
        held[every[d]] = as_expr(reduce(plus, [ZERO, *terms]))
    slopes = tangents(list(powers.values()), dict(zip(system.speeds, every, strict=True)))
    slopes = transform([reduction.plain(x) for x in slopes], held.get)
    works = tangents(slopes, dict(zip(y, moved, strict=True)))
    return LoadWorks(tuple(powers), works, [every[k] for k in free], moved)


def _powers(equations: DerivedEquations) -> dict[str, Expr]:
    """The power of every load, of the weight of every body and of its elasticity, by name."""
    system = equations.system
    found: dict[str, Expr] = {}
    for load in all_loads(system):
        if load.kind == "moment":
            power = dot(load.vector, motion.angular_velocity(load.body))
            if load.reaction_body is not None:
                power = power - dot(load.vector, motion.angular_velocity(load.reaction_body))
        else:
            assert load.at is not None
            power = dot(load.vector, motion.velocity(load.at))
            if load.reaction_body is not None:
                end = load.reaction_at or load.at
                own = end.body is load.reaction_body
                passed = motion.velocity(end) if own else _carried(load.reaction_body, end)
                power = power - dot(load.vector, passed)
        found[load.name] = as_expr(power)
    weights = _weights(system)
    for body in system.bodies.values():
        if (power := weights.get(body.name, ZERO)) is not ZERO:
            found[f"weight of {body.name}"] = power
        if body.flex is not None:
            found[f"strain of {body.name}"] = _strain_power(body)
    if extra := modal_forces(system):
        found["attraction of modes"] = as_expr(sum_of_products(extra.items()))
    return found


def _weights(system: Description) -> dict[str, Expr]:
    """Power of uniform gravity on every body, by name: its acceleration times the momentum, in body axes."""
    found: DataTable = {}
    ground = system.ground.frame
    for gravity in all_gravities(system):
        fall = {ground: gravity.direction.components(ground)}
        for body, w, v in body_motions(system):
            assert body.parent is not None
            g = fall[body.frame] = carried(body, fall[body.parent.frame], "fall")
            speed = add(v, cross_triples(w, body.com_coordinates))
            power = times(body.mass, sum_of_products(zip(g, speed, strict=True)))
            if body.flex is not None:
                p = flexible_momenta(body, w, v)[0].components(body.frame)
                power = plus(power, sum_of_products(zip(g, p, strict=True)))
            found[body.name] = plus(found.get(body.name, ZERO), times(gravity.magnitude, power))
    return {name: as_expr(power) for name, power in found.items()}


def _carried(body: Body, end: object) -> Vector:
    """The velocity of the place of a point as a part of another body."""
    return motion.velocity(body) + cross(motion.angular_velocity(body), motion.position(end, body.origin))


def _strain_power(body: Body) -> Expr:
    """−(K η + C ξ)·ξ of a flexible body."""
    assert body.flex is not None
    part, eta, xi = body.flex.part, body.flex.coordinates, body.flex.speeds
    total: Scalar = ZERO
    for p, speed in enumerate(xi):
        for matrix, values in ((part.K, eta), (part.C, xi)):
            for value, factor in zip(values, matrix[p].tolist(), strict=True):
                if factor:
                    total = plus(total, times(times(-factor, value), speed))
    return as_expr(total)
