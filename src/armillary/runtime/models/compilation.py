"""Compilation of equations, and the classes of models for the kinds of equations.

Models in redundant coordinates start from values of joints and have their own integration methods.

Converted models have momenta, or speeds that the derivation chose, as states. Their runs start from
coordinates and speeds, as with every formalism; the states are computed from these.

Sensitive models have derivatives of their motion. Their state is [coordinates, speeds, states, S₁, S₂, …],
with S = ∂[coordinates, speeds, states]/∂p times the size of p for every parameter or initial value p;
``outputs`` and runs have columns d(output)/d(p) in stated units. See program/sensitivities.py. ``base`` is
the model without derivatives.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from armillary.algebra.arguments import checked_names, one_of, positive_number, whole_number
from armillary.algebra.calculus import ValueTable, evaluate_all, evaluator, tangents
from armillary.algebra.expression import as_expr
from armillary.errors import ArmillaryError, ParameterError
from armillary.llvm import jit
from armillary.llvm.jit import Compiled
from armillary.llvm.sections import process_text
from armillary.mechanics.constraints.reduction import Configuration
from armillary.model.description import EventRecord
from armillary.model.units import state_factor
from armillary.program.derive import derive
from armillary.program.equations import DerivedEquations
from armillary.program.formalisms.formalism import DerivedConvertedEquations, without_garbage_collection
from armillary.program.formalisms.momentum import DerivedMomentumEquations
from armillary.program.formalisms.redundant import EXACT, DerivedRedundantEquations
from armillary.program.rate_columns import with_partial_rates
from armillary.program.sensitivities import (
    DerivedSensitiveEquations,
    JumpCheck,
    jump_check,
    sensitive_equations,
)
from armillary.runtime.integrators.integrate import integrate
from armillary.runtime.integrators.settings import Stepping, complete_settings
from armillary.runtime.models.compiled import CompiledModel, Compiler
from armillary.runtime.models.configured_program import as_program_of, driven_equations
from armillary.runtime.models.instance import Instance
from armillary.runtime.models.legs import RunLegs
from armillary.runtime.models.parameters import check_physical
from armillary.runtime.models.run_record import blank_run, recorded_run, run_info
from armillary.runtime.progress import progress_line
from armillary.runtime.start.derivatives import ExpressionDerivatives, StartDerivatives
from armillary.runtime.start.initial import OnStart, Place, initial_memory, values_from_hook, vector
from armillary.runtime.start.redundant import RedundantStart
from armillary.settings import Initial, RunSettings
from armillary.solver.llvm import contact_code as contact_code  # adds the block functions of contacts
from armillary.solver.llvm.layout import Scheme
from armillary.untyped import AnyFunction, DataMapping, DataTable, Given

if TYPE_CHECKING:
    from armillary.results import Run
    from armillary.results.plots.motion import MotionPicture


# ε times the total mass, in s: constraints may slip by 1e-10 of the motion that their forces would cause in
# the whole system in a second.
EPSILON = 1e-10


class CompiledRedundantModel(CompiledModel):
    """One system's equations in redundant coordinates as machine code.

    A state is [coordinates, speeds, states] with the names ``coordinate_names``, ``speed_names`` and
    ``state_names``: absolute coordinates and joint coordinates, absolute speeds, the user's states.
    ``state(initial)`` computes one from values of joints. Accelerations and multipliers may follow, as at the
    end of a run.
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
        """Return a state as a vector; add zeros if it lacks accelerations and multipliers."""
        length = len(self.equations.program.state)
        if np.ndim(state) == 1 and len(state) == self.layout.first_acceleration:
            state = [*state, *[0.0] * (length - len(state))]
        return vector(state, length, "state")

    def derivatives(
        self, t: float, state: Given, parameters: DataMapping | None = None, *, memory: Given = None
    ) -> np.ndarray:
        """Return the rates of [coordinates, speeds, states], with which all constraints hold."""
        rates = super().derivatives(t, state, parameters, memory=memory)
        return rates[: self.layout.first_acceleration]

    def joint_accelerations(
        self, t: float, state: Given, parameters: DataMapping | None = None, *, memory: Given = None
    ) -> dict[str, float]:
        """Return rates of the joints' speeds at a state by name: the u̇ of other formalisms."""
        v_dot = self.derivatives(t, state, parameters, memory=memory)
        v_dot = v_dot[self.layout.first_speed : self.layout.first_own]
        r, system = self._redundant, self.equations.system
        names = [*self.coordinate_names, *self.speed_names]
        values = self.inside(parameters) | dict(zip(names, np.asarray(state, float), strict=False))
        values |= {a.data.name: x for a, x in zip(r.accelerations, v_dot, strict=True)}
        values |= {system.time.data.name: t}
        found = evaluate_all(r.joint_accelerations.values(), values)
        return {u.data.name: float(x) for u, x in zip(system.speeds, found, strict=True)}

    # ------------------------------------------------------------ the start of a run

    def state(
        self, initial: Initial = None, parameters: DataMapping | None = None, t: float = 0.0
    ) -> np.ndarray:
        """Return [coordinates, speeds, states] from values of joints: some by name, or all in order.

        Values that are left out are those of the description. Loops are closed, and speeds are corrected to
        satisfy the constraints.
        """
        start = RedundantStart(self, parameters, t, initial_memory(self.equations))
        return start.state(initial)[: self.layout.first_acceleration]

    def check_start(self, initial: DataMapping) -> None:
        """Raise an error for names that have no initial value; only a run checks that loops can be closed."""
        known = self.equations.start_names
        checked_names(initial, known, "there is no coordinate, speed or state", ParameterError)

    @cached_property
    def minimal(self) -> CompiledModel:
        """The same system in minimal coordinates."""
        return self.compiler(derive(self.equations.system))

    def total_mass(self, parameters: DataMapping | None) -> float:
        """Return the mass of all moving bodies; 1 if they have none."""
        mass = evaluate_all([self._redundant.total_mass], self.inside(parameters))[0]
        return float(mass) if mass > 0 else 1.0

    def dependent_constraints(
        self, state: Given, parameters: DataMapping | None = None, t: float = 0.0
    ) -> list[str]:
        """Return the constraints that are redundant at a state, since earlier ones imply them."""
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
            for _ in range(2):  # the second pass removes rounding errors of the first
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
        passes = whole_number(passes, "passes=")
        values = self.parameter_table.values(parameters)
        check_physical(self.equations.system, self.parameter_table, values)
        mass = self.total_mass(parameters)
        slip = EPSILON / mass if epsilon is None else positive_number(epsilon, "epsilon")
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


class CompiledConvertedModel(CompiledModel):
    """One system's equations as machine code, with momenta or other converted speeds.

    A state is [coordinates, converted speeds]; ``derivatives`` returns its rates.
    """

    equations: DerivedConvertedEquations

    def _speed_rates(self, t: float, y: np.ndarray, parameters: Given, memory: Given) -> np.ndarray:
        return self._call("accelerations", len(self.speed_names), t, y, parameters, memory)

    def second_half(
        self, instance: Instance, t: float, q: np.ndarray, u: np.ndarray, memory: np.ndarray
    ) -> np.ndarray:
        """Return the converted speeds, the part of a state after the coordinates, from speeds u."""
        count = len(self.equations.targets.speeds)
        work = np.concatenate([q, np.zeros(count + len(self.state_names)), u])
        return instance.call("momenta", count, t, work, memory) + 0.0  # no −0

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.equations.system.name!r}, {self.equations.operations})"


class CompiledMomentumModel(CompiledConvertedModel):
    """One system's equations as machine code; a state is [coordinates, momenta]."""

    equations: DerivedMomentumEquations

    def __init__(
        self, equations: DerivedMomentumEquations, code: Compiled, seconds: float, compiler: Compiler
    ) -> None:
        super().__init__(equations, code, seconds, compiler)
        self.momentum_names = equations.momenta

    def momenta(
        self, t: float, q: Given, u: Given, parameters: DataMapping | None = None, *, memory: Given = None
    ) -> np.ndarray:
        """Return the momenta of the state at coordinates q and speeds u."""
        q = vector(q, len(self.coordinate_names), "coordinates")
        return self._second_half_at(t, q, u, parameters, memory)


class CompiledSensitiveModel(CompiledModel):
    """One system's equations and their derivatives as machine code."""

    changes_inside = False

    equations: DerivedSensitiveEquations

    def __init__(
        self,
        equations: DerivedSensitiveEquations,
        code: Compiled,
        seconds: float,
        compiler: Compiler,
        base: CompiledModel | None = None,
    ) -> None:
        super().__init__(equations, code, seconds, compiler)
        assert equations.plain is not None
        base = base or compiler(equations.plain)
        self._base = base
        self.speed_names = base.speed_names
        self.directions = tuple(d.name for d in equations.directions)
        self._starts = StartDerivatives(base.equations, equations.directions)

    @property
    def base(self) -> CompiledModel:
        """The model without derivatives of its motion."""
        return self._base

    @property
    def own_states(self) -> int:
        """The number of states of the motion, which come before its derivatives."""
        return len(self.base.equations.program.state)

    @property
    def start_tail(self) -> tuple[np.ndarray, np.ndarray] | None:
        """The derivatives of states and of memory at a start, if they are the same ones and zeros at all
        starts; else `None`.
        """
        starts, moved = self._starts, self.equations.directions
        four = [start + k for start in self.equations.program.quaternions for k in range(4)]
        if any(d.name in (self.coordinate_names[i] for i in four) for d in moved):
            return None
        states = starts.seed([*self.coordinate_names, *self.speed_names, *self.state_names])
        return states.ravel(), self._extend_memory(np.empty(0), starts.seed(starts.memories))

    @cached_property
    def differentiated(self) -> CompiledModel:
        """The same model with the partial derivatives of its rates."""
        found = with_partial_rates(self.equations, sparse=not self.changes_configuration)
        return self if found.program is self.equations.program else self.compiler(found, base=self.base)

    @cached_property
    def driven(self) -> CompiledModel:
        """The same model with code that reads its inputs from data over time."""
        return self.compiler(driven_equations(self.equations), base=self.base.driven)

    def with_sensitivities(
        self, to: Sequence[Given], of: Sequence[str] | None = None, *, ignore_jumps: bool = False
    ) -> CompiledSensitiveModel:
        """Return the system's model with other derivatives."""
        return self.base.with_sensitivities(to, of, ignore_jumps=ignore_jumps)

    def refusal(self, inside: Mapping[str, float]) -> str:
        """Return an error message if rates jump with these parameters; "" if they do not."""
        return self._jumps(inside) if self._jumps is not None else ""

    @property
    def may_refuse(self) -> bool:
        """Whether the rates have a switch at which they may jump."""
        return self._jumps is not None

    @cached_property
    def _jumps(self) -> JumpCheck | None:
        return jump_check(self.equations)

    # ------------------------------------------------------------ values

    def second_half(
        self, instance: Instance, t: float, q: np.ndarray, u: np.ndarray, memory: np.ndarray
    ) -> np.ndarray:
        """Return the part of a state after the coordinates, without derivatives."""
        return self.base.second_half(self.plain(instance), t, q, u, memory)

    def plain(self, instance: Instance) -> Instance:
        """Return the model without derivatives, with the same parameters and inputs."""
        return Instance(self.base, instance.parameters, instance.inputs)

    def _memory_vector(self, memory: Given, t: float) -> np.ndarray:
        by_name = memory if isinstance(memory, Mapping) else None
        stored = self._extend_memory(initial_memory(self.equations, by_name, t))
        return stored if memory is by_name else vector(memory, len(stored), "memory")

    def _extend_memory(self, memory: np.ndarray, moved: np.ndarray | None = None) -> np.ndarray:
        """Return the memory followed by its derivatives, zero if none are given."""
        kept = list(self.equations.memory_indices)
        rows = np.zeros((len(self.directions), len(kept))) if moved is None else moved[:, kept]
        return np.concatenate([memory, rows.ravel()])

    def tolerances(self, atol: float | Sequence[float]) -> float | Sequence[float]:
        """Return the tolerances of all states; derivatives get the tolerances of their coordinates, speeds
        and states.
        """
        count = len(self.base.equations.program.state)
        return np.tile(atol, 1 + len(self.directions)).tolist() if np.shape(atol) == (count,) else atol

    # ------------------------------------------------------------ starts, and changes of configuration

    def place_at_start(self, instance: Instance, initial: Initial, t: float, memory: np.ndarray) -> Place:
        """Return the place where a run starts, with its derivatives."""
        initial = self._name_initial_values(initial)
        plain = self.plain(instance)
        place = self.base.place_at_start(plain, initial, t, memory)
        found = self._starts.at_start(plain, place, initial, memory)
        along = np.hstack([found.q, found.u, found.states])
        return place._replace(memory=self._extend_memory(place.memory, found.memory), along=along)

    def _name_initial_values(self, initial: Initial) -> Initial:
        """Return initial values by name, with all values by which the motion is differentiated.

        Values that are left out are those of the description.
        """
        directions = self.equations.directions
        varied = [d for d in directions if d.role in ("coordinate", "speed", "state")]
        if initial is not None and not isinstance(initial, Mapping):
            guessed = {q.data.name for q in self.equations.reduction.corrections}
            if wrong := [d.name for d in varied if d.name in guessed]:
                raise ParameterError(
                    f"in a whole initial state '{wrong[0]}' is only a first guess, which is changed until "
                    "the loops are closed, so a motion has no derivatives by it; give initial values by name"
                )
            return initial
        described = {s.data.name: value for s, value in self.equations.system.initial.items()}
        said = {str(name): value for name, value in (initial or {}).items()}
        return {d.name: described[d.name] / d.factor for d in varied} | said

    def further_states(self, instance: Instance, place: Place) -> np.ndarray:
        """Return the derivatives S of a state as one vector."""
        n, columns = len(self.coordinate_names), len(self.directions)
        if place.along is None:
            return np.zeros(columns * len(self.base.equations.program.state))
        speeds = [u.data.name for u in self.equations.system.speeds]
        last = n + len(speeds)
        free = [n + speeds.index(name) for name in self.speed_names]
        second = place.along[:, free]
        if self._momenta is not None:
            values = self.plain(instance).values(place)
            moved = self._starts.by_name(values, place.along[:, :n], place.along[:, n:last])
            second = self._momenta(values, moved).T
        return np.hstack([place.along[:, :n], second, place.along[:, last:]]).ravel()

    @cached_property
    def _momenta(self) -> ExpressionDerivatives | None:
        """Derivatives of momenta, if these are states instead of speeds."""
        conversion = self.base.equations.conversion
        return None if conversion is None else ExpressionDerivatives(conversion)

    def along(self, instance: Instance, t: float, state: np.ndarray, memory: np.ndarray) -> np.ndarray | None:
        """Return derivatives of all coordinates, speeds and states, a row per parameter or initial value.

        From them follow the derivatives of a state with other independent speeds. Return None for a system
        without constraints, whose independent speeds never change.
        """
        if not self.equations.reduction.rows:
            return None
        values: ValueTable = self.inside(instance.parameters)
        program = self.equations.program
        values |= {s.data.name: x for s, x in zip(program.state, state.tolist(), strict=True)}
        values |= {s.data.name: x for s, x in zip(program.memory, memory.tolist(), strict=True)}
        found = self._all_speeds({**values, program.time.data.name: t})
        shape = (len(self.directions), -1)
        base = state[len(self.base.equations.program.state) :].reshape(shape)
        n, m = len(self.coordinate_names), len(self.coordinate_names) + len(self.speed_names)
        return np.hstack([base[:, :n], np.reshape(found, shape), base[:, m:]])

    @cached_property
    def _all_speeds(self) -> AnyFunction:
        """Derivatives of all speeds, direction by direction, as a function of values by name."""
        columns = {c.name: c.expression for c in self.base.equations.targets.columns}
        speeds = [columns[u.data.name] * state_factor(u) for u in self.equations.system.speeds]
        return evaluator([x for moving in self.equations.moving for x in tangents(speeds, moving)])

    def in_configuration(self, configuration: Configuration) -> CompiledModel:
        """Return the same system's model in another configuration, with the same derivatives."""
        known = self.base.configuration_models
        if configuration not in known:
            known.setdefault(configuration, self.base.in_configuration(configuration))
        base = cast("CompiledModel", known[configuration])
        found = sensitive_equations(base.equations, self.directions, self.equations.of, ignore_jumps=True)
        return self.compiler(as_program_of(self.equations, found), base=base)

    def __repr__(self) -> str:
        return f"SensitiveModel({self.equations.system.name!r}, to {', '.join(self.directions)})"


BACKENDS = ("llvm",)
TIERS = ("final", "quick")


def machine_code(equations: DerivedEquations, backend: str, tier: str) -> tuple[Compiled, float]:
    """Return the functions of a program as machine code, and the seconds of compilation."""
    one_of(tier, TIERS, "unknown tier ")
    one_of(backend, BACKENDS, "unknown backend ")
    start = time.perf_counter()
    with jit.tier(tier):
        with without_garbage_collection():
            text = process_text(equations.program)
        return Compiled(text), time.perf_counter() - start


MODELS: dict[type[DerivedEquations], type[CompiledModel]] = {
    DerivedEquations: CompiledModel,
    DerivedConvertedEquations: CompiledConvertedModel,
    DerivedMomentumEquations: CompiledMomentumModel,
    DerivedRedundantEquations: CompiledRedundantModel,
    DerivedSensitiveEquations: CompiledSensitiveModel,
}


def model_kind(equations: DerivedEquations) -> type[CompiledModel]:
    """Return the class of models for equations: that of their nearest base class in the table."""
    return next(MODELS[k] for k in type(equations).__mro__ if k in MODELS)


def compile_equations(
    equations: DerivedEquations,
    backend: str = "llvm",
    tier: str = "final",
    *,
    pictures: Callable[[DerivedEquations], MotionPicture] | None = None,
    base: CompiledModel | None = None,
) -> CompiledModel:
    """Compile equations to machine code in this process.

    Code of the tier "quick" compiles faster and runs slower. ``pictures`` returns the object that draws the
    model's motions; ``base`` is the model of the same equations without derivatives of the motion.
    """
    made: Any = model_kind(equations)  # only models with derivatives take `base`
    code = machine_code(equations, backend, tier)
    compiler: Compiler = partial(compile_equations, backend=backend, tier=tier, pictures=pictures)
    more = () if base is None else (base,)
    found: CompiledModel = made(equations, *code, compiler, *more)
    found.picture = pictures(equations) if pictures else None
    return found
