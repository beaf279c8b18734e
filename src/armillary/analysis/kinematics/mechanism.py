"""The conditions that a mechanism satisfies along a path, as compiled functions.

N gives the rates of the coordinates from all speeds, q̇ = N u. For a small motion δ along the speeds,

    q += N δ        F(q, t) = [gaps Φ; driven quantities c − c*] = 0        A = (∂F/∂q) N
    A u + b = [0; ċ*]                   b = ∂F/∂t; A also has rows for constraints of speeds alone
    A u̇ + γ = [0; c̈*]                   γ = d(A u + b)/dt at constant u

where c* are the values that the driven quantities c are given. Under static loads the forces z of gaps and
driven quantities are unknown too, and each speed has a row

    f(q) + Aᵀ z = e*                    f: generalised forces of all loads at rest

whose target e* moves from the residual at the start to zero. If a quantity x has limits, there is a further
row with a scale s, s (max(x − high, 0) + min(x − low, 0)), which is zero while x is within the limits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from armillary.algebra.arguments import several
from armillary.algebra.calculus import directional_derivatives, gradient, tangents
from armillary.algebra.expression import UNIT, ZERO, Expr, as_expr, symbol
from armillary.algebra.functions import maximum, minimum
from armillary.algebra.units import FORCE, LENGTH, MOMENT, ONE, Dimension
from armillary.algebra.walk import Undimensioned, substitute, symbols, transform
from armillary.analysis.kinematics.follower import FollowedRows, PathConditions, follow
from armillary.cache import kept_per_object
from armillary.errors import ArmillaryError, nearest
from armillary.mechanics.constraints.constrained_equations import placeholders
from armillary.mechanics.constraints.loop_closing import speed_kind, unit_sizes
from armillary.mechanics.constraints.reduction import with_given
from armillary.mechanics.tree.build import build_tree
from armillary.mechanics.tree.inverse_dynamics import efforts
from armillary.mechanics.tree.kinematics import applied_loads
from armillary.mechanics.tree.regroup import regroup
from armillary.model.bodies.motion import time_derivative
from armillary.model.description import Constraint
from armillary.model.quantities import judgements
from armillary.model.units import state_factor
from armillary.program.derive import derive
from armillary.program.equations import DerivedEquations
from armillary.program.formalisms.formalism import derivation
from armillary.program.targets.targets import columns
from armillary.runtime.models.compiled import CompiledModel
from armillary.runtime.models.compiled_program import ModelFunctions
from armillary.runtime.start.initial import Place
from armillary.untyped import DataMapping

# A system's quantities as expressions of all its coordinates, speeds and accelerations.
#
# All speeds are unknowns, also the speeds that the equations of motion eliminate: a choice of dependent
# speeds becomes singular somewhere along a path, but q̇ = N u with all speeds does not. ``clock`` is the rate
# of time: 1 for rates in time, 0 for derivatives by a driven quantity.


@dataclass(frozen=True, eq=False)
class KinematicQuantity:
    """An output, coordinate or speed as an expression, in its stated units.

    ``scale`` converts from the model's units to the stated units.
    """

    name: str
    units: str
    about: str
    value: Expr
    dimension: Dimension | None = None
    scale: float = 1.0


class Kinematics:
    """The motion of a system as expressions of all its coordinates, speeds and accelerations."""

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
        self.motions: list[tuple[int, int, Expr]] = []  # elements of N: coordinate, speed, value
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
        self.mechanisms: dict[Any, Any] = {}  # compiled mechanisms
        self.reactions = {self.plain(s) for s in placeholders(system)}

    @cached_property
    def quantities(self) -> dict[str, KinematicQuantity]:
        """All columns of runs that do not depend on reactions, by name."""
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
        """Return a quantity by its name."""
        name = str(name)
        if name not in self.quantities:
            if any(c.name == name for c in columns(self.system)):
                raise ArmillaryError(
                    f"{what}: '{name}' depends on reactions, which do not follow from positions, speeds "
                    "and accelerations; run the model, or leave it out"
                )
            raise ArmillaryError(
                f"{what}: there is no coordinate or output '{name}'{nearest(name, self.quantities)}"
            )
        return self.quantities[name]

    def position(self, name: object, what: str) -> KinematicQuantity:
        """Return a quantity by its name; raise an error if it depends on speeds or accelerations."""
        found = self.quantity(name, what)
        if moving := set(symbols(found.value)) & {*self.u, *self.a}:
            speed = min(s.data.name for s in moving)
            raise ArmillaryError(
                f"{what}: '{name}' depends on {speed}; only functions of positions alone can be set or "
                "driven: give a coordinate, or an output of positions"
            )
        return found

    def rate(self, values: Sequence[Expr]) -> list[Expr]:
        """Return the rates of expressions of positions and time, at speeds u."""
        return directional_derivatives(values, self.moving)

    def sizes(self) -> list[Expr]:
        """Return the size of a motion along each speed; motions of these sizes have comparable effects."""
        known = {**unit_sizes(self.system), **self.equations.reduction.sizes}
        return [as_expr(known[speed_kind(u)]) for u in self.speeds]


def slopes(value: Expr, by: Sequence[Expr]) -> dict[int, Expr]:
    """Return the nonzero derivatives with respect to several symbols, by the index of the symbol."""
    held = set(symbols(value))
    places = [j for j, s in enumerate(by) if s in held]
    found = zip(places, gradient(value, [by[j] for j in places]), strict=True)
    return {j: d for j, d in found if d is not ZERO}


# Loads on a mechanism at rest: generalised forces along all speeds, and the efforts that hold the mechanism.
#
# f_r = −τ_r(q, u = 0, u̇ = 0)        τ: the inverse dynamics of the tree without its constraints


def generalised_forces(kinematics: Kinematics) -> list[Expr]:
    """Return the generalised forces f of all loads along the free speeds, with the system at rest."""
    k, system = kinematics, kinematics.system
    tree = build_tree(system, k.plain, given=k.given, split_free_bodies=True)
    tree = regroup(tree.with_degrees(lambda d: replace(d, rate=0, dependent=False)))
    tau = efforts(tree, applied_loads(system, tree, k.plain))
    at_rest = dict.fromkeys([*k.u, *k.a], ZERO)
    found = [as_expr(tau[i]) for i, u in enumerate(system.speeds) if u not in k.given]
    return [-f for f in transform(found, at_rest.get)]


def effort_quantity(kinematics: Kinematics, driven: KinematicQuantity, force: Expr) -> KinematicQuantity:
    """Return the force or moment that holds a driven quantity, positive along it.

    ``force`` times a change of the quantity in its stated units is work. The result times a change of the
    quantity in the model's units is the same work.
    """
    kind = {LENGTH: FORCE, ONE: MOMENT}.get(driven.dimension) if driven.dimension is not None else None
    units = kinematics.system.units.unit_text(kind) if kind is not None else ""
    about = f"effort that holds {driven.name} under static loads"
    return KinematicQuantity(f"effort of {driven.name}", units, about, force * driven.scale)


@dataclass(frozen=True, eq=False)
class ConditionRow:
    """One condition of positions or speeds: its name, its description, and its constraint, if it has one."""

    name: str
    about: str
    constraint: Constraint | None = None


class Mechanism:
    """A system whose loops are closed while some quantities are driven.

    ``rows`` describe the motion: gaps, driven quantities, balance of forces, constraints of speeds alone.
    ``targets`` are the symbols of c*, of e*, and of low, high and s of each limit.
    """

    def __init__(
        self,
        kinematics: Kinematics,
        driven: Sequence[KinematicQuantity],
        outputs: Sequence[KinematicQuantity] = (),
        *,
        limited: Sequence[KinematicQuantity] = (),
        static: bool = False,
    ) -> None:
        self.kinematics, self.driven, self.limited = kinematics, tuple(driven), tuple(limited)
        system = kinematics.system
        constraints = list(system.constraints.values())
        gaps = [c for c in constraints if c.position is not None]
        rolling = [c for c in constraints if c.position is None]
        self.gaps, self.static = len(gaps), static
        redundant = kinematics.equations.reduction.elimination.redundant
        self.redundant = sum(row.gap is not None for row in redundant)

        def fresh(words: str) -> Expr:
            return symbol(words, "variable", owner=system.identity)

        conditions = [ConditionRow(c.name, c.about, c) for c in gaps] + [
            ConditionRow(d.name, d.about) for d in self.driven
        ]
        held = conditions if static else []
        self.z = tuple(fresh(f"force of {row.name}") for row in held)
        self.u = (*kinematics.u, *(fresh(f"rate of force of {row.name}") for row in held))
        self.a = (*kinematics.a, *(fresh(f"second rate of force of {row.name}") for row in held))
        efforts = zip(self.driven, self.z[self.gaps :], strict=False)
        self.outputs = (*outputs, *(effort_quantity(kinematics, d, force) for d, force in efforts))
        balance = (
            [ConditionRow(u.data.name, f"balance along {u}") for u in kinematics.speeds] if static else []
        )
        self.rows = (*conditions, *balance, *(ConditionRow(c.name, c.about, c) for c in rolling))
        self.closing = len(conditions) + len(balance)  # rows of positions and of balance
        goals = [*(f"target {d.name}" for d in self.driven), *(f"balance {row.name}" for row in balance)]
        goals += [f"{word} of {x.name}" for x in self.limited for word in ("low", "high", "scale")]
        self.targets = tuple(map(fresh, goals))
        self.followed = len(self.driven) + len(balance)  # number of targets c* and e*
        with derivation():
            self._build(gaps, rolling)

    def _build(self, gaps: Sequence[Constraint], rolling: Sequence[Constraint]) -> None:
        """Make and compile the expressions of conditions, their derivatives, and outputs."""
        k, n = self.kinematics, len(self.kinematics.u)
        # Rates that are differentiated once more are made by directional_derivatives, not by tangents. The
        # function tangents may insert comparisons of rates with zero, which must not be differentiated here:
        # the derivatives by the speeds are evaluated where rates are zero.
        moving = k.moving | dict(zip(self.z, self.u[n:], strict=True))
        onward = moving | dict(zip(self.u, self.a, strict=True))
        values = [as_expr(k.plain(c.position)) for c in gaps]
        values += [d.value - s for d, s in zip(self.driven, self.targets, strict=False)]
        if self.static:
            power = sum(
                (z * v for z, v in zip(self.z, directional_derivatives(values, moving), strict=True)), ZERO
            )
            aims = self.targets[len(self.driven) : self.followed]
            balanced = zip(generalised_forces(k), gradient(power, k.u), aims, strict=True)
            values += [f + g - e for f, g, e in balanced]
        rates = [*directional_derivatives(values, moving), *(as_expr(k.plain(c.speed)) for c in rolling)]
        limits = [_limit(x.value, *self.targets[i : i + 3]) for x, i in self._limits()]
        still = dict.fromkeys(self.u, ZERO)
        entries = [(i, j, a) for i, v in enumerate(rates) for j, a in slopes(v, self.u).items()]
        closing = [e for e in entries if e[0] < self.closing]
        for i, v in enumerate(directional_derivatives(limits, moving)):
            closing += [(self.closing + i, j, a) for j, a in slopes(v, self.u).items()]
        shown = [o.value for o in self.outputs]
        first = directional_derivatives(shown, onward)
        speeds = {*self.u, *self.a}
        self.twice = tuple(i for i, v in enumerate(shown) if not speeds & set(symbols(v)))
        inputs = (*self.targets, *self.z, k.clock, *self.u, *self.a)
        forces = [(i, n + i, UNIT) for i in range(len(self.z))]
        functions = {
            "closing": [*values, *limits, *(a for *_, a in (*closing, *k.motions, *forces))],
            "motion": [*(substitute(v, still) for v in rates), *(a for *_, a in entries)],
            "bias": tangents(rates, moving),
            "shown": shown,
            "rates": [*tangents(shown, onward), *tangents([first[i] for i in self.twice], onward)],
            "sizes": k.sizes(),
            "limited": [x.value for x in self.limited],
        }  # fmt: skip
        self.functions = ModelFunctions(k.equations, functions, inputs, search=False)
        self.state = len(self.functions.equations.program.state)
        self.unknown = self.state + len(self.targets)  # index of z in a position
        self.clock = self.unknown + len(self.z)
        self.places = tuple((i, j) for i, j, _ in entries)
        units = list(dict.fromkeys(d.units for d in self.driven))
        groups = tuple(-units.index(d.units) for d in self.driven)
        rest = len(values) + len(limits) - self.gaps - len(self.driven)
        self.conditions = PathConditions(
            function=self.functions.address("closing"),
            width=self.state + len(inputs),
            first_target=self.state,
            targets=len(self.targets),
            stiff=(1,) * self.gaps + groups + (2,) * rest,
            directions=len(self.u),
            places=tuple((i, j) for i, j, _ in closing),
            moved=(*(i for i, *_ in k.motions), *(self.unknown + i for i, *_ in forces)),
            along=(*(j for _, j, _ in k.motions), *(j for _, j, _ in forces)),
            quaternions=k.quaternions,
        )  # fmt: skip

    def _limits(self) -> list[tuple[KinematicQuantity, int]]:
        """Return (quantity, index of its targets) for quantities with limits."""
        return [(x, self.followed + 3 * i) for i, x in enumerate(self.limited)]


def _limit(x: Expr, low: Expr, high: Expr, scale: Expr) -> Expr:
    found: Expr = scale * (maximum(x - high, ZERO) + minimum(x - low, ZERO))
    return found


# A mechanism with numbers: its compiled functions at one set of parameters, at many positions.


@dataclass(frozen=True, eq=False)
class MechanismNumbers:
    """A mechanism with one set of parameters, evaluated at many positions, one in each row of an array.

    A position is a row of numbers: the states of the model, the targets, the forces z, the rate of time, the
    speeds and the accelerations.
    """

    mechanism: Mechanism
    parameters: DataMapping | None
    memory: np.ndarray
    force_sizes: np.ndarray = field(default_factory=lambda: np.empty(0))
    constants: np.ndarray = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "constants", self.mechanism.functions.constants(self.parameters))

    def __call__(self, name: str, times: float | np.ndarray, positions: np.ndarray) -> np.ndarray:
        """Return the values of a compiled function at all positions."""
        f = self.mechanism.functions
        return f.rows(name, times, positions, memory=self.memory, constants=self.constants)

    @cached_property
    def motion_sizes(self) -> np.ndarray:
        width = self.mechanism.conditions.width
        found: np.ndarray = self("sizes", 0.0, np.zeros((1, width)))[0]
        return found

    @property
    def sizes(self) -> np.ndarray:
        """Sizes of all unknowns: of motions, then of forces."""
        return np.concatenate([self.motion_sizes, self.force_sizes])

    def position(self, place: Place) -> np.ndarray:
        """Return the position at a place of the model, at rest; its targets are the values at this place."""
        m, t = self.mechanism, self.mechanism.kinematics.equations.targets
        found = np.zeros(m.conditions.width)
        found[: len(place.q)] = place.q
        own = len(t.coordinates) + len(t.speeds)
        found[own : own + len(place.states)] = place.states
        if m.static:
            found[m.unknown : m.clock] = self._forces(found, place.t)
        found[m.state : m.state + m.followed] = self.values(found[None], np.array([place.t]))[0]
        return found

    def _forces(self, position: np.ndarray, t: float) -> np.ndarray:
        """Return the forces z with the least residual f + Aᵀ z."""
        m, n = self.mechanism, len(self.mechanism.kinematics.u)
        f = self.values(position[None], np.array([t]))[0, len(m.driven) :]
        A = self.matrices(np.array([t]), position[None])[0][0, : len(m.z), :n]
        scale = self.motion_sizes
        found: np.ndarray = np.linalg.lstsq((A * scale).T, -f * scale, rcond=1e-10)[0]
        return found

    def with_forces(self, position: np.ndarray, t: float) -> MechanismNumbers:
        """Return this object with sizes of the forces z that fit the loads at a position."""
        m, n = self.mechanism, len(self.mechanism.kinematics.u)
        if not m.static:
            return self
        without = position.copy()
        without[m.unknown : m.clock] = 0.0
        f = self.values(without[None], np.array([t]))[0, len(m.driven) :]
        work = float(np.max(np.abs(f * self.motion_sizes), initial=0.0)) or 1.0
        A = self.matrices(np.array([t]), position[None])[0][0, : len(m.z), :n] * self.motion_sizes
        largest = np.max(np.abs(A), axis=1, initial=0.0)
        return replace(self, force_sizes=work / np.where(largest > 0.0, largest, 1.0))

    def values(self, positions: np.ndarray, times: np.ndarray) -> np.ndarray:
        """Return the driven and held quantities at all rows, then the residuals of the balance of forces."""
        m = self.mechanism
        without = positions.copy()
        without[:, m.state : m.state + m.followed] = 0.0
        return self("closing", times, without)[:, m.gaps : m.closing]

    def follow(
        self,
        starts: np.ndarray,
        start_times: np.ndarray,
        origins: Sequence[int] | np.ndarray,
        times: np.ndarray,
        targets: np.ndarray,
        *,
        descend: bool = False,
        weight: float = 1.0,
    ) -> FollowedRows:
        """Return positions where the conditions hold, one for each row of targets; see follower.py."""
        return follow(
            self.mechanism.conditions, starts, start_times, origins, times, targets, self.sizes,
            self.constants, self.memory, descend=descend, weight=weight,
        )  # fmt: skip

    def with_motion(
        self, positions: np.ndarray, clock: float, u: np.ndarray | None = None, a: np.ndarray | None = None
    ) -> np.ndarray:
        """Return positions in which the inputs for the rate of time, speeds and accelerations are set."""
        m, found = self.mechanism, positions.copy()
        n, first = len(m.u), m.clock + 1
        found[:, m.clock] = clock
        found[:, first:] = 0.0
        if u is not None:
            found[:, first : first + n] = u
        if a is not None:
            found[:, first + n :] = a
        return found

    def matrices(self, times: np.ndarray, positions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return A and b at all positions."""
        m = self.mechanism
        numbers = self("motion", times, self.with_motion(positions, 1.0))
        count = len(m.rows)
        A = np.zeros((len(numbers), count, len(m.u)))
        if m.places:
            i, j = np.array(m.places).T
            A[:, i, j] = numbers[:, count:]
        return A, numbers[:, :count]


# The kinematics of a model and its mechanisms, made once and kept.


def joint_model(model: CompiledModel) -> CompiledModel:
    """Return the model, or, for redundant coordinates, a model of the system in joint coordinates."""
    base = model.base
    if base.equations.joints_move_bodies:
        return base
    return base.compiler(derive(base.equations.system, "kane"))


@kept_per_object
def kinematics_of(model: CompiledModel) -> Kinematics:
    """Return the kinematics of a model, made at its first use."""
    return Kinematics(model.equations)


def mechanism_of(
    kinematics: Kinematics,
    driven: Sequence[KinematicQuantity],
    shown: Sequence[KinematicQuantity],
    limited: Sequence[KinematicQuantity] = (),
    *,
    static: bool = False,
) -> Mechanism:
    """Return a mechanism with these quantities, compiled at the first request and kept."""
    key = (*(tuple(x.name for x in group) for group in (driven, shown, limited)), static)
    if key not in kinematics.mechanisms:
        kinematics.mechanisms[key] = Mechanism(kinematics, driven, shown, limited=limited, static=static)
    found = kinematics.mechanisms[key]
    assert isinstance(found, Mechanism)
    return found


def shown_quantities(
    kinematics: Kinematics, driven: Sequence[str], outputs: Sequence[str] | None
) -> list[KinematicQuantity]:
    """Return the requested outputs (default: all of the description), then coordinates that are
    not driven.
    """
    own = [n for n in kinematics.system.outputs if n in kinematics.quantities]
    asked = own if outputs is None else list(dict.fromkeys(map(str, several(outputs, "outputs="))))
    found = [n for n in asked if n not in driven]
    names = [*found, *(q for q in kinematics.coordinates if q not in {*found, *driven})]
    return [kinematics.quantity(name, "outputs=") for name in names]
