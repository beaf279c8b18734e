"""Small motions of each body: displacements, and kinetic and potential energies, by body and by load.

A body's velocity z = J u holds ω and the velocity v of its origin in its own axes, then the speeds of its
modes of deformation. Changes δu of the speeds have, on average over a cycle, the kinetic energy

    T_b = ¼ (J δu)ᴴ M_b J δu          M_b = ∂²T/∂z²

with the sum ¼ δuᴴ M δu over all bodies, where M is the mass matrix. A load of power P does the virtual work
Σ Q_k δπ_k, Q_k = ∂P/∂u_k, on displacements δπ = δu/λ along the speeds, so

    V_l = −¼ Re δπᴴ ∂Q/∂q δq          D_l = −½ Re δuᴴ ∂Q/∂u δu

are the energy that the load stores and the power that it dissipates, on average over a cycle. At rest the sum
of all −∂Q/∂q is the system's stiffness. It includes the geometric stiffness, since Q is along the independent
speeds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property, reduce
from typing import NamedTuple

import numpy as np

from armillary.algebra.calculus import NumericValue, gradient, tangents
from armillary.algebra.expression import UNIT, ZERO, Expr, as_expr, symbol
from armillary.algebra.triples import (
    Scalar,
    Triple,
    add,
    cross_triples,
    matrix_vector,
    plus,
    sum_of_products,
    times,
)
from armillary.algebra.vectors import Vector, cross, direction_cosines, dot
from armillary.algebra.walk import held_indices, transform
from armillary.analysis.linear.matrices import Linearization
from armillary.analysis.modes.eigensystem import Eigensystem
from armillary.cache import kept_per_object
from armillary.model.bodies import motion
from armillary.model.bodies.body import Body
from armillary.model.bodies.motion import carry_to_child
from armillary.model.description import Description
from armillary.model.flexible.deformation import flexible_kinetic_energy, flexible_momenta
from armillary.model.quantities import body_motions
from armillary.model.space.attraction import all_gravities, all_loads, modal_forces
from armillary.model.units import state_factor
from armillary.program.equations import DerivedEquations
from armillary.program.formalisms.formalism import derivation
from armillary.program.passes.graph import Operations
from armillary.runtime.models.compiled_program import ModelFunctions
from armillary.text_tables import aligned, html_table
from armillary.untyped import DataMapping, DataTable

# Generalised forces of single loads, weights and elasticities along independent speeds, and their changes.
#
#     Q_k = ∂P/∂u_k          P: the power of the load
#
# Weights are those of the user's bodies, before regrouping moves mass between links, so that each body has
# its own share.


class LoadWorks(NamedTuple):
    """Σ_k Σ_j a_k ∂Q_k/∂y_j b_j of every load, with symbols a_k by independent speed and b_j by state."""

    names: tuple[str, ...]
    works: list[Expr]
    along: list[Expr]  # a
    moved: list[Expr]  # b


def load_works(equations: DerivedEquations) -> LoadWorks:
    """Return the works of all loads.

    They are derivatives along two directions, so that their cost is linear in the length of a chain.
    """
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
    """Return the power of every load, of the weight of every body and of its elasticity, by name."""
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
                passed = motion.velocity(end) if own else _carried_velocity(load.reaction_body, end)
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
    """Return the power of uniform gravity on every body, by name: its acceleration times the momentum."""
    found: DataTable = {}
    ground = system.ground.frame
    for gravity in all_gravities(system):
        fall = {ground: gravity.direction.components(ground)}
        for body, w, v in body_motions(system):
            assert body.parent is not None
            g = fall[body.frame] = carry_to_child(body, fall[body.parent.frame], "fall")
            speed = add(v, cross_triples(w, body.com_coordinates))
            power = times(body.mass, sum_of_products(zip(g, speed, strict=True)))
            if body.flex is not None:
                p = flexible_momenta(body, w, v)[0].components(body.frame)
                power = plus(power, sum_of_products(zip(g, p, strict=True)))
            found[body.name] = plus(found.get(body.name, ZERO), times(gravity.magnitude, power))
    return {name: as_expr(power) for name, power in found.items()}


def _carried_velocity(body: Body, end: object) -> Vector:
    """Return the velocity of the point of a body that is at the position of another body's point."""
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


Element = tuple[int, int]
_W, _V = np.arange(3), np.arange(3, 6)  # places of ω and v in z


class LinearPlace(NamedTuple):
    """The operating point of a linearisation, in the model's units."""

    linearization: Linearization
    t: float
    state: np.ndarray
    memory: np.ndarray
    parameters: DataMapping


class BodyMotions(NamedTuple):
    """Motions of bodies for small changes δy of the state y: arrays whose first axes are points
    and changes.
    """

    speeds: np.ndarray  # δu of all speeds of the description
    velocities: np.ndarray  # J δu of all bodies, one after the other
    momenta: np.ndarray  # M_b J δu
    translations: np.ndarray  # of the mass centres, by body, in the ground's axes
    rotations: np.ndarray  # by body, in the ground's axes
    spins: np.ndarray  # angular velocities in the ground's axes, by point and body


@dataclass(frozen=True, eq=False)
class BodyFunctions:
    """Motions of bodies and works of loads as compiled functions of the model's state and its changes."""

    equations: DerivedEquations

    @property
    def bodies(self) -> list[Body]:
        """Bodies with a mass, an inertia or modes of their own."""
        return [b for b in self.equations.system.bodies.values() if _has_mass(b, self.equations)]

    @cached_property
    def sizes(self) -> list[int]:
        """The number of elements of z, by body."""
        return [6 + len(_further_speeds(b)) for b in self.bodies]

    @cached_property
    def _bodies(self) -> tuple[list[Element], int, ModelFunctions]:
        """Elements of N, the number of inputs, and the functions "frames", "speeds" and "velocities"."""
        system = self.equations.system
        count = max(len(self.equations.targets.integrated), len(system.speeds))
        along = [symbol(f"d{k}", "variable", owner=system.identity) for k in range(count)]
        with derivation():
            elements, N = _rate_elements(self.equations)
            frames = [*_frames(self.equations, self.bodies), *N]
            speeds = _speed_changes(self.equations, along)
            velocities = _velocities(self.equations, self.bodies, along)
        functions = {"frames": frames, "speeds": speeds, "velocities": velocities}
        return elements, count, ModelFunctions(self.equations, functions, along, search=False)

    @property
    def operations(self) -> dict[str, Operations]:
        """Operations of one evaluation of the functions of bodies."""
        return self._bodies[2].operations

    def at(self, place: LinearPlace, changes: np.ndarray) -> BodyMotions:
        """Return the motions for changes (changes, states) at one point, without the axis of points."""
        found = self.motions(
            place.t, place.state[None, :], place.parameters, place.memory, np.asarray(changes)[None]
        )
        return BodyMotions(*(values[0] for values in found))

    def motions(
        self,
        t: float | np.ndarray,
        states: np.ndarray,
        parameters: Mapping[str, object],
        memory: np.ndarray,
        changes: np.ndarray,
    ) -> BodyMotions:
        """Return the motions for changes (points, changes, states) at many points, by compiled loops."""
        elements, width, functions = self._bodies
        points, times, _ = changes.shape
        constants = functions.constants(parameters)

        def along(name: str, directions: np.ndarray) -> np.ndarray:
            """Return a function linear in its directions, at every point, for complex directions.

            The function is called for their real and for their imaginary parts.
            """
            given = np.zeros((points, 2, directions.shape[1], width))
            given[:, 0, :, : directions.shape[2]] = directions.real
            given[:, 1, :, : directions.shape[2]] = directions.imag
            rows = given.reshape(-1, width)
            each = len(rows) // points
            t_, m_, c_ = (_repeat_places(x, ndim, each) for x, ndim in ((t, 1), (memory, 2), (constants, 2)))
            found = functions.rows(name, t_, np.repeat(states, each, axis=0), None, m_, rows, c_)
            found = found.reshape(points, 2, directions.shape[1], found.shape[1])
            return found[:, 0] + 1j * found[:, 1]

        count, moving = len(self.bodies), len(_moving_bodies(self.equations))
        found = functions.rows("frames", t, states, None, memory, np.zeros(width), constants)
        relative, com, w, values = np.split(found, np.cumsum([9 * moving, 3 * count, 3 * count]), axis=1)
        R = self._rotations(relative.reshape(points, moving, 3, 3))
        coordinates = len(self.equations.targets.coordinates)
        N = np.zeros((points, coordinates, len(self.equations.system.speeds)))
        N[(slice(None), *np.array(elements, dtype=int).reshape(-1, 2).T)] = values
        # Displacements δπ along the speeds (δq = N δπ) move a body by J δπ: a rotation, and the motion of its
        # origin.
        pi = changes[:, :, :coordinates] @ np.swapaxes(np.linalg.pinv(N), 1, 2)
        speeds = along("speeds", changes)
        both = along("velocities", np.concatenate([speeds, pi], axis=1))
        velocities, momenta = np.split(both[:, :times], 2, axis=2)
        first = np.cumsum([0, *self.sizes])[:-1, None]
        theta, way = (both[:, times:, first + k] for k in (_W, _V))
        way = way + np.cross(theta, com.reshape(points, 1, count, 3))
        translations, rotations = (np.einsum("pbij,pmbj->pmbi", R, x) for x in (way, theta))
        spins = np.einsum("pbij,pbj->pbi", R, w.reshape(points, count, 3))
        return BodyMotions(speeds, velocities, momenta, translations, rotations, spins)

    def _rotations(self, relative: np.ndarray) -> np.ndarray:
        """Return R of each body, v_ground = R v_body, from the rotations of bodies in their parents."""
        found: dict[str, np.ndarray] = {}
        for i, body in enumerate(_moving_bodies(self.equations)):
            R, above = relative[:, i], found.get(body.parent.name if body.parent else "")
            found[body.name] = R if above is None else above @ R
        chosen = [found[body.name] for body in self.bodies]
        return np.stack(chosen, axis=1) if chosen else np.zeros((len(relative), 0, 3, 3))

    @cached_property
    def _loads(self) -> tuple[tuple[str, ...], ModelFunctions]:
        with derivation():
            names, works, along, moved = load_works(self.equations)
        functions = {"works": works}
        return names, ModelFunctions(self.equations, functions, [*along, *moved], search=False)

    @property
    def load_names(self) -> tuple[str, ...]:
        """Names of loads, weights and elasticities."""
        return self._loads[0]

    @property
    def free(self) -> list[int]:
        """Indices of the independent speeds among all speeds."""
        system = self.equations.system
        return [system.speeds.index(u) for u in self.equations.reduction.independent(system)]

    def works(self, place: LinearPlace, along: np.ndarray, moved: np.ndarray) -> np.ndarray:
        """Return Re aᴴ ∂Q/∂y b of every load at a place.

        ``along`` has a in rows, by independent speed; ``moved`` has b in rows, by state.
        """
        names, functions = self._loads
        both = np.vstack([np.hstack([part(along), part(moved)]) for part in (np.real, np.imag)])
        if not names or not len(both):
            return np.zeros((len(along), len(names)))
        found = functions.rows("works", place.t, place.state, place.parameters, place.memory, both)
        parts: np.ndarray = found.reshape(2, len(along), -1)
        total: np.ndarray = parts.sum(axis=0)
        return total


def _has_mass(body: Body, equations: DerivedEquations) -> bool:
    plain = equations.reduction.plain
    inertia = [plain(as_expr(x)) for row in body.inertia for x in row]
    own = any(x is not ZERO for x in [plain(as_expr(body.mass)), *inertia])
    return own or bool(_further_speeds(body))


def _further_speeds(body: Body) -> list[Expr]:
    """Return a body's speeds with separate kinetic energy: speeds of modes and of armatures."""
    modal = body.flex.speeds if body.flex else ()
    return [*modal, *(u for u in body.speeds if u in body.system.armatures)]


def _repeat_places(values: NumericValue, ndim: int, each: int) -> NumericValue:
    """Repeat the values of each place ``each`` times; values that all places share stay unchanged."""
    return np.repeat(values, each, axis=0) if np.ndim(values) == ndim else values


def _rate_elements(equations: DerivedEquations) -> tuple[list[Element], list[Expr]]:
    """Return the indices and the values of the nonzero elements of N in q̇ = N u."""
    system, plain = equations.system, equations.reduction.plain
    rates = [as_expr(system.rates[q]) for q in equations.reduction.coordinates(system)]
    held = held_indices(rates, system.speeds)
    elements = [(i, k) for i, places in enumerate(held) for k in places]
    return elements, [plain(tangents([rates[i]], {system.speeds[k]: UNIT})[0]) for i, k in elements]


def _frames(equations: DerivedEquations, bodies: list[Body]) -> list[Expr]:
    """Return direction cosines of all bodies in their parents; mass centres and ω of ``bodies`` in their
    axes.
    """
    cosines = [
        x
        for body in _moving_bodies(equations)
        if body.parent is not None
        for row in direction_cosines(body.parent.frame, body.frame)
        for x in row
    ]
    spins = {body.name: w for body, w, _ in body_motions(equations.system)}
    centres = [x for body in bodies for x in body.com_coordinates]
    plain = equations.reduction.plain
    return [plain(as_expr(x)) for x in (*cosines, *centres, *(x for b in bodies for x in spins[b.name]))]


def _speed_changes(equations: DerivedEquations, along: Sequence[Expr]) -> list[Expr]:
    """Return δu of all speeds of the description, for a change of the state."""
    own = [equations.reduction.plain(u) for u in equations.system.speeds]
    return tangents(own, dict(zip(equations.targets.integrated, along, strict=False)))


def _velocities(equations: DerivedEquations, bodies: list[Body], along: Sequence[Expr]) -> list[Expr]:
    """Return J δu of every body, then M_b J δu of every body, for δu of all speeds of the description.

    J δu is the derivative of z along δu, and M_b J δu the gradient of the kinetic energy at this z, so that
    the cost is linear in the length of a chain.
    """
    system, plain = equations.system, equations.reduction.plain
    moving = {body.name: (*w, *v) for body, w, v in body_motions(system)}
    z = [as_expr(x) for body in bodies for x in (*moving[body.name], *_further_speeds(body))]
    velocities = tangents(z, dict(zip(system.speeds, along, strict=False)))
    momenta: list[Expr] = []
    for body in bodies:
        own = velocities[len(momenta) : len(momenta) + 6 + len(_further_speeds(body))]
        momenta += _momenta_of(body, own)
    return [plain(x) for x in (*velocities, *momenta)]


def _momenta_of(body: Body, velocity: list[Expr]) -> list[Expr]:
    """Return ∂T/∂z of a body at a given z, from its kinetic energy as an expression of symbols."""
    names = [f"{kind}{i} of {body.name}" for kind in "wv" for i in range(3)]
    w0, w1, w2, v0, v1, v2 = (symbol(name, owner=body.system.identity) for name in names)
    further = _further_speeds(body)
    modal = 6 + (len(body.flex.speeds) if body.flex else 0)
    z = [w0, w1, w2, v0, v1, v2, *further]
    found = gradient(_kinetic(body, (w0, w1, w2), (v0, v1, v2)), z[:modal])
    armatures = [body.system.armatures[u] * u for u in z[modal:]]
    return transform([*found, *armatures], dict(zip(z, velocity, strict=True)).get)


def _moving_bodies(equations: DerivedEquations) -> list[Body]:
    """Return all bodies but the ground, parents first."""
    return [body for body in equations.system.bodies.values() if body.parent is not None]


def _kinetic(body: Body, w: Triple, v: Triple) -> Expr:
    """Kinetic energy of a body, ½ m v_c·v_c + ½ ω·I·ω, plus the energy of its deformation."""
    centre = add(v, cross_triples(w, body.com_coordinates))
    spin = matrix_vector(body.inertia, w)
    energy = plus(
        times(body.mass, sum_of_products(zip(centre, centre, strict=True))),
        sum_of_products(zip(w, spin, strict=True)),
    )
    rigid = as_expr(times(0.5, energy))
    return rigid if body.flex is None else rigid + flexible_kinetic_energy(body, w, v)


@kept_per_object
def body_functions(linearization: Linearization) -> BodyFunctions:
    """Return the motions of a model's bodies and the works of its loads, compiled once."""
    return BodyFunctions(linearization.equations)


# The participation of each coordinate in each mode.
#
# With right and left eigenvectors r and l of a mode, the participation of the state k is
#
#     p_k = |l_k* r_k| / Σ_i |l_i* r_i|
#
# It does not depend on units, unlike the elements of a shape. A coordinate's participation includes its
# speed's.
#
# Source: Pérez-Arriaga, Verghese & Schweppe (1982), "Selective modal analysis with applications to electric
# power systems", IEEE Trans. Power Apparatus and Systems 101, with magnitudes in place of complex numbers.


def state_participation(found: Eigensystem) -> np.ndarray:
    """Return p by mode and state: chains of the eigenvalue zero first, then other modes."""
    of_chains = [np.sum(np.abs(c * d), axis=1) for c, d in zip(found.chains, found.duals, strict=True)]
    weights = np.array([*of_chains, *np.abs(found.left.conj() * found.right).T])
    if not len(weights):
        return np.zeros((0, len(found.right)))
    return np.asarray(weights / np.sum(weights, axis=1, keepdims=True))


def speeds_of_positions(A: np.ndarray, names: Sequence[str], roles: Sequence[str]) -> dict[int, int]:
    """Return the index of the speed of each position that has one, by the index of the position.

    If several positions move with one speed, the position of the same body has it.
    """
    from scipy.optimize import linear_sum_assignment

    positions = [i for i, role in enumerate(roles) if role in ("coordinate", "rotation")]
    speeds = [i for i, role in enumerate(roles) if role in ("speed", "momentum")]
    if not positions or not speeds:
        return {}
    rates = np.abs(A[np.ix_(positions, speeds)])
    share = rates / np.maximum(rates.sum(axis=1, keepdims=True), 1e-300)
    body = [name.rpartition(".")[0] for name in names]
    same = np.array([[body[i] == body[j] for j in speeds] for i in positions])
    score = share * (1.0 + same)
    rows, columns = linear_sum_assignment(-score)
    return {positions[r]: speeds[c] for r, c in zip(rows, columns, strict=True) if score[r, c] > 0}


def by_share(shares: np.ndarray) -> np.ndarray:
    """Return the order of descending shares; shares equal up to rounding keep the order of coordinates."""
    return np.argsort(-np.round(shares, 6), kind="stable")


def by_coordinate(p: np.ndarray, partners: dict[int, int]) -> tuple[list[int], np.ndarray]:
    """Return the indices of the states that are no speed of a position, and the participation of each.

    ``partners`` has the index of the speed of each position (``speeds_of_positions``), whose participation is
    added to that of the position.
    """
    taken = set(partners.values())
    places = [k for k in range(p.shape[1]) if k not in taken]
    total = p[:, places].copy()
    for column, k in enumerate(places):
        if k in partners:
            total[:, column] += p[:, partners[k]]
    return places, total


# The shapes of modes as motion of coordinates and bodies, and their energies by body and by load.

_SHOWN = 0.005  # shares below this are not listed


@dataclass(frozen=True, eq=False, repr=False)
class BodyShapes:
    """Motion of coordinates and bodies, and energies of bodies and loads; arrays have a row for each mode.

    ``displacements`` has all coordinates, also dependent ones, in their stated units.
    ``translations`` has the mass centres' motions in the ground's axes, in the model's unit of length,
    ``rotations`` about these axes in rad. ``kinetic`` has the share of each body in the kinetic energy of a
    mode over a cycle, with the sum 1. ``potential`` and ``dissipation`` have the shares of each load, weight
    or elasticity in the stored and the dissipated energy; their magnitudes have the sum 1, and a load with
    negative dissipation drives the mode.
    """

    coordinates: tuple[str, ...]
    displacements: np.ndarray
    bodies: tuple[str, ...]
    translations: np.ndarray
    rotations: np.ndarray
    kinetic: np.ndarray
    loads: tuple[str, ...]
    potential: np.ndarray
    dissipation: np.ndarray

    def __str__(self) -> str:
        return "\n".join(aligned([_HEADER, *self._rows()], ">"))

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return html_table(_HEADER, self._rows(), ">")

    def _rows(self) -> list[list[str]]:
        groups = ((self.bodies, self.kinetic), (self.loads, self.potential), (self.loads, self.dissipation))
        return [[str(i), *(_shares(names, x[i]) for names, x in groups)] for i in range(len(self.kinetic))]

    def as_dict(self) -> DataTable:
        """Return all fields, for files."""
        return {f.name: getattr(self, f.name) for f in fields(self)}

    @classmethod
    def from_dict(cls, data: DataTable) -> BodyShapes:
        """Return the shapes from the fields of a file."""
        texts = ("coordinates", "bodies", "loads")
        given: DataTable = {name: tuple(x) if name in texts else x for name, x in data.items()}
        return cls(**given)


_HEADER = ["mode", "kinetic energy", "potential energy", "dissipation"]


def _shares(names: tuple[str, ...], shares: np.ndarray) -> str:
    order = by_share(np.abs(shares))
    return ", ".join(f"{100 * shares[k]:.0f} % {names[k]}" for k in order[:3] if abs(shares[k]) > _SHOWN)


def body_shapes(place: LinearPlace, eigenvalues: np.ndarray, shapes: np.ndarray) -> BodyShapes:
    """Return the body shapes of modes from their eigenvalues and shapes (modes, states), in stated units."""
    linearization = place.linearization
    equations, form = linearization.equations, linearization.form
    functions = body_functions(linearization)
    basis = linearization.basis(place.t, place.state[None, :], place.parameters, place.memory)[0]
    y = (shapes * np.array([v.factor for v in form.states])) @ basis.T
    bodies = functions.at(place, y)
    coordinates = equations.targets.coordinates
    moved, rest = y.copy(), y.copy()
    moved[:, len(coordinates) :] = 0
    rest[:, : len(coordinates)] = 0
    u = bodies.speeds[:, functions.free]
    with np.errstate(divide="ignore", invalid="ignore"):
        column = eigenvalues[:, None]
        pi = np.where(column == 0, 0.0, u / column)
    energy = np.real(np.conj(bodies.velocities) * bodies.momenta)
    starts = np.cumsum([0, *functions.sizes])[:-1]
    return BodyShapes(
        tuple(q.data.name for q in coordinates),
        y[:, : len(coordinates)] / np.array([state_factor(q) for q in coordinates]),
        tuple(b.name for b in functions.bodies),
        bodies.translations,
        bodies.rotations,
        _normalise_rows(np.add.reduceat(energy, starts, axis=1) if len(starts) else energy),
        functions.load_names,
        _normalise_rows(-functions.works(place, pi, moved)),
        _normalise_rows(-functions.works(place, u, rest)),
    )


def _normalise_rows(values: np.ndarray) -> np.ndarray:
    """Scale each row so that its magnitudes have the sum 1; a row of zeros stays zero."""
    total = np.sum(np.abs(values), axis=1, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(total > 0, values / total, 0.0)
