"""Generalised forces of single loads, weights and elasticities along independent speeds, and their changes.

    Q_k = ∂P/∂u_k          P the power of the load

Weights are those of the user's bodies, not of regrouped ones, so that each has a share of its own.
"""

from __future__ import annotations

from typing import Any

from armillary.algebra.expression import UNIT, ZERO, Expr, as_expr
from armillary.algebra.tangents import tangents
from armillary.algebra.vectors.scalars import plus, sum_of_products, times
from armillary.algebra.vectors.vectors import cross, dot
from armillary.model import motion
from armillary.model.body import Body
from armillary.model.flexible.energy import first_moment
from armillary.model.space.attraction import all_gravities, all_loads, modal_forces
from armillary.program.equations import DerivedEquations

Element = tuple[int, int]


def load_matrices(equations: DerivedEquations) -> tuple[tuple[str, ...], dict[Element, Expr]]:
    """Names of loads, and ∂Q/∂y of each, its rows below those of the load before."""
    powers = _powers(equations)
    y = equations.targets.integrated
    entries: dict[Element, Expr] = {}
    row = 0
    for power in powers.values():
        for force in _along_speeds(equations, power):
            for k, s in enumerate(y):
                (x,) = tangents([force], {s: UNIT})
                if x is not ZERO:
                    entries[row, k] = x
            row += 1
    return tuple(powers), entries


def _along_speeds(equations: DerivedEquations, power: Expr) -> list[Expr]:
    """Q = ∂P/∂u of the independent speeds, with what the dependent ones do."""
    system, plain = equations.system, equations.reduction.plain
    factors = equations.reduction.elimination.factors
    slopes = [plain(tangents([power], {u: UNIT})[0]) for u in system.speeds]
    found = []
    for k, u in enumerate(system.speeds):
        if u in equations.reduction.given or k in factors:
            continue
        force: Any = slopes[k]
        for d, row in factors.items():
            if k in row:
                force = plus(force, times(row[k], slopes[d]))
        found.append(as_expr(force))
    return found


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
    for body in system.bodies.values():
        for gravity in all_gravities(system):
            field = gravity.direction * gravity.magnitude
            power = as_expr(dot(field, motion.velocity(body.com))) * body.mass
            if body.flex is not None:
                part = body.flex.part
                power = power + as_expr(dot(field, motion.velocity(body))) * part.mass
                turning = motion.time_derivative(body.frame.vector(first_moment(body)))
                power = power + as_expr(dot(field, turning))
            if power is not ZERO:
                name = f"weight of {body.name}"
                found[name] = found.get(name, ZERO) + power
        if body.flex is not None:
            found[f"strain of {body.name}"] = _strain_power(body)
    if extra := modal_forces(system):
        found["attraction of modes"] = as_expr(sum_of_products(extra.items()))
    return found


def _carried(body: Body, end: Any) -> Any:
    """The velocity of the place of a point as a part of another body."""
    return motion.velocity(body) + cross(motion.angular_velocity(body), motion.position(end, body.origin))


def _strain_power(body: Body) -> Expr:
    """−(K η + C ξ)·ξ of a flexible body."""
    assert body.flex is not None
    part, eta, xi = body.flex.part, body.flex.coordinates, body.flex.speeds
    total: Any = ZERO
    for p, speed in enumerate(xi):
        for matrix, values in ((part.K, eta), (part.C, xi)):
            for value, factor in zip(values, matrix[p].tolist(), strict=True):
                if factor:
                    total = plus(total, times(times(-factor, value), speed))
    return as_expr(total)
