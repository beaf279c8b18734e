"""What a system's program must compute, as expressions of time, state, memory and parameters alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from armillary.algebra.dimension import FORCE, MOMENT
from armillary.algebra.expression import Expr, as_expr
from armillary.algebra.functions import sqrt
from armillary.algebra.walk import Undimensioned, transform
from armillary.model.system import System


@dataclass(frozen=True)
class Column:
    """One output of a run: its name, units and description, and the factor from the model's units to them."""

    name: str
    units: str
    about: str
    expression: Expr


@dataclass(frozen=True, repr=False)
class Targets:
    """Expressions for every section of a system's program."""

    time: Expr
    coordinates: tuple[Expr, ...]
    speeds: tuple[Expr, ...]
    memory: tuple[Expr, ...]
    rates: tuple[Expr, ...]
    columns: tuple[Column, ...]
    events: tuple[Expr, ...]
    updates: tuple[Expr, ...]
    fires: tuple[tuple[Expr, ...], ...]
    normalised: tuple[Expr, ...]
    quaternions: tuple[int, ...]


def targets(system: System, speed_rates: Mapping[int, Any], plain: Undimensioned) -> Targets:
    """Root expressions of a system whose speeds have these rates (by index among all its speeds)."""
    accelerations = {
        plain(system.accelerations[u]): as_expr(speed_rates[i]) for i, u in enumerate(system.speeds)
    }
    given = {plain(p.speed): plain(p.value) for p in system.prescriptions.values()}
    replaced = {**accelerations, **given}

    def resolved(expressions: list[Expr]) -> list[Expr]:
        """Without dimensions, prescribed speeds and accelerations; twice, for prescribed speeds inside
        accelerations.
        """
        once = transform([plain(e) for e in expressions], replaced.get)
        return transform(once, given.get) if given else once

    free = [u for u in system.speeds if u not in system.prescriptions]
    index = {u: i for i, u in enumerate(system.speeds)}
    rates = resolved([system.rates[q] for q in system.coordinates])
    rates += (
        transform([as_expr(speed_rates[index[u]]) for u in free], given.get)
        if given
        else [as_expr(speed_rates[index[u]]) for u in free]
    )
    columns = _columns(system)
    outputs = resolved([c.expression for c in columns])
    memory = [m.symbol for m in system.memories.values()]
    state = [*system.coordinates, *free]
    fires = [
        tuple(resolved([event.changes.get(s, s) for s in [*memory, *state]]))
        for event in system.events.values()
    ]
    quaternions = _quaternions(system)
    normalised = _normalised([plain(s) for s in state], quaternions)
    return Targets(
        time=plain(system.time),
        coordinates=tuple(plain(q) for q in system.coordinates),
        speeds=tuple(plain(u) for u in free),
        memory=tuple(plain(m) for m in memory),
        rates=tuple(rates),
        columns=tuple(Column(c.name, c.units, c.about, e) for c, e in zip(columns, outputs, strict=True)),
        events=tuple(resolved([e.expression for e in system.events.values()])),
        updates=tuple(
            resolved([m.symbol if m.update is None else m.update for m in system.memories.values()])
        )
        if any(m.update is not None for m in system.memories.values())
        else (),
        fires=tuple(fires),
        normalised=tuple(normalised),
        quaternions=tuple(quaternions),
    )


def _columns(system: System) -> list[Column]:
    """Coordinates, speeds, memories, loads and the user's outputs, each once by name; the user's definition
    wins.
    """
    found: dict[str, Column] = {}
    memories = [m.symbol for m in system.memories.values() if m.period is None]
    for s in [*system.coordinates, *system.speeds, *memories]:
        found[s.data.name] = Column(s.data.name, s.data.units or "", s.data.about, s)
    for load in system.loads.values():
        units = system.units.unit_text(FORCE if load.kind == "force" else MOMENT)
        found[load.name] = Column(load.name, units, f"magnitude of {load.kind} {load.name}", load.magnitude)
    for output in system.outputs.values():
        value = output.expression if output.scale == 1.0 else output.expression * output.scale
        found[output.name] = Column(output.name, output.units, output.about, value)
    return list(found.values())


def _quaternions(system: System) -> list[int]:
    index = {q: i for i, q in enumerate(system.coordinates)}
    return [
        index[body.coordinates[start]]
        for body in system.bodies.values()
        for start in body.assembly.quaternions
    ]


def _normalised(state: list[Expr], quaternions: list[int]) -> list[Expr]:
    """Euler parameters divided by their length, group after group."""
    result: list[Expr] = []
    for start in quaternions:
        e = state[start : start + 4]
        length = sqrt(as_expr(sum((x * x for x in e), as_expr(0))))
        result += [x / length for x in e]
    return result
