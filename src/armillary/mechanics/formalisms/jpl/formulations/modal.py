"""The rows and columns of modes in the system matrix, alike in all three formulations.

A modal unknown gives its substructure k a momentum p and an angular momentum h about o_k. Beyond hinge h_j
its effect is Y_j = e(j,k) h + [Σ_r e(j,r) D_rk] p, and

    A_0m = Y_0        A_jm = g_j·Y_j        A_ml = −p_m·p_l / M   for another appendage,

since the vehicle as a whole is free: appendages are coupled through the motion of the mass centre.

Source: Fleischer and Likins (1975), eqs. 42 and 69, with the path e taken to the carrying body.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from armillary.algebra.vectors.scalars import Scalar, inner, minus, total
from armillary.algebra.vectors.triples import ZEROS, Triple, add, cross_triples, named, scaled
from armillary.mechanics.formalisms.jpl.blocks import Blocks
from armillary.mechanics.formalisms.jpl.equations import Assembled
from armillary.mechanics.formalisms.jpl.vehicle import Modes, Square, Vehicle


@dataclass(frozen=True, eq=False)
class ModalColumns:
    """The modal unknowns of an appendage on substructure k, in its axes; ``rates`` carry their momenta."""

    k: int
    momenta: Modes
    moments: Modes
    mass: Square
    rates: Sequence[Scalar]


def carried(
    vehicle: Vehicle, ends: Sequence[int], appendages: Sequence[ModalColumns], number: int
) -> list[bool]:
    """e(j,k): whether each connection lies between the reference body and the one that carries an appendage.

    The report's listings have the appendage's own number in place of k, which spoiled its Fig. 9.
    """
    return [vehicle.beyond(a, appendages[number].k) for a in ends]


def assembled(
    blocks: Blocks,
    rows: dict[int, Scalar],
    appendages: Sequence[ModalColumns],
    forces: Sequence[Sequence[Scalar]],
) -> Assembled:
    """All equations, from the right sides of the hinge rows and the modal forces of each appendage.

    Rates of hinges carry the modes along: −Σ_j Y_jᵀ s_j joins the modal forces.
    """
    vehicle, turned = blocks.vehicle, blocks.attitude
    hinges = vehicle.hinges
    ends = [0, *(a for a, _ in hinges)]
    matrix, force = blocks.matrix(), dict(rows)
    names = {i: f"w_{'xyz'[i]}" for i in range(3)} | {i: h.name for i, (_, h) in enumerate(hinges, start=3)}
    motion = [*vehicle.spin, *(hinge.rate for _, hinge in hinges)]
    before: list[tuple[int, list[Triple]]] = []
    for number, (part, pushed) in enumerate(zip(appendages, forces, strict=True)):
        start, owner = len(motion), vehicle.substructures[part.k].name
        reach = [named(blocks.reach(part.k, a), f"r_{owner}_{a}") for a in ends]
        paths = carried(vehicle, ends, appendages, number)
        momenta = [named(turned.into(part.k, p), f"p_{owner}_{n}") for n, p in enumerate(part.momenta, 1)]
        moments = [named(turned.into(part.k, h), f"h_{owner}_{n}") for n, h in enumerate(part.moments, 1)]
        for n, (p, h) in enumerate(zip(momenta, moments, strict=True)):
            i = start + n
            Y = [add(h if e else ZEROS, cross_triples(r, p)) for e, r in zip(paths, reach, strict=True)]
            Y = [named(y, f"Y_{owner}_{n + 1}_{j}") for j, y in enumerate(Y)]
            names[i] = f"mode {n + 1} of {owner}"
            matrix |= {(j, i): Y[0][j] for j in range(3)}
            matrix |= {(j, i): inner(g, y) for j, (g, y) in enumerate(zip(turned.g, Y[1:], strict=True), 3)}
            matrix |= {(start + j, i): part.mass[j][n] for j in range(n + 1)}
            share = scaled(p, -1 / vehicle.mass)
            for first, others in before:
                matrix |= {(first + j, i): inner(other, share) for j, other in enumerate(others)}
            dragged = total([inner(y, s) for y, s in zip(Y[1:], turned.s, strict=True)])
            force[i] = minus(pushed[n], dragged)
        motion += part.rates
        before.append((start, momenta))
    given = {i: h.acceleration for i, (_, h) in enumerate(hinges, start=3) if h.acceleration is not None}
    return Assembled(matrix, force, given, names, motion)
