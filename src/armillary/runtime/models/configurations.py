"""The programs of one system, by configuration: by locked joints and choice of dependent speeds.

Each configuration has its own program, which is derived and compiled when a run first needs it, then kept.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from armillary.algebra.walk import symbols
from armillary.mechanics.constraints.reduction import Configuration
from armillary.model.description import EventRecord
from armillary.program.configurations import speed_settings
from armillary.program.equations import DerivedEquations
from armillary.runtime.models.instance import Instance

if TYPE_CHECKING:
    from armillary.runtime.models.configured_program import ConfiguredProgram


Settings = dict[tuple[str, str], float]  # values of speeds by the names of an event and a speed
# Factor on the limit below which a choice of dependent speeds is poor: a step that should end at the limit
# may end just before it.
NEARLY = 1.001


class Configurations:
    """The programs of one system by configuration, with the parameters of a run; the first is the user's
    program.
    """

    def __init__(
        self,
        models: dict[Configuration, ConfiguredProgram],
        first: Configuration,
        instance: Instance,  # the instance of the first configuration
    ) -> None:
        self.first, self.parameters, self.inputs = first, instance.parameters, instance.inputs
        self._inside = instance.inside
        self._models = models
        self._instances: dict[Configuration, Instance] = {first: instance}
        self._rating_constants: dict[frozenset[str], np.ndarray] = {}
        # The value of `so_far` and the tables that run_changes.py, which imports this file, made from it.
        self.changes: tuple[tuple[int, int, bool], Any] | None = None

    def __getitem__(self, configuration: Configuration) -> Instance:
        """Return the program of a configuration, derived and compiled at its first use."""
        found = self._instances.get(configuration)
        if found is None:  # simultaneous threads all use the first result
            if configuration not in self._models:
                model = self._models[self.first].in_configuration(configuration)
                self._models.setdefault(configuration, model)
            made = Instance(self._models[configuration], self.parameters, self.inputs, inside=self._inside)
            found = self._instances.setdefault(configuration, made)
        return found

    def add(self, configuration: Configuration) -> None:
        """Derive and compile a configuration if it is not known yet."""
        self[configuration]

    def rating_constants(self, locked: frozenset[str]) -> np.ndarray:
        """Return the constants of the code that rates choices of dependent speeds with given locks.

        They are computed at the first call.
        """
        if locked not in self._rating_constants:
            rated, inside = self._models[self.first].choices(locked), self[self.first].changes.inside()
            assert rated is not None
            self._rating_constants.setdefault(locked, rated.code.constants(inside))
        return self._rating_constants[locked]

    @property
    def parameters_key(self) -> bytes | None:
        """A key that is equal for equal parameters; `None` without values in the model's own units."""
        return None if self._inside is None else self._inside.tobytes()

    @property
    def known(self) -> list[Configuration]:
        """The configurations that have been compiled, the first one first."""
        return list(self._models)

    def exchange_text(self, before: Configuration, after: Configuration) -> str:
        """Describe an exchange of dependent speeds; return "" if they stay the same."""
        texts, exchange = self._models[self.first].exchange_texts, (before, after)
        if exchange not in texts:
            gone, now = (set(self[c].equations.dependents) for c in exchange)
            text = (
                f"{', '.join(sorted(gone - now))} became independent in place of "
                f"{', '.join(sorted(now - gone))}, which hardly determined the other speeds there"
            )
            texts[exchange] = text if gone != now else ""
        return texts[exchange]

    @property
    def so_far(self) -> tuple[int, int, bool]:
        """The numbers of compiled configurations and of rated sets of locks, and whether a run has changed
        its configuration.
        """
        model = self._models[self.first]
        return len(self._models), len(model.rated_choices), model.changed

    def tolerances(
        self, configuration: Configuration, atol: float | Sequence[float]
    ) -> float | Sequence[float]:
        """Return the tolerances of a configuration's states, from the tolerances of the first configuration.

        States are found by name. A speed that is no state of the first configuration gets the least tolerance
        of that configuration's speeds.
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
        ).tolist()  # repeated for each derivative of the states
        return result


def elimination_steps(equations: DerivedEquations) -> list[tuple[int, int]]:
    """Return rows and their dependent speeds, in the order of elimination."""
    reduction = equations.reduction
    rows = {row.constraint.name: i for i, row in enumerate(reduction.rows)}
    kept = reduction.elimination.kept
    return [(rows[kept[step.row].constraint.name], step.speed) for step in reduction.elimination.steps]


def changes_configuration(event: EventRecord, equations: DerivedEquations) -> bool:
    """Return whether an event changes the configuration.

    Such an event locks, unlocks, sets a locked speed, or sets a value after which loops are closed again.
    """
    if event.lock or event.unlock:
        return True
    if any(target.data.name in equations.configuration.locked for target in event.changes):
        return True
    return bool(reclosing_names(event, equations))


def adjusts(event: EventRecord, equations: DerivedEquations, places: Collection[str] = ()) -> bool:
    """Return whether the integration loop can adjust speeds after an event so that constraints hold again.

    The event must not lock or unlock. All values that it sets and after which kinematic loops are closed
    again must be dependent speeds or in ``places``. All speeds that it sets must follow from the motion
    before it.
    """
    reclosing = set(reclosing_names(event, equations))
    if event.lock or event.unlock or not reclosing or not reclosing <= {*equations.dependents, *places}:
        return False
    known = {u for e, u, _ in speed_settings(equations.system) if e is event}
    return all(s in known for s in event.changes if s.data.role == "speed")


def reclosing_names(event: EventRecord, equations: DerivedEquations) -> list[str]:
    """Return the names of the values that an event sets and after which loops are closed again."""
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
