"""The substructures of a description: groups of bodies on hinges, and rotors.

Bodies fixed to each other are one group, in the axes of its first body. A group on the ground must be free in
space; the others hang on hinges, one to three through a point. A group may be an imaginary body without mass
(Fleischer and Likins, section II.A) as long as one beyond it has some. A balanced axisymmetric group on a
single hinge with nothing beyond it is a rotor of the group that carries it: its mass and transverse inertia
go there.

What JPL's programs could not describe is an error here; ``kane`` and ``recursive`` take it.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

import numpy as np

from armillary.algebra.expression import Expr
from armillary.algebra.vectors.matrices import (
    IDENTITY,
    Matrix,
    matrix_product,
    matrix_sum,
    matrix_vector,
    scaled_matrix,
    transposed,
)
from armillary.algebra.vectors.scalars import Scalar, inner, is_zero, minus, plus, times
from armillary.algebra.vectors.triples import Triple, add, negative, scaled
from armillary.algebra.vectors.vectors import Frame, Vector
from armillary.algebra.walk import Undimensioned
from armillary.errors import ModelError
from armillary.mechanics.formalisms.jpl.rotors import along
from armillary.mechanics.tree.build import GROUND, Reader, RigidGroup, rigid_groups
from armillary.mechanics.tree.tree import Placement
from armillary.model.bodies.body import Body
from armillary.model.description import Description
from armillary.model.joints import Drift, Turn


def reader(plain: Undimensioned) -> Reader:
    """A reader that gives plain numbers where it can: constants are then worked out at once."""

    def read(x: Scalar) -> Scalar:
        found = plain(x)
        return float(found.data) if isinstance(found, Expr) and found.kind == "number" else found

    return read


@dataclass(frozen=True, eq=False)
class HingedGroup(RigidGroup):
    """Bodies that move as one on hinges, whose axes are those of the inboard group."""

    axes: tuple[Triple, ...] = ()
    turned: Matrix = IDENTITY
    rotors: tuple[int, ...] = ()  # groups that are its rotors
    axial: Scalar | None = None  # of a rotor: its inertia about its axis

    @property
    def steps(self) -> tuple[Turn, ...]:
        """The turns of the joint that the group hangs on."""
        return tuple(s for s in self.body.assembly.steps if isinstance(s, Turn))

    @property
    def flexible(self) -> list[Body]:
        """Bodies with modes."""
        return [body for body in self.bodies if body.flex is not None]

    @property
    def axis_vectors(self) -> list[Vector]:
        """The hinge axes as vectors."""
        frames: list[Frame] = []
        frame = self.body.frame
        while len(frames) < len(self.steps):
            assert frame.parent is not None
            frame = frame.parent
            frames.append(frame)
        return [f.vector(step.axis) for f, step in zip(reversed(frames), self.steps, strict=True)]


@dataclass(frozen=True, eq=False)
class HingedGroups:
    """All groups, inboard ones first, and the placement of every body in its group."""

    groups: list[HingedGroup]
    placements: dict[str, Placement]
    nodes: dict[int, Body]

    def above(self, g: int) -> list[int]:
        """The group, the one that it hangs on, and so on to the reference group."""
        found = []
        while g >= 0:
            found.append(g)
            g = self.groups[g].parent
        return found


def hinged_groups(system: Description, read: Reader, formulation: str) -> HingedGroups:
    """The groups of a system, or an error that names what the formulation cannot describe."""
    _check(system, formulation)
    found = rigid_groups(system, read, separate_flexible=False)
    groups = [_hinged(i, group, read, formulation) for i, group in enumerate(found.groups)]
    if not groups:
        raise ModelError(
            f"formalism '{formulation}': there is no body that is free in space; give one joint=Free()"
        )
    _find_rotors(groups, system.armatures)
    for group in groups:  # the shift of a mass centre by modes is not defined without mass
        if group.flexible and is_zero(group.mass):
            raise _refused(formulation, f"body '{group.name}' has modes and no mass", "give it some")
    return HingedGroups(groups, found.placements, found.nodes)


def _refused(formulation: str, what: str, remedy: str = "") -> ModelError:
    advice = "; ".join(t for t in (remedy, "formalism='kane' or 'recursive' takes it") if t)
    return ModelError(f"formalism '{formulation}': {what}; {advice}")


def _check(system: Description, formulation: str) -> None:
    if system.gravities or system.attractors:
        raise _refused(formulation, "gravity acts, but JPL's vehicles are in free space")
    for name in system.constraints:
        raise _refused(
            formulation, f"constraint '{name}' closes a loop or binds speeds, but a tree is needed"
        )
    for name, flex in system.flexibles.items():
        if flex.part.g is not None:
            raise _refused(
                formulation,
                f"body '{name}' has stiffening=True, but JPL's appendages do not shorten as they bend",
            )
        if flex.held is not None:
            raise _refused(
                formulation,
                f"body '{name}' is held at its node '{flex.held}', but appendages are held by their body",
            )


def _hinged(index: int, group: RigidGroup, read: Reader, formulation: str) -> HingedGroup:
    body, steps = group.body, group.body.assembly.steps
    if group.parent < GROUND:
        raise _refused(
            formulation,
            f"body '{group.name}' hangs on a node of a flexible body, but appendages carry nothing",
        )
    if group.parent == GROUND:
        drift = steps[0]
        if index or not isinstance(drift, Drift) or len(drift.linear) + len(drift.angular) < 6:
            which = "a second body" if index else f"it ({body.joint.describe()})"
            raise _refused(
                formulation,
                f"body '{group.name}': {which} on the ground; there is one reference body, free in space",
                "hang it on another body, or give the reference body joint=Free()",
            )
        return HingedGroup(**vars(group))
    if not all(isinstance(step, Turn) for step in steps):
        raise _refused(
            formulation,
            f"the joint of body '{group.name}' ({body.joint.describe()}) is not made of one to three hinges",
            "use Revolute or Gimbal",
        )
    # mypy: the steps of hinges all have an axis.
    axes = tuple(matrix_vector(group.mount, [read(a) for a in s.axis]) for s in steps)  # type: ignore[union-attr]
    return HingedGroup(**vars(group), axes=axes, turned=matrix_product(group.mount, group.orient))


def numbers(values: np.ndarray) -> Triple:
    """Three numbers as a triple, zeros exactly zero."""
    x, y, z = (float(v) if v else 0 for v in values)
    return x, y, z


def _find_rotors(groups: list[HingedGroup], armatures: Collection[Expr]) -> None:
    """Marks balanced axisymmetric groups as rotors, and gives their mass to the groups that carry them.

    A rotor's acceleration is eliminated by τ = J (u̇ + ẇ·g), which an armature would spoil: it stays a hinge.
    """
    carriers = {group.parent for group in groups}
    for i, group in enumerate(groups):
        if group.parent < 0 or i in carriers or group.flexible or len(group.axes) != 1:
            continue
        if group.steps[0].speed in armatures:
            continue
        axis = matrix_vector(transposed(group.turned), group.axes[0])
        J = group.central_inertia
        axial = inner(axis, matrix_vector(J, axis))
        transverse = times(0.5, minus(plus(plus(J[0][0], J[1][1]), J[2][2]), axial))
        round_about = matrix_sum(scaled_matrix(IDENTITY, transverse), along(axis, minus(axial, transverse)))
        distance = inner(axis, group.centre)
        off = add(group.centre, negative(scaled(axis, distance)))
        scale = max((abs(x) for row in J for x in row if not isinstance(x, Expr)), default=0.0)
        differences = [
            minus(a, b) for p, q in zip(J, round_about, strict=True) for a, b in zip(p, q, strict=True)
        ]
        if is_zero(axial) or not all(_vanishes(x, scale) for x in differences):
            continue
        if not all(_vanishes(x, 1.0) for x in off):
            continue
        across = matrix_sum(scaled_matrix(IDENTITY, transverse), along(group.axes[0], minus(0, transverse)))
        at = add(group.place, scaled(group.axes[0], distance))
        carrier = groups[group.parent].with_mass(group.mass, at, across)
        groups[group.parent] = replace(carrier, rotors=(*carrier.rotors, i))
        groups[i] = replace(group, axial=axial)


def _vanishes(x: Scalar, scale: float) -> bool:
    return is_zero(x) or (not isinstance(x, Expr) and abs(x) <= 1e-12 * scale)
