"""A system's positions, speeds and accelerations without its dynamics, as compiled functions.

All speeds count as unknown, also those that the equations of motion eliminate: a choice of dependent speeds
becomes singular somewhere along a path, and this form does not. With small motions δ along the speeds,

    q += N δ        F(q, t) = [gaps Φ; driven quantities c − c*] = 0        A = (∂F/∂q) N
    A u + b = [0; ċ*]                   b = ∂F/∂t, and rows for constraints of speeds alone
    A u̇ + γ = [0; c̈*]                   γ = d(A u + b)/dt at constant u

``clock`` is the rate of time: 1 for rates in time, 0 for derivatives by a driven quantity.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from armillary.algebra.calculus import gradient
from armillary.algebra.expression import ZERO, Expr, as_expr, symbol
from armillary.algebra.tangents import tangents
from armillary.algebra.walk import Undimensioned, substitute, symbols
from armillary.analysis.kinematics.follower import Conditions
from armillary.errors import ArmillaryError, nearest
from armillary.mechanics.constraints.reactions import placeholders
from armillary.mechanics.constraints.reduction import with_given
from armillary.mechanics.constraints.sizes import speed_kind, unit_sizes
from armillary.model.description import Description
from armillary.model.judgement import judgements
from armillary.model.motion import time_derivative
from armillary.model.records import Constraint
from armillary.program.equations import DerivedEquations
from armillary.program.formalisms.derivation import derivation
from armillary.program.targets import columns
from armillary.runtime.models.functions import ModelFunctions
from armillary.runtime.start.place import Place


@dataclass(frozen=True, eq=False)
class Quantity:
    """An output, or a coordinate or speed, in its stated units, as an expression of all speeds."""

    name: str
    units: str
    about: str
    value: Expr


class Kinematics:
    """The motion of a system as expressions of all its coordinates and speeds."""

    def __init__(self, equations: DerivedEquations) -> None:
        system = equations.system
        self.equations, self.system = equations, system
        declared = judgements(system) if equations.options.get("small", True) else {}
        reader, given = with_given(system, Undimensioned(declared), equations.configuration)
        self.speeds = tuple(u for u in system.speeds if u not in given)

        def fresh(s: Expr, words: str) -> Expr:
            return symbol(f"{words} {s.data.name}", "variable", owner=system.identity)

        self.u = tuple(fresh(u, "speed") for u in self.speeds)
        self.a = tuple(fresh(u, "acceleration") for u in self.speeds)
        self.clock = symbol("clock", "variable", owner=system.identity)
        known = {u: reader(as_expr(time_derivative(p.value))) for u, p in given.items()}
        reader = reader.knowing(dict(zip(self.speeds, self.u, strict=True)))
        free = dict(zip(self.speeds, self.a, strict=True))
        self.plain = reader.knowing(
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
        self._moving = self.rates | {self.time: self.clock}
        self._onward = self._moving | dict(zip(self.u, self.a, strict=True))
        self.mechanisms: dict[Any, Mechanism] = {}  # by the names of what is driven and shown
        self.reactions = {self.plain(s) for s in placeholders(system)}

    @cached_property
    def quantities(self) -> dict[str, Quantity]:
        """All columns of runs that are no reactions, by name."""
        found = {}
        for c in columns(self.system):
            value = as_expr(self.plain(c.expression))
            if not self.reactions & set(symbols(value)):
                found[c.name] = Quantity(c.name, c.units, c.about, value)
        return found

    def quantity(self, name: Any, what: str) -> Quantity:
        """A quantity by its name."""
        if not isinstance(name, str) or name not in self.quantities:
            if any(c.name == name for c in columns(self.system)):
                raise ArmillaryError(
                    f"{what}: '{name}' depends on reactions, which are not decided by positions, speeds "
                    "and accelerations; run the model, or leave it out"
                )
            raise ArmillaryError(
                f"{what}: there is no coordinate or output '{name}'{nearest(name, self.quantities)}"
            )
        return self.quantities[name]

    def position(self, name: Any, what: str) -> Quantity:
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
        return tangents(values, self._moving)

    def onward(self, values: Sequence[Expr]) -> list[Expr]:
        """Rates of expressions of positions, speeds and time, with accelerations."""
        return tangents(values, self._onward)

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


@dataclass(frozen=True, eq=False)
class Row:
    """One condition: its words, whether it is the gap of a constraint, and the constraint."""

    name: str
    about: str
    constraint: Constraint | None = None


class Mechanism:
    """A system whose loops are closed while some quantities are driven."""

    def __init__(
        self, kinematics: Kinematics, driven: Sequence[Quantity], outputs: Sequence[Quantity] = ()
    ) -> None:
        k, system = kinematics, kinematics.system
        self.kinematics, self.driven, self.outputs = k, tuple(driven), tuple(outputs)
        self.targets = tuple(
            symbol(f"target {d.name}", "variable", owner=system.identity) for d in self.driven
        )
        with derivation():
            self._build(k, system)

    def _build(self, k: Kinematics, system: Description) -> None:
        gaps = [c for c in system.constraints.values() if c.position is not None]
        rolling = [c for c in system.constraints.values() if c.position is None]
        self.rows = (
            *(Row(c.name, c.about, c) for c in gaps),
            *(Row(d.name, d.about) for d in self.driven),
            *(Row(c.name, c.about, c) for c in rolling),
        )
        self.gaps = len(gaps)
        self.closing = self.gaps + len(self.driven)  # rows of positions
        values = [as_expr(k.plain(c.position)) for c in gaps]
        values += [d.value - s for d, s in zip(self.driven, self.targets, strict=True)]
        rates = [*k.rate(values), *(as_expr(k.plain(c.speed)) for c in rolling)]
        still = dict.fromkeys(k.u, ZERO)
        entries = [(i, j, a) for i, v in enumerate(rates) for j, a in slopes(v, k.u).items()]
        closing = [e for e in entries if e[0] < self.closing]
        shown = [o.value for o in self.outputs]
        first = k.onward(shown)
        held = {*k.u, *k.a}
        self.twice = tuple(i for i, v in enumerate(shown) if not held & set(symbols(v)))
        functions = {
            "closing": [*values, *(a for *_, a in closing), *(n for *_, n in k.motions)],
            "motion": [*(substitute(v, still) for v in rates), *(a for *_, a in entries)],
            "bias": k.rate(rates),
            "shown": shown,
            "rates": [*first, *k.onward([first[i] for i in self.twice])],
            "sizes": k.sizes(),
        }
        inputs = (*self.targets, k.clock, *k.u, *k.a)
        self.functions = ModelFunctions(k.equations, functions, inputs, search=False)
        self.state = len(self.functions.equations.program.state)
        self.places = tuple((i, j) for i, j, _ in entries)
        self.conditions = Conditions(
            function=self.functions.address("closing"),
            width=self.state + len(inputs),
            first_target=self.state,
            targets=len(self.targets),
            stiff=(1,) * self.gaps + (0,) * len(self.targets),
            directions=len(k.u),
            places=tuple((i, j) for i, j, _ in closing),
            moved=tuple(i for i, *_ in k.motions),
            along=tuple(j for _, j, _ in k.motions),
            quaternions=k.quaternions,
        )


@dataclass(frozen=True, eq=False)
class Numbers:
    """A mechanism with one set of parameters: its numbers at many positions, a row each."""

    mechanism: Mechanism
    parameters: Mapping[str, Any] | None
    memory: np.ndarray
    constants: np.ndarray = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "constants", self.mechanism.functions.constants(self.parameters))

    def __call__(self, name: str, times: Any, positions: np.ndarray) -> np.ndarray:
        """A compiled function at all rows; positions hold states and inputs."""
        f = self.mechanism.functions
        return f.rows(name, times, positions, memory=self.memory, constants=self.constants)

    @cached_property
    def sizes(self) -> np.ndarray:
        width = self.mechanism.conditions.width
        return self("sizes", 0.0, np.zeros((1, width)))[0]

    def position(self, place: Place) -> np.ndarray:
        """A place of the model, at rest, with its own values as targets."""
        m, t = self.mechanism, self.mechanism.kinematics.equations.targets
        found = np.zeros(m.conditions.width)
        found[: len(place.q)] = place.q
        own = len(t.coordinates) + len(t.speeds)
        found[own : own + len(place.states)] = place.states
        found[m.state : m.state + len(m.targets)] = self.values(found[None], np.array([place.t]))[0]
        return found

    def values(self, positions: np.ndarray, times: np.ndarray) -> np.ndarray:
        """What is driven and held at all rows: what the conditions leave of targets that are zero."""
        m = self.mechanism
        without = positions.copy()
        without[:, m.state : m.state + len(m.targets)] = 0.0
        return self("closing", times, without)[:, m.gaps : m.closing]

    def with_motion(
        self, positions: np.ndarray, clock: float, u: np.ndarray | None = None, a: np.ndarray | None = None
    ) -> np.ndarray:
        """Positions with the rate of time, speeds and accelerations."""
        m, found = self.mechanism, positions.copy()
        n, first = len(m.kinematics.u), m.state + len(m.targets)
        found[:, first] = clock
        found[:, first + 1 :] = 0.0
        if u is not None:
            found[:, first + 1 : first + 1 + n] = u
        if a is not None:
            found[:, first + 1 + n :] = a
        return found

    def matrices(self, times: np.ndarray, positions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """A and b of all rows."""
        m = self.mechanism
        numbers = self("motion", times, self.with_motion(positions, 1.0))
        count = len(m.rows)
        A = np.zeros((len(numbers), count, len(m.kinematics.u)))
        if m.places:
            i, j = np.array(m.places).T
            A[:, i, j] = numbers[:, count:]
        return A, numbers[:, :count]
