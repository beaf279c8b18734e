"""The substructures of a description: which bodies move as one, how they hang together, what they weigh.

Bodies fixed to each other are one group, in the axes of its first body. A group on the ground must be free in
space; the others hang on hinges, one to three through a point. A group may be an imaginary body without mass
(Fleischer and Likins, section II.A) as long as one beyond it has some. A balanced axisymmetric group on a
single hinge with nothing beyond it is a rotor of the group that carries it: its mass and transverse inertia
go there.

What JPL's programs could not describe is an error here; ``kane`` and ``recursive`` take it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from armillary.algebra.expression import Expr
from armillary.algebra.triples import (
    IDENTITY,
    ZERO_MATRIX,
    ZEROS,
    Matrix,
    Triple,
    add,
    inner,
    is_zero,
    matrix_product,
    matrix_sum,
    matrix_vector,
    minus,
    negative,
    plus,
    scaled,
    scaled_matrix,
    times,
    transposed,
)
from armillary.algebra.vectors import Frame, Vector
from armillary.algebra.walk import Undimensioned
from armillary.errors import ModelError
from armillary.mechanics.formalisms.jpl.rotors import along
from armillary.mechanics.tree.rotation import General
from armillary.mechanics.tree.tree import point_mass_inertia
from armillary.model.body import Body
from armillary.model.flexible.attachment import Nodal
from armillary.model.joints import Drift, Turn
from armillary.model.system import System

Reader = Callable[[Any], Any]  # of the description's expressions, without dimensions; numbers as numbers


def reader(plain: Undimensioned) -> Reader:
    """A reader that gives plain numbers where it can: constants are then worked out at once."""

    def read(x: Any) -> Any:
        found = plain(x)
        return float(found.data) if isinstance(found, Expr) and found.kind == "number" else found

    return read


@dataclass(eq=False)
class Group:
    """Bodies that move as one: their mass, first moment and inertia about the first one's origin."""

    head: Body
    inboard: int = -1
    at: Triple = ZEROS  # of the hinge point, in the axes of the inboard group, from its origin
    axes: tuple[Triple, ...] = ()  # of the hinges, in inboard axes
    turned: Matrix = IDENTITY
    mass: Any = 0
    first: Triple = ZEROS
    inertia: Matrix = ZERO_MATRIX
    flexible: list[Body] = field(default_factory=list)
    rotors: list[int] = field(default_factory=list)  # groups that are its rotors
    axial: Any = None  # of a rotor: its inertia about its axis

    @property
    def steps(self) -> tuple[Turn, ...]:
        """The turns of the joint that the group hangs on."""
        return tuple(s for s in self.head.assembly.steps if isinstance(s, Turn))

    @property
    def axis_vectors(self) -> list[Vector]:
        """The hinge axes as vectors."""
        frames: list[Frame] = []
        frame = self.head.frame
        while len(frames) < len(self.steps):
            assert frame.parent is not None
            frame = frame.parent
            frames.append(frame)
        return [f.vector(step.axis) for f, step in zip(reversed(frames), self.steps, strict=True)]

    def carry(self, mass: Any, centre: Triple, inertia: Matrix) -> None:
        """More mass, at a place, with an inertia about that place."""
        self.mass = plus(self.mass, mass)
        self.first = add(self.first, scaled(centre, mass))
        self.inertia = matrix_sum(self.inertia, inertia, point_mass_inertia(mass, centre))

    @property
    def centre(self) -> Triple:
        """The mass centre o; the origin where there is no mass."""
        return ZEROS if is_zero(self.mass) else scaled(self.first, 1 / self.mass)

    @property
    def central_inertia(self) -> Matrix:
        """Inertia about o."""
        return matrix_sum(self.inertia, scaled_matrix(point_mass_inertia(self.mass, self.centre), -1))


@dataclass(frozen=True, eq=False)
class Place:
    """Where a body sits in its group: its axes and origin; ``node`` where it is a flexible body's node."""

    group: int
    rotation: Matrix
    origin: Triple
    node: Any = None  # its key

    def point(self, coordinates: Triple) -> Triple:
        """A point of the body in the group's axes."""
        return add(self.origin, matrix_vector(self.rotation, coordinates))


@dataclass(frozen=True, eq=False)
class Groups:
    """All groups, inboard ones first, and the place of every body (group −1 is the ground)."""

    groups: list[Group]
    places: dict[str, Place]

    def above(self, g: int) -> list[int]:
        """The group, the one that it hangs on, and so on to the reference group."""
        found = []
        while g >= 0:
            found.append(g)
            g = self.groups[g].inboard
        return found


def gather(system: System, read: Reader, formulation: str) -> Groups:
    """The groups of a system, or an error that names what the formulation cannot describe."""
    _check(system, formulation)
    found = Groups([], {"ground": Place(-1, IDENTITY, ZEROS)})
    for body in system.bodies.values():
        _add(found, body, read, formulation)
    if not found.groups:
        raise ModelError(
            f"formalism '{formulation}': there is no body that is free in space; give one joint=Free()"
        )
    _find_rotors(found)
    _check_carriers(found, formulation)
    return found


def _check_carriers(found: Groups, formulation: str) -> None:
    """An error for modes on a group without mass: their shift of its mass centre is not defined."""
    for group in found.groups:
        if group.flexible and is_zero(group.mass):
            raise _refused(formulation, f"body '{group.head.name}' has modes and no mass", "give it some")


def _refused(formulation: str, what: str, remedy: str = "") -> ModelError:
    advice = "; ".join(t for t in (remedy, "formalism='kane' or 'recursive' takes it") if t)
    return ModelError(f"formalism '{formulation}': {what}; {advice}")


def _check(system: System, formulation: str) -> None:
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


def _add(found: Groups, body: Body, read: Reader, formulation: str) -> None:
    assert body.parent is not None
    base = found.places[body.parent.name]
    if base.node is not None:
        raise _refused(
            formulation,
            f"body '{body.name}' hangs on a node of a flexible body, but appendages carry nothing",
        )
    if isinstance(body.joint, Nodal):
        found.places[body.name] = Place(base.group, base.rotation, base.origin, _node_key(body))
        return
    orient = IDENTITY if body.orient is None else General(body.orient).map(read).matrix
    at = tuple(read(x) for x in body.at)
    if not body.assembly.steps:
        place = Place(base.group, matrix_product(base.rotation, orient), base.point(at))
    else:
        found.groups.append(_group(found, body, base, at, orient, read, formulation))
        place = Place(len(found.groups) - 1, IDENTITY, ZEROS)
    found.places[body.name] = place
    if place.group >= 0:
        _carry(found.groups[place.group], place, body, read)


def _node_key(body: Body) -> Any:
    assert body.parent is not None and body.parent.flex is not None
    return body.parent.flex.places[body.name].key


def _group(
    found: Groups, body: Body, base: Place, at: Triple, orient: Matrix, read: Reader, formulation: str
) -> Group:
    steps = body.assembly.steps
    if base.group < 0:
        drift = steps[0]
        if found.groups or not isinstance(drift, Drift) or len(drift.linear) + len(drift.angular) < 6:
            which = "a second body" if found.groups else f"it ({body.joint.describe()})"
            raise _refused(
                formulation,
                f"body '{body.name}': {which} on the ground; there is one reference body, free in space",
                "hang it on another body, or give the reference body joint=Free()",
            )
        return Group(body)
    if not all(isinstance(step, Turn) for step in steps):
        raise _refused(
            formulation,
            f"the joint of body '{body.name}' ({body.joint.describe()}) is not made of one to three hinges",
            "use Revolute or Gimbal",
        )
    axes = tuple(matrix_vector(base.rotation, [read(a) for a in s.axis]) for s in steps)  # type: ignore[union-attr]
    return Group(body, base.group, base.point(at), axes, matrix_product(base.rotation, orient))


def _carry(group: Group, place: Place, body: Body, read: Reader) -> None:
    """The body's mass and that of its flexible part."""
    inertia = General(body.inertia).map(read).matrix
    centre = place.point(tuple(read(x) for x in body.com_coordinates))
    group.carry(read(body.mass), centre, _rotated(place.rotation, inertia))
    if body.flex is None:
        return
    group.flexible.append(body)
    part = body.flex.part
    if part.mass:
        c = part.first / part.mass
        own = part.inertia - part.mass * ((c @ c) * np.eye(3) - np.outer(c, c))
        rows: Matrix = tuple(tuple(float(x) for x in row) for row in own)  # type: ignore[assignment]
        group.carry(part.mass, place.point(numbers(c)), _rotated(place.rotation, rows))


def numbers(values: Any) -> Triple:
    """Three numbers as a triple, zeros exactly zero."""
    x, y, z = (float(v) if v else 0 for v in values)
    return x, y, z


def _rotated(rotation: Matrix, inertia: Matrix) -> Matrix:
    return inertia if rotation == IDENTITY else General(rotation).symmetric_to_parent(inertia, "")


def _find_rotors(found: Groups) -> None:
    inboard = {group.inboard for group in found.groups}
    for i, group in enumerate(found.groups):
        if group.inboard < 0 or i in inboard or group.flexible or len(group.axes) != 1:
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
        carrier = found.groups[group.inboard]
        across = matrix_sum(scaled_matrix(IDENTITY, transverse), along(group.axes[0], minus(0, transverse)))
        carrier.carry(group.mass, add(group.at, scaled(group.axes[0], distance)), across)
        carrier.rotors.append(i)
        group.axial = axial


def _vanishes(x: Any, scale: float) -> bool:
    return is_zero(x) or (not isinstance(x, Expr) and abs(x) <= 1e-12 * scale)
