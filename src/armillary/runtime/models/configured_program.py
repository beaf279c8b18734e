"""A system's compiled program: its states, starts of its runs, and its other configurations."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from armillary.algebra.calculus import NumericValue, Values
from armillary.llvm.jit import Compiled
from armillary.mechanics.constraints.reduction import Configuration
from armillary.mechanics.massless import ThreeAngles, joints_of_three_angles
from armillary.program.configurations import configurations_of, with_changes
from armillary.program.derive import derive
from armillary.program.equations import DerivedEquations
from armillary.program.rate_columns import with_partial_rates
from armillary.runtime.addresses import kept_with_owner
from armillary.runtime.models.compiled_program import CompiledProgram
from armillary.runtime.models.failures import energy_function, masses_and_constraints
from armillary.runtime.models.instance import ChangeCode, Instance, RatedChoices, rated_choices
from armillary.runtime.start.assembly import LoopStart
from armillary.runtime.start.initial import (
    Place,
    initial_values,
    whole_start,
    with_decided_contacts,
    with_mass_centres,
    with_started_memory,
)
from armillary.settings import Initial
from armillary.untyped import DataMapping

if TYPE_CHECKING:
    from armillary.mechanics.constraints.rows import ConstraintRow
    from armillary.mechanics.massless import Masses
    from armillary.results.plots.motion import MotionPicture
    from armillary.runtime.models.run_changes import ChangeFigures, KnownChanges


class ConfiguredProgram(CompiledProgram):
    """The machine code of a system in one configuration, and further data of its runs."""

    changes_inside = True  # whether a run changes its configuration in the compiled loop
    picture: MotionPicture | None = None  # draws motions from the equations, without machine code

    def __init__(
        self,
        equations: DerivedEquations,
        code: Compiled,
        seconds: float,
        compiler: Callable[..., ConfiguredProgram],
    ) -> None:
        super().__init__(equations, code, seconds)
        self.compiler = compiler
        self.configuration_models: dict[Configuration, ConfiguredProgram] = {equations.configuration: self}
        # by the set of locked speeds, for the sets that runs have needed
        self.rated_choices: dict[frozenset[str], RatedChoices | None] = {}
        self.change_figures: dict[object, ChangeFigures] = {}  # by `Configurations.so_far`
        # a key (configurations so far, and parameters) and the tables that the last run had with it
        self.change_sections: tuple[Any, KnownChanges] | None = None
        # whether a run has changed its configuration; then sections of changes are compiled
        self.changed = False
        self.exchange_texts: dict[tuple[Configuration, Configuration], str] = {}

    # ------------------------------------------------------------ parts

    @cached_property
    def masses(self) -> tuple[Masses, list[ConstraintRow]]:
        """The masses of the system and its rows of constraints, from which motions without mass are found."""
        return masses_and_constraints(self.equations)

    @cached_property
    def row_energy(self) -> Callable[[Values], list[NumericValue]]:
        """The kinetic energy as a function of values by name, for the search of motions without mass."""
        return energy_function(self.equations)

    @kept_with_owner
    def change_code(self) -> ChangeCode:
        """The sections by which runs enter and leave this configuration, compiled at their first use."""
        return ChangeCode(with_changes(self.base.equations).program)

    def choices(self, locked: frozenset[str]) -> RatedChoices | None:
        """Return the choices of dependent speeds with given locks; `None` if there is only one.

        A model with sensitivities (derivatives of its motion) takes them from its ``base``. The ratings of
        choices are compiled at the first use.
        """
        if self.base is not self:
            return self.base.choices(locked)
        if locked not in self.rated_choices:
            self.rated_choices.setdefault(locked, rated_choices(self.base.equations, locked))
        return self.rated_choices[locked]

    # ------------------------------------------------------------ states

    @cached_property
    def plain_state(self) -> bool:
        """Whether a state has just coordinates, independent speeds and the user's states."""
        own, plain = type(self), ConfiguredProgram
        return own.second_half is plain.second_half and own.further_states is plain.further_states

    def second_half(
        self, instance: Instance, t: float, q: np.ndarray, u: np.ndarray, memory: np.ndarray
    ) -> np.ndarray:
        """Return the part of a state after the coordinates; here the speeds ``speed_names`` themselves."""
        return u

    def further_states(self, instance: Instance, place: Place) -> np.ndarray:
        """Return the part of a state after coordinates, speeds and the user's states; here empty."""
        return np.empty(0)

    def along(self, instance: Instance, t: float, state: np.ndarray, memory: np.ndarray) -> np.ndarray | None:
        """Return the sensitivities of all coordinates and speeds at a state; here None, as there are none."""
        return None

    @property
    def base(self) -> ConfiguredProgram:
        """The model without sensitivities (derivatives of its motion): here this model itself."""
        return self

    @property
    def start_tail(self) -> tuple[np.ndarray, np.ndarray] | None:
        """The further states and memory at the start of every run; `None` if they differ between starts."""
        return np.empty(0), np.empty(0)

    def in_configuration(self, configuration: Configuration) -> ConfiguredProgram:
        """Return the same system's model in another configuration."""
        equations = self.equations
        found = derive(
            equations.system, equations.formalism, configuration=configuration, **equations.options
        )
        return self.compiler(as_program_of(equations, found))

    def compile_configurations(self) -> int:
        """Derive and compile all configurations of ``eom.configurations``; return their number.

        Without this call, a configuration is derived and compiled when a run first needs it.
        """
        table = configurations_of(self.base.equations)
        for entry in table:
            if entry.configuration not in self.configuration_models:
                found = self.in_configuration(entry.configuration)
                self.configuration_models[entry.configuration] = found
        for locked in table.groups:
            self.choices(locked)
        return len(table)

    def place_at_start(self, instance: Instance, initial: Initial, t: float, memory: np.ndarray) -> Place:
        """Return time, coordinates, speeds, memory and states at the start of a run, with closed loops."""
        q, u, states, named = whole_start(self.equations, initial)
        place = Place(t, q, u, memory, states)
        place = instance.close_loops(place, named) if self.equations.reduction.rows else place
        if self.starts_plainly:
            return place
        return with_decided_contacts(
            instance, with_started_memory(instance, with_mass_centres(instance, place, initial))
        )

    def check_start(self, initial: DataMapping) -> None:
        """Raise an error for initial values by name from which no run can start."""
        initial_values(self.equations, initial)

    @cached_property
    def three_angles(self) -> tuple[ThreeAngles, ...]:
        """The joints with three angles; their three axes may be in one plane, where a motion has no mass."""
        of = self.equations
        return joints_of_three_angles(of.system, of.coordinates) if of.joints_move_bodies else ()

    @cached_property
    def starts_plainly(self) -> bool:
        """Whether a start needs only coordinates, speeds and closed loops."""
        system = self.equations.system
        started = any(memory.start is not None for memory in system.memories.values())
        return not (system.centres or system.contacts or started)

    @kept_with_owner
    def loops(self) -> LoopStart:
        """The loops, to be closed at the start of runs."""
        return LoopStart(self.equations)

    def refusal(self, inside: Mapping[str, float]) -> str:
        """Return why this kind of model cannot run with these parameters; "" if it can.

        ``inside`` has the parameters in the model's own units.
        """
        return ""

    @property
    def may_refuse(self) -> bool:
        """Whether `refusal` may refuse parameters."""
        return False

    def tolerances(self, atol: float | Sequence[float]) -> float | Sequence[float]:
        """Return the tolerances of all states, from the tolerances of coordinates and speeds."""
        return atol

    def plain(self, instance: Instance) -> Instance:
        """Return the instance without derivatives of its motion; here the same."""
        return instance


def as_program_of(equations: DerivedEquations, others: DerivedEquations) -> DerivedEquations:
    """Return ``others`` with the driven inputs and partial derivatives that ``equations`` have."""
    program = equations.program
    found = with_partial_rates(others, like=program) if program.partial_rates else others
    return driven_equations(found) if equations.program.driven else found


def driven_equations(equations: DerivedEquations) -> DerivedEquations:
    """Return equations whose program reads all inputs from data over time."""
    memories = equations.system.memories.values()
    symbols = [s for s, m in zip(equations.program.memory, memories, strict=False) if m.input]
    return replace(equations, program=replace(equations.program, driven=tuple(symbols)))
