"""What a run lacks for a change of configuration, added to its tables while its loop waits.

The compiled loop makes every change of configuration (runtime/solver/changes.py). Where its tables lack
something it returns with the state before the change; the missing part is derived, compiled and added here,
or loops are closed, or an error says why the change cannot be made. Then the loop is entered again and makes
the change from its beginning, as later runs do that find all in their tables.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from armillary.algebra.expression import ZERO
from armillary.errors import ArmillaryError, SimulationError
from armillary.mechanics.constraints.reduction import Configuration
from armillary.model.recording.records import EventRecord
from armillary.program.configuration_changes import speed_settings
from armillary.runtime.integrators.compiled_run import CompiledRun
from armillary.runtime.integrators.records import Lack, RunChanges
from armillary.runtime.models.configurations.configurations import Configurations, elimination_steps
from armillary.runtime.models.configurations.run_changes import change_shape, known_changes
from armillary.runtime.models.programs.instance import Instance
from armillary.runtime.solver.language import language
from armillary.runtime.start.place import Place


class ConfigurationSupply:
    """The tables of a run's configurations, which grow with what the run meets."""

    def __init__(self, configurations: Configurations, atol: float | Sequence[float]) -> None:
        self._configurations, self._atol = configurations, atol
        self._first = configurations[configurations.first].model

    @property
    def tables(self) -> RunChanges:
        """The tables with all that is known by now."""
        known = known_changes(self._configurations)
        if type(self._atol) is float or not np.ndim(self._atol):
            return known.tables
        each = [self._configurations.tolerances(c, self._atol) for c in known.configurations]
        # mypy: of several tolerances, those of a configuration are several.
        return replace(known.tables, tolerances=tuple(each))  # type: ignore[arg-type]

    def __call__(self, run: CompiledRun) -> RunChanges:
        """Add what the run lacks; return the tables with it."""
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
        """Add a configuration, or what leads to one, to what is known of the system."""
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
                self._lost_rank(lack) if lack.what == language.LACKS_RANK else "the change fails", None
            )

    def _add_configuration(self, wanted: Configuration, lack: Lack) -> None:
        """Add a configuration; raise an error if the run has it in its tables and did not find it there."""
        if wanted in self._configurations.known[: lack.known]:
            names = ", ".join(u for _, u in wanted.dependents)
            raise SimulationError(f"the change to dependent speeds {names} cannot be made", None)
        self._configurations.add(wanted)

    def _lost_rank(self, lack: Lack) -> str:
        """The message where no choice of dependent speeds determines the motion."""
        equations = self._configurations[self._configurations.known[lack.configuration]].equations
        left = {row for row, _ in elimination_steps(equations)} - {row for row, _ in lack.choice}
        names = [equations.reduction.rows[i].constraint.name for i in sorted(left)]
        redundant = f" (redundant there: {', '.join(names)})" if names else ""
        return (
            f"at t = {lack.t:.6g} s the constraints of '{equations.system.name}' lose rank{redundant}, so "
            "the motion can go on in more than one way; start a little away from there"
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
                        "on accelerations or reactions; let an earlier event keep that in a memory"
                    )
        # A joint that is released with a speed of its own moves already where others follow it.
        moving = {x.data.name for event in events for x in event.unlock} & named & locked
        opened = self._configurations[Configuration(locked - moving)] if moving else present
        return opened.close_loops(Place(lack.t, q, u, lack.memory, states), named, at_event=True)


def _named_pairs(instance: Instance, choice: Sequence[tuple[int, int]]) -> tuple[tuple[str, str], ...]:
    """Names of rows of constraints and of their dependent speeds."""
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
