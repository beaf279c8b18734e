"""Conditions of rigid contacts and brakes at operating points.

    closed      gap = 0,     and in motion its rate = 0
    sticks      the place of its slip as at the start, and in motion its velocity = 0

The forces of closed contacts are in the rates already, so rates vanish along what they hold, whatever it
bears. A slip whose velocity is the rate of no expression, as that of a ball on a plane, has no place: it
stays near the start.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from armillary.algebra.expression import Expr
from armillary.program.equations import DerivedEquations

CLOSED, STICKS = (1, 2, -2), 1  # statuses


@dataclass(frozen=True, eq=False)
class ContactConditions:
    """Rows of one contact among the conditions, and the place of its status in the memory."""

    name: str
    status: int
    gap: int | None
    closing: int | None
    slip: tuple[int, ...]
    place: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class HeldRows:
    """Rows that hold: positions, velocities, and of these the slips, of which the place is held too."""

    positions: tuple[int, ...] = ()
    velocities: tuple[int, ...] = ()
    slips: tuple[int, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.positions or self.velocities)


def contact_conditions(
    equations: DerivedEquations, first: int
) -> tuple[dict[str, Expr], tuple[ContactConditions, ...]]:
    """Return the rows of all contacts by their labels, and where they are; the first is row ``first``."""
    system, targets = equations.system, equations.targets
    memories = list(system.memories)
    rows: dict[str, Expr] = {}

    def add(label: str, expressions: Sequence[Expr | None]) -> tuple[int, ...]:
        start = first + len(rows)
        several = len(expressions) > 1
        made = {f"{label}{f' {i}' if several else ''}": x for i, x in enumerate(expressions, 1)}
        rows.update({name: x for name, x in made.items() if x is not None})
        return tuple(range(start, first + len(rows)))

    found = []
    for c, geometry in zip(system.contacts.values(), targets.contacts, strict=True):
        name = f"contact '{c.name}'"
        gap, closing = (
            next(iter(add(f"{what} of {name}", [x])), None)
            for what, x in (("gap", geometry.gap), ("rate of the gap", geometry.closing))
        )
        slip = add(f"velocity of slip of {name}", geometry.sliding)
        place = add(f"place of slip of {name}", [equations.reduction.plain(x) for x in c.place])
        found.append(ContactConditions(c.name, memories.index(c.status.data.name), gap, closing, slip, place))
    return rows, tuple(found)


def held_rows(
    contacts: Sequence[ContactConditions], memory: np.ndarray, depends: np.ndarray, cyclic: frozenset[int]
) -> HeldRows:
    """Return the rows that hold at the statuses in the memory. Places of slips that contain a cyclic
    coordinate are not held: the contact rolls.
    """
    positions: list[int] = []
    velocities: list[int] = []
    slips: list[int] = []
    rolls = list(cyclic)
    for c in contacts:
        status = memory[c.status]
        if c.gap is not None and c.closing is not None and status in CLOSED:
            positions.append(c.gap)
            velocities.append(c.closing)
        if status == STICKS:
            velocities += c.slip
            if not (c.place and depends[list(c.place)][:, rolls].any()):
                positions += c.place
                slips += c.slip
    return HeldRows(tuple(positions), tuple(velocities), tuple(slips))
