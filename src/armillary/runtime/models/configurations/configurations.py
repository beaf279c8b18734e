"""The programs of one system by configuration: other dependent speeds, joints locked and unlocked.

Each configuration has its own program, derived and compiled when a run first needs it, then kept.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from armillary.algebra.expression import ZERO
from armillary.algebra.walk import symbols
from armillary.errors import ArmillaryError, SimulationError
from armillary.mechanics.constraints.closing_thresholds import AGREEING
from armillary.mechanics.constraints.partition import partition, sizes_by_kind
from armillary.mechanics.constraints.reduction import Configuration, modal_speeds
from armillary.model.recording.records import EventRecord
from armillary.program.configuration_changes import speed_settings
from armillary.program.equations import DerivedEquations
from armillary.program.targets.targets import POOR_PIVOT
from armillary.runtime.integrators.records import Integration
from armillary.runtime.models.programs.instance import Instance
from armillary.runtime.start.place import Place

if TYPE_CHECKING:
    from armillary.runtime.models.programs.configured_program import ConfiguredProgram

Settings = dict[tuple[str, str], float]  # values of speeds by the names of an event and a speed
NEARLY = 1.001  # a step that ends where the choice becomes poor, to its tolerance, may end just before


class Configurations:
    """The programs of one system by configuration, with the parameters of a run; the first is what the user
    derived.
    """

    def __init__(
        self,
        models: dict[Configuration, ConfiguredProgram],
        first: Configuration,
        instance: Instance,  # of the first
    ) -> None:
        self.first, self.parameters, self.inputs = first, instance.parameters, instance.inputs
        self._inside = instance.inside
        self._models = models
        self._instances: dict[Configuration, Instance] = {first: instance}
        self._rating_constants: dict[frozenset[str], np.ndarray] = {}
        self.changes: tuple[tuple[int, int], Any] | None = None  # by what was so far: see run_changes.py

    def __getitem__(self, configuration: Configuration) -> Instance:
        """The program of a configuration, derived and compiled at its first use."""
        found = self._instances.get(configuration)
        if found is None:  # where threads come here at once, all go on with the first one's result
            if configuration not in self._models:
                model = self._models[self.first].in_configuration(configuration)
                self._models.setdefault(configuration, model)
            made = Instance(self._models[configuration], self.parameters, self.inputs, inside=self._inside)
            found = self._instances.setdefault(configuration, made)
        return found

    def rating_constants(self, locked: frozenset[str]) -> np.ndarray:
        """Constants of the ratings of choices with these locks, which live as long as this does."""
        if locked not in self._rating_constants:
            rated, inside = self._models[self.first].choices(locked), self[self.first].changes.inside()
            assert rated is not None
            self._rating_constants.setdefault(locked, rated.code.constants(inside))
        return self._rating_constants[locked]

    @property
    def parameters_key(self) -> bytes | None:
        """The same for equal parameters."""
        return None if self._inside is None else self._inside.tobytes()

    @property
    def known(self) -> list[Configuration]:
        """The configurations that have been compiled, the first one first."""
        return list(self._models)

    def exchange_text(self, before: Configuration, after: Configuration) -> str:
        """The words for an exchange of dependent speeds, which are kept; "" where they stay the same."""
        texts, exchange = self._models[self.first].exchange_texts, (before, after)
        if exchange not in texts:
            gone, now = (set(self[c].equations.dependents) for c in exchange)
            text = (
                f"{', '.join(sorted(gone - now))} became independent in place of "
                f"{', '.join(sorted(now - gone))}, which hardly determined the others there"
            )
            texts[exchange] = text if gone != now else ""
        return texts[exchange]

    @property
    def so_far(self) -> tuple[int, int]:
        """The number of configurations compiled, and of sets of locks whose table was needed."""
        return len(self._models), len(self._models[self.first].rated_choices)

    def tolerances(
        self, configuration: Configuration, atol: float | Sequence[float]
    ) -> float | Sequence[float]:
        """Return the tolerances of a configuration's states, from the first configuration's tolerances by
        name. A speed that is no state there gets the least tolerance of the first configuration's speeds.
        """
        if type(atol) is float or configuration == self.first or not np.ndim(atol):
            return atol
        first, now = (
            (*model.coordinate_names, *model.speed_names, *model.state_names)
            for model in (self[c].model for c in (self.first, configuration))
        )
        given = np.asarray(atol, dtype=float)
        known = dict(zip(first, given, strict=False))
        speeds = [known[u] for u in self[self.first].model.speed_names]
        least = min(speeds or given)
        found = [known.get(name, least) for name in now]
        result: float | Sequence[float] = np.tile(
            found, len(given) // len(first)
        ).tolist()  # with derivatives of states: for each
        return result

    def apply_events(
        self,
        place: Place,
        configuration: Configuration,
        changing: list[EventRecord],
        settings: Settings,
        choice: Sequence[tuple[int, int]] = (),
    ) -> tuple[Place, Configuration]:
        """Where a run goes on after events that change its configuration, and in which; ``settings``: see
        `set_speeds`; ``choice`` has the rows and the dependent speeds in it, where the loop has chosen them.
        """
        _check_consistent(place.t, configuration, changing)
        locked = set(configuration.locked)
        for event in changing:
            locked |= {u.data.name for u in event.lock}
            locked -= {u.data.name for u in event.unlock}
        named = {s.data.name for event in changing for s in event.changes}
        place = place._replace(u=self._set(place, configuration, changing, locked, settings))
        equations = self[configuration].equations
        reclosing = [event for event in changing if reclosing_names(event, equations)]
        if reclosing:
            adjusted = None
            if all(adjusts(event, equations) for event in reclosing):
                adjusted = self._adjust_others(place, configuration, changing)
            # A joint that is released with a speed of its own moves already where others follow it.
            moving = {u.data.name for event in changing for u in event.unlock} & named & configuration.locked
            opened = Configuration(configuration.locked - moving) if moving else configuration
            place = adjusted or self[opened].close_loops(place, named, at_event=True)
        if locked - configuration.locked:
            # An impulse takes no time, a release does: what is set free at this instant is held through it.
            held = locked | (configuration.locked - named)
            place = self._apply_lock_impulse(place, frozenset(held))
        now = Configuration(
            frozenset(locked), configuration.dependents if locked == configuration.locked else ()
        )
        if choice:
            rows, speeds = equations.reduction.rows, equations.system.speeds
            pairs = tuple((rows[i].constraint.name, speeds[j].data.name) for i, j in choice)
            return place, Configuration(frozenset(locked), pairs)
        return place, self.suitable(place, now)

    def _set(
        self,
        place: Place,
        configuration: Configuration,
        changing: list[EventRecord],
        locked: set[str],
        settings: Settings,
    ) -> np.ndarray:
        """All speeds, with the values that events set for dependent speeds and for speeds that they unlock:
        these are not states of this configuration.
        """
        instance, u = self[configuration], place.u
        equations = instance.equations
        given = [
            (event, target, value)
            for event in changing
            for target, value in event.changes.items()
            if target.data.name in equations.dependents
            or (target.data.name in configuration.locked and target.data.name not in locked)
        ]
        if given:
            u = u.copy()
            for event, target, value in given:
                known = settings.get((event.name, target.data.name))
                if known is None:
                    raise ArmillaryError(
                        f"'{event.name}' sets '{target}', which is not a state, to '{value}', which depends "
                        "on accelerations or reactions; let an earlier event keep that in a memory"
                    )
                u[equations.system.speeds.index(target)] = known
        return u

    def _adjust_others(
        self, place: Place, configuration: Configuration, changing: list[EventRecord]
    ) -> Place | None:
        """Change speeds that events have not set until the constraints hold; return None if the speeds that
        events set contradict each other. As `adjust_others` of runtime/solver/changes.py.
        """
        changes, system = self[configuration].changes, self[configuration].equations.system
        settings = speed_settings(system)
        free = np.ones(len(system.speeds))
        free[[system.speeds.index(u) for event, u, _ in settings if event in changing]] = 0.0
        largest = []
        for _ in range(2):
            motion = np.concatenate([place.motion, np.zeros(len(settings)), free])
            changed = changes.adjust(place.t, motion, place.memory)
            place = place._replace(u=place.u + changed)
            largest.append(float(np.max(np.abs(changed))))
        first, second = largest
        size = max(first, float(np.max(np.abs(place.u))))
        return place if second <= AGREEING * size and size < np.inf else None

    def suitable(self, place: Place, configuration: Configuration) -> Configuration:
        """Return the configuration if its dependent speeds suit a place, else a better one."""
        instance = self[configuration]
        if instance.equations.reduction.quality is None or instance.quality(place) > NEARLY * POOR_PIVOT:
            return configuration
        return self._better(place, configuration, instance)

    def _better(self, place: Place, configuration: Configuration, instance: Instance) -> Configuration:
        """A configuration with a choice of dependent speeds that is good at a place: the best rated one of
        the table (`suitable` of runtime/solver/changes.py), else, where none is good, one for this place.
        """
        rated = self._models[self.first].choices(configuration.locked)
        if rated is not None:
            values = rated.at(place, self.rating_constants(configuration.locked))
            best = rated.best(values, configuration)
            if best is not None:
                return best
        system, reduction = instance.equations.system, instance.equations.reduction
        names = [u.data.name for u in system.speeds]
        figures = instance.geometry(place.memory).at(place.t, place.q)
        kinds = [u.dimension for u in system.speeds]
        sizes = sizes_by_kind(np.max(np.abs(figures.jacobian), axis=0, initial=0.0), kinds)
        now = elimination_steps(instance.equations)
        chosen = partition(figures.jacobian, sizes, (), now, modal_speeds(system))
        if len(chosen) < len(now):
            lost = [reduction.rows[i].constraint.name for i, _ in now if i not in {row for row, _ in chosen}]
            raise SimulationError(
                f"at t = {place.t:.6g} s the constraints of '{system.name}' lose rank "
                f"(redundant there: {', '.join(lost)}), so the motion can go on in more than one way; "
                "start a little away from there",
                None,
            )
        return Configuration(
            configuration.locked, tuple((reduction.rows[i].constraint.name, names[j]) for i, j in chosen)
        )

    def _apply_lock_impulse(self, place: Place, held: frozenset[str]) -> Place:
        """Return the place after joints have been locked, which exchange momentum with all others."""
        instance = self[self.suitable(place, Configuration(held))]
        return place._replace(u=instance.changes.impulse(place.t, place.motion, place.memory))


def elimination_steps(equations: DerivedEquations) -> list[tuple[int, int]]:
    """Return rows and their dependent speeds, in the order of elimination."""
    reduction = equations.reduction
    rows = {row.constraint.name: i for i, row in enumerate(reduction.rows)}
    kept = reduction.elimination.kept
    return [(rows[kept[step.row].constraint.name], step.speed) for step in reduction.elimination.steps]


def set_speeds(instance: Instance, result: Integration) -> Settings:
    """Return the values to which events of the last instant set speeds that may be no states, if the loop
    has kept them.
    """
    if result.set_speeds is None:
        return {}
    pairs = zip(speed_settings(instance.equations.system), result.set_speeds.tolist(), strict=True)
    return {(event.name, u.data.name): value for (event, u, _), value in pairs}


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


def changes_configuration(event: EventRecord, equations: DerivedEquations) -> bool:
    """Whether an event locks, unlocks, sets a locked speed or a value after which loops are closed again."""
    if event.lock or event.unlock:
        return True
    if any(target.data.name in equations.configuration.locked for target in event.changes):
        return True
    return bool(reclosing_names(event, equations))


def adjusts(event: EventRecord, equations: DerivedEquations, places: Collection[str] = ()) -> bool:
    """Whether all that an event without locks sets and that loops are closed again for are dependent speeds,
    or among ``places``, and a motion determines all speeds that it sets.
    """
    reclosing = set(reclosing_names(event, equations))
    if event.lock or event.unlock or not reclosing or not reclosing <= {*equations.dependents, *places}:
        return False
    known = {u for e, u, _ in speed_settings(equations.system) if e is event}
    return all(s in known for s in event.changes if s.data.role == "speed")


def reclosing_names(event: EventRecord, equations: DerivedEquations) -> list[str]:
    """Names of what an event sets that loops are closed again for."""
    constraints = equations.system.constraints.values()
    if not constraints or not event.changes:
        return []
    held = set(symbols(*(c.position for c in constraints if c.position is not None)))
    follow = equations.configuration.locked.union(equations.dependents)
    return [
        s.data.name
        for s in event.changes
        if s.data.role == "coordinate" or s in held or s.data.name in follow
    ]
