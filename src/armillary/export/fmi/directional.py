"""The section of directional derivatives: how rates, outputs and event functions change along a direction.

    δf = Σ ∂f/∂z · δz      z: time, state, memory

The direction δz enters as further symbols, so that one evaluation gives the product of the whole Jacobian
with it, at about three times the cost of the functions themselves.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from armillary.algebra.calculus import directional_derivatives
from armillary.algebra.expression import Expr, symbol
from armillary.program.program import Program, Section, section


@dataclass(frozen=True, eq=False)
class Directional:
    """The section and its seeds: those of time, the state and the memory, in this order."""

    section: Section
    seeds: tuple[Expr, ...]


def directional(program: Program, clocks: Collection[int]) -> Directional:
    """The section of a program; ``clocks`` are the numbers of events that are left out."""
    known = [program.time, *program.state, *program.memory]
    seeds = tuple(symbol(f"d_{s.data.name}", "variable", owner=program) for s in known)
    watched = [g for k, g in enumerate(program.events.results) if k not in clocks]
    functions = [*program.derivatives.results, *program.outputs.results, *watched]
    labels = [
        *program.derivatives.labels,
        *program.outputs.labels,
        *(f"event {k}" for k in range(len(watched))),
    ]
    found = directional_derivatives(functions, dict(zip(known, seeds, strict=True)))
    # Constants of derivatives are few and not worth a place of their own: they are computed where they stand.
    return Directional(section("directional", labels, found, constant=True), seeds)
