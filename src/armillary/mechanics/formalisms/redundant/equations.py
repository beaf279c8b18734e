"""Equations of motion in redundant coordinates, with multipliers for all joints and constraints.

    M v̇ + Bᵀλ = f              motion, part by part; f holds loads less inertia remainders
    B v̇ − σ λ = −γ − σ λ₀      constraints B v + b(t) = 0, differentiated: γ = Ḃ v + ḃ

(Park & Chiou 1987, eqs. 2.1 and 4.5, in bordered form, with one sign of Bᵀλ throughout. This λ of theirs is
minus what the constraint exerts; outputs and the theory's pages have the latter.) One number σ makes
this every system that the integrators need:

    σ = 0      λ keeps the constraints exactly
    σ = ε/δ    the staggered equation (ε + δ B M⁻¹Bᵀ) λ = δ r + ε λ₀
    σ → ∞      λ = λ₀ is given, and v̇ follows from the motion equation

and with another right side, (0, ρ), it projects positions and speeds. For constraints of rotations alone σ is
divided by the square of a length of the system, since their multipliers are moments.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from armillary.algebra import functions as fn
from armillary.algebra.derivatives.calculus import derivative, directional_derivatives, evaluate_all
from armillary.algebra.expression import UNIT, ZERO, Expr, as_expr, symbol
from armillary.algebra.vectors.scalars import is_zero
from armillary.algebra.walk import Undimensioned, substitute, symbols, transform
from armillary.errors import ModelError
from armillary.mechanics.formalisms.redundant.absolute_bodies import AbsoluteBodies, absolute_bodies
from armillary.mechanics.formalisms.redundant.absolute_states import absolute_states
from armillary.mechanics.formalisms.redundant.bordered_equations import Bordered, Form, Inputs, total_mass
from armillary.mechanics.formalisms.redundant.joints import (
    AbsoluteConstraint,
    aligned_coordinates,
    joint_rows,
    joint_speeds,
)
from armillary.mechanics.formalisms.redundant.loads import forces
from armillary.model.description import Description
from armillary.model.units import default_value


@dataclass(frozen=True, eq=False)
class Redundant:
    """A system in redundant coordinates, as expressions.

    ``speeds`` v, ``rates`` and the rest are in terms of absolute coordinates and speeds and of the joints'
    coordinates; ``joint_speeds`` and ``joint_accelerations`` replace the description's u and u̇.
    """

    parts: AbsoluteBodies
    rows: tuple[AbsoluteConstraint, ...]
    forms: tuple[Form, ...]  # B, row by row
    time: Expr
    coordinates: tuple[Expr, ...]
    joints: tuple[Expr, ...]
    speeds: tuple[Expr, ...]
    accelerations: tuple[Expr, ...]
    multipliers: tuple[Expr, ...]
    inputs: Inputs
    rates: dict[Expr, Expr]
    joint_speeds: dict[Expr, Expr]
    joint_accelerations: dict[Expr, Expr]
    solution: tuple[Expr, ...]  # v̇ and λ for the inputs
    aligned: tuple[Expr, ...]
    placed: dict[Expr, Expr]  # absolute coordinates and speeds from q and u
    total_mass: Expr

    def exact(self, softness: Expr) -> list[Expr]:
        """v̇ and λ that keep the constraints, with a σ so small that it only decides between redundant
        ones.
        """
        given: dict[Expr, Expr] = dict(zip(self.inputs.multipliers, self.multipliers, strict=True))
        given |= dict.fromkeys(self.inputs.targets, ZERO)
        given |= {self.inputs.weight: UNIT} | dict.fromkeys(self.inputs.softness, softness)
        return transform(self.solution, given.get)


def redundant_equations(system: Description, plain: Undimensioned) -> Redundant:
    """The bordered equations of a system and all that their integration needs."""
    parts = absolute_bodies(system, plain)
    if not parts.parts:
        raise ModelError(f"system '{system.name}' has no moving body")
    u = {k: v for i in range(len(parts.parts)) for k, v in joint_speeds(parts, i).items()}
    speeds = tuple(s for part in parts.parts for s in part.speeds)
    accelerations = _symbols(system, [f"{s.data.name}'" for s in speeds])
    joints = tuple(plain(q) for q in system.coordinates)
    described = {plain(q): plain(system.rates[q]) for q in system.coordinates}
    rates: dict[Expr, Expr] = {plain(system.time): UNIT}
    for part in parts.parts:
        rates |= {state: as_expr(rate) for state, rate in part.rates().items()}
    rates |= zip(joints, transform(list(described.values()), u.get), strict=True)

    rows = _rows(system, parts, u, plain)
    forms = [_form(row.speed, speeds) for row in rows]
    gammas = directional_derivatives([row.speed for row in rows], rates)
    multipliers = _symbols(system, [f"multiplier of {row.name}" for row in rows])
    weight, *softness = _symbols(
        system, ["weight of the motion", "softness of positions", "softness of speeds"]
    )
    inputs = Inputs(
        _symbols(system, [f"given {m.data.name}" for m in multipliers]),
        _symbols(system, [f"target of {row.name}" for row in rows]),
        weight,
        (softness[0], softness[1]),
    )
    solver = Bordered(parts, rows, forms, gammas, inputs)
    driven = {plain(speed): plain(inertia) for speed, inertia in system.armatures.items()}
    gained = directional_derivatives([u[speed] for speed in driven], rates)
    for (speed, inertia), gamma in zip(driven.items(), gained, strict=True):
        solver.add_armature(inertia, _form(u[speed], speeds), gamma)
    place = absolute_states(system, parts, plain)
    solver.support(_sample(system, parts, place, plain))
    moving = rates | dict(zip(speeds, accelerations, strict=True))
    dots = dict(zip(u, directional_derivatives(u.values(), moving), strict=True))
    accelerated = {plain(system.accelerations[s]): dots[plain(s)] for s in system.speeds}
    align: dict[Expr, Expr] = {}
    for i, part in enumerate(parts.parts):
        align |= aligned_coordinates(
            parts, i, {plain(q): described[plain(q)] for q in part.body.joint_coordinates}
        )
    return Redundant(
        parts=parts,
        rows=tuple(rows),
        forms=tuple(forms),
        time=plain(system.time),
        coordinates=tuple(c for part in parts.parts for c in part.coordinates),
        joints=joints,
        speeds=speeds,
        accelerations=accelerations,
        multipliers=multipliers,
        inputs=inputs,
        rates=rates,
        joint_speeds=u,
        joint_accelerations=accelerated,
        solution=tuple(solver.solution(forces(system, parts, u, plain))),
        aligned=tuple(align[q] for q in joints),
        placed=place,
        total_mass=total_mass(parts.parts),
    )


def _symbols(system: Description, names: Iterable[str]) -> tuple[Expr, ...]:
    return tuple(symbol(name, "variable", owner=system.identity) for name in names)


# ---------------------------------------------------------------- constraints


def _rows(
    system: Description, parts: AbsoluteBodies, u: dict[Expr, Expr], plain: Undimensioned
) -> list[AbsoluteConstraint]:
    """All constraints: of each joint, of given and locked speeds, and the user's own."""
    rows = [row for i in range(len(parts.parts)) for row in joint_rows(parts, i)]
    owners = {plain(s): i for i, part in enumerate(parts.parts) for s in part.body.speeds}
    for given in system.prescriptions.values():
        speed = plain(given.speed)
        position = None
        if given.coordinate is not None and given.position is not None:
            position = plain(given.coordinate) - plain(given.position)
        rows.append(
            AbsoluteConstraint(
                f"given {speed.data.name}", u[speed] - plain(given.value), position, owners[speed]
            )
        )
    for locked in system.locked:
        speed = plain(locked)
        rows.append(AbsoluteConstraint(f"given {speed.data.name}", u[speed], None, owners[speed]))
    for c in system.constraints.values():
        position = None if c.position is None else plain(c.position)
        rows.append(AbsoluteConstraint(c.name, substitute(plain(c.speed), u), position))
    return rows


def _form(speed: Expr, speeds: Iterable[Expr]) -> Form:
    """Coefficients of the absolute speeds in a constraint."""
    present = set(symbols(speed))
    found = {v: derivative(speed, v) for v in speeds if v in present}
    return {v: fn.named(c, "B") for v, c in found.items() if not is_zero(c)}


def _sample(
    system: Description, parts: AbsoluteBodies, place: dict[Expr, Expr], plain: Undimensioned
) -> dict[Expr, float]:
    """Defaults of parameters (one where there is none), and absolute coordinates for joints at any place."""
    rng = np.random.default_rng(0)
    values: dict[Expr, float] = {plain(s): float(rng.uniform(0.3, 0.9)) for s in system.coordinates}
    values |= {plain(s): 0.0 for flex in system.flexibles.values() for s in flex.coordinates}
    for body in system.bodies.values():
        for start in body.assembly.quaternions:
            e = [plain(q) for q in body.coordinates[start : start + 4]]
            size = np.sqrt(sum(values[q] ** 2 for q in e))
            values |= {q: float(values[q] / size) for q in e}
    for p in system.parameters.values():
        default = default_value(p)
        values[plain(p)] = 1.0 if default is None else default
    coordinates = [c for part in parts.parts for c in part.coordinates]
    elements = [place[c] for c in coordinates]
    values |= {s: 1.0 for s in symbols(*elements) if s not in values}
    return values | dict(zip(coordinates, map(float, evaluate_all(elements, values)), strict=True))
