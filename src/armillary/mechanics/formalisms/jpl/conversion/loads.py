"""Loads of a description as JPL's programs take them: torques of hinges and rotors, forces and torques on
bodies and nodes.

A moment between two bodies does work in the hinges between them alone, and is given to these as their
torques. All else acts on bodies about their o, or on nodes. On a rotor, what turns it about its axis is its
own; the rest acts on its carrier.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from armillary.algebra.vectors import vectors as vec
from armillary.algebra.vectors.matrices import matrix_vector
from armillary.algebra.vectors.scalars import Scalar, inner, plus
from armillary.algebra.vectors.triples import (
    ZEROS,
    Triple,
    add,
    cross_triples,
    joined,
    named,
    negative,
    scaled,
)
from armillary.errors import ModelError
from armillary.mechanics.formalisms.jpl.conversion.substructures import HingedGroup, HingedGroups
from armillary.mechanics.tree.build import GROUND, Reader
from armillary.mechanics.tree.loads import own_point
from armillary.mechanics.tree.tree import Placement
from armillary.model.bodies import motion
from armillary.model.bodies.body import Body
from armillary.model.description import Description
from armillary.model.recording.records import Load


@dataclass(eq=False)
class VehicleLoads:
    """Torques by (group, hinge); forces and torques about o by group; both by flexible body and node."""

    hinges: dict[tuple[int, int], Scalar] = field(default_factory=dict)
    torques: dict[int, Triple] = field(default_factory=dict)
    forces: dict[int, Triple] = field(default_factory=dict)
    nodes: dict[str, dict[str, tuple[Triple, Triple]]] = field(default_factory=dict)

    def turn(self, group: int, hinge: int, torque: Scalar) -> None:
        """More torque along a hinge."""
        self.hinges[group, hinge] = plus(self.hinges.get((group, hinge), 0), torque)

    def push(self, group: int, force: Triple, torque: Triple) -> None:
        """More force through a group's o, and torque."""
        self.forces[group] = add(self.forces.get(group, ZEROS), force)
        self.torques[group] = add(self.torques.get(group, ZEROS), torque)


def vehicle_loads(system: Description, found: HingedGroups, read: Reader) -> VehicleLoads:
    """All loads of a system."""
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
                _on(load, body, sign, found, made, read)
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


def _on(load: Load, body: Body, sign: int, found: HingedGroups, made: VehicleLoads, read: Reader) -> None:
    """One end of a load on the body that it touches."""
    place = found.placements[body.name]
    if place.link < GROUND:
        _on_node(load, body, sign, found, made, read)
        return
    group = found.groups[place.link]
    carrier = place.link if group.axial is None else group.parent
    held = found.groups[carrier]
    vector = _components(load, sign, held, read)
    if load.kind == "moment":
        force, torque, turning = ZEROS, vector, vector
    else:
        at = _where(load, body, sign, found, held.body, read)
        force, torque = vector, cross_triples(add(at, negative(held.centre)), vector)
        turning = cross_triples(add(at, negative(group.place)), vector)
    if group.axial is not None:
        made.turn(place.link, 0, inner(group.axes[0], turning))
    made.push(carrier, force, torque)


def _components(load: Load, sign: int, group: HingedGroup, read: Reader) -> Triple:
    return named(scaled([read(x) for x in load.vector.components(group.body.frame)], sign), load.name)


def _on_node(
    load: Load, body: Body, sign: int, found: HingedGroups, made: VehicleLoads, read: Reader
) -> None:
    """One end of a load on a node of a flexible body."""
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


def _where(load: Load, body: Body, sign: int, found: HingedGroups, head: Body, read: Reader) -> Triple:
    """Where a force acts, from the origin of a group's first body in its axes."""
    point = load.at if sign > 0 else load.reaction_at
    point = load.at if point is None else point
    assert point is not None
    place = found.placements[point.body.name]
    if point.body is body and found.groups[place.link].body is head:
        return place.point(joined(read(x) for x in point.coordinates))
    return joined(read(x) for x in motion.position(point, head.origin).components(head.frame))


def _from_node(load: Load, body: Body, sign: int, place: Placement, read: Reader) -> Triple:
    """Where a force acts, from a node of its body; that the node turns is of second order."""
    point = own_point(load, body, sign)
    if point is None:
        raise ModelError(
            f"load '{load.name}' acts on '{body.name}', a node of a flexible body, along a line from "
            "elsewhere, which JPL's formulations cannot follow; give the point, reaction=node.origin"
        )
    return matrix_vector(place.rotation, [read(x) for x in point.coordinates])
