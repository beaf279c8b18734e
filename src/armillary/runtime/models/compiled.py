"""Compiled models: generated functions in this process, to be called and run through time."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Protocol, cast

import numpy as np

from armillary.algebra.arguments import core_of, several, table
from armillary.errors import ArmillaryError, ParameterError, shown
from armillary.llvm.jit import Compiled
from armillary.program.equations import DerivedEquations
from armillary.program.rate_columns import with_partial_rates
from armillary.runtime.inputs.reading import DrivenInputs, driven_inputs, read_inputs
from armillary.runtime.integrators.settings import complete_settings
from armillary.runtime.models.configurations import (
    Configurations,
)
from armillary.runtime.models.configured_program import ConfiguredProgram, driven_equations
from armillary.runtime.models.derivative_legs import DerivativeLegs
from armillary.runtime.models.failures import refuse_locked, watch_start
from armillary.runtime.models.instance import Instance
from armillary.runtime.models.legs import ConfigurationRun, single_leg
from armillary.runtime.models.parameters import check_physical, with_these
from armillary.runtime.models.repeated_runs import keep_for_repetition
from armillary.runtime.models.run_record import (
    KnownParameters,
    key_of,
    plain_key,
    recorded_run,
    run_info,
)
from armillary.runtime.progress import progress_line
from armillary.runtime.start.initial import (
    OnStart,
    decided_statuses,
    initial_memory,
    initial_states,
    values_from_hook,
    vector,
)
from armillary.settings import Initial, RunSettings
from armillary.untyped import DataMapping, Given

if TYPE_CHECKING:
    from armillary.results import Run
    from armillary.runtime.models.compilation import CompiledSensitiveModel


class Compiler(Protocol):
    """A function that compiles further equations of a system with the options of the first compilation."""

    def __call__(
        self, equations: DerivedEquations, *, base: CompiledModel | None = None
    ) -> CompiledModel: ...


class ModelHolder(Protocol):
    """The user's model, `Model` of the package `stages`, which cannot be imported here."""

    @property
    def _core(self) -> CompiledModel: ...


def compiled_model(given: object, needed_by: str = "this call") -> CompiledModel:
    """Return the compiled model inside a user's model; raise an error for anything else."""
    found = core_of(given)
    if not isinstance(found, CompiledModel):
        raise ArmillaryError(
            f"{needed_by} needs a compiled model, not {shown(given)}; give s.derive().compile()"
        )
    return found


class CompiledModel(ConfiguredProgram):
    """One system's equations as machine code, which is freed with this object."""

    compiler: Compiler

    def __init__(
        self, equations: DerivedEquations, code: Compiled, seconds: float, compiler: Compiler
    ) -> None:
        super().__init__(equations, code, seconds, compiler)
        self._sensitive: dict[object, CompiledSensitiveModel] = {}
        self._kept: KnownParameters | None = None  # parameters of the last run

    # ------------------------------------------------------------ values

    def derivatives(
        self, t: float, state: Given, parameters: DataMapping | None = None, *, memory: Given = None
    ) -> np.ndarray:
        """Return [q̇, u̇, ż] at a state [q, u, z]: coordinates, speeds and the user's states.

        ``memory`` has inputs and memories by name, as for ``simulate``, or all of them as numbers in the
        model's own units. A contact without a status in ``memory`` gets the status that follows from the
        state.
        """
        y = self._state_vector(state)
        return self._call("derivatives", len(y), t, y, parameters, memory)

    def accelerations(
        self,
        t: float,
        q: Given,
        u: Given,
        parameters: DataMapping | None = None,
        *,
        memory: Given = None,
        states: Given = None,
    ) -> np.ndarray:
        """Return u̇ at coordinates q, speeds u and the user's ``states``, which are their initial values if
        left out.
        """
        if self.base is not self:
            return self.base.accelerations(t, q, u, parameters, memory=memory, states=states)
        q = vector(q, len(self.coordinate_names), "coordinates")
        second = self._second_half_at(t, q, u, parameters, memory)
        own = initial_states(self.equations, None)
        own = own if states is None else vector(states, len(self.state_names), "states")
        return self._speed_rates(t, np.concatenate([q, second, own]), parameters, memory)

    def _speed_rates(self, t: float, y: np.ndarray, parameters: Given, memory: Given) -> np.ndarray:
        """Return u̇ at a state."""
        first = len(self.coordinate_names)
        return self.derivatives(t, y, parameters, memory=memory)[first : first + len(self.speed_names)]

    def _second_half_at(
        self, t: float, q: np.ndarray, u: Given, parameters: Given, memory: Given
    ) -> np.ndarray:
        """Return the part of a state after the coordinates, from given speeds."""
        u = vector(u, len(self.speed_names), "speeds")
        return self.second_half(Instance(self, parameters), t, q, u, self._memory_vector(memory, t))

    def outputs(
        self, t: float, state: Given, parameters: DataMapping | None = None, *, memory: Given = None
    ) -> dict[str, float]:
        """Return all outputs at a state, by name."""
        y = self._state_vector(state)
        out = self._call("outputs", len(self.output_names), t, y, parameters, memory)
        return dict(zip(self.output_names, out.tolist(), strict=True))

    def _state_vector(self, state: Given) -> np.ndarray:
        return vector(state, len(self.equations.program.state), "state")

    def _call(
        self, name: str, length: int, t: float, y: np.ndarray, parameters: Given, memory: Given
    ) -> np.ndarray:
        instance, stored = Instance(self, parameters), self._memory_vector(memory, t)
        if self.equations.system.contacts and self.base is self:
            stored = decided_statuses(instance, t, y, stored)
        return instance.call(name, length, t, y, stored)

    def _memory_vector(self, memory: Given, t: float) -> np.ndarray:
        """Return the memory of a call, from a vector, or from values by name with defaults."""
        if memory is None or isinstance(memory, Mapping):
            return initial_memory(self.equations, memory, t)
        return vector(memory, len(self.equations.system.memories), "memory")

    def state(
        self, initial: Initial = None, parameters: DataMapping | None = None, t: float = 0.0
    ) -> np.ndarray:
        """Return a state from some values by name, or from all values in order.

        Values that are left out are those of the description. Euler parameters are normalised, loops are
        closed, and speeds are corrected to satisfy the constraints.
        """
        instance = Instance(self, self.parameter_table.check_given(parameters))
        return instance.pack_state(self.place_at_start(instance, initial, t, initial_memory(self.equations)))

    @property
    def base(self) -> CompiledModel:
        """The model without derivatives of its motion: here this model itself."""
        return self

    # ------------------------------------------------------------ derivatives of runs

    def with_sensitivities(
        self, to: Sequence[Given], of: Sequence[str] | None = None, *, ignore_jumps: bool = False
    ) -> CompiledSensitiveModel:
        """Return the model with derivatives of its motion; see ``Model.with_sensitivities``."""
        from armillary.program.sensitivities import sensitive_equations

        names = tuple(map(str, several(to, "to=")))
        outputs = None if of is None else tuple(map(str, several(of, "of=")))
        key = (names, outputs, ignore_jumps)
        if key not in self._sensitive:
            found = sensitive_equations(self.equations, names, outputs, ignore_jumps=ignore_jumps)
            self._sensitive[key] = cast("CompiledSensitiveModel", self.compiler(found, base=self))
        return self._sensitive[key]

    # ------------------------------------------------------------ runs

    def run_with(
        self,
        given: RunSettings,
        *,
        parameters: DataMapping | None = None,
        initial: Initial = None,
        memory: Mapping[str, float] | None = None,
        inputs: Given = None,
        progress: bool | Callable[[float], None] = False,
        on_start: OnStart | None = None,
    ) -> Run:
        """Simulate the motion with the settings of a record; see ``Model.simulate``."""
        plain = memory is None and inputs is None and on_start is None
        if plain and (run := self._repeat_run(given, parameters, initial, progress)) is not None:
            return run
        settings = complete_settings(given, contacts=bool(self.equations.system.contacts))
        if settings.integrator.rosenbrock and self.differentiated is not self:
            return self.differentiated.run_with(
                given, parameters=parameters, initial=initial, memory=memory, inputs=inputs,
                progress=progress, on_start=on_start,
            )  # fmt: skip
        t0, adaptive = settings.t0, settings.integrator.adaptive
        known = self._with_parameters(parameters)
        values, instance, model = known.values, known.instance, self
        initial, memory = values_from_hook(self, on_start, values, initial, memory, t0)
        stored = initial_memory(self.equations, memory, t0)
        driven = self.driven_inputs(inputs, memory, given)
        start = self.place_at_start(instance, initial, t0, driven.at(t0, stored) if driven else stored)
        refuse_locked(instance, start)
        if driven is not None:
            model = self.driven
            driven = driven.complete(start.memory)
            instance = Instance(model, values, driven, inside=instance.inside)
            start = start._replace(memory=driven.address_data(start.memory))
        settings = settings.sampled
        atol = self.tolerances(settings.atol)
        inside = settings if atol is settings.atol else replace(settings, atol=atol)
        with progress_line(progress, t0, settings.t_end) as report:
            report = watch_start(report, instance, lambda: start, t0, settings.t_end) if adaptive else report
            if self.changes_configuration:
                configurations = known.configurations
                if driven is not None:
                    configurations = self._configurations(model, instance)
                runner = ConfigurationRun if self.changes_inside else DerivativeLegs
                legs = runner(configurations, start, inside, report).run()
            else:
                legs = single_leg(instance, start, inside, report)
        if plain:
            keep_for_repetition(self, known, given, inside)
        stated = run_info(known.blank, settings.summary, self.tier)
        return recorded_run(known.blank, legs.result(), stated, legs, start.note, adaptive)

    def _repeat_run(
        self, given: RunSettings, parameters: DataMapping | None, initial: Given, progress: Given
    ) -> Run | None:
        """Repeat an earlier run with these settings and parameters, from new initial values; return `None` if
        no such run is kept.
        """
        known = self._kept  # other threads may replace it
        if known is None or (repeated := known.repeated.get(id(given))) is None:
            return None
        return repeated.run(initial, progress) if self._with_parameters(parameters) is known else None

    def _with_parameters(self, parameters: DataMapping | None) -> KnownParameters:
        """Check the parameters of a run; return the data that depend on them, and keep these data for the
        next run.
        """
        known = self._kept  # other threads may replace it
        if known is not None and known.same(parameters):
            return known
        values = self.parameter_table.values(parameters)
        key = key_of(values)
        if known is None or known.key != key:
            check_physical(self.equations.system, self.parameter_table, values)
            if parameters and self.may_refuse and (why := self.refusal(self.inside(parameters))):
                raise ParameterError(with_these(why))
            instance = Instance(self, values, inside=self.parameter_table.inside(values))
            known = KnownParameters(
                plain_key(parameters), key, values, instance, self._configurations(self, instance)
            )
            self._kept = known
        return known

    def _configurations(self, model: CompiledModel, instance: Instance) -> Configurations:
        return Configurations(model.configuration_models, self.equations.configuration, instance)

    def driven_inputs(
        self, inputs: Given, memory: DataMapping | None, settings: RunSettings, many: bool = False
    ) -> DrivenInputs | None:
        """Return the inputs over time, of one run or of ``many``; `None` if there are none."""
        if inputs is None or (isinstance(inputs, Mapping) and not inputs):
            return None
        system = self.equations.system
        signals = read_inputs(system, inputs, settings)
        for name in table(memory, "memory=", ParameterError):
            if name in signals:
                raise ParameterError(
                    f"'{name}' has a value in memory= and data in inputs=; give only one of them"
                )
        for name, signal in signals.items():
            if signal.runs is not None and not many:
                raise ParameterError(
                    f"input '{name}' has data for {signal.runs} runs, but this is one run; give one row"
                )
        return driven_inputs(system, signals)

    @cached_property
    def differentiated(self) -> CompiledModel:
        """The same model with the partial derivatives of its rates, for linearly implicit methods.

        It is compiled at its first use; this model itself if it has such derivatives.
        """
        found = with_partial_rates(self.equations)
        return self if found.program is self.equations.program else self.compiler(found)

    @cached_property
    def driven(self) -> CompiledModel:
        """The same model with code that reads its inputs from data over time, compiled at its first use."""
        return self.compiler(driven_equations(self.equations))
