"""The configurations that a run may enter without leaving its compiled loop, as the tables of that loop.

They are those that runs of this model have met so far: the first run that needs a configuration derives and
compiles it (configurations.py), later ones find it here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from armillary.mechanics.constraints.reduction import Configuration, modal_speeds
from armillary.model.description import Description
from armillary.model.records import EventRecord
from armillary.program.equations import DerivedEquations
from armillary.program.targets import CONSTRAINT_RANK, DEPENDENT_SPEEDS, INTERNAL_EVENTS
from armillary.runtime.integrators.records import RunChanges
from armillary.runtime.loop.layout import HEAD, INSTALLED, MOST_CONFIGURATIONS, SECTIONS, ChangeShape
from armillary.runtime.models.configurations import Configurations, changes_configuration, elimination_steps
from armillary.runtime.models.instance import Instance
from armillary.runtime.solver.language import CHOOSES, ELSEWHERE, LOCKING, NONE, ORDINARY, WEAKENS

if TYPE_CHECKING:
    from armillary.runtime.models.compiled import CompiledModel


@dataclass(frozen=True)
class KnownChanges:
    """Configurations in the order of their numbers, and the tables that a loop reads."""

    configurations: tuple[Configuration, ...]
    tables: RunChanges


def known_changes(configurations: Configurations) -> KnownChanges | None:
    """What is known of the configurations of a system; None where runs change theirs outside of the loop."""
    model = configurations[configurations.first].model
    known = configurations.known[:MOST_CONFIGURATIONS]
    if not model.changes_inside:
        return None
    if len(known) not in model.change_figures:
        model.change_figures[len(known)] = _figures([configurations[c].model for c in known])
    made = model.change_figures[len(known)]
    if made is None:
        return None
    key = configurations.parameters_key
    kept = model.change_sections
    if kept is not None and key is not None and kept[0] == (len(known), key):
        return kept[1]
    instances = [configurations[c] for c in known]
    sections = np.zeros((MOST_CONFIGURATIONS, len(SECTIONS)), dtype=np.int64)
    for c, instance in enumerate(instances):
        sections[c] = _addresses(instance, alone=len(instances) == 1)
    sizes = (made.shape, made.states, made.events, len(known))
    found = KnownChanges(tuple(known), RunChanges(*sizes, sections, made.numbers, owners=instances))
    if key is not None:
        model.change_sections = ((len(known), key), found)
    return found


@dataclass(frozen=True)
class ChangeFigures:
    """Sizes and tables of numbers of the configurations that are known, for any parameters."""

    shape: ChangeShape
    states: int
    events: int
    numbers: np.ndarray


def _figures(models: Sequence[CompiledModel]) -> ChangeFigures | None:
    """The tables of some configurations; None where they do not fit into those of the first."""
    strikes = [len(models) > 1 and "impulse" in model.change_code.lengths for model in models]
    return change_figures([model.equations for model in models], strikes)


def change_figures(
    every: Sequence[DerivedEquations], strikes: Sequence[bool], *, listed: bool = False
) -> ChangeFigures | None:
    """The tables of some configurations, which are ``listed`` where a run can meet no others; None where they
    do not fit into those of the first. Impulses act in those that ``strikes`` says.
    """
    first = every[0]
    system = first.system
    shape, lockable = change_shape(first)
    shape = replace(shape, listed=len(every) if listed else 0)
    states = len(first.program.state) + len(first.configuration.locked)
    events = shape.own_events + 2 + len(first.reduction.rows)
    places, length = shape.figures(events)
    numbers = np.zeros(length)
    numbers[: len(HEAD)] = shape.head(events)

    def put(name: str, first_place: int, values: Sequence[Any]) -> None:
        at = places[name] + first_place
        numbers[at : at + len(values)] = values

    widths = {
        **dict.fromkeys(("role", "direction", "ends", "lands"), events),
        "locked": len(lockable),
        **dict.fromkeys(("row_of", "speed_of"), shape.elements),
        **dict.fromkeys(("speed_of_row", "row_of_step", "speed_of_step"), shape.rows),
    }
    for c, equations in enumerate(every):
        found = configuration_numbers(equations, lockable)
        used, watched, elements = (found[name][0] for name in ("used", "watched", "elements"))
        if used > states or watched > events or elements > shape.elements:
            return None
        for name, values in found.items():
            put(name, c * widths.get(name, 1), values)
        put("strikes", c, [strikes[c]])
        if listed:
            put("member", c * len(every), members(equations, every))
    for name, values in system_numbers(system, lockable).items():
        put(name, 0, values)
    return ChangeFigures(shape, states, events, numbers)


def members(equations: DerivedEquations, every: Sequence[DerivedEquations]) -> list[int]:
    """Numbers of the configurations with the same locks, where there are several; NONE beyond."""
    locked = equations.configuration.locked
    group = [c for c, other in enumerate(every) if other.configuration.locked == locked]
    found = group if len(group) > 1 else []
    return [*found, *[NONE] * (len(every) - len(found))]


def configuration_numbers(equations: DerivedEquations, lockable: Sequence[str]) -> dict[str, list[int]]:
    """The numbers that a loop reads of one configuration, by the names of `ChangeShape.figures`."""
    watched, layout, steps = (
        equations.targets.watched,
        equations.reduction.layout,
        elimination_steps(equations),
    )
    elements = layout.jacobian if layout is not None else ()
    of_row, rows = dict(steps), len(equations.reduction.rows)
    filled = [*steps, *[(NONE, NONE)] * (rows - len(steps))]
    index = {event.name: k for k, event in reversed([*enumerate(watched)])}
    internal = [event.name in INTERNAL_EVENTS for event in watched]
    return {
        "role": [event_role(event, equations) for event in watched],
        "direction": [event.direction for event in watched],
        "ends": [int(e.stop and not own) for e, own in zip(watched, internal, strict=True)],
        "lands": [int(own) for own in internal],
        "locked": [int(u in equations.configuration.locked) for u in lockable],
        "row_of": [i for i, _ in elements],
        "speed_of": [j for _, j in elements],
        "speed_of_row": [of_row.get(i, NONE) for i in range(rows)],
        "row_of_step": [i for i, _ in filled],
        "speed_of_step": [j for _, j in filled],
        "used": [len(equations.program.state)],
        "watched": [len(watched)],
        "choice": [index.get(DEPENDENT_SPEEDS, NONE)],
        "rank": [index.get(CONSTRAINT_RANK, NONE)],
        "elements": [len(elements)],
        "first_element": [len(layout.gaps) + layout.rows if layout is not None else 0],
    }


def system_numbers(system: Description, lockable: Sequence[str]) -> dict[str, list[int]]:
    """What events of the user's own lock and unlock, and for each speed the first one of the same unit."""
    events, kinds = system.events.values(), [u.dimension for u in system.speeds]
    found = {
        name: [int(u in {v.data.name for v in chosen}) for chosen in sets for u in lockable]
        for name, sets in (("locks", [e.lock for e in events]), ("unlocks", [e.unlock for e in events]))
    }
    first = [next(i for i, other in enumerate(kinds) if other is kind) for kind in kinds]
    return {**found, "speed_kind": first}


def change_shape(equations: DerivedEquations) -> tuple[ChangeShape, Sequence[str]]:
    system, rows = equations.system, len(equations.reduction.rows)
    named = {u.data.name for e in system.events.values() for u in (*e.lock, *e.unlock)}
    named |= equations.configuration.locked
    lockable = [u.data.name for u in system.speeds if u.data.name in named]
    coordinates, speeds = len(equations.coordinates), len(system.speeds)
    layout = equations.reduction.layout
    elements = len(layout.jacobian) + rows * len(equations.configuration.locked) if layout is not None else 0
    geometry = len(equations.program.geometry.results) + 2 * speeds * len(equations.configuration.locked)
    return ChangeShape(
        coordinates=coordinates,
        speeds=speeds,
        motion=coordinates + speeds + len(equations.states),
        lockable=len(lockable),
        own_events=len(equations.targets.shown_events),
        rows=rows,
        elements=elements,
        geometry=geometry + rows * len(equations.configuration.locked),
    ), lockable


def event_role(event: EventRecord, equations: DerivedEquations) -> int:
    """What an event does to the configuration, by the names of runtime/solver/language.py."""
    if event.name == DEPENDENT_SPEEDS and modal_speeds(equations.system):
        return ELSEWHERE  # joints are preferred to modes
    if event.name in INTERNAL_EVENTS:
        return {DEPENDENT_SPEEDS: CHOOSES, CONSTRAINT_RANK: WEAKENS}.get(event.name, ELSEWHERE)
    if not changes_configuration(event, equations):
        return ORDINARY
    sets_motion = any(s.data.role in ("coordinate", "speed") for s in event.changes)
    return LOCKING if (event.lock or event.unlock) and not sets_motion else ELSEWHERE


def _addresses(instance: Instance, alone: bool) -> list[int]:
    """Those of `SECTIONS`."""
    model = instance.model
    found = {"constants": instance.constants.ctypes.data}
    found |= {name: model.address(name) for name in (*INSTALLED[1:], "geometry")}
    if not alone:
        found |= {name: model.change_code.address(name) for name in model.change_code.lengths}
        found["change_constants"] = instance.changes.constants.ctypes.data
    return [found.get(name, 0) for name in SECTIONS]
