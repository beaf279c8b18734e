"""Small motions of each body: displacements, and kinetic and potential energies, by body and by load.

A body's velocity z = J u holds ω and the velocity v of its origin in its own axes, then the speeds of its
modes of deformation. Changes δu of the speeds have, on average over a cycle, the kinetic energy

    T_b = ¼ (J δu)ᴴ M_b J δu          M_b = ∂²T/∂z²

with the sum ¼ δuᴴ M δu over all bodies, M the mass matrix. A load of power P does the virtual work
Σ Q_k δπ_k, Q_k = ∂P/∂u_k, on displacements δπ = δu/λ along the speeds, so

    V_l = −¼ Re δπᴴ ∂Q/∂q δq          D_l = −½ Re δuᴴ ∂Q/∂u δu

are the energy that it stores and the power that it dissipates, on average over a cycle. At rest the sum of
all −∂Q/∂q is the stiffness of the system, with the geometric part: Q is taken along the independent speeds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from armillary.algebra.derivatives.calculus import NumericValue, gradient
from armillary.algebra.derivatives.tangents import tangents
from armillary.algebra.expression import UNIT, ZERO, Expr, as_expr, symbol
from armillary.algebra.vectors.matrices import matrix_vector
from armillary.algebra.vectors.scalars import plus, sum_of_products, times
from armillary.algebra.vectors.triples import Triple, add, cross_triples
from armillary.algebra.vectors.vectors import direction_cosines
from armillary.algebra.walk import held_places, transform
from armillary.analysis.linear.derivatives.jacobians import Linearization
from armillary.analysis.modes.shapes.loads import load_works
from armillary.kept_results import kept_per_object
from armillary.model.bodies.body import Body
from armillary.model.flexible.deformation import flexible_kinetic_energy
from armillary.model.quantities import body_motions
from armillary.program.equations import DerivedEquations
from armillary.program.form.cost import Operations
from armillary.program.formalisms.derivation import derivation
from armillary.runtime.models.programs.functions import ModelFunctions
from armillary.untyped import DataMapping

Element = tuple[int, int]
_W, _V = np.arange(3), np.arange(3, 6)  # places of ω and v in z


class LinearPlace(NamedTuple):
    """A state of a model at which its motion is looked at, in the model's own units."""

    linearization: Linearization
    t: float
    state: np.ndarray
    memory: np.ndarray
    parameters: DataMapping


class BodyMotions(NamedTuple):
    """Motions of bodies for small changes δy of the state y: arrays with axes of places and of changes."""

    speeds: np.ndarray  # δu of all speeds of the description
    velocities: np.ndarray  # J δu of all bodies, one after the other
    momenta: np.ndarray  # M_b J δu
    translations: np.ndarray  # of the mass centres in the ground, by body
    rotations: np.ndarray  # in the ground, by body
    spins: np.ndarray  # angular velocities in the ground's axes, by place and body


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
        """Elements of z, by body."""
        return [6 + len(_further_speeds(b)) for b in self.bodies]

    @cached_property
    def _bodies(self) -> tuple[list[Element], int, ModelFunctions]:
        """Elements of N, the number of inputs, and the functions "frames", "speeds" and "velocities"."""
        system = self.equations.system
        count = max(len(self.equations.targets.integrated), len(system.speeds))
        along = [symbol(f"d{k}", "variable", owner=system.identity) for k in range(count)]
        with derivation():
            elements, N = _rates(self.equations)
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
        """Those of changes (changes, states) at a place, without the axis of places."""
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
        """Those of changes (places, changes, states) at many places, in compiled loops."""
        elements, width, functions = self._bodies
        points, times, _ = changes.shape
        constants = functions.constants(parameters)

        def along(name: str, directions: np.ndarray) -> np.ndarray:
            """A function of every place along complex directions, real and imaginary parts in turn."""
            given = np.zeros((points, 2, directions.shape[1], width))
            given[:, 0, :, : directions.shape[2]] = directions.real
            given[:, 1, :, : directions.shape[2]] = directions.imag
            rows = given.reshape(-1, width)
            each = len(rows) // points
            t_, m_, c_ = (_spread(x, ndim, each) for x, ndim in ((t, 1), (memory, 2), (constants, 2)))
            found = functions.rows(name, t_, np.repeat(states, each, axis=0), None, m_, rows, c_)
            found = found.reshape(points, 2, directions.shape[1], found.shape[1])
            return found[:, 0] + 1j * found[:, 1]

        count, moving = len(self.bodies), len(_moving(self.equations))
        found = functions.rows("frames", t, states, None, memory, np.zeros(width), constants)
        relative, com, w, values = np.split(found, np.cumsum([9 * moving, 3 * count, 3 * count]), axis=1)
        R = self._rotations(relative.reshape(points, moving, 3, 3))
        coordinates = len(self.equations.targets.coordinates)
        N = np.zeros((points, coordinates, len(self.equations.system.speeds)))
        N[(slice(None), *np.array(elements, dtype=int).reshape(-1, 2).T)] = values
        # Displacements δπ of the joints, q̇ = N u, move a body by J δπ: a rotation and the way of its origin.
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
        """v_ground = R v_body, from those of all bodies in their parents."""
        found: dict[str, np.ndarray] = {}
        for i, body in enumerate(_moving(self.equations)):
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
        """Loads, weights and elasticities."""
        return self._loads[0]

    @property
    def free(self) -> list[int]:
        """Places of the independent speeds among all."""
        system = self.equations.system
        return [system.speeds.index(u) for u in self.equations.reduction.independent(system)]

    def works(self, place: LinearPlace, along: np.ndarray, moved: np.ndarray) -> np.ndarray:
        """Re aᴴ ∂Q/∂y b of every load at a place, for rows a of independent speeds and b of states."""
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
    """Speeds with a kinetic energy of their own: of modes, and of armatures."""
    modal = body.flex.speeds if body.flex else ()
    return [*modal, *(u for u in body.speeds if u in body.system.armatures)]


def _spread(values: NumericValue, ndim: int, each: int) -> NumericValue:
    """Values of places as those of rows, as many for each place; what all places share stays as it is."""
    return np.repeat(values, each, axis=0) if np.ndim(values) == ndim else values


def _rates(equations: DerivedEquations) -> tuple[list[Element], list[Expr]]:
    """Places and values of the elements of N, q̇ = N u, that are not zero."""
    system, plain = equations.system, equations.reduction.plain
    rates = [as_expr(system.rates[q]) for q in equations.reduction.coordinates(system)]
    held = held_places(rates, system.speeds)
    elements = [(i, k) for i, places in enumerate(held) for k in places]
    return elements, [plain(tangents([rates[i]], {system.speeds[k]: UNIT})[0]) for i, k in elements]


def _frames(equations: DerivedEquations, bodies: list[Body]) -> list[Expr]:
    """Direction cosines of all bodies in their parents; mass centres and ω of ``bodies`` in their axes."""
    cosines = [
        x
        for body in _moving(equations)
        if body.parent is not None
        for row in direction_cosines(body.parent.frame, body.frame)
        for x in row
    ]
    spins = {body.name: w for body, w, _ in body_motions(equations.system)}
    centres = [x for body in bodies for x in body.com_coordinates]
    plain = equations.reduction.plain
    return [plain(as_expr(x)) for x in (*cosines, *centres, *(x for b in bodies for x in spins[b.name]))]


def _speed_changes(equations: DerivedEquations, along: Sequence[Expr]) -> list[Expr]:
    """δu of all speeds of the description, for a change of the state."""
    own = [equations.reduction.plain(u) for u in equations.system.speeds]
    return tangents(own, dict(zip(equations.targets.integrated, along, strict=False)))


def _velocities(equations: DerivedEquations, bodies: list[Body], along: Sequence[Expr]) -> list[Expr]:
    """J δu of every body, then M_b J δu, for δu of all speeds of the description.

    They are derivatives of z along δu, and of the kinetic energy by z: linear in the length of a chain.
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
    """∂T/∂z of a body at a velocity, from its kinetic energy for one in symbols."""
    names = [f"{kind}{i} of {body.name}" for kind in "wv" for i in range(3)]
    w0, w1, w2, v0, v1, v2 = (symbol(name, owner=body.system.identity) for name in names)
    further = _further_speeds(body)
    modal = 6 + (len(body.flex.speeds) if body.flex else 0)
    z = [w0, w1, w2, v0, v1, v2, *further]
    found = gradient(_kinetic(body, (w0, w1, w2), (v0, v1, v2)), z[:modal])
    armatures = [body.system.armatures[u] * u for u in z[modal:]]
    return transform([*found, *armatures], dict(zip(z, velocity, strict=True)).get)


def _moving(equations: DerivedEquations) -> list[Body]:
    """All bodies but the ground, parents first."""
    return [body for body in equations.system.bodies.values() if body.parent is not None]


def _kinetic(body: Body, w: Triple, v: Triple) -> Expr:
    """½ m v_c·v_c + ½ ω·I·ω of a body, with that of its flexible part."""
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
    """The motions of a model's bodies and the works of its loads, compiled once."""
    return BodyFunctions(linearization.equations)
