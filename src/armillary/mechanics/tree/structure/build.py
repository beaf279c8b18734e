"""The tree of links of a description: joints as steps, axes along coordinate axes, fixed bodies joined."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from armillary.algebra import functions as fn
from armillary.algebra.expression import Expr, as_expr, number
from armillary.algebra.vectors.matrices import IDENTITY, Matrix, matrix_product, matrix_sum, matrix_vector
from armillary.algebra.vectors.scalars import Scalar
from armillary.algebra.vectors.triples import ZEROS, Triple, add, joined, scaled, unit
from armillary.algebra.walk import Undimensioned
from armillary.kept_results import kept_per_object
from armillary.mechanics.tree.inertia.link_modes import link_modes
from armillary.mechanics.tree.inertia.rigid_inertia import point_mass_inertia
from armillary.mechanics.tree.structure.constant_rotations import (
    coordinate_axis,
    rotated_back,
    rotation_towards,
)
from armillary.mechanics.tree.structure.rotation import (
    AxisRotation,
    MatrixRotation,
    NoRotation,
    Rotation,
    RotationChain,
)
from armillary.mechanics.tree.tree import (
    ANGULAR,
    LINEAR,
    MODAL,
    SAME,
    Freedom,
    Link,
    Placement,
    Tree,
    with_inertia,
)
from armillary.model.bodies.body import Body
from armillary.model.bodies.motion import time_derivative
from armillary.model.description import Description
from armillary.model.joints import Drift, Flexed, Slide, Tumble, Turn
from armillary.model.joints.base import Step
from armillary.model.recording.records import Prescription
from armillary.model.space.attraction import all_gravities


def build_tree(
    system: Description,
    plain: Undimensioned | None = None,
    *,
    given: Mapping[Expr, Prescription] | None = None,
    split_free_bodies: bool = False,
    separate_welds: Collection[str] = (),
) -> Tree:
    """The tree of links of a system, inertia not yet regrouped; ``plain`` reads its expressions.

    ``given`` are the prescribed speeds, by default those of the description. ``split_free_bodies`` makes
    slides and a tumble of free bodies whose velocities are in their parent's axes. Bodies in
    ``separate_welds`` get a link of their own although they are fixed to their parent.
    """
    given = system.prescriptions if given is None else given
    split = split_free_bodies and any(
        isinstance(step, Drift) and step.velocity == "parent"
        for body in system.bodies.values()
        for step in body.assembly.steps
    )
    values = frozenset((u, p.value) for u, p in given.items())
    make = _kept_tree if system.recorder.frozen else _unread_tree
    return make(system, values, split, frozenset(separate_welds)).map(plain or Undimensioned())


def _unread_tree(
    system: Description, given: frozenset[tuple[Expr, Expr]], split: bool, separate_welds: frozenset[str]
) -> Tree:
    builder = _TreeBuilder(system, given, split, separate_welds)
    for body in system.bodies.values():
        builder.add(body)
    gravity: Triple = ZEROS
    for field in all_gravities(system):
        gravity = add(gravity, scaled(field.direction.components(system.ground.frame), field.magnitude))
    return Tree(tuple(builder.links), gravity, builder.placements)


# Of frozen descriptions: the check of masses, the derivation and a run need the same tree.
_kept_tree = kept_per_object(_unread_tree)


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
        """Links for the body's joint, and the body's inertia on the last of them."""
        assert body.parent is not None
        base = self.placements[body.parent.name]
        here, turned, offset = base.link, base.rotation, base.point(body.at)
        oriented = False
        steps, flexed = _parted(body.assembly.steps)
        for count, step in enumerate(steps, start=1):
            name = body.name if count == len(body.assembly.steps) else f"{body.name}_{count}"
            if isinstance(step, Turn):
                here, turned = self._turn(name, here, offset, turned, step)
            elif isinstance(step, Slide):
                here, turned = self._slide(name, here, offset, turned, step)
            elif isinstance(step, Tumble | Drift):
                if isinstance(step, Drift) and step.velocity == "parent" and self.split_free_bodies:
                    step, here, turned, offset = self._part(name, here, offset, turned, step)
                here, turned = self._general(name, here, offset, turned, step, body.orient)
                oriented = body.orient is not None
            offset = ZEROS
        if not body.assembly.steps and body.name in self.separate_welds:
            here, offset = self._append(Link(body.name, here, "fixed", offset, NoRotation(), ())), ZEROS
        if body.orient is not None and not oriented:
            turned = matrix_product(turned, body.orient)
        if flexed is not None:
            here = self._flexed(body.name, here, offset, turned, flexed)
            turned, offset = IDENTITY, ZEROS
        if body.flex is not None:
            if not body.assembly.steps or turned != IDENTITY or offset != ZEROS:
                axes: Rotation = NoRotation() if turned == IDENTITY else MatrixRotation(turned)
                here = self._append(Link(body.name, here, "fixed", offset, axes, ()))
                turned, offset = IDENTITY, ZEROS
            self._make_flexible(body, here)
        self.placements[body.name] = Placement(here, turned, offset)
        if here >= 0:
            self.links[here] = with_inertia(self.links[here], *self._inertia(body))

    def _make_flexible(self, body: Body, here: int) -> None:
        """Modes for the link, whose axes and origin are the body's."""
        flex = body.flex
        assert flex is not None
        freedoms = tuple(self._freedom(u, MODAL) for u in flex.speeds)
        part = flex.part
        inertia = joined(map(joined, part.inertia.tolist()))
        link = with_inertia(self.links[here], part.mass, joined(part.first.tolist()), inertia)
        self.links[here] = replace(link, modes=link_modes(body.name, flex, freedoms))
        self.carriers[body.name] = here

    def _flexed(self, name: str, here: int, offset: Triple, turned: Matrix, step: Flexed) -> int:
        """A link that modes move: a node of a flexible body, or the body in the node that holds it."""
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

    def _part(
        self, name: str, here: int, offset: Triple, turned: Matrix, step: Drift
    ) -> tuple[Tumble, int, Matrix, Triple]:
        """A drift in its parent's axes as slides along them and a tumble: the same coordinates and speeds.

        Its three linear speeds then are directions of links, one by one, and can be given or eliminated.
        """
        for i, axis in enumerate("xyz"):
            slide = Slide(unit(i), as_expr(step.position[i]), step.linear[i])
            here, turned = self._slide(f"{name}_{axis}", here, offset, turned, slide)
            offset = ZEROS
        w = step.angular
        return Tumble(step.rotation, (w[0], w[1], w[2])), here, turned, offset

    def _general(
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
        """(m, h, J) of a body about its link's origin, in the link's axes."""
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
    """A body's place, mass, mass centre and inertia as Python's numbers, whose sums and products are the same
    and take a fifth of the time; None where one of them is not known.
    """
    given: list[Scalar] = [body.mass, *body.com_coordinates, *placement.origin]
    for row in (*body.inertia, *placement.rotation):
        given += row
    values: list[Scalar] = [x.data if isinstance(x, Expr) and x.kind == "number" else x for x in given]
    if any([isinstance(x, Expr) for x in values]):
        return None
    mass, com, origin, J, R = values[0], values[1:4], values[4:7], values[7:16], values[16:]
    return Placement(placement.link, _rows(R), joined(origin)), mass, joined(com), _rows(J)


def _rows(entries: list[Scalar]) -> Matrix:
    return joined(entries[:3]), joined(entries[3:6]), joined(entries[6:])


def _node(value: Scalar) -> Scalar:
    """A number as an expression; zeros stay plain ones, which sums and products leave out."""
    assert not isinstance(value, Expr)
    return number(value) if value else 0


def _parted(steps: tuple[Step, ...]) -> tuple[tuple[Step, ...], Flexed | None]:
    """(steps of the joint, the motion by modes that comes last, if there is one)."""
    if steps and isinstance(steps[-1], Flexed):
        return steps[:-1], steps[-1]
    return steps, None
