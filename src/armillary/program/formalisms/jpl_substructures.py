"""The substructures and loads of a description, in the form of JPL's programs."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field, replace

import numpy as np

from armillary.algebra import vectors as vec
from armillary.algebra.expression import Expr
from armillary.algebra.triples import (
    IDENTITY,
    ZEROS,
    Matrix,
    Scalar,
    Triple,
    add,
    cross_triples,
    inner,
    is_zero,
    joined,
    matrix_product,
    matrix_sum,
    matrix_vector,
    minus,
    named,
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
from armillary.mechanics.tree.build import GROUND, Reader, RigidGroup, rigid_groups
from armillary.mechanics.tree.kinematics import own_point
from armillary.mechanics.tree.tree import Placement
from armillary.model.bodies import motion
from armillary.model.bodies.body import Body
from armillary.model.description import Description, Load
from armillary.model.joints import Drift, Turn
from armillary.program.formalisms.jpl_vehicle import along

# The substructures of a description: groups of bodies on hinges, and rotors.
#
# Bodies fixed to each other are one group, in the axes of the first of them. The group on the ground must be
# free in space; each other group is connected by one to three hinges through a point. A group may be an
# imaginary body without mass (Fleischer and Likins, section II.A) if a group beyond it has mass. A balanced
# axisymmetric group on a single hinge that carries no other group is a rotor of the group that carries it;
# the mass and transverse inertia of the rotor are added to the carrier.
#
# Systems that JPL's programs could not describe raise an error here; ``kane`` and ``recursive`` accept them.


def reader(plain: Undimensioned) -> Reader:
    """Return a converter of expressions that makes numbers Python floats, so that they are folded at once."""

    def read(x: Scalar) -> Scalar:
        found = plain(x)
        return float(found.data) if isinstance(found, Expr) and found.kind == "number" else found

    return read


@dataclass(frozen=True, eq=False)
class HingedGroup(RigidGroup):
    """Bodies that move as one on hinges; ``axes`` have components in the inboard group's axes."""

    axes: tuple[Triple, ...] = ()
    turned: Matrix = IDENTITY
    rotors: tuple[int, ...] = ()  # groups that are its rotors
    axial: Scalar | None = None  # for a rotor: the inertia about its axis

    @property
    def steps(self) -> tuple[Turn, ...]:
        """The turns of the group's joint."""
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
        """Return the group and its carriers, up to the reference group."""
        found = []
        while g >= 0:
            found.append(g)
            g = self.groups[g].parent
        return found


def hinged_groups(system: Description, read: Reader, formulation: str) -> HingedGroups:
    """Return the groups of a system; raise an error for a part that the formulation cannot describe."""
    _check_system(system, formulation)
    found = rigid_groups(system, read, separate_flexible=False)
    groups = [_hinged_group(i, group, read, formulation) for i, group in enumerate(found.groups)]
    if not groups:
        raise ModelError(
            f"formalism '{formulation}': there is no body that is free in space; give one joint=Free()"
        )
    _find_rotors(groups, system.armatures)
    for group in groups:  # without mass, the shift of a mass centre by modes is not defined
        if group.flexible and is_zero(group.mass):
            raise _formulation_error(
                formulation, f"body '{group.name}' has modes and no mass", "give it some"
            )
    return HingedGroups(groups, found.placements, found.nodes)


def _formulation_error(formulation: str, what: str, remedy: str = "") -> ModelError:
    advice = (f"{remedy}, or " if remedy else "") + "use formalism='kane' or 'recursive'"
    return ModelError(f"formalism '{formulation}': {what}; {advice}")


def _check_system(system: Description, formulation: str) -> None:
    if system.gravities or system.attractors:
        raise _formulation_error(formulation, "gravity acts, but JPL's vehicles are in free space")
    for name in system.constraints:
        raise _formulation_error(
            formulation, f"constraint '{name}' closes a loop or binds speeds, but a tree is needed"
        )
    for name, flex in system.flexibles.items():
        if flex.part.g is not None:
            raise _formulation_error(
                formulation,
                f"body '{name}' has stiffening=True, but JPL's appendages do not shorten as they bend",
            )
        if flex.held is not None:
            raise _formulation_error(
                formulation,
                f"body '{name}' is held at its node '{flex.held}', but appendages are held by their body",
            )


def _hinged_group(index: int, group: RigidGroup, read: Reader, formulation: str) -> HingedGroup:
    body, steps = group.body, group.body.assembly.steps
    if group.parent < GROUND:
        raise _formulation_error(
            formulation,
            f"body '{group.name}' is on a node of a flexible body, but appendages cannot carry bodies",
        )
    if group.parent == GROUND:
        drift = steps[0]
        if index or not isinstance(drift, Drift) or len(drift.linear) + len(drift.angular) < 6:
            which = "it is a second body" if index else f"it has a joint ({body.joint.describe()})"
            raise _formulation_error(
                formulation,
                f"body '{group.name}': {which} on the ground, but JPL's vehicles have one reference body, "
                "which is free in space",
                "connect it to another body, or give the reference body joint=Free()",
            )
        return HingedGroup(**vars(group))
    if not all(isinstance(step, Turn) for step in steps):
        raise _formulation_error(
            formulation,
            f"the joint of body '{group.name}' ({body.joint.describe()}) is not made of one to three hinges",
            "use Revolute or Gimbal",
        )
    # mypy: the steps of hinges all have an axis.
    axes = tuple(matrix_vector(group.mount, [read(a) for a in s.axis]) for s in steps)  # type: ignore[union-attr]
    return HingedGroup(**vars(group), axes=axes, turned=matrix_product(group.mount, group.orient))


def numbers(values: np.ndarray) -> Triple:
    """Return three numbers as a triple, with zeros exact."""
    x, y, z = (float(v) if v else 0 for v in values)
    return x, y, z


def _find_rotors(groups: list[HingedGroup], armatures: Collection[Expr]) -> None:
    """Mark balanced axisymmetric groups as rotors, and add their mass to the groups that carry them.

    A rotor's acceleration is eliminated by τ = J (u̇ + ẇ·g), which does not hold with an armature: a group
    with an armature keeps its hinge.
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


# Loads of a description in the form of JPL's programs: torques of hinges and rotors, forces and torques on
# bodies and nodes.
#
# A moment between two bodies does work only in the hinges between them, so it becomes torques of these
# hinges. All other loads act on groups about their mass centres o, or on nodes. A load on a rotor is split:
# its torque about the rotor's axis acts on the rotor, the rest on the carrier of the rotor.


@dataclass(eq=False)
class VehicleLoads:
    """Torques by (group, hinge); torques about o and forces by group; forces and torques by body and node."""

    hinges: dict[tuple[int, int], Scalar] = field(default_factory=dict)
    torques: dict[int, Triple] = field(default_factory=dict)
    forces: dict[int, Triple] = field(default_factory=dict)
    nodes: dict[str, dict[str, tuple[Triple, Triple]]] = field(default_factory=dict)

    def turn(self, group: int, hinge: int, torque: Scalar) -> None:
        """Add a torque along a hinge."""
        self.hinges[group, hinge] = plus(self.hinges.get((group, hinge), 0), torque)

    def push(self, group: int, force: Triple, torque: Triple) -> None:
        """Add a force through a group's mass centre o, and a torque."""
        self.forces[group] = add(self.forces.get(group, ZEROS), force)
        self.torques[group] = add(self.torques.get(group, ZEROS), torque)


def vehicle_loads(system: Description, found: HingedGroups, read: Reader) -> VehicleLoads:
    """Return all loads of a system."""
    made = VehicleLoads()
    for load in system.loads.values():
        bodies = [load.body, load.reaction_body]
        placements = [found.placements[b.name] for b in bodies if b is not None]
        inside = len(placements) == 2 and all(p.link >= 0 for p in placements)
        if load.kind == "moment" and inside:
            _between(load, found, made, read)
            continue
        for body, sign in zip(bodies, (1, -1), strict=True):
            if body is not None and found.placements[body.name].link != GROUND:
                _add_end(load, body, sign, found, made, read)
    return made


def _between(load: Load, found: HingedGroups, made: VehicleLoads, read: Reader) -> None:
    assert load.reaction_body is not None
    ends = [found.above(found.placements[b.name].link) for b in (load.body, load.reaction_body)]
    shared = set(ends[0]) & set(ends[1])
    for path, sign in zip(ends, (1, -1), strict=True):
        for g in path:
            if g in shared:
                break
            for h, axis in enumerate(found.groups[g].axis_vectors):
                made.turn(g, h, scaled((read(vec.dot(load.vector, axis)), 0, 0), sign)[0])


def _add_end(
    load: Load, body: Body, sign: int, found: HingedGroups, made: VehicleLoads, read: Reader
) -> None:
    """Add one end of a load to the group of the body that it acts on."""
    place = found.placements[body.name]
    if place.link < GROUND:
        _add_end_on_node(load, body, sign, found, made, read)
        return
    group = found.groups[place.link]
    carrier = place.link if group.axial is None else group.parent
    held = found.groups[carrier]
    vector = _components(load, sign, held, read)
    if load.kind == "moment":
        force, torque, turning = ZEROS, vector, vector
    else:
        at = _force_point(load, body, sign, found, held.body, read)
        force, torque = vector, cross_triples(add(at, negative(held.centre)), vector)
        turning = cross_triples(add(at, negative(group.place)), vector)
    if group.axial is not None:
        made.turn(place.link, 0, inner(group.axes[0], turning))
    made.push(carrier, force, torque)


def _components(load: Load, sign: int, group: HingedGroup, read: Reader) -> Triple:
    return named(scaled([read(x) for x in load.vector.components(group.body.frame)], sign), load.name)


def _add_end_on_node(
    load: Load, body: Body, sign: int, found: HingedGroups, made: VehicleLoads, read: Reader
) -> None:
    """Add one end of a load to a node of a flexible body."""
    assert body.parent is not None and body.parent.flex is not None
    place, key = found.placements[body.parent.name], body.parent.flex.places[body.name].key
    vector = _components(load, sign, found.groups[place.link], read)
    pairs = made.nodes.setdefault(body.parent.name, {})
    force, torque = pairs.get(key, (ZEROS, ZEROS))
    if load.kind == "moment":
        pairs[key] = (force, add(torque, vector))
        return
    arm = _from_node(load, body, sign, place, read)
    pairs[key] = (add(force, vector), add(torque, cross_triples(arm, vector)))


def _force_point(load: Load, body: Body, sign: int, found: HingedGroups, head: Body, read: Reader) -> Triple:
    """Return the point where a force acts, from the origin of a group's first body in its axes."""
    point = load.at if sign > 0 else load.reaction_at
    point = load.at if point is None else point
    assert point is not None
    place = found.placements[point.body.name]
    if point.body is body and found.groups[place.link].body is head:
        return place.point(joined(read(x) for x in point.coordinates))
    return joined(read(x) for x in motion.position(point, head.origin).components(head.frame))


def _from_node(load: Load, body: Body, sign: int, place: Placement, read: Reader) -> Triple:
    """Return the vector from a node to the point where a force acts, without the small node rotation."""
    point = own_point(load, body, sign)
    if point is None:
        raise ModelError(
            f"load '{load.name}' acts on '{body.name}', a node of a flexible body, at a point of another "
            "body, which JPL's formulations cannot represent; give the point, reaction=node.origin"
        )
    return matrix_vector(place.rotation, [read(x) for x in point.coordinates])
