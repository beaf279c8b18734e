"""Loads of a description as JPL's programs take them: torques of hinges and rotors, forces and torques on
bodies and nodes.

A moment between two bodies does work in the hinges between them alone, and is given to these as their
torques. All else acts on bodies about their o, or on nodes. On a rotor, what turns it about its axis is its
own; the rest acts on its carrier.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from armillary.algebra import vectors as vec
from armillary.algebra.triples import (
    ZEROS,
    Triple,
    add,
    cross_triples,
    inner,
    matrix_vector,
    named,
    negative,
    plus,
    scaled,
)
from armillary.errors import ModelError
from armillary.mechanics.formalisms.jpl.substructures import Groups, Place, Reader
from armillary.model import motion
from armillary.model.body import Body
from armillary.model.records import Load
from armillary.model.system import System


@dataclass(eq=False)
class Loading:
    """Torques by (group, hinge); forces and torques about o by group; both by flexible body and node."""

    hinges: dict[tuple[int, int], Any] = field(default_factory=dict)
    torques: dict[int, Triple] = field(default_factory=dict)
    forces: dict[int, Triple] = field(default_factory=dict)
    nodes: dict[str, dict[str, tuple[Triple, Triple]]] = field(default_factory=dict)

    def turn(self, group: int, hinge: int, torque: Any) -> None:
        """More torque along a hinge."""
        self.hinges[group, hinge] = plus(self.hinges.get((group, hinge), 0), torque)

    def push(self, group: int, force: Triple, torque: Triple) -> None:
        """More force through a group's o, and torque."""
        self.forces[group] = add(self.forces.get(group, ZEROS), force)
        self.torques[group] = add(self.torques.get(group, ZEROS), torque)


def loading(system: System, found: Groups, read: Reader) -> Loading:
    """All loads of a system."""
    made = Loading()
    for load in system.loads.values():
        bodies = [load.body, load.reaction_body]
        places = [found.places[b.name] for b in bodies if b is not None]
        inside = len(places) == 2 and all(p.group >= 0 and p.node is None for p in places)
        if load.kind == "moment" and inside:
            _between(load, found, made, read)
            continue
        for body, sign in zip(bodies, (1, -1), strict=True):
            if body is not None and found.places[body.name].group >= 0:
                _on(load, body, sign, found, made, read)
    return made


def _between(load: Load, found: Groups, made: Loading, read: Reader) -> None:
    assert load.reaction_body is not None
    ends = [found.above(found.places[b.name].group) for b in (load.body, load.reaction_body)]
    shared = set(ends[0]) & set(ends[1])
    for path, sign in zip(ends, (1, -1), strict=True):
        for g in path:
            if g in shared:
                break
            for h, axis in enumerate(found.groups[g].axis_vectors):
                made.turn(g, h, scaled((read(vec.dot(load.vector, axis)), 0, 0), sign)[0])


def _on(load: Load, body: Body, sign: int, found: Groups, made: Loading, read: Reader) -> None:
    """One end of a load on the body that it touches."""
    place = found.places[body.name]
    group = found.groups[place.group]
    carrier = place.group if group.axial is None else group.inboard
    held = found.groups[carrier]
    vector = named(scaled([read(x) for x in load.vector.components(held.head.frame)], sign), load.name)
    if place.node is not None:
        assert body.parent is not None
        pairs = made.nodes.setdefault(body.parent.name, {})
        force, torque = pairs.get(place.node, (ZEROS, ZEROS))
        pairs[place.node] = (
            (force, add(torque, vector))
            if load.kind == "moment"
            else (
                add(force, vector),
                add(torque, cross_triples(_from_node(load, body, sign, place, read), vector)),
            )
        )
        return
    if load.kind == "moment":
        force, torque, turning = ZEROS, vector, vector
    else:
        at = _where(load, body, sign, found, held.head, read)
        force, torque = vector, cross_triples(add(at, negative(held.centre)), vector)
        turning = cross_triples(add(at, negative(group.at)), vector)
    if group.axial is not None:
        made.turn(place.group, 0, inner(group.axes[0], turning))
    made.push(carrier, force, torque)


def _where(load: Load, body: Body, sign: int, found: Groups, head: Body, read: Reader) -> Triple:
    """Where a force acts, from the origin of a group's first body in its axes."""
    point = load.at if sign > 0 else load.reaction_at
    point = load.at if point is None else point
    assert point is not None
    place = found.places[point.body.name]
    if point.body is body and found.groups[place.group].head is head and place.node is None:
        return place.point(tuple(read(x) for x in point.coordinates))
    return tuple(read(x) for x in motion.position(point, head.origin).components(head.frame))


def _from_node(load: Load, body: Body, sign: int, place: Place, read: Reader) -> Triple:
    """Where a force acts, from a node of its body; that the node turns is of second order."""
    point = load.at if sign > 0 else load.reaction_at
    if point is None or point.body is not body:
        raise ModelError(
            f"load '{load.name}' acts on '{body.name}', a node of a flexible body, along a line from "
            "elsewhere, which JPL's formulations cannot follow; give the point, reaction=node.origin"
        )
    return matrix_vector(place.rotation, [read(x) for x in point.coordinates])
