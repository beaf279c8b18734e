"""The configurations that a run may enter without leaving its compiled loop, as the tables of that loop.

The tables have the configurations that runs of this model have met so far. The first run that needs another
configuration waits while it is derived and compiled, and continues with tables that have it. Later runs begin
with these tables.

The compiled loop makes every change of configuration (solver/changes.py). If its tables lack an entry, it
returns with the state before the change. This module derives, compiles and adds the missing entry, or closes
loops, or raises an error with the reason why the change fails. The loop then makes the change from its
beginning, as in later runs, whose tables are complete.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from armillary.algebra.expression import ZERO, Expr
from armillary.algebra.walk import symbols
from armillary.errors import ArmillaryError, SimulationError
from armillary.llvm.jit import Compiled
from armillary.mechanics.constraints.reduction import Configuration, modal_speeds
from armillary.model.description import Description, EventRecord
from armillary.program.configurations import RATINGS, adjustable, speed_settings
from armillary.program.equations import DerivedEquations
from armillary.program.targets.targets import CONSTRAINT_RANK, DEPENDENT_SPEEDS, INTERNAL_EVENTS, PIVOT_SIGN
from armillary.runtime.addresses import address
from armillary.runtime.integrators.compiled_run import CompiledRun
from armillary.runtime.integrators.settings import Lack, RunChanges
from armillary.runtime.models.configurations import (
    Configurations,
    adjusts,
    changes_configuration,
    elimination_steps,
    reclosing_names,
)
from armillary.runtime.models.instance import Instance
from armillary.runtime.start.initial import Place
from armillary.solver.language import language
from armillary.solver.language.language import (
    ADJUSTS,
    CHOOSES,
    ELSEWHERE,
    FLIPS,
    HAPPENS,
    LOCKING,
    NONE,
    ORDINARY,
    PASSES,
    REFUSED,
    WEAKENS,
)
from armillary.solver.llvm.layout import HEAD, INSTALLED, SECTIONS, ChangeShape
from armillary.solver.methods.dop853 import TABLEAU
from armillary.solver.methods.gauss import collocation_tables
from armillary.solver.tables import STAGES, TABLES
from armillary.solver.thresholds import LOOKS

if TYPE_CHECKING:
    from armillary.runtime.models.configured_program import ConfiguredProgram


@dataclass(frozen=True)
class KnownChanges:
    """Configurations in the order of their numbers, and the tables that a loop reads."""

    configurations: tuple[Configuration, ...]
    tables: RunChanges


def known_changes(configurations: Configurations) -> KnownChanges:
    """Return the known configurations and their tables, which are made again when more become known."""
    kept, so_far = configurations.changes, configurations.so_far
    if kept is None or kept[0] != so_far:
        kept = configurations.changes = so_far, _known_changes(configurations)
    found: KnownChanges = kept[1]
    return found


def _known_changes(configurations: Configurations) -> KnownChanges:
    model = configurations[configurations.first].model
    known, rated = configurations.known, dict(model.rated_choices)
    so_far = (len(known), len(rated), model.changed)
    if so_far not in model.change_figures:
        groups = {locked: found.configurations if found else () for locked, found in rated.items()}
        model.change_figures[so_far] = _configuration_tables([configurations[c].model for c in known], groups)
    made = model.change_figures[so_far]
    key = configurations.parameters_key
    kept = model.change_sections
    if kept is not None and key is not None and kept[0] == (so_far, key):
        return kept[1]
    instances = [configurations[c] for c in known]
    sections = np.zeros((made.shape.room, len(SECTIONS)), dtype=np.int64)
    complete = model.changed or len(instances) > 1
    normalises = any(instance.model.address("normalise") for instance in instances)
    for c, instance in enumerate(instances):
        addresses = _addresses(instance, alone=not complete)
        # A kinematic loop whose joints are all locked stays closed; its program has no section `normalise`.
        if normalises and not addresses["normalise"]:
            addresses["normalise"] = _no_correction().address("normalise")
        locked = known[c].locked
        if (choices := rated.get(locked)) is not None:
            addresses["ratings"] = choices.code.address(RATINGS)
            addresses["rating_constants"] = configurations.rating_constants(locked).ctypes.data
        sections[c] = [addresses.get(name, 0) for name in SECTIONS]
    sizes = (made.shape, made.states, made.events, len(known))
    owners = [configurations, *instances, *rated.values()]
    numbers = made.with_sizes(instances)
    tables = RunChanges(
        *sizes, sections, numbers, complete=complete, normalises=normalises,
        sparse=_largest_structure(instances), owners=owners,
    )  # fmt: skip
    found = KnownChanges(tuple(known), tables)
    if key is not None:
        model.change_sections = ((so_far, key), found)
    return found


def single_changes(instance: Instance) -> RunChanges:
    """Return the tables of a single configuration; with them a loop can pass singular configurations."""
    kept, alone = instance.model.change_figures, (1, 0, False)  # the key `so_far` of a first run
    if alone not in kept:
        kept[alone] = _configuration_tables([instance.model], {})
    made = kept[alone]
    sections = np.zeros((made.shape.room, len(SECTIONS)), dtype=np.int64)
    addresses = _addresses(instance, alone=True)
    sections[0] = [addresses.get(name, 0) for name in SECTIONS]
    numbers = made.with_sizes([instance])
    return RunChanges(
        made.shape, made.states, made.events, 1, sections, numbers,
        normalises=bool(addresses["normalise"]), sparse=_largest_structure([instance]), owners=instance,
    )  # fmt: skip


def _largest_structure(instances: Sequence[Instance]) -> tuple[int, int, int] | None:
    """Return the largest numbers of unknowns, entries and factors of sparse equations; None if dense."""
    found = [s.sizes for i in instances if (s := i.equations.program.structure) is not None]
    if not found:
        return None
    unknowns, entries, factors = (max(sizes) for sizes in zip(*found, strict=True))
    return unknowns, entries, factors


@dataclass(frozen=True)
class ChangeFigures:
    """Sizes and tables of numbers of the known configurations, for any parameters."""

    shape: ChangeShape
    states: int
    events: int
    numbers: np.ndarray  # with sizes of states for the default parameters

    def with_sizes(self, instances: Sequence[Instance]) -> np.ndarray:
        """Return the tables with sizes of states for the parameters of instances, one per configuration."""
        if not any(instance.equations.size_constants for instance in instances):
            return self.numbers
        found = self.numbers.copy()
        for c, instance in enumerate(instances):
            at, own = self.shape.first_size(self.events, c), instance.state_sizes
            found[at : at + len(own)] = own
        return self.numbers if np.array_equal(found, self.numbers) else found


Groups = Mapping[frozenset[str], Sequence[Configuration]]  # choices of dependent speeds by locks


def _configuration_tables(models: Sequence[ConfiguredProgram], groups: Groups) -> ChangeFigures:
    """Return the tables of some configurations."""
    strikes = [len(models) > 1 and "impulse" in model.change_code.lengths for model in models]
    return change_figures([model.equations for model in models], strikes, groups)


def change_figures(
    every: Sequence[DerivedEquations],
    strikes: Sequence[bool],
    groups: Groups,
    *,
    listed: bool = False,
    passing: bool = False,
) -> ChangeFigures:
    """Return the tables of some configurations.

    ``listed`` states that a run can meet no other configurations. ``strikes`` are flags of the configurations
    whose locks close with an impulse. Dependent speeds are chosen within ``groups``. With ``passing``, runs
    with a listed table can pass singular configurations.
    """
    first = every[0]
    system = first.system
    shape, lockable = change_shape(first)
    most = max((len(group) for group in groups.values()), default=0)
    states = len(first.program.state) + len(first.configuration.locked)
    states = max(states, *(len(equations.program.state) for equations in every))
    shape = replace(shape, members=most, listed=len(every) if listed else 0)
    while len(every) > shape.room:
        shape = replace(shape, room=2 * shape.room)
    partitions = [partition_numbers(equations) for equations in every] if not listed or passing else []
    geometry = max(len(equations.program.geometry.results) for equations in every)
    elements = max((numbers["elements"][0] for numbers in partitions), default=0)
    shape = replace(shape, elements=max(shape.elements, elements), geometry=max(shape.geometry, geometry))
    if listed and not passing:
        shape = replace(shape, rows=0, elements=0, geometry=0)
    elif first.reduction.rows:  # other configurations may lose rank even if the first is locked entirely
        shape = replace(shape, passing=states)
    events = shape.own_events + 2 + len(first.reduction.rows)
    events = max(events, *(len(equations.targets.watched) for equations in every))
    places, length = shape.figures(events)
    numbers = np.zeros(length)
    numbers[: len(HEAD)] = shape.head(events)

    def put(name: str, first_place: int, values: Sequence[float]) -> None:
        at = places[name] + first_place
        numbers[at : at + len(values)] = values

    sizes = {**shape.sizes(), "events": events}
    own_motion, widths = sizes["own_motion"], {t.name: t.length(sizes, 1) for t in TABLES}
    modes = modal_speeds(system)
    numbered = {equations.configuration: c for c, equations in enumerate(every)}
    for c, equations in enumerate(every):
        found = configuration_numbers(equations, lockable)
        if not listed:  # this process closes loops again, and makes other changes that the loop cannot make
            found |= process_roles(equations)
        group = groups.get(equations.configuration.locked)
        found["group_size"] = [-1 if group is None else len(group)]
        found["member"] = [numbered.get(other, NONE) for other in group or ()]
        if partitions:
            found |= partitions[c]
        for name, values in found.items():
            put(name, c * widths[name], values)
        put("strikes", c, [strikes[c]])
        put("state_size", c * own_motion, [1.0] * own_motion)
        put("state_size", c * own_motion, equations.reduction.state_sizes(system))
        put("turns_rows", c * own_motion, equations.turns_rows)
    common: dict[str, Sequence[float]] = {
        **system_numbers(system, lockable),
        "speed_kind": speed_kinds(system),
        "is_modal": [int(j in modes) for j in range(len(system.speeds))],
    }
    for name, table in (common | (across_tables() if shape.passing else {})).items():
        put(name, 0, table)
    return ChangeFigures(shape, states, events, numbers)


def groups_of(every: Sequence[DerivedEquations]) -> Groups:
    """Return groups of several configurations with the same locks, in the order of ``every``."""
    found: dict[frozenset[str], list[Configuration]] = {}
    for equations in every:
        found.setdefault(equations.configuration.locked, []).append(equations.configuration)
    return {locked: group for locked, group in found.items() if len(group) > 1}


def configuration_numbers(
    equations: DerivedEquations, lockable: Sequence[str], recloses: bool = False
) -> dict[str, list[int]]:
    """Return the numbers of one configuration for a loop, by the names of `ChangeShape.figures`.

    ``recloses`` states that the integration loop itself closes kinematic loops after events that set
    coordinates.
    """
    watched = equations.targets.watched
    index = {event.name: k for k, event in reversed([*enumerate(watched)])}
    internal = [event.name in INTERNAL_EVENTS for event in watched]
    no_states = equations.configuration.locked.union(equations.dependents)
    return {
        "role": [event_role(event, equations, recloses) for event in watched],
        "direction": [event.direction for event in watched],
        "stops": [int(e.stop and not own) for e, own in zip(watched, internal, strict=True)],
        "lands": [int(own) for own in internal],
        "locked_in": [int(u in equations.configuration.locked) for u in lockable],
        "setting_acts": [int(u.data.name in no_states) for _, u, _ in speed_settings(equations.system)],
        "used_states": [len(equations.program.state)],
        "watched_events": [len(watched)],
        "choice_event": [index.get(DEPENDENT_SPEEDS, NONE)],
        "rank_event": [index.get(CONSTRAINT_RANK, NONE)],
    }


def partition_numbers(equations: DerivedEquations) -> dict[str, list[int]]:
    """Return the numbers of one configuration for choices beyond the table (solver/choices.py)."""
    layout, steps = equations.reduction.layout, elimination_steps(equations)
    elements = layout.jacobian if layout is not None else ()
    of_row, rows = dict(steps), len(equations.reduction.rows)
    filled = [*steps, *[(NONE, NONE)] * (rows - len(steps))]
    return {
        "row_of": [i for i, _ in elements],
        "speed_of": [j for _, j in elements],
        "speed_of_row": [of_row.get(i, NONE) for i in range(rows)],
        "row_of_step": [i for i, _ in filled],
        "speed_of_step": [j for _, j in filled],
        "near_place": [near_place(event, equations) for event in equations.targets.watched],
        "elements": [len(elements)],
        "first_element": [len(layout.gaps) + layout.rows if layout is not None else 0],
    }


def near_place(event: EventRecord, equations: DerivedEquations) -> int:
    """Return the effect of an event near a singular configuration (solver/passages.py).

    An event that sets only memories on which no rate depends leaves the motion unchanged and may happen
    there; an event that changes the motion may not.
    """
    if event.name == PIVOT_SIGN:
        return FLIPS
    if not (event.stop or changes_configuration(event, equations)) and _leaves_motion(event, equations):
        return PASSES
    return REFUSED if event.changes and not event.stop else HAPPENS


def _leaves_motion(event: EventRecord, equations: DerivedEquations) -> bool:
    if not event.changes:
        return True
    if any(s.data.role != "memory" for s in event.changes):
        return False
    read = symbols(*equations.targets.rates, *equations.targets.geometry)
    return {s.data.name for s in event.changes}.isdisjoint(s.data.name for s in read)


def across_tables() -> dict[str, list[float]]:
    """Return the tables of the step across a singular configuration."""

    def fill_tables(row: Sequence[float]) -> list[float]:
        return [*row, *[0.0] * (STAGES - len(row))]

    method = TABLEAU
    rows = [*method.a, method.b, *method.extra_a]
    high, low = method.errors
    return {
        "stage_time": [*method.c, 1.0, *method.extra_c],
        "stage_weight": [w for row in rows for w in fill_tables(row)],
        "error_weight": fill_tables(high),
        "low_error_weight": fill_tables(low),
        "nest_weight": [w for row in reversed(method.dense) for w in fill_tables(row)],
        "look": list(LOOKS),
        **collocation_tables(),
    }


def speed_kinds(system: Description) -> list[int]:
    """Return, for each speed, the number of the first speed with the same unit."""
    kinds = [u.dimension for u in system.speeds]
    return [next(i for i, other in enumerate(kinds) if other is kind) for kind in kinds]


def system_numbers(system: Description, lockable: Sequence[str]) -> dict[str, list[int]]:
    """Return flags of the speeds that each event locks, unlocks, sets, and sets to values other than zero;
    and the events and speeds of `speed_settings`.
    """
    events = list(system.events.values())
    moved = [[s for s, value in e.changes.items() if value is not ZERO] for e in events]
    sets: dict[str, Sequence[Iterable[Expr]]] = {
        "locks": [e.lock for e in events], "unlocks": [e.unlock for e in events],
        "sets": [e.changes for e in events], "moves": moved,
    }  # fmt: skip
    found = {
        name: [int(u in {v.data.name for v in chosen}) for chosen in each for u in lockable]
        for name, each in sets.items()
    }
    settings = speed_settings(system)
    return found | {
        "setting_event": [events.index(event) for event, _, _ in settings],
        "setting_speed": [system.speeds.index(u) for _, u, _ in settings],
    }


def change_shape(equations: DerivedEquations) -> tuple[ChangeShape, Sequence[str]]:
    """Return the sizes of the tables of changes, and the names of the speeds that may be locked."""
    system, rows = equations.system, len(equations.reduction.rows)
    named = {u.data.name for e in system.events.values() for u in (*e.lock, *e.unlock)}
    named |= equations.configuration.locked
    lockable = [u.data.name for u in system.speeds if u.data.name in named]
    coordinates, speeds = len(equations.coordinates), len(system.speeds)
    layout, locks = equations.reduction.layout, len(equations.configuration.locked)
    elements = len(layout.jacobian) + rows * locks if layout is not None else 0
    geometry = len(equations.program.geometry.results) + (2 * speeds + rows) * locks
    settings, adjusting = len(speed_settings(system)), speeds if adjustable(system) else 0
    return ChangeShape(
        coordinates=coordinates,
        speeds=speeds,
        motion=len(equations.motion_names) + settings + adjusting,
        settings=settings,
        adjusting=adjusting,
        lockable=len(lockable),
        own_events=len(equations.targets.shown_events),
        members=0,
        rows=rows,
        elements=elements,
        geometry=geometry,
        passing=0,
    ), lockable


def event_role(event: EventRecord, equations: DerivedEquations, recloses: bool) -> int:
    """Return the effect of an event on the configuration, as a constant of solver/language/language.py."""
    if event.name in INTERNAL_EVENTS:
        return {DEPENDENT_SPEEDS: CHOOSES, CONSTRAINT_RANK: WEAKENS}.get(event.name, ELSEWHERE)
    if not changes_configuration(event, equations):
        return ORDINARY
    if (reclosing := reclosing_names(event, equations)) and not (event.lock or event.unlock):
        places = equations.coordinates if recloses else ()
        if set(reclosing) <= set(places):
            return ORDINARY
        if adjusts(event, equations, places):
            return ADJUSTS
    return ELSEWHERE if elsewhere_set(event, equations) else LOCKING


def process_roles(equations: DerivedEquations) -> dict[str, list[int]]:
    """Return the roles of events in this process, and flags of events after which it closes loops again."""
    watched = equations.targets.watched
    roles = [event_role(event, equations, False) for event in watched]
    recloses = [
        role == ELSEWHERE and event.name not in INTERNAL_EVENTS
        for role, event in zip(roles, watched, strict=True)
    ]
    return {
        "role": [LOCKING if closes else role for closes, role in zip(recloses, roles, strict=True)],
        "recloses": [int(closes) for closes in recloses],
    }


def elsewhere_set(event: EventRecord, equations: DerivedEquations) -> list[str]:
    """Return the names of values that an event sets, but that the integration loop cannot set.

    These are values after which kinematic loops must be closed again, and locked speeds that are set to
    nonzero values although no event releases them.
    """
    if equations.system.constraints:
        return reclosing_names(event, equations)
    read = [u for e, u, _ in speed_settings(equations.system) if e.name == event.name]
    unread = {s.data.name for s, value in event.changes.items() if s not in read and value is not ZERO}
    return sorted(unread & equations.configuration.locked)


@cache
def _no_correction() -> Compiled:
    """Return a section `normalise` that leaves the state unchanged."""
    return Compiled("define void @normalise(double %t, ptr %y, ptr %constants, ptr %memory) { ret void }")


def _addresses(instance: Instance, alone: bool) -> dict[str, int]:
    """Return the addresses of `SECTIONS`, except for ratings.

    A configuration that is ``alone`` needs the sections of changes only if an event that sets speeds also
    changes the configuration: such speeds are read from the motion (`read_settings` of the solver).
    """
    model, equations = instance.model, instance.equations
    found = {"constants": instance.constants.ctypes.data}
    found |= {name: model.address(name) for name in (*INSTALLED[1:-1], "geometry")}
    functions = model.run_functions
    found["structure"] = 0 if functions.structure is None else address(functions.structure_tables)
    settings = speed_settings(equations.system)
    if not alone or any(changes_configuration(event, equations) for event, _, _ in settings):
        found |= {name: model.change_code.address(name) for name in model.change_code.lengths}
        found["change_constants"] = instance.changes.constants.ctypes.data
    return found


class ConfigurationSupply:
    """The tables of a run's configurations, to which missing entries are added."""

    def __init__(self, configurations: Configurations, atol: float | Sequence[float]) -> None:
        self._configurations, self._atol = configurations, atol
        self._first = configurations[configurations.first].model

    @property
    def tables(self) -> RunChanges:
        """The tables with all known configurations."""
        known = known_changes(self._configurations)
        if type(self._atol) is float or not np.ndim(self._atol):
            return known.tables
        each = [self._configurations.tolerances(c, self._atol) for c in known.configurations]
        # mypy: since ``atol`` has several tolerances, each configuration has several.
        return replace(known.tables, tolerances=tuple(each))  # type: ignore[arg-type]

    def __call__(self, run: CompiledRun) -> RunChanges:
        """Add the entry that a run lacks; return the new tables."""
        lack = run.lack()
        present = self._configurations[self._configurations.known[lack.present]]
        watched = present.equations.targets.watched
        events = [watched[k] for k in lack.events]
        try:
            if lack.what == language.LACKS_CLOSING:
                run.take_closed_motion(self._close_loops(present, lack, events).motion)
            else:
                self._add(present, lack, events)
        except ArmillaryError as error:
            if not events:
                raise
            names = ", ".join(f"'{e.name}'" for e in events)
            raise ArmillaryError(f"at t = {lack.t:.6g} s, after event {names}: {error}") from None
        return self.tables

    def _add(self, present: Instance, lack: Lack, events: list[EventRecord]) -> None:
        """Add a configuration to the system's configurations, or code for a change to one of them."""
        configurations = self._configurations
        locked = configurations.known[lack.configuration].locked
        if lack.what == language.LACKS_SECTIONS:
            self._first.changed = True
        elif lack.what in (language.LACKS_LOCKS, language.LACKS_HELD_LOCKS):
            _, lockable = change_shape(self._first.equations)
            wanted = lack.after if lack.what == language.LACKS_LOCKS else lack.held
            names = [name for name, there in zip(lockable, wanted, strict=True) if there]
            self._add_configuration(Configuration(frozenset(names)), lack)
        elif lack.what == language.LACKS_RATINGS:
            self._first.choices(locked)
        elif lack.what == language.LACKS_MEMBER:
            rated = self._first.choices(locked)
            assert rated is not None
            self._add_configuration(rated.configurations[lack.member], lack)
        elif lack.what == language.LACKS_CHOICE:
            self._add_configuration(Configuration(locked, _named_pairs(present, lack.choice)), lack)
        else:
            if lack.what == language.LACKS_AGREEMENT:
                _check_consistent(lack.t, present.equations.configuration, events)
            raise SimulationError(
                self._lost_rank(lack)
                if lack.what == language.LACKS_RANK
                else "the configuration cannot be changed",
                None,
            )

    def _add_configuration(self, wanted: Configuration, lack: Lack) -> None:
        """Add a configuration; raise an error if the run's tables, which lacked it, already have it."""
        if wanted in self._configurations.known[: lack.known]:
            names = ", ".join(u for _, u in wanted.dependents)
            raise SimulationError(f"the change to dependent speeds {names} cannot be made", None)
        self._configurations.add(wanted)

    def _lost_rank(self, lack: Lack) -> str:
        """Return the message that no choice of dependent speeds determines the motion."""
        equations = self._configurations[self._configurations.known[lack.configuration]].equations
        left = {row for row, _ in elimination_steps(equations)} - {row for row, _ in lack.choice}
        names = [equations.reduction.rows[i].constraint.name for i in sorted(left)]
        redundant = f" (redundant there: {', '.join(names)})" if names else ""
        return (
            f"at t = {lack.t:.6g} s the constraints of '{equations.system.name}' lose rank{redundant}, so "
            "the motion can continue in more than one way; start a little away from there"
        )

    def _close_loops(self, present: Instance, lack: Lack, events: list[EventRecord]) -> Place:
        """Close the loops after events; values that they set stay."""
        equations = present.equations
        n, m = len(equations.coordinates), len(equations.system.speeds)
        q, u, states = np.split(lack.motion, [n, n + m])
        named = {s.data.name for event in events for s in event.changes}
        locked = equations.configuration.locked
        _, lockable = change_shape(self._first.equations)
        after = {name for name, there in zip(lockable, lack.after, strict=True) if there}
        known = {(e.name, s) for e, s, _ in speed_settings(equations.system)}
        for event in events:
            for target, value in event.changes.items():
                name = target.data.name
                acts = name in equations.dependents or (name in locked and name not in after)
                if acts and (event.name, target) not in known:
                    raise ArmillaryError(
                        f"'{event.name}' sets '{target}', which is not a state, to '{value}', which depends "
                        "on accelerations or reactions; let an earlier event store the value in a memory"
                    )
        # A joint that is released with a speed moves already, and other joints follow it.
        moving = {x.data.name for event in events for x in event.unlock} & named & locked
        opened = self._configurations[Configuration(locked - moving)] if moving else present
        return opened.close_loops(Place(lack.t, q, u, lack.memory, states), named, at_event=True)


def _named_pairs(instance: Instance, choice: Sequence[tuple[int, int]]) -> tuple[tuple[str, str], ...]:
    """Return names of rows of constraints and of their dependent speeds."""
    rows, speeds = instance.equations.reduction.rows, instance.equations.system.speeds
    return tuple((rows[i].constraint.name, speeds[j].data.name) for i, j in choice)


def _check_consistent(t: float, configuration: Configuration, changing: list[EventRecord]) -> None:
    """Raise an error if events of one instant contradict each other or a lock."""
    locking = {u.data.name: event.name for event in changing for u in event.lock}
    freeing = {u.data.name: event.name for event in changing for u in event.unlock}
    for u in locking.keys() & freeing.keys():
        raise SimulationError(
            f"at t = {t:.6g} s event '{locking[u]}' locks '{u}' and event '{freeing[u]}' unlocks it; "
            "let one of them come later",
            None,
        )
    held = (configuration.locked | locking.keys()) - freeing.keys()
    for event in changing:
        for target, value in event.changes.items():
            name = target.data.name
            if name in held and value is not ZERO:
                raise SimulationError(
                    f"at t = {t:.6g} s event '{event.name}' sets '{name}', which is locked; unlock it in the "
                    "same event, or lock it later",
                    None,
                )
