"""The start of a run in exported code, from the given values, as in the process.

    momenta          from coordinates and speeds, which are the values that a run gives
    mass centres     coordinates and speeds of joints that ``start_mass_centre`` places
    memories         that begin at the value of an expression
    contacts         status of contacts without compliance, and an impact where they are struck at once

It is a function of time, given values in the order of the state, parameters and memory. Parameters, not
constants: it is called once, and what it needs of them is not part of the loop.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce

from armillary.algebra import functions as fn
from armillary.algebra.expression import Expr, as_expr
from armillary.algebra.walk import transform
from armillary.export.text.body import Place
from armillary.model.recording.records import UNDECIDED
from armillary.model.space.orbit import mass_centre_starts
from armillary.program.equations import DerivedEquations
from armillary.program.form.program import ProgramSection, section
from armillary.program.targets.contact_targets import decision_event


@dataclass(frozen=True)
class StartSource:
    """Memory and state of the first step from those that are given."""

    section: ProgramSection  # memory, then state
    places: Mapping[Expr, Place]  # of symbols that the section reads
    placed: Mapping[
        int, str
    ]  # places in the state that are set whatever is given, and the body that sets them


def started(equations: DerivedEquations) -> StartSource | None:
    """The start of a system; None where it begins with the values that are given."""
    system, program, targets = equations.system, equations.program, equations.targets
    conversion = equations.conversion
    plain = equations.reduction.given_reader() if conversion else equations.reduction.plain
    known: dict[Expr, Expr] = {}
    bodies: dict[Expr, str] = {}
    for start in mass_centre_starts(system):
        symbols = [plain(s) for s in (*start.coordinates, *start.speeds)]
        values = [plain(as_expr(x)) for x in (*start.places, *start.rates)]
        known |= dict(zip(symbols, values, strict=True))
        bodies |= dict.fromkeys(symbols, start.body.name)
    memories = list(system.memories.values())
    memory: list[Expr] = list(program.memory)
    for i, m in enumerate(memories):
        if m.start is not None:
            value = transform([plain(m.start)], known.get)[0]
            memory[i] = fn.select(fn.equal(memory[i], m.initial), value, memory[i])
    given: list[Expr] = list(program.state)
    count = len(targets.coordinates)
    state = [known.get(s, s) for s in given]
    if conversion:
        given[count : count + len(targets.speeds)] = targets.inputs
        state[count : count + len(conversion)] = transform(conversion, known.get)
    if system.contacts:
        memory, state = _decided(equations, memory, state)
    elif not (conversion or known or any(m.start is not None for m in memories)):
        return None
    places: dict[Expr, Place] = {program.time: ("", 0)}
    places |= {s: ("parameters", i) for i, s in enumerate(program.parameters)}
    places |= {s: ("state", i) for i, s in enumerate(given)}
    places |= {s: ("memory", i) for i, s in enumerate(program.memory)}
    labels = [s.data.name for s in (*program.memory, *program.state)]
    return StartSource(
        section("start", labels, [*memory, *state], constant=True),
        places,
        {i: bodies[s] for i, s in enumerate(given) if s in bodies},
    )


def _decided(
    equations: DerivedEquations, memory: list[Expr], state: list[Expr]
) -> tuple[list[Expr], list[Expr]]:
    """Memory and state with the statuses of contacts decided, unless all of them are given."""
    system, targets = equations.system, equations.targets
    statuses = [equations.reduction.plain(c.status) for c in system.contacts.values()]
    program = equations.program
    now = dict(zip((*program.memory, *program.state), (*memory, *state), strict=True))
    undecided = reduce(fn.or_, [fn.equal(now[status], UNDECIDED) for status in statuses])
    event = next(k for k, e in enumerate(targets.watched) if e.name == decision_event(system))
    after = transform(targets.fires[event], now.get)
    found = [fn.select(undecided, x, y) for x, y in zip(after, (*memory, *state), strict=True)]
    return found[: len(memory)], found[len(memory) :]
