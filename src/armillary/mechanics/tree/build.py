"""The tree of links of a description, and its groups of bodies that move as one.

The formalism with redundant coordinates and those of JPL use groups (``rigid_groups``), each in the axes of
its first body, with whole joints between them. The other formalisms use the tree of links (``build_tree``),
in which each joint is split into steps: single slides, turns or tumbles.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from armillary.algebra import functions as fn
from armillary.algebra.expression import Expr, as_expr, number
from armillary.algebra.triples import (
    IDENTITY,
    ZERO_MATRIX,
    ZEROS,
    Matrix,
    Scalar,
    ScalarMap,
    Triple,
    add,
    cross_triples,
    is_zero,
    joined,
    matrix_product,
    matrix_sum,
    matrix_vector,
    plus,
    scaled,
    scaled_matrix,
    transposed,
    unit,
)
from armillary.algebra.walk import Undimensioned
from armillary.cache import kept_per_object
from armillary.mechanics.tree.tree import (
    ANGULAR,
    LINEAR,
    MODAL,
    SAME,
    AxisRotation,
    Freedom,
    Link,
    MatrixRotation,
    NoRotation,
    Placement,
    Rotation,
    RotationChain,
    Tree,
    link_modes,
    point_mass_inertia,
    with_inertia,
)
from armillary.model.bodies.body import Body
from armillary.model.bodies.motion import time_derivative
from armillary.model.description import Description, Prescription
from armillary.model.flexible.attachment import Nodal
from armillary.model.flexible.part import FlexiblePart
from armillary.model.joints import Drift, Flexed, Slide, Tumble, Turn
from armillary.model.joints.base import Step, perpendicular_triple
from armillary.model.space.attraction import all_gravities

GROUND = -1

Reader = ScalarMap  # converts expressions of the description to expressions without dimensions


@dataclass(frozen=True, eq=False)
class RigidGroup:
    """A moving body with the bodies fixed to it.

    ``parent`` is the index of the parent group. ``place`` is the position of the joint relative to the parent
    group's origin, in the parent group's axes. ``mount`` rotates vectors from the axes in which the joint is
    described to the parent group's axes; ``orient`` is the constant rotation after the joint. Mass, first
    moment and inertia are about the origin of this group, in its axes, without deformation.
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
        """The mass centre, or the origin if the mass is zero."""
        return ZEROS if is_zero(self.mass) else scaled(self.first, 1 / self.mass)

    @property
    def central_inertia(self) -> Matrix:
        """Inertia about the mass centre."""
        return matrix_sum(self.inertia, scaled_matrix(point_mass_inertia(self.mass, self.centre), -1))

    def with_mass(self, mass: Scalar, centre: Triple, inertia: Matrix) -> Self:
        """Return the group with a part added: its mass, mass centre, and inertia about its mass centre."""
        return replace(
            self,
            mass=plus(self.mass, mass),
            first=add(self.first, scaled(centre, mass)),
            inertia=matrix_sum(self.inertia, inertia, point_mass_inertia(mass, centre)),
        )

    def with_body(self, body: Body, at: Placement, read: Reader) -> Self:
        """Return the group with one more body and its flexible part."""
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
    """All groups, parents first, the placement of every body, and the massless bodies that represent nodes.

    The ``link`` of a placement is here the index of a group. The ground has the index −1, and nodes of
    flexible bodies have indices below −1, which are the keys of ``nodes``.
    """

    groups: tuple[RigidGroup, ...]
    placements: dict[str, Placement]
    nodes: dict[int, Body]


def rigid_groups(system: Description, read: Reader, *, separate_flexible: bool) -> RigidGroups:
    """Return the groups of a system; with ``separate_flexible`` each flexible body begins a new group."""
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


# Constant rotations that make a joint's axis a coordinate axis of its link.


def coordinate_axis(axis: Triple) -> tuple[int, int] | None:
    """Return (i, ±1) if the axis is ± coordinate axis i, else `None`."""
    for i in range(3):
        others = [axis[k] for k in range(3) if k != i]
        value = axis[i]
        if isinstance(value, Expr) and value.kind == "number":
            value = value.data
        if all(is_zero(o) for o in others) and isinstance(value, int | float) and abs(value) == 1:
            return i, int(value)
    return None


def _adapted_axes(axis: Triple) -> Matrix:
    """Return three perpendicular axes as columns, the given one first, then a coordinate axis if possible."""
    zeros = [i for i in range(3) if is_zero(axis[i])]
    second = unit(zeros[0]) if zeros else perpendicular_triple(axis)
    third = cross_triples(axis, second)
    return transposed((axis, second, third))


def rotation_towards(axis: Triple) -> tuple[AxisRotation | MatrixRotation | RotationChain, int, int]:
    """Return (R, k, ±1): the cheapest constant rotation R that takes ± coordinate axis k to an axis.

    Two turns about coordinate axes, R = R_i(φ) R_j(θ), take a coordinate axis to any axis; one turn is enough
    for an axis in a coordinate plane. To rotate a symmetric matrix by two such turns takes 18 products, by a
    full matrix 45. The full matrix is used only for an axis whose components are not numbers.
    """
    a = [float(x) for x in map(_plain_number, axis) if x is not None]
    if len(a) < 3:
        return MatrixRotation(_adapted_axes(axis)), 0, 1
    # Turn e_k about axis j, in the plane of k and i, then about axis i. The k with the largest |a[k]| gives
    # the smallest angles.
    k = max(range(3), key=lambda n: (abs(a[n]), -n))
    i, j = sorted((n for n in range(3) if n != k), key=lambda n: (abs(a[n]), n), reverse=True)
    sign = 1 if a[k] > 0 else -1
    a = [sign * x for x in a]
    first = _about(i, k, j, math.atan2(a[j], a[k]))
    second = _about(j, k, i, math.asin(max(-1.0, min(1.0, a[i]))))
    if is_zero(first.sine):
        return second, k, sign
    return RotationChain(first, second), k, sign


def _about(axis: int, start: int, end: int, angle: float) -> AxisRotation:
    """Return the turn about a coordinate axis that moves ``start`` towards ``end``."""
    upwards = (axis + 1) % 3 == start
    c, s = _exact(math.cos(angle)), _exact(math.sin(angle))
    assert end == 3 - axis - start
    return AxisRotation(axis, c, s if upwards else -s)


def _exact(x: float) -> Scalar:
    """Return a cosine or sine, rounded if it differs from a whole number by less than 1e-15."""
    return round(x) if abs(x - round(x)) < 1e-15 else x


def _plain_number(x: Scalar) -> float | None:
    if isinstance(x, Expr):
        return float(x.data) if x.kind == "number" else None
    return float(x)


def rotated_back(rotation: AxisRotation | MatrixRotation | RotationChain, turned: Matrix) -> Matrix:
    """Return Rᵀ times a matrix."""
    columns = [rotation.to_child(column) for column in transposed(turned)]
    return transposed(joined(joined(_tidy(x) for x in column) for column in columns))


def _tidy(x: Scalar) -> Scalar:
    """Return a number, rounded if it differs from a whole number by less than 4e-16, so that terms cancel."""
    value = _plain_number(x)
    return round(value) if value is not None and abs(value - round(value)) < 4e-16 else x


# The tree of links of a description: joints as steps along coordinate axes, fixed bodies joined to links.


def build_tree(
    system: Description,
    plain: Undimensioned | None = None,
    *,
    given: Mapping[Expr, Prescription] | None = None,
    split_free_bodies: bool = False,
    separate_welds: Collection[str] = (),
) -> Tree:
    """Return the tree of links of a system before regrouping (regroup.py); ``plain`` converts its
    expressions.

    ``given`` are the prescribed speeds, by default those of the description. ``split_free_bodies`` replaces
    the joint of each free body whose velocities are in its parent's axes by three slides and a tumble. Bodies
    in ``separate_welds`` keep links of their own although they are fixed to their parents.
    """
    given = system.prescriptions if given is None else given
    split = split_free_bodies and any(
        isinstance(step, Drift) and step.velocity == "parent"
        for body in system.bodies.values()
        for step in body.assembly.steps
    )
    values = frozenset((u, p.value) for u, p in given.items())
    make = _kept_tree if system.recorder.frozen else _tree_with_dimensions
    return make(system, values, split, frozenset(separate_welds)).map(plain or Undimensioned())


def _tree_with_dimensions(
    system: Description, given: frozenset[tuple[Expr, Expr]], split: bool, separate_welds: frozenset[str]
) -> Tree:
    builder = _TreeBuilder(system, given, split, separate_welds)
    for body in system.bodies.values():
        builder.add(body)
    gravity: Triple = ZEROS
    for field in all_gravities(system):
        gravity = add(gravity, scaled(field.direction.components(system.ground.frame), field.magnitude))
    return Tree(tuple(builder.links), gravity, builder.placements)


# Trees of frozen descriptions, which no longer change, are kept: the check of masses, the derivation and a
# run need the same tree.
_kept_tree = kept_per_object(_tree_with_dimensions)


class _TreeBuilder:
    def __init__(
        self,
        system: Description,
        given: frozenset[tuple[Expr, Expr]],
        split_free_bodies: bool,
        separate_welds: frozenset[str],
    ) -> None:
        self.separate_welds = separate_welds
        self.given = dict(given)
        self.split_free_bodies = split_free_bodies
        self.links: list[Link] = []
        self.placements = {"ground": Placement(-1, IDENTITY, ZEROS)}
        self.speed_index = {speed: i for i, speed in enumerate(system.speeds)}
        self.armatures = system.armatures
        self.carriers: dict[str, int] = {}  # links of flexible bodies

    def add(self, body: Body) -> None:
        """Append the links of the body's joint; add the body's inertia to the last of them."""
        assert body.parent is not None
        base = self.placements[body.parent.name]
        link_index, rotation, offset = base.link, base.rotation, base.point(body.at)
        oriented = False
        steps, flexed = _split_modal_step(body.assembly.steps)
        for count, step in enumerate(steps, start=1):
            name = body.name if count == len(body.assembly.steps) else f"{body.name}_{count}"
            if isinstance(step, Turn):
                link_index, rotation = self._turn(name, link_index, offset, rotation, step)
            elif isinstance(step, Slide):
                link_index, rotation = self._slide(name, link_index, offset, rotation, step)
            elif isinstance(step, Tumble | Drift):
                if isinstance(step, Drift) and step.velocity == "parent" and self.split_free_bodies:
                    step, link_index, rotation, offset = self._split_drift(
                        name, link_index, offset, rotation, step
                    )
                link_index, rotation = self._tumble_or_drift(
                    name, link_index, offset, rotation, step, body.orient
                )
                oriented = body.orient is not None
            offset = ZEROS
        if not body.assembly.steps and body.name in self.separate_welds:
            link_index, offset = (
                self._append(Link(body.name, link_index, "fixed", offset, NoRotation(), ())),
                ZEROS,
            )
        if body.orient is not None and not oriented:
            rotation = matrix_product(rotation, body.orient)
        if flexed is not None:
            link_index = self._flexed_link(body.name, link_index, offset, rotation, flexed)
            rotation, offset = IDENTITY, ZEROS
        if body.flex is not None:
            if not body.assembly.steps or rotation != IDENTITY or offset != ZEROS:
                axes: Rotation = NoRotation() if rotation == IDENTITY else MatrixRotation(rotation)
                link_index = self._append(Link(body.name, link_index, "fixed", offset, axes, ()))
                rotation, offset = IDENTITY, ZEROS
            self._make_flexible(body, link_index)
        self.placements[body.name] = Placement(link_index, rotation, offset)
        if link_index >= 0:
            self.links[link_index] = with_inertia(self.links[link_index], *self._inertia(body))

    def _make_flexible(self, body: Body, here: int) -> None:
        """Add the modes of a flexible body to its link, which has the body's axes and origin."""
        flex = body.flex
        assert flex is not None
        freedoms = tuple(self._freedom(u, MODAL) for u in flex.speeds)
        part = flex.part
        inertia = joined(map(joined, part.inertia.tolist()))
        link = with_inertia(self.links[here], part.mass, joined(part.first.tolist()), inertia)
        self.links[here] = replace(link, modes=link_modes(body.name, flex, freedoms))
        self.carriers[body.name] = here

    def _flexed_link(self, name: str, here: int, offset: Triple, turned: Matrix, step: Flexed) -> int:
        """Append a link that moves with modes (a node, or a body held at its own node); return its index."""
        own = len(self.links)
        rotation: Rotation
        if turned != IDENTITY:
            rotation = MatrixRotation(matrix_product(turned, step.rotation, f"E_{name}"))
        elif step.axis is not None:
            rotation = AxisRotation(step.axis, fn.cos(step.angle), fn.sin(step.angle))
        else:
            rotation = NoRotation() if step.rotation == IDENTITY else MatrixRotation(step.rotation)
        return self._append(
            Link(
                name,
                here,
                "flexed",
                add(offset, matrix_vector(turned, step.position)),
                rotation,
                (),
                carrier=self.carriers.get(step.flexible, own),
                columns=tuple(zip(step.turning, step.moving, strict=True)),
                bias=(step.turned, step.moved),
            )
        )

    def _freedom(self, speed: Expr, direction: int, sign: int = 1) -> Freedom:
        given = self.given.get(speed)
        rate = None if given is None else time_derivative(given)
        armature = self.armatures.get(speed, 0)
        return Freedom(speed.name, direction, sign, speed, self.speed_index[speed], rate, armature=armature)

    def _append(self, link: Link) -> int:
        self.links.append(link)
        return len(self.links) - 1

    def _turn(self, name: str, here: int, offset: Triple, turned: Matrix, step: Turn) -> tuple[int, Matrix]:
        axis = matrix_vector(turned, step.axis)
        c, s = fn.cos(step.angle), fn.sin(step.angle)
        principal = coordinate_axis(axis)
        if principal is not None:
            i, sign = principal
            rotation: Rotation = AxisRotation(i, c, s if sign > 0 else -s)
        else:
            constant, i, sign = rotation_towards(axis)
            rotation = RotationChain(constant, AxisRotation(i, c, s if sign > 0 else -s))
            turned = rotated_back(constant, turned)
        freedom = self._freedom(step.speed, ANGULAR + i, sign)
        return self._append(Link(name, here, "turn", offset, rotation, (freedom,))), turned

    def _slide(self, name: str, here: int, offset: Triple, turned: Matrix, step: Slide) -> tuple[int, Matrix]:
        axis = matrix_vector(turned, step.axis)
        offset = add(offset, scaled(axis, step.distance))
        principal = coordinate_axis(axis)
        rotation: Rotation = NoRotation()
        if principal is not None:
            i, sign = principal
        else:
            rotation, i, sign = rotation_towards(axis)
            turned = rotated_back(rotation, turned)
        freedom = self._freedom(step.speed, LINEAR + i, sign)
        return self._append(Link(name, here, "slide", offset, rotation, (freedom,))), turned

    def _split_drift(
        self, name: str, here: int, offset: Triple, turned: Matrix, step: Drift
    ) -> tuple[Tumble, int, Matrix, Triple]:
        """Append three slides for a drift in its parent's axes; return the remaining tumble and its position.

        Coordinates and speeds stay the same. Each linear speed then belongs to a link of its own, so that it
        can be prescribed or eliminated.
        """
        for i, axis in enumerate("xyz"):
            slide = Slide(unit(i), as_expr(step.position[i]), step.linear[i])
            here, turned = self._slide(f"{name}_{axis}", here, offset, turned, slide)
            offset = ZEROS
        w = step.angular
        return Tumble(step.rotation, (w[0], w[1], w[2])), here, turned, offset

    def _tumble_or_drift(
        self,
        name: str,
        here: int,
        offset: Triple,
        turned: Matrix,
        step: Tumble | Drift,
        orient: Matrix | None,
    ) -> tuple[int, Matrix]:
        matrix = matrix_product(turned, step.rotation)
        if orient is not None:
            matrix = matrix_product(matrix, orient, f"R_{name}")
        if isinstance(step, Tumble):
            freedoms = tuple(self._freedom(u, ANGULAR + i) for i, u in enumerate(step.speeds))
            link = Link(name, here, "tumble", offset, MatrixRotation(matrix), freedoms)
        else:
            offset = add(offset, matrix_vector(turned, step.position))
            freedoms = tuple(self._freedom(u, LINEAR + i) for i, u in step.linear.items())
            freedoms += tuple(self._freedom(u, ANGULAR + i) for i, u in step.angular.items())
            axes: Rotation = (
                MatrixRotation(turned) if step.velocity == "parent" and turned != IDENTITY else SAME
            )
            link = Link(
                name,
                here,
                "drift",
                offset,
                MatrixRotation(matrix),
                freedoms,
                velocity=step.velocity,
                velocity_axes=axes,
            )
        return self._append(link), IDENTITY

    def _inertia(self, body: Body) -> tuple[Scalar, Triple, Matrix]:
        """Return mass, first moment and inertia of a body about its link's origin, in the link's axes."""
        placement = self.placements[body.name]
        of_numbers = _plain_numbers(body, placement)
        if of_numbers is None:
            return _about_link(placement, body.mass, body.com_coordinates, body.inertia)
        mass, first, inertia = _about_link(*of_numbers)
        return _node(mass), joined(map(_node, first)), joined(joined(map(_node, row)) for row in inertia)


def _about_link(
    placement: Placement, mass: Scalar, com: Triple, inertia: Matrix
) -> tuple[Scalar, Triple, Matrix]:
    centre = placement.point(com)
    own = placement.turned_inertia(inertia)
    return mass, scaled(centre, mass), matrix_sum(own, point_mass_inertia(mass, centre))


def _plain_numbers(body: Body, placement: Placement) -> tuple[Placement, Scalar, Triple, Matrix] | None:
    """Return a body's placement, mass, mass centre and inertia as Python numbers; `None` if any of these is
    not a number.

    Sums and products of Python numbers take a fifth of the time of those of expressions.
    """
    given: list[Scalar] = [body.mass, *body.com_coordinates, *placement.origin]
    for row in (*body.inertia, *placement.rotation):
        given += row
    values: list[Scalar] = [x.data if isinstance(x, Expr) and x.kind == "number" else x for x in given]
    if any([isinstance(x, Expr) for x in values]):
        return None
    mass, com, origin, J, R = values[0], values[1:4], values[4:7], values[7:16], values[16:]
    return Placement(placement.link, _matrix_rows(R), joined(origin)), mass, joined(com), _matrix_rows(J)


def _matrix_rows(entries: list[Scalar]) -> Matrix:
    return joined(entries[:3]), joined(entries[3:6]), joined(entries[6:])


def _node(value: Scalar) -> Scalar:
    """Return a number as an expression. A zero becomes a plain 0, which sums and products leave out."""
    assert not isinstance(value, Expr)
    return number(value) if value else 0


def _split_modal_step(steps: tuple[Step, ...]) -> tuple[tuple[Step, ...], Flexed | None]:
    """Return the steps of a joint except a last step by modes; and this step, or `None` if there is none."""
    if steps and isinstance(steps[-1], Flexed):
        return steps[:-1], steps[-1]
    return steps, None
