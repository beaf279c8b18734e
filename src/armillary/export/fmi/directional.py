"""Sections of derivatives of rates, outputs and event functions f, in one direction at the cost of a few f.

    directional   δf = Σ ∂f/∂z · δz      z: time, state, memory
    adjoint       λᵀ ∂f/∂z               for weights λ of the functions

The direction δz and the weights λ enter as further symbols: one evaluation gives the product of the whole
Jacobian with them, at about three times the cost of the functions themselves.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from armillary.algebra.block_functions import is_block
from armillary.algebra.calculus import directional_derivatives, gradient
from armillary.algebra.expression import UNIT, Expr, symbol, total
from armillary.algebra.walk import operands_first
from armillary.export.fmi.configurations import motion_rates
from armillary.export.text.source import Source
from armillary.program.program import ProgramSection, section


@dataclass(frozen=True, eq=False)
class Seeded:
    """A section and its seeds: a direction of time, state and memory, or weights of the functions."""

    section: ProgramSection
    seeds: tuple[Expr, ...]


def directional(source: Source, clocks: Collection[int]) -> Seeded:
    """Changes of the functions along a direction; ``clocks`` are the numbers of events that are left out."""
    program = source.program
    known = [program.time, *program.state, *program.memory]
    seeds = tuple(symbol(f"d_{s.data.name}", "variable", owner=program) for s in known)
    labels, functions = _functions(source, clocks)
    found = directional_derivatives(functions, dict(zip(known, seeds, strict=True)))
    # Constants of derivatives are few and not worth a place of their own: they are computed where they stand.
    return Seeded(section("directional", labels, found, constant=True), seeds)


def rates(source: Source) -> Seeded:
    """Rates of the states of an FMU with several configurations."""
    return Seeded(section("motion_rates", *motion_rates(source), constant=True), ())


def adjoints(source: Source, clocks: Collection[int]) -> Seeded:
    """Changes of the weighted sum of the functions with time, state and memory."""
    program = source.program
    known = [program.time, *program.state, *program.memory]
    _, functions = _functions(source, clocks)
    seeds = tuple(symbol(f"weight_{i}", "variable", owner=program) for i in range(len(functions)))
    labels = ["time", *(s.data.name for s in known[1:])]
    return Seeded(section("adjoint", labels, _weighted_slopes(functions, seeds, known), constant=True), seeds)


def _weighted_slopes(functions: Sequence[Expr], weights: Sequence[Expr], known: Sequence[Expr]) -> list[Expr]:
    """Derivatives of the weighted sum of functions. Block functions have derivatives along a direction alone:
    then it is one direction after the other.
    """

    def weighted(values: Sequence[Expr]) -> Expr:
        return total((1, w * f) for w, f in zip(weights, values, strict=True))

    if not any(is_block(node) for node in operands_first(functions)):
        return gradient(weighted(functions), known)
    return [weighted(directional_derivatives(functions, {z: UNIT})) for z in known]


def _functions(source: Source, clocks: Collection[int]) -> tuple[list[str], list[Expr]]:
    """Rates, outputs and event functions, with their labels."""
    program = source.program
    watched = [g for k, g in enumerate(program.events.results) if k not in clocks]
    events = [f"event {k}" for k in range(len(watched))]
    labels, rates = motion_rates(source)
    return [*labels, *program.outputs.labels, *events], [*rates, *program.outputs.results, *watched]
