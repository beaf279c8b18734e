"""The configurations that a run may enter without leaving its compiled loop, as the tables of that loop.

They are those that runs of this model have met so far: the first run that needs a configuration derives and
compiles it (configurations.py), later ones find it here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from armillary.mechanics.constraints.reduction import Configuration, modal_speeds
from armillary.model.records import Event
from armillary.program.equations import DerivedEquations
from armillary.program.targets import CONSTRAINT_RANK, DEPENDENT_SPEEDS, INTERNAL_EVENTS
from armillary.runtime.integrators.records import RunChanges
from armillary.runtime.loop.layout import MOST_CONFIGURATIONS, SECTIONS, ChangeShape
from armillary.runtime.models.configurations import Configurations, changes_configuration
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
    first = models[0].equations
    system = first.system
    shape, lockable = change_shape(first)
    states = len(first.program.state) + len(first.configuration.locked)
    events = shape.own_events + 2 + len(first.reduction.rows)
    places, length = shape.figures(events)
    numbers = np.zeros(length)

    def put(name: str, first_place: int, values: Sequence[Any]) -> None:
        at = places[name] + first_place
        numbers[at : at + len(values)] = values

    for c, model in enumerate(models):
        equations, watched = model.equations, model.equations.targets.watched
        layout = equations.reduction.layout
        elements = layout.jacobian if layout is not None else ()
        if len(equations.program.state) > states or len(watched) > events or len(elements) > shape.elements:
            return None
        put("role", c * events, [event_role(event, equations) for event in watched])
        put("direction", c * events, [event.direction for event in watched])
        put("ends", c * events, [e.stop and e.name not in INTERNAL_EVENTS for e in watched])
        put("lands", c * events, [e.name in INTERNAL_EVENTS for e in watched])
        put("locked", c * len(lockable), [u in equations.configuration.locked for u in lockable])
        put("row_of", c * shape.elements, [i for i, _ in elements])
        put("speed_of", c * shape.elements, [j for _, j in elements])
        steps = change_steps(equations)
        of_row = dict(steps)
        put("speed_of_row", c * shape.rows, [of_row.get(i, NONE) for i in range(shape.rows)])
        filled = [*steps, *[(NONE, NONE)] * (shape.rows - len(steps))]
        put("row_of_step", c * shape.rows, [i for i, _ in filled])
        put("speed_of_step", c * shape.rows, [j for _, j in filled])
        index = {event.name: k for k, event in reversed([*enumerate(watched)])}
        of_one = {
            "used": len(equations.program.state),
            "watched": len(watched),
            "strikes": len(models) > 1 and "impulse" in model.change_code.lengths,
            "choice": index.get(DEPENDENT_SPEEDS, NONE),
            "rank": index.get(CONSTRAINT_RANK, NONE),
            "elements": len(elements),
            "first_element": len(layout.gaps) + layout.rows if layout is not None else 0,
        }
        for name, value in of_one.items():
            put(name, c, [value])
    for k, event in enumerate(system.events.values()):
        for name, chosen in (("locks", event.lock), ("unlocks", event.unlock)):
            held = {u.data.name for u in chosen}
            put(name, k * len(lockable), [u in held for u in lockable])
    kinds = [u.dimension for u in system.speeds]
    put("speed_kind", 0, [next(i for i, other in enumerate(kinds) if other is kind) for kind in kinds])
    return ChangeFigures(shape, states, events, numbers)


def change_steps(equations: DerivedEquations) -> list[tuple[int, int]]:
    """Rows and their dependent speeds, in the order of elimination."""
    reduction = equations.reduction
    rows = {row.constraint.name: i for i, row in enumerate(reduction.rows)}
    kept = reduction.elimination.kept
    return [(rows[kept[step.row].constraint.name], step.speed) for step in reduction.elimination.steps]


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


def event_role(event: Event, equations: DerivedEquations) -> int:
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
    found |= {
        name: model.address(name)
        for name in ("derivatives", "outputs", "events", "update", "fire", "normalise", "geometry")
    }
    if not alone:
        found |= {name: model.change_code.address(name) for name in model.change_code.lengths}
        found["change_constants"] = instance.changes.constants.ctypes.data
    return [found.get(name, 0) for name in SECTIONS]
