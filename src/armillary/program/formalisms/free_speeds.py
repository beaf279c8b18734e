"""States in place of the linear speeds of free bodies, where these make the equations cheaper.

The description's speeds u of a body with ``Free(velocity="auto")`` are the velocity of its origin in the
ground's axes. The program may integrate another velocity s, of the origin or of the composite mass centre c
(of the body with what regrouping lets it carry), in the ground's axes or in its own:

    u = s − R (ω × c)        s = u + R (ω × c)         ground's axes
    u = R (s − ω × c)        s = Rᵀ u + ω × c          body's axes

About its mass centre a body's equations of translation and rotation come apart; in body axes nothing is
turned where loads depend on the velocity along the body. Which is cheapest depends on the system: all are
derived and counted. Runs start from u and show u, as with momenta as states.

Source: Sayers (1990), section 8.1, where the program introduces such speeds itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from armillary.algebra.calculus import directional_derivatives
from armillary.algebra.expression import UNIT, Expr, as_expr, symbol
from armillary.algebra.functions import freeze_long_sum
from armillary.algebra.triples import (
    ZEROS,
    Scalar,
    Triple,
    add,
    cross_triples,
    is_zero,
    joined,
    matrix_sum,
    scaled,
)
from armillary.mechanics.constraints.reduction import Reduction
from armillary.mechanics.tree.link_inertia import point_mass_inertia
from armillary.mechanics.tree.tree import LINEAR, Link, Tree
from armillary.model.bodies.body import Body
from armillary.model.description import Description
from armillary.model.joints import Drift
from armillary.program.formalisms.formalism import DerivedConvertedEquations
from armillary.program.targets.converted_targets import converted_targets
from armillary.program.targets.targets import Targets, targets


@dataclass(frozen=True, eq=False, repr=False)
class DerivedFreeSpeedEquations(DerivedConvertedEquations):
    """Equations of motion in coordinates and chosen speeds."""

    hidden_states: ClassVar[bool] = True
    export_remarks: ClassVar[tuple[str, ...]] = (
        "States are the speeds of the description. The velocities that Free(velocity='auto') chooses in",
        "their place, with other counts of operations, are for runs in the process.",
    )


@dataclass(frozen=True, eq=False)
class Chosen:
    """A reduction in which some speeds, by index, are functions of other states."""

    reduction: Reduction
    states: dict[int, Expr]
    speeds: dict[int, Expr]  # the description's, from coordinates and states
    by_speeds: dict[int, Expr]  # the states, from coordinates and the description's speeds
    words: str


def choices(system: Description, reduction: Reduction, *, regrouped: bool) -> list[Chosen]:
    """The other states that are worth a trial; none with constraints or small variables."""
    if system.constraints or reduction.plain.truncation is not None:
        return []
    bodies = [body for body in system.bodies.values() if _is_free(body, reduction.tree)]
    centres = {body.name: _centre(reduction.tree, body) for body in bodies} if regrouped else {}
    off_centre = any(not all(map(is_zero, c)) for c in centres.values())
    tried = [("parent", centres)] if off_centre else []
    tried += [("body", {})] + ([("body", centres)] if off_centre else [])
    return [_velocity_states(system, reduction, bodies, axes, at) for axes, at in tried] if bodies else []


def _is_free(body: Body, tree: Tree) -> bool:
    """Whether the choice is left to the program, and can be made: nothing about the motion is given."""
    link = tree.links[tree.placements[body.name].link] if tree.placements[body.name].link >= 0 else None
    return (
        any(isinstance(step, Drift) and step.chosen for step in body.assembly.steps)
        and link is not None
        and link.step == "drift"
        and link.parent < 0
        and len(link.freedoms) == 6
        and all(d.rate is None for d in link.freedoms)
    )


def _centre(tree: Tree, body: Body) -> Triple:
    """From a link's origin to its mass centre, in its axes; no way where that is not constant."""
    link = tree.links[tree.placements[body.name].link]
    flexible = link.modes is not None or any(other.carrier >= 0 for other in tree.links)
    if flexible or is_zero(link.mass):
        return ZEROS
    x, y, z = (0 if is_zero(h) else freeze_long_sum(as_expr(h) / as_expr(link.mass)) for h in link.first)
    return x, y, z


def _velocity_states(
    system: Description,
    reduction: Reduction,
    bodies: Sequence[Body],
    axes: str,
    centres: Mapping[str, Triple],
) -> Chosen:
    tree = reduction.tree
    states: dict[int, Expr] = {}
    speeds: dict[int, Expr] = {}
    by_speeds: dict[int, Expr] = {}
    for body in bodies:
        index = tree.placements[body.name].link
        link, c = tree.links[index], centres.get(body.name, ZEROS)
        linear = {d.direction - LINEAR: d for d in link.freedoms if d.direction >= LINEAR}
        spin = {d.direction: d.speed for d in link.freedoms if d.direction < LINEAR}
        around = cross_triples((spin[0], spin[1], spin[2]), c)
        s = {i: _symbol(system, d.index, body, axes, c) for i, d in linear.items()}
        u = joined(linear[i].speed for i in range(3))
        moved = (s[0], s[1], s[2])
        if axes == "body":
            found = link.rotation.to_parent(add(moved, scaled(around, -1)))
            back = add(link.rotation.to_child(u), around)
        else:
            found = add(moved, scaled(link.rotation.to_parent(around), -1))
            back = add(u, link.rotation.to_parent(around))
        for i, d in linear.items():
            states[d.index], speeds[d.index], by_speeds[d.index] = s[i], as_expr(found[i]), as_expr(back[i])
        tree = _with_link(tree, index, _moved_by(link, s, axes, c), c)
    plain = reduction.plain.with_values({system.speeds[i]: u for i, u in speeds.items()})
    where = "mass centre" if centres else "origin"
    words = f"velocity of the {where} in {'body' if axes == 'body' else 'ground'} axes"
    return Chosen(replace(reduction, tree=tree, plain=plain), states, speeds, by_speeds, words)


def _symbol(system: Description, index: int, body: Body, axes: str, c: Triple) -> Expr:
    u = system.speeds[index].data
    where = "origin" if all(map(is_zero, c)) else "composite mass centre"
    about = f"state for {u.name}: velocity of {body.name}'s {where} in {axes} axes"
    return symbol(f"state of {u.name}", owner=system.identity, units=u.units, about=about)


def _moved_by(link: Link, s: Mapping[int, Expr], axes: str, c: Triple) -> Link:
    """The link with other linear speeds, and its origin moved to c: its mass centre, or where it was."""
    freedoms = tuple(
        replace(d, speed=s[d.direction - LINEAR]) if d.direction >= LINEAR else d for d in link.freedoms
    )
    link = replace(link, freedoms=freedoms, velocity=axes)
    if all(map(is_zero, c)):
        return link
    less = point_mass_inertia(link.mass, c)
    inertia = matrix_sum(link.inertia, joined(scaled(row, -1) for row in less))
    settled_inertia = joined(joined(freeze_long_sum(as_expr(x)) for x in row) for row in inertia)
    offset = add(link.offset, link.rotation.to_parent(c))
    return replace(link, first=ZEROS, inertia=settled_inertia, offset=offset)


def _with_link(tree: Tree, index: int, link: Link, c: Triple) -> Tree:
    """The tree with another link, and what hangs on it where it was."""
    back = scaled(c, -1)
    links = [
        replace(other, offset=add(other.offset, back)) if other.parent == index else other
        for other in tree.links
    ]
    links[index] = link
    placements = {
        name: replace(p, origin=add(p.origin, back)) if p.link == index else p
        for name, p in tree.placements.items()
    }
    return replace(tree, links=tuple(links), placements=placements)


def chosen_targets(system: Description, rates: Mapping[int, Scalar], chosen: Chosen) -> Targets:
    """Root expressions of all sections, for rates of the states by index."""
    reduction, plain = chosen.reduction, chosen.reduction.plain
    free = [system.speeds.index(u) for u in reduction.independent(system)]
    second = [chosen.states.get(i, plain(system.speeds[i])) for i in free]
    along = {plain(system.time): UNIT}
    along |= {plain(q): plain(system.rates[q]) for q in reduction.coordinates(system)}
    along |= {state: as_expr(rates[i]) for state, i in zip(second, free, strict=True)}
    turned = directional_derivatives(list(chosen.speeds.values()), along)
    accelerations = {**rates, **dict(zip(chosen.speeds, turned, strict=True))}
    wanted = targets(system, accelerations, reduction)
    own = speed_symbols(system, chosen)
    back = [chosen.by_speeds.get(i, own[i]) for i in free]
    # Inputs of the conversion: speeds by their names, but not the symbols that are states themselves.
    given = {own[i]: symbol(own[i].data.name, "variable", owner=system.identity) for i in free}
    return converted_targets(
        wanted,
        {state: as_expr(rates[i]) for state, i in zip(second, free, strict=True)},
        names=[s.data.name for s in second],
        speeds=[own[i] for i in free],
        by_states=wanted.speeds,
        by_speeds=back,
        accelerations=[as_expr(accelerations[i]) for i in free],
        inputs=given,
    )


def speed_symbols(system: Description, chosen: Chosen) -> dict[int, Expr]:
    """The description's speeds as symbols, by index."""
    plain = chosen.reduction.plain
    bare = plain.with_values({system.speeds[i]: _bare(system.speeds[i]) for i in chosen.states})
    return {i: bare(u) for i, u in enumerate(system.speeds)}


def _bare(u: Expr) -> Expr:
    s = u.data
    return symbol(s.name, s.role, owner=s.owner, units=s.units, about=s.about, default=s.default)
