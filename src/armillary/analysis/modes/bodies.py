"""What small motions do to each body: displacements, and kinetic and potential energies, by body and by load.

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

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from armillary.algebra.derivatives.tangents import tangents
from armillary.algebra.expression import UNIT, ZERO, Expr, as_expr, symbol
from armillary.algebra.vectors.matrices import matrix_vector
from armillary.algebra.vectors.scalars import plus, sum_of_products, times
from armillary.algebra.vectors.triples import Triple, add, cross_triples
from armillary.algebra.vectors.vectors import direction_cosines
from armillary.analysis.linear.jacobians import Filled, Linearization
from armillary.analysis.modes.loads import load_works
from armillary.model.bodies.body import Body
from armillary.model.flexible.energy import flexible_kinetic_energy
from armillary.model.quantities.energy import body_motions
from armillary.program.equations import DerivedEquations
from armillary.program.formalisms.derivation import derivation
from armillary.runtime.models.functions import ModelFunctions

Element = tuple[int, int]
_W, _V = np.arange(3), np.arange(3, 6)  # places of ω and v in z


class LinearPlace(NamedTuple):
    """A state of a model at which its motion is looked at, in the model's own units."""

    linearization: Linearization
    t: float
    state: np.ndarray
    memory: np.ndarray
    parameters: Mapping[str, Any]


class BodyMatrices(NamedTuple):
    """Matrices of every body, with a leading axis for many places; y is the model's whole state."""

    twist: np.ndarray  # J of all bodies, one after the other, for all speeds of the description
    mass: np.ndarray  # M_b in blocks
    place: np.ndarray  # ∂/∂y of the mass centre's position in the ground, three rows for each body
    turn: np.ndarray  # ∂/∂y of the body's small rotation in the ground, three rows for each body
    speeds: np.ndarray  # ∂u/∂y of all speeds of the description
    independent: np.ndarray  # ∂u/∂u_k of all speeds by the independent ones
    spins: np.ndarray  # angular velocities in the ground's axes, three elements for each body


@dataclass(frozen=True, eq=False)
class BodyFunctions:
    """The matrices of bodies and loads as compiled functions of the model's state."""

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
    def _bodies(self) -> tuple[Filled, ModelFunctions]:
        with derivation():
            filled = Filled(_body_matrices(self.equations, self.bodies, self.sizes))
        return filled, filled.functions(self.equations)

    def matrices(self, place: LinearPlace) -> BodyMatrices:
        """Those of the bodies at a place."""
        found = self.rows(place.t, place.state[None, :], place.parameters, place.memory)
        return BodyMatrices(*(matrix[0] for matrix in found))

    def rows(
        self, t: float | np.ndarray, states: np.ndarray, parameters: Mapping[str, Any], memory: np.ndarray
    ) -> BodyMatrices:
        """Those of the bodies at many places, in one compiled loop."""
        filled, functions = self._bodies
        numbers = functions.rows("dense", t, states, parameters, memory)
        twist, mass, rotation, com, rates, speeds, independent, w = filled(numbers)
        points, count, n = len(states), len(self.bodies), speeds.shape[2]
        R = self._rotations(rotation.reshape(points, -1, 3, 3))
        # Displacements δπ of the joints, q̇ = N u, move a body by J δπ: a rotation and the way of its origin.
        moved = np.zeros((points, twist.shape[1], n))
        moved[:, :, : rates.shape[1]] = twist @ np.linalg.pinv(rates)
        first = np.cumsum([0, *self.sizes])[:-1]
        theta, way = (moved[:, (first[:, None] + k).ravel()].reshape(points, count, 3, n) for k in (_W, _V))
        way = way + np.cross(theta, com.reshape(points, count, 3, 1), axis=2)
        place, turn = ((R @ x).reshape(points, 3 * count, n) for x in (way, theta))
        spins = (R @ w.reshape(points, count, 3, 1)).reshape(points, 3 * count)
        return BodyMatrices(twist, mass, place, turn, speeds, independent, spins)

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


def _body_matrices(
    equations: DerivedEquations, bodies: list[Body], sizes: list[int]
) -> dict[str, tuple[tuple[int, int], dict[Element, Expr]]]:
    """Velocities of bodies and their masses; places and rotation matrices, with their derivatives."""
    system, plain, y = equations.system, equations.reduction.plain, equations.targets.integrated
    total, count, n = sum(sizes), len(bodies), len(y)
    z: list[Expr] = []
    mass: dict[Element, Expr] = {}
    centres: list[Expr] = []
    spins: list[Expr] = []
    moving = {body.name: (w, v) for body, w, v in body_motions(system)}
    for body in bodies:
        start = len(z)
        w, v = moving[body.name]
        z += [as_expr(x) for x in (*w, *v, *_further_speeds(body))]
        for (i, j), value in _mass_of(body).items():
            mass[start + i, start + j] = plain(value)
        spins += [plain(as_expr(x)) for x in w]
        centres += [plain(as_expr(x)) for x in body.com_coordinates]
    turned = [
        plain(as_expr(x))
        for body in _moving(equations)
        if body.parent is not None
        for row in direction_cosines(body.parent.frame, body.frame)
        for x in row
    ]
    coordinates = equations.reduction.coordinates(system)
    N = _jacobian([system.rates[q] for q in coordinates], tuple(system.speeds))
    u = system.speeds
    twist = {place: plain(x) for place, x in _jacobian(z, tuple(u)).items()}
    free = {u.index(speed): k for k, speed in enumerate(equations.reduction.independent(system))}
    dependence: dict[Element, Expr] = {(i, k): UNIT for i, k in free.items()}
    for d, row in equations.reduction.elimination.factors.items():
        dependence |= {(d, free[i]): as_expr(x) for i, x in row.items() if i in free}
    return {
        "twist": ((total, len(u)), twist),
        "mass": ((total, total), {place: x for place, x in mass.items() if x is not ZERO}),
        "rotation": ((len(turned), 1), _column(turned)),
        "com": ((3 * count, 1), _column(centres)),
        "rates": ((len(coordinates), len(u)), {place: plain(x) for place, x in N.items()}),
        "speeds": ((len(u), n), _jacobian([plain(x) for x in u], y)),
        "independent": ((len(u), len(free)), dependence),
        "spins": ((3 * count, 1), _column(spins)),
    }


def _moving(equations: DerivedEquations) -> list[Body]:
    """All bodies but the ground, parents first."""
    return [body for body in equations.system.bodies.values() if body.parent is not None]


def _column(values: list[Expr]) -> dict[Element, Expr]:
    return {(i, 0): x for i, x in enumerate(values) if x is not ZERO}


def _jacobian(values: list[Expr], by: tuple[Expr, ...]) -> dict[Element, Expr]:
    found = {}
    for k, s in enumerate(by):
        column = tangents(values, {s: UNIT})
        found.update({(i, k): x for i, x in enumerate(column) if x is not ZERO})
    return found


def _mass_of(body: Body) -> dict[Element, Expr]:
    """∂²T/∂z² of a body, from its kinetic energy for a velocity in symbols."""
    names = [*(f"w{i}" for i in range(3)), *(f"v{i}" for i in range(3))]
    z = [symbol(f"{name} of {body.name}", owner=body.system.identity) for name in names]
    w, v, further = (z[0], z[1], z[2]), (z[3], z[4], z[5]), _further_speeds(body)
    modal = len(body.flex.speeds) if body.flex else 0
    found = _second_derivatives(_kinetic(body, w, v), [*z, *further[:modal]])
    armatures = enumerate(further[modal:], start=6 + modal)
    return found | {(i, i): body.system.armatures[u] for i, u in armatures}


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


def _second_derivatives(energy: Expr, by: list[Expr]) -> dict[Element, Expr]:
    found = {}
    for i, a in enumerate(by):
        (slope,) = tangents([energy], {a: UNIT})
        for j, b in enumerate(by):
            (x,) = tangents([slope], {b: UNIT})
            if x is not ZERO:
                found[i, j] = x
    return found


_KNOWN: WeakKeyDictionary[Linearization, BodyFunctions] = WeakKeyDictionary()


def body_functions(linearization: Linearization) -> BodyFunctions:
    """The matrices of a model's bodies and loads, compiled once."""
    if linearization not in _KNOWN:
        _KNOWN[linearization] = BodyFunctions(linearization.equations)
    return _KNOWN[linearization]
