"""Compiled models in redundant coordinates: they start from the joints' values and are advanced by methods of
their own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from armillary.algebra.arguments import checked_names
from armillary.algebra.calculus import evaluate_all
from armillary.algebra.expression import as_expr
from armillary.errors import ArmillaryError, ParameterError
from armillary.llvm.jit import Compiled
from armillary.model.recording.records import EventRecord
from armillary.program.derive import derive
from armillary.program.formalisms.redundant import EXACT, DerivedRedundantEquations
from armillary.runtime.integrators import Stepping
from armillary.runtime.integrators.integrate import integrate
from armillary.runtime.integrators.settings import complete_settings
from armillary.runtime.loop.redundant.redundant_layout import Scheme
from armillary.runtime.models.compiled import CompiledModel, Compiler
from armillary.runtime.models.configurations.run_legs import RunLegs
from armillary.runtime.models.parameters import check_physical
from armillary.runtime.models.programs.instance import Instance
from armillary.runtime.models.run_record import blank_run, recorded_run, run_info
from armillary.runtime.progress import progress_line
from armillary.runtime.start.hooks import OnStart, values_from_hook
from armillary.runtime.start.initial import initial_memory, vector
from armillary.runtime.start.redundant import RedundantStart
from armillary.settings import Initial, RunSettings
from armillary.untyped import DataMapping, DataTable, Given

if TYPE_CHECKING:
    from armillary.results import Run

# ε in units of time over the total mass: constraints may slip by 1e-10 of what their forces would do to the
# whole system in a second.
EPSILON = 1e-10


class CompiledRedundantModel(CompiledModel):
    """One system's equations in redundant coordinates as machine code.

    A state is [coordinates, speeds, states] by the names of ``coordinate_names``, ``speed_names`` and
    ``state_names``: absolute coordinates and joint coordinates, then absolute speeds, then the user's own.
    ``state(initial)`` makes one from the joints' values; accelerations and multipliers may follow, as runs
    hand them on.
    """

    equations: DerivedRedundantEquations

    def __init__(
        self, equations: DerivedRedundantEquations, code: Compiled, seconds: float, compiler: Compiler
    ) -> None:
        super().__init__(equations, code, seconds, compiler)
        assert equations.redundant is not None
        self._redundant = equations.redundant
        self.layout = self._scheme("staggered", 1, False)

    def _scheme(self, kind: str, passes: int, implicit: bool) -> Scheme:
        r = self._redundant
        return Scheme(
            kind,
            translations=tuple(len(p.linear) for p in r.parts.parts),
            joints=len(r.joints),
            joint_speeds=len(r.joint_speeds),
            rows=len(r.rows),
            own=len(self.equations.states),
            passes=passes,
            implicit=implicit,
        )

    # ------------------------------------------------------------ values

    def _ends(self, event: EventRecord) -> bool:
        return event.stop

    def _state_vector(self, state: Given) -> np.ndarray:
        """A state as a vector; one without accelerations and multipliers gets zeros for them."""
        length = len(self.equations.program.state)
        if np.ndim(state) == 1 and len(state) == self.layout.first_acceleration:
            state = [*state, *[0.0] * (length - len(state))]
        return vector(state, length, "state")

    def derivatives(
        self, t: float, state: Given, parameters: DataMapping | None = None, *, memory: Given = None
    ) -> np.ndarray:
        """Rates of [coordinates, speeds, states] that keep all constraints."""
        rates = super().derivatives(t, state, parameters, memory=memory)
        return rates[: self.layout.first_acceleration]

    def joint_accelerations(
        self, t: float, state: Given, parameters: DataMapping | None = None, *, memory: Given = None
    ) -> dict[str, float]:
        """Rates of the joints' speeds at a state, by name: u̇ as other formalisms give it."""
        v_dot = self.derivatives(t, state, parameters, memory=memory)
        v_dot = v_dot[self.layout.first_speed : self.layout.first_own]
        r, system = self._redundant, self.equations.system
        names = [*self.coordinate_names, *self.speed_names]
        values = self.inside(parameters) | dict(zip(names, np.asarray(state, float), strict=False))
        values |= {a.data.name: x for a, x in zip(r.accelerations, v_dot, strict=True)}
        values |= {system.time.data.name: t}
        found = evaluate_all(r.joint_accelerations.values(), values)
        return {u.data.name: float(x) for u, x in zip(system.speeds, found, strict=True)}

    # ------------------------------------------------------------ where a run starts

    def state(
        self, initial: Initial = None, parameters: DataMapping | None = None, t: float = 0.0
    ) -> np.ndarray:
        """[coordinates, speeds, states] from the joints' coordinates and speeds by name (the rest as
        described), or from all of them in order. Loops are closed, and speeds made to agree with the
        constraints.
        """
        start = RedundantStart(self, parameters, t, initial_memory(self.equations))
        return start.state(initial)[: self.layout.first_acceleration]

    def check_start(self, initial: DataMapping) -> None:
        """An error for names that have no initial value; only a run finds values that fit together."""
        known = self.equations.start_names
        checked_names(initial, known, "there is no coordinate, speed or state", ParameterError)

    @cached_property
    def minimal(self) -> CompiledModel:
        """The same system in minimal coordinates."""
        return self.compiler(derive(self.equations.system))

    def total_mass(self, parameters: DataMapping | None) -> float:
        """Mass of all moving bodies; 1 where they have none."""
        mass = evaluate_all([self._redundant.total_mass], self.inside(parameters))[0]
        return float(mass) if mass > 0 else 1.0

    def dependent_constraints(
        self, state: Given, parameters: DataMapping | None = None, t: float = 0.0
    ) -> list[str]:
        """Constraints that are redundant at this state, because they follow from those before them."""
        r = self._redundant
        names = [*self.coordinate_names, *self.speed_names]
        values = self.inside(parameters) | dict(zip(names, np.asarray(state, float), strict=False))
        values[self.equations.system.time.data.name] = t
        index = {v: i for i, v in enumerate(r.speeds)}
        places = [(k, index[v]) for k, form in enumerate(r.forms) for v in form]
        B = np.zeros((len(r.rows), len(index)))
        found = evaluate_all([as_expr(c) for form in r.forms for c in form.values()], values)
        for place, value in zip(places, found, strict=True):
            B[place] = value
        basis: list[np.ndarray] = []
        dependent = []
        for row, name in zip(B, self.equations.constraints, strict=True):
            size = float(np.linalg.norm(row))
            left = row.copy()
            for _ in range(2):  # twice, so that rounding of the first round goes too
                for b in basis:
                    left -= (b @ left) * b
            if np.linalg.norm(left) <= 1e-9 * max(size, 1e-300):
                dependent.append(name)
            else:
                basis.append(left / np.linalg.norm(left))
        return dependent

    # ------------------------------------------------------------ runs

    def run_with(
        self,
        given: RunSettings,
        *,
        parameters: DataMapping | None = None,
        initial: Initial = None,
        memory: Mapping[str, float] | None = None,
        inputs: Given = None,
        epsilon: float | None = None,
        passes: int = 1,
        translation: str = "implicit",
        progress: bool | Callable[[float], None] = False,
        on_start: OnStart | None = None,
    ) -> Run:
        """Simulate the motion with the settings of a record; see ``RedundantModel.simulate``."""
        settings = complete_settings(given, self.equations.method_family)
        t0, method = settings.t0, settings.integrator.name
        if translation not in ("explicit", "implicit"):
            raise ArmillaryError(f"translation='{translation}' is neither 'explicit' nor 'implicit'")
        if not isinstance(passes, int) or passes < 0:
            raise ArmillaryError(f"passes={passes!r} is not a number of corrector passes: 0, 1, 2 …")
        values = self.parameter_table.values(parameters)
        check_physical(self.equations.system, self.parameter_table, values)
        mass = self.total_mass(parameters)
        slip = EPSILON / mass if epsilon is None else float(epsilon)
        if not 0.0 < slip < np.inf:
            raise ArmillaryError(f"epsilon={epsilon!r} is not a positive number")
        initial, memory = values_from_hook(self, on_start, values, initial, memory, t0)
        stored = initial_memory(self.equations, memory, t0)
        model: CompiledModel = self
        driven = self.driven_inputs(inputs, memory, given)
        stored = driven.at(t0, stored) if driven is not None else stored
        y = RedundantStart(self, parameters, t0, stored).state(initial)
        how: DataTable = dict(settings.summary)
        if method == "staggered":
            how |= {"epsilon": slip, "passes": passes, "translation": translation}
        elif self.equations.system.constraints:
            dependent = self.dependent_constraints(y, parameters, t0)
            how |= {"dependent constraints": "; ".join(dependent)} if dependent else {}
        stops = None
        if driven is not None:
            driven = driven.complete(stored)
            model, stored = self.driven, driven.address_data(stored)
            stops = driven.stops(t0, settings.t_end, adaptive=False)
        scheme = self._scheme(method, passes, translation == "implicit")
        with progress_line(progress, t0, settings.t_end) as report:
            result = integrate(
                model.run_functions,
                settings,
                state=y,
                memory=stored,
                constants=self.constants(parameters),
                progress=report,
                stepping=Stepping(scheme, slip, EXACT / mass),
                stops=stops,
            )
        watched = self.equations.targets.watched
        events = [(t, watched[k].name) for t, k in result.events if not watched[k].hidden]
        instance = Instance(model, parameters, driven)
        blank, legs = blank_run(self, values), RunLegs(instance, [result], events)
        return recorded_run(blank, result, run_info(blank, how, self.tier), legs, "", adaptive=False)

    def __repr__(self) -> str:
        return f"RedundantModel({self.equations.system.name!r}, {self.equations.operations})"
