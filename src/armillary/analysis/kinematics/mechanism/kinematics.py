"""A system's quantities as expressions of all its coordinates, speeds and accelerations.

All speeds count, also those that the equations of motion eliminate: a choice of dependent speeds becomes
singular somewhere along a path, and q̇ = N u with all of them does not. ``clock`` is the rate of time: 1 for
rates in time, 0 for derivatives by a driven quantity.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from armillary.algebra.derivatives.calculus import directional_derivatives, gradient
from armillary.algebra.expression import ZERO, Expr, as_expr, symbol
from armillary.algebra.units.dimension import Dimension
from armillary.algebra.walk import Undimensioned, substitute, symbols
from armillary.errors import ArmillaryError, nearest
from armillary.mechanics.constraints.reactions import placeholders
from armillary.mechanics.constraints.reduction import with_given
from armillary.mechanics.constraints.sizes import speed_kind, unit_sizes
from armillary.model.bodies.motion import time_derivative
from armillary.model.judgement import judgements
from armillary.model.units import state_factor
from armillary.program.equations import DerivedEquations
from armillary.program.targets.targets import columns


@dataclass(frozen=True, eq=False)
class KinematicQuantity:
    """An output, or a coordinate or speed, in its stated units, as an expression of all speeds.

    ``scale`` leads to these from the units of the model.
    """

    name: str
    units: str
    about: str
    value: Expr
    dimension: Dimension | None = None
    scale: float = 1.0


class Kinematics:
    """The motion of a system as expressions of all its coordinates and speeds."""

    def __init__(self, equations: DerivedEquations) -> None:
        system = equations.system
        self.equations, self.system = equations, system
        declared = judgements(system) if equations.options.get("small", True) else {}
        reader, given = with_given(system, Undimensioned(declared), equations.configuration)
        self.given = given
        self.speeds = tuple(u for u in system.speeds if u not in given)

        def fresh(s: Expr, words: str) -> Expr:
            return symbol(f"{words} {s.data.name}", "variable", owner=system.identity)

        self.u = tuple(fresh(u, "speed") for u in self.speeds)
        self.a = tuple(fresh(u, "acceleration") for u in self.speeds)
        self.clock = symbol("clock", "variable", owner=system.identity)
        known = {u: reader(as_expr(time_derivative(p.value))) for u, p in given.items()}
        reader = reader.with_values(dict(zip(self.speeds, self.u, strict=True)))
        free = dict(zip(self.speeds, self.a, strict=True))
        self.plain = reader.with_values(
            {
                acceleration: free.get(u, known.get(u, ZERO))
                for u, acceleration in system.accelerations.items()
            }
        )
        self.time = self.plain(system.time)
        moving = equations.reduction.coordinates(system)
        self.coordinates = tuple(q.data.name for q in moving)
        self.q = tuple(map(self.plain, moving))
        self.rates: dict[Expr, Expr] = {}
        self.motions: list[tuple[int, int, Expr]] = []  # elements of N: coordinate, speed
        still = dict.fromkeys(self.u, ZERO)
        for i, q in enumerate(moving):
            rate = as_expr(self.plain(system.rates[q]))
            factors = slopes(rate, self.u)
            self.motions += [(i, j, n) for j, n in factors.items()]
            rest = substitute(rate, still)
            linear = sum((n * self.u[j] for j, n in factors.items()), ZERO)
            self.rates[self.q[i]] = linear + self.clock * rest
        places = {q: i for i, q in enumerate(moving)}
        self.quaternions = tuple(
            places[body.coordinates[start]]
            for body in system.bodies.values()
            for start in body.assembly.quaternions
        )
        self.moving = self.rates | {self.time: self.clock}
        self.mechanisms: dict[Any, Any] = {}  # made of it, by what is driven and shown
        self.reactions = {self.plain(s) for s in placeholders(system)}

    @cached_property
    def quantities(self) -> dict[str, KinematicQuantity]:
        """All columns of runs that are no reactions, by name."""
        found = {}
        scales = {s.data.name: (s.dimension, 1.0 / state_factor(s)) for s in self.system.moving()}
        scales |= {o.name: (o.expression.dimension, o.scale) for o in self.system.outputs.values()}
        for c in columns(self.system):
            value = as_expr(self.plain(c.expression))
            if not self.reactions & set(symbols(value)):
                found[c.name] = KinematicQuantity(
                    c.name, c.units, c.about, value, *scales.get(c.name, (None, 1.0))
                )
        return found

    def quantity(self, name: object, what: str) -> KinematicQuantity:
        """A quantity by its name."""
        name = str(name)
        if name not in self.quantities:
            if any(c.name == name for c in columns(self.system)):
                raise ArmillaryError(
                    f"{what}: '{name}' depends on reactions, which are not decided by positions, speeds "
                    "and accelerations; run the model, or leave it out"
                )
            raise ArmillaryError(
                f"{what}: there is no coordinate or output '{name}'{nearest(name, self.quantities)}"
            )
        return self.quantities[name]

    def position(self, name: object, what: str) -> KinematicQuantity:
        """A quantity of positions alone, by its name."""
        found = self.quantity(name, what)
        if moving := set(symbols(found.value)) & {*self.u, *self.a}:
            speed = min(s.data.name for s in moving)
            raise ArmillaryError(
                f"{what}: '{name}' depends on {speed}; only what depends on positions alone can be set or "
                "driven: give a coordinate, or an output of positions"
            )
        return found

    def rate(self, values: Sequence[Expr]) -> list[Expr]:
        """Rates of expressions of positions and time, at speeds u."""
        return directional_derivatives(values, self.moving)

    def sizes(self) -> list[Expr]:
        """The size of each direction: motions of equal effect."""
        known = {**unit_sizes(self.system), **self.equations.reduction.sizes}
        return [as_expr(known[speed_kind(u)]) for u in self.speeds]


def slopes(value: Expr, by: Sequence[Expr]) -> dict[int, Expr]:
    """Derivatives that are not zero, by place."""
    held = set(symbols(value))
    places = [j for j, s in enumerate(by) if s in held]
    found = zip(places, gradient(value, [by[j] for j in places]), strict=True)
    return {j: d for j, d in found if d is not ZERO}
