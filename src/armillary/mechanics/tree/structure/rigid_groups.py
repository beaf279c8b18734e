"""Groups of bodies that move as one, each in the axes of its first body, and the joints between them.

Redundant coordinates and JPL's formulations take whole joints between groups. The other formalisms take the
tree of links (build.py), which cuts the same joints into single steps.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from armillary.algebra.vectors.matrices import (
    IDENTITY,
    ZERO_MATRIX,
    Matrix,
    matrix_product,
    matrix_sum,
    scaled_matrix,
)
from armillary.algebra.vectors.scalars import Scalar, ScalarMap, is_zero, plus
from armillary.algebra.vectors.triples import ZEROS, Triple, add, joined, scaled
from armillary.mechanics.tree.inertia.rigid_inertia import point_mass_inertia
from armillary.mechanics.tree.structure.rotation import MatrixRotation
from armillary.mechanics.tree.tree import Placement
from armillary.model.bodies.body import Body
from armillary.model.description import Description
from armillary.model.flexible.attachment import Nodal
from armillary.model.flexible.part import FlexiblePart

GROUND = -1

Reader = ScalarMap  # of the description's expressions, without dimensions


@dataclass(frozen=True, eq=False)
class RigidGroup:
    """A moving body with all that is fixed to it.

    ``place`` is its joint in the axes of the group ``parent``, from that one's origin; ``mount`` turns from
    the axes in which the joint is described into those, ``orient`` is the constant rotation after the joint.
    m, h, J are about the origin, in its own axes, without deformation.
    """

    body: Body
    parent: int
    place: Triple
    mount: Matrix
    orient: Matrix
    bodies: tuple[Body, ...] = ()
    mass: Scalar = 0
    first: Triple = ZEROS
    inertia: Matrix = ZERO_MATRIX

    @property
    def name(self) -> str:
        return self.body.name

    @property
    def centre(self) -> Triple:
        """The mass centre; the origin where there is no mass."""
        return ZEROS if is_zero(self.mass) else scaled(self.first, 1 / self.mass)

    @property
    def central_inertia(self) -> Matrix:
        """Inertia about the mass centre."""
        return matrix_sum(self.inertia, scaled_matrix(point_mass_inertia(self.mass, self.centre), -1))

    def with_mass(self, mass: Scalar, centre: Triple, inertia: Matrix) -> Self:
        """The group with more mass at a place, and an inertia about that place."""
        return replace(
            self,
            mass=plus(self.mass, mass),
            first=add(self.first, scaled(centre, mass)),
            inertia=matrix_sum(self.inertia, inertia, point_mass_inertia(mass, centre)),
        )

    def with_body(self, body: Body, at: Placement, read: Reader) -> Self:
        """The group with one more body and its flexible part."""
        centre = at.point(joined(read(x) for x in body.com_coordinates))
        own = at.turned_inertia(MatrixRotation(body.inertia).map(read).matrix)
        group = replace(self, bodies=(*self.bodies, body)).with_mass(read(body.mass), centre, own)
        if body.flex is None or not body.flex.part.mass:
            return group
        return group._with_flexible(body.flex.part, at)

    def _with_flexible(self, part: FlexiblePart, at: Placement) -> Self:
        if at.rotation == IDENTITY and at.origin == ZEROS:
            return replace(
                self,
                mass=plus(self.mass, part.mass),
                first=add(self.first, part.first.tolist()),
                inertia=matrix_sum(self.inertia, part.inertia.tolist()),
            )
        c = part.first / part.mass
        own = part.inertia - part.mass * ((c @ c) * np.eye(3) - np.outer(c, c))
        return self.with_mass(part.mass, at.point(c.tolist()), at.turned_inertia(own.tolist()))


@dataclass(frozen=True, eq=False)
class RigidGroups:
    """All groups, parents first, the placement of every body, and the bodies that stand for nodes.

    In placements, the ground has the index −1 and nodes of flexible bodies have those below it.
    """

    groups: tuple[RigidGroup, ...]
    placements: dict[str, Placement]
    nodes: dict[int, Body]


def rigid_groups(system: Description, read: Reader, *, separate_flexible: bool) -> RigidGroups:
    """The groups of a system; with ``separate_flexible`` a flexible body always begins one."""
    groups: list[RigidGroup] = []
    placements = {"ground": Placement(GROUND, IDENTITY, ZEROS)}
    nodes: dict[int, Body] = {}
    for body in system.bodies.values():
        assert body.parent is not None
        base = placements[body.parent.name]
        if isinstance(body.joint, Nodal):
            placements[body.name] = Placement(GROUND - 1 - len(nodes), IDENTITY, ZEROS)
            nodes[placements[body.name].link] = body
            continue
        place = base.point(joined(read(x) for x in body.at))
        orient = MatrixRotation(body.orient or IDENTITY).map(read).matrix
        begins = body.assembly.steps or base.link < GROUND or (separate_flexible and body.flex is not None)
        if begins:
            groups.append(RigidGroup(body, base.link, place, base.rotation, orient))
            here = Placement(len(groups) - 1, IDENTITY, ZEROS)
        else:
            here = Placement(base.link, matrix_product(base.rotation, orient), place)
        placements[body.name] = here
        if here.link > GROUND:
            groups[here.link] = groups[here.link].with_body(body, here, read)
    return RigidGroups(tuple(groups), placements, nodes)
