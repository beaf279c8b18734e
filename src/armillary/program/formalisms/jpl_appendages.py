"""Appendages of JPL's programs from the flexible parts of a description."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from armillary.algebra.expression import Expr, as_expr
from armillary.algebra.triples import (
    Matrix,
    Scalar,
    Triple,
    add,
    cross_triples,
    inner,
    joined,
    matrix_vector,
    minus,
    negative,
    times,
)
from armillary.errors import ModelError
from armillary.mechanics.tree.build import Reader
from armillary.mechanics.tree.tree import Placement
from armillary.model.bodies.body import Body
from armillary.model.flexible.modal_data import ComplexModes, complex_modes, nodal_mass, spinning_matrices
from armillary.model.flexible.part import (
    Array,
    FlexibleNode,
    FlexiblePart,
    Lumps,
    coherence,
    uncouple_modes,
)
from armillary.model.flexible.part_input import reduced_mass
from armillary.program.formalisms.jpl_substructures import HingedGroup, numbers
from armillary.program.formalisms.jpl_vehicle import Appendage, NodeLoad, Particle, SpinningAppendage, Square

# Appendages of MBDYFN and MBDYFL from the flexible parts of a description.
#
# An appendage has the part's modes, in the axes of its group and about the group's mass centre o. Its modal
# mass is M − PᵀP/M_total, as in JPL's programs. This is a unit matrix if the modes were normalised with it
# (``total_mass=``), but any other basis of the same shapes may be used. Second-order terms are dropped.

Pairs = Mapping[str, tuple[Triple, Triple]]  # force and torque on nodes by their keys, in group axes

# Elements of a reduced mass matrix below this share of the diagonal are rounding errors of M − PᵀP/M_total.
_ROUNDING = 1e-13


def columns(matrix: np.ndarray, place: Placement) -> list[Triple]:
    """Convert the columns of a 3 × N array from a body's to its group's axes; zeros stay exactly zero."""
    return [matrix_vector(place.rotation, numbers(column)) for column in np.asarray(matrix).T]


def appendage(
    body: Body, place: Placement, group: HingedGroup, total_mass: Scalar, pairs: Pairs, read: Reader
) -> Appendage:
    """Return the appendage of a flexible body."""
    assert body.flex is not None
    part = body.flex.part
    P, H = columns(part.P, place), columns(part.H, place)
    arm = add(place.origin, negative(group.centre))
    loads = tuple(
        NodeLoad(
            add(place.point(numbers(node.position)), negative(group.centre)),
            columns(node.shape, place),
            columns(node.rotation, place),
            *pair,
        )
        for node, pair in ((part.node(key), pair) for key, pair in pairs.items())
    )
    return Appendage(
        P,
        [add(h, cross_triples(arm, p)) for h, p in zip(H, P, strict=True)],
        reduced_modal_mass(part, total_mass),
        _plain(part.K),
        _plain(part.C),
        [read(q) for q in body.flex.coordinates],
        [read(u) for u in body.flex.speeds],
        loads,
    )


def reduced_modal_mass(part: FlexiblePart, total_mass: Scalar) -> Square:
    """M − PᵀP/M_total."""
    shared = part.P.T @ part.P
    if isinstance(total_mass, Expr):
        return [
            [minus(m, times(s, 1 / total_mass)) for m, s in zip(row, other, strict=True)]
            for row, other in zip(_plain(part.M), _plain(shared), strict=True)
        ]
    found = part.M - shared / total_mass
    scale = np.sqrt(np.outer(np.diag(found), np.diag(found)))
    return _plain(np.where(np.abs(found) < _ROUNDING * scale, 0.0, found))


def _plain(matrix: np.ndarray) -> list[list[Scalar]]:
    return [[float(x) if x else 0 for x in row] for row in matrix]


# Appendages of MBDYFR from the flexible parts of a description: complex modes about a nominal spin.
#
# Complex modes may be given as data. Otherwise one complex mode is computed for each real mode of the part,
# from the masses and inertias of its nodes, the spin and the stiffness between the nodes. If a part has only
# shapes and a modal stiffness, its complex modes are in the span of the shapes. Each complex mode gets the
# damping ratio of the real mode of the same number, counted from the lowest frequency.
#
# Then the values of the part's coordinates and speeds are the states δ and η. In expressions of the
# description the symbols mean amplitudes and rates of the part's real shapes φ,
#
#     y = W q        ẏ = W q̇        W = (φᵀ Mn φ)⁻¹ φᵀ Mn
#
# which is exact if these shapes span the complex modes, that is, unless some shapes were left out.

_APART = 1e-9  # largest coherence of damping between two modes that counts as a rounding error


@dataclass(frozen=True, eq=False)
class ComplexAppendage:
    """A flexible body in complex modes: the modes, their damping ratios, and W (``amplitudes``)."""

    body: Body
    modes: ComplexModes
    amplitudes: Array
    damping: Array

    def amplitude(self, delta: list[Scalar], eta: list[Scalar]) -> list[Scalar]:
        """y = 2 W (Ψ δ − Γ η)."""
        return _apply_matrix(
            2 * self.amplitudes @ np.hstack([self.modes.psi, -self.modes.gamma]), [*delta, *eta]
        )

    def rate(self, delta: list[Scalar], eta: list[Scalar]) -> list[Scalar]:
        """ẏ = −2 W (Γ σ δ + Ψ σ η); with the arguments δ̇ and η̇ the result is ÿ."""
        shapes = np.hstack([self.modes.gamma, self.modes.psi]) * np.tile(self.modes.frequencies, 2)
        return _apply_matrix(-2 * self.amplitudes @ shapes, [*delta, *eta])

    def state_expressions(self, read: Reader) -> dict[Expr, Expr]:
        """Return the coordinates and speeds of the description as expressions of the states."""
        assert self.body.flex is not None
        flex = self.body.flex
        delta, eta = [read(q) for q in flex.coordinates], [read(u) for u in flex.speeds]
        amplitudes, rates = self.amplitude(delta, eta), self.rate(delta, eta)
        found = dict(zip(flex.coordinates, amplitudes, strict=True))
        found |= dict(zip(flex.speeds, rates, strict=True))
        return {symbol: as_expr(value) for symbol, value in found.items()}


def _apply_matrix(matrix: Array, values: list[Scalar]) -> list[Scalar]:
    return [inner([float(x) if x else 0 for x in row], values) for row in _without_rounding(matrix)]


def _without_rounding(matrix: Array) -> Array:
    """Replace elements below 1e-14 of the largest by zeros: each would cost operations in a run."""
    return np.where(np.abs(matrix) > 1e-14 * np.abs(matrix).max(initial=0.0), matrix, 0.0)


def complex_appendage(body: Body, total_mass: Scalar) -> ComplexAppendage:
    """Return the complex modes of a flexible body."""
    assert body.flex is not None
    part, where = body.flex.part, f"body '{body.name}'"
    lumps = part.lumps
    if lumps is None:
        raise ModelError(
            f"{where}: formalism 'mbdyfr' computes its complex modes from the masses of its nodes, which are "
            "not known; describe it with nodes=, masses= and stiffness="
        )
    if isinstance(total_mass, Expr):
        raise ModelError(
            f"{where}: formalism 'mbdyfr' needs the total mass as a number for its complex modes, but it is "
            f"{total_mass}; give masses as numbers"
        )
    Mn = nodal_mass(lumps.masses, lumps.inertias)
    shapes = lumps.shapes
    amplitudes = np.linalg.solve(shapes.T @ Mn @ shapes, shapes.T @ Mn)
    if (given := part.complex_modes) is not None:
        _check_mass(part, total_mass, where)
        modes = ComplexModes(given.frequencies, given.psi, given.gamma)
        return ComplexAppendage(body, modes, amplitudes, given.damping)
    spin = np.zeros(3) if part.spin is None else part.spin
    basis, stiffness = _basis(part, lumps, Mn, where)
    whole = spinning_matrices(lumps.masses, lumps.inertias, np.zeros_like(Mn), spin, total_mass)
    moving = whole.project_onto(basis)
    found = complex_modes(replace(moving, stiffness=moving.stiffness + stiffness), where)
    psi, gamma = (_without_rounding(basis @ a[:, : part.modes]) for a in (found.psi, found.gamma))
    modes = ComplexModes(found.frequencies[: part.modes], psi, gamma)
    return ComplexAppendage(body, modes, amplitudes, _ratios(part, where))


def _check_mass(part: FlexiblePart, total_mass: float, where: str) -> None:
    """Raise ModelError if complex modes are for another vehicle's mass."""
    if part.total_mass is not None and abs(part.total_mass - total_mass) > 0.01 * total_mass:
        raise ModelError(
            f"{where}: its complex modes are for a vehicle of mass {part.total_mass:g}, but this one "
            f"has {total_mass:g}; compute them again, or give stiffness= in place of complex modes"
        )


def _ratios(part: FlexiblePart, where: str) -> Array:
    """Return the damping ratios φᵀCφ / 2ω of the part's real modes, lowest frequency first."""
    rates, modes = uncouple_modes(reduced_mass(part.M, part.P, part.total_mass, where), part.K)
    damping = modes.T @ part.C @ modes
    worst, p, q = coherence(damping)
    if worst > _APART:
        raise ModelError(
            f"{where}: formalism 'mbdyfr' has one damping ratio per mode, but the damping matrix couples "
            f"modes {p + 1} and {q + 1} (coherence {worst:.3g}); give damping= ratios, or use "
            "formalism='kane', 'recursive' or 'mbdyfn'"
        )
    ratios = np.divide(np.diag(damping), 2 * rates, out=np.zeros(part.modes), where=rates > 0)
    found: Array = ratios[np.argsort(rates, kind="stable")]
    return found


def _basis(part: FlexiblePart, lumps: Lumps, Mn: Array, where: str) -> tuple[Array, Array]:
    """Return (columns that span all possible displacements, the stiffness in terms of these columns).

    Displacements without mass follow the others statically; they remain zero if they have no stiffness.
    """
    if lumps.stiffness is None:
        return lumps.shapes, part.K
    heavy = np.diag(Mn) > 0
    light = ~heavy & (np.abs(lumps.stiffness).max(axis=1) > 0)
    basis = np.eye(len(Mn))[:, heavy]
    if light.any():
        inner = lumps.stiffness[np.ix_(light, light)]
        if np.linalg.matrix_rank(inner) < len(inner):
            raise ModelError(
                f"{where}: some displacements have neither mass nor enough stiffness; give them a stiffness"
            )
        basis[light] = -np.linalg.solve(inner, lumps.stiffness[np.ix_(light, heavy)])
    return basis, basis.T @ lumps.stiffness @ basis


def spinning_appendage(
    found: ComplexAppendage, place: Placement, group: HingedGroup, pairs: Pairs, read: Reader
) -> SpinningAppendage:
    """Return the appendage in its group's axes and about the group's o."""
    flex = found.body.flex
    assert flex is not None and flex.part.lumps is not None
    part, lumps, modes = flex.part, flex.part.lumps, found.modes
    particles = []
    for s, mass in enumerate(lumps.masses):
        moved, turned = slice(6 * s, 6 * s + 3), slice(6 * s + 3, 6 * s + 6)
        rows: Matrix = joined(joined(float(x) if x else 0 for x in row) for row in lumps.inertias[s])
        inertia = place.turned_inertia(rows)
        where = place.point(numbers(lumps.positions[s]))
        particles.append(
            Particle(
                float(mass),
                inertia,
                add(where, negative(group.centre)),
                columns(modes.psi[moved], place),
                columns(modes.gamma[moved], place),
                columns(modes.psi[turned], place),
                columns(modes.gamma[turned], place),
            )
        )
    loads = []
    for key, pair in pairs.items():
        s = _lump(part.node(key), lumps, found.body)
        p = particles[s]
        shape = columns(_double_shapes(modes, slice(6 * s, 6 * s + 3)), place)
        rotation = columns(_double_shapes(modes, slice(6 * s + 3, 6 * s + 6)), place)
        loads.append(NodeLoad(p.place, shape, rotation, *pair))
    spin = np.zeros(3) if part.spin is None else part.spin
    return SpinningAppendage(
        tuple(particles),
        matrix_vector(place.rotation, numbers(spin)),
        [float(x) for x in modes.frequencies],
        [float(x) if x else 0 for x in found.damping],
        [read(q) for q in flex.coordinates],
        [read(u) for u in flex.speeds],
        tuple(loads),
    )


def _double_shapes(modes: ComplexModes, rows: slice) -> Array:
    """2 (Ψ, −Γ)."""
    return 2 * np.hstack([modes.psi[rows], -modes.gamma[rows]])


def _lump(node: FlexibleNode, lumps: Lumps, body: Body) -> int:
    """Return the index of the lump at a node."""
    distances = np.linalg.norm(lumps.positions - node.position, axis=1)
    s = int(np.argmin(distances))
    if distances[s] > 1e-12 * (1 + np.abs(lumps.positions).max()):
        raise ModelError(
            f"formalism 'mbdyfr': node '{node.name}' of body '{body.name}' has no mass that moves, so no "
            "load can act on it; load the body itself"
        )
    return s
