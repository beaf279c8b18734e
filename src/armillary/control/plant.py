"""The rates of a model with chosen inputs, at many points, with exact derivatives; steps and motions.

    ẋ = f(t, x, v)        x: coordinates, speeds and user's states; v: inputs (``s.input``)

Numbers are in the model's own units (SI unless stated), which are stated units times ``factor``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np

from armillary.algebra.arguments import checked_names, real, reals, several
from armillary.algebra.expression import Expr
from armillary.analysis.linear.matrices import Linearization, linearization
from armillary.analysis.linear.points import operating_points
from armillary.analysis.places import check_smooth as check_smooth
from armillary.cache import kept_per_object
from armillary.control.compiled_steps import prepare_rollouts, step_rows
from armillary.control.compiled_sweeps import pad, prepare_step_derivatives
from armillary.control.knot_functions import KnotFunctions, Knots, Pattern
from armillary.errors import ArmillaryError, ParameterError
from armillary.llvm.building.routines import PreparedRoutine
from armillary.model.units import state_factor
from armillary.program.equations import DerivedEquations
from armillary.program.sensitivities import outputs_of
from armillary.results import Run
from armillary.runtime.models.compiled import CompiledModel, compiled_model
from armillary.runtime.models.compiled_program import ModelFunctions
from armillary.runtime.models.run_record import blank_run
from armillary.runtime.start.initial import initial_memory
from armillary.settings import Initial
from armillary.text_tables import listed
from armillary.untyped import DataMapping, DataTable


class Port(NamedTuple):
    """A state or input: its name, units, and the factor from its units to the model's own."""

    name: str
    units: str
    factor: float
    symbol: Expr


class Plant:
    """The rates of a model in its states and chosen inputs."""

    def __init__(self, model: CompiledModel, inputs: Sequence[str]) -> None:
        equations = model.equations
        check_smooth(equations)
        self.equations = equations
        self.system = equations.system.name
        self.states = state_ports(equations)
        self.inputs = input_ports(equations, inputs) if inputs else ()
        self._base_memory = initial_memory(equations)
        self._places = [list(equations.system.memories).index(p.name) for p in self.inputs]
        self._linearization: Linearization = linearization(model, tuple(inputs), ())
        names = tuple(v.name for v in self._linearization.form.states)
        self.independent = names == tuple(p.name for p in self.states)

    @cached_property
    def factors(self) -> tuple[np.ndarray, np.ndarray]:
        """Factors from the stated units of states and of inputs to the model's own."""
        return np.array([p.factor for p in self.states]), np.array([p.factor for p in self.inputs])

    @cached_property
    def _rates(self) -> KnotFunctions:
        t = self.equations.targets
        by = [*t.integrated, *(p.symbol for p in self.inputs)]
        return KnotFunctions(self.equations, t.rates, by)

    @cached_property
    def _slopes(self) -> tuple[Pattern, ModelFunctions]:
        """Rates and the elements of their Jacobian by states and inputs, as one function "slopes"."""
        return self._rates.with_jacobian("slopes")

    def check_independent(self, verb: str) -> None:
        """Raise an error if states depend on each other or are held."""
        if not self.independent:
            raise ArmillaryError(
                f"{verb} needs independent states, but the states of '{self.system}' depend on each other "
                "or are held (closed loops, Euler parameters, locked joints); describe rotations by angles, "
                "arm.Free(rotation='xyz') or Gimbal joints, weld locked joints, and use model.optimize where "
                "loops are closed"
            )

    def start(self, model: CompiledModel, initial: Initial, parameters: DataMapping | None) -> np.ndarray:
        """Return a state from initial values as for ``simulate``."""
        return model.state(initial, parameters)

    def memory(self, v: np.ndarray) -> np.ndarray:
        """Return rows of the memory with given inputs; its other elements have their initial values."""
        rows = np.empty((len(v), len(self._base_memory)))
        rows[:] = self._base_memory
        rows[:, self._places] = v
        return rows

    def _knots(self, t: np.ndarray | float, x: np.ndarray, v: np.ndarray) -> Knots:
        times = np.broadcast_to(np.asarray(t, dtype=float), (len(x),))
        return Knots(times, x, self.memory(v), np.empty((len(x), 0)))

    def rates(
        self, t: np.ndarray | float, x: np.ndarray, v: np.ndarray, parameters: DataMapping | None = None
    ) -> np.ndarray:
        """Return ẋ at rows of states and inputs."""
        return self._rates.values(self._knots(t, x, v), parameters)

    def jacobians(
        self, t: np.ndarray | float, x: np.ndarray, v: np.ndarray, parameters: DataMapping | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return ∂f/∂x and ∂f/∂v at rows of states and inputs."""
        if self.independent:
            found = self._linearization.rows(t, x, parameters, self.memory(v))
            return found.A, found.B
        whole = self._rates.dense_jacobian(self._knots(t, x, v), parameters)
        return whole[:, :, : len(self.states)], whole[:, :, len(self.states) :]

    def rate_curvatures(
        self, t: np.ndarray, x: np.ndarray, v: np.ndarray, parameters: DataMapping | None
    ) -> np.ndarray:
        """Return ∂²f_i/∂(x, v)² at rows of states and inputs: rows × rates × variables × variables."""
        rows, n = x.shape
        at = self._knots(np.repeat(t, n), np.repeat(x, n, axis=0), np.repeat(v, n, axis=0))
        found = self._rates.dense_hessian(at, np.tile(np.eye(n), (rows, 1)), parameters)
        return found.reshape(rows, n, *found.shape[1:])

    def step(
        self,
        t: np.ndarray | float,
        x: np.ndarray,
        v: np.ndarray,
        h: float,
        parameters: DataMapping | None = None,
        parts: int = 1,
    ) -> np.ndarray:
        """Return the states after h with held inputs, by ``parts`` equal steps of RK4."""
        functions, memory = self._rates.value_functions, self._base_memory
        after = np.array(x, dtype=float, order="C")  # a copy in C order, which the loop overwrites
        times = np.array(np.broadcast_to(np.asarray(t, dtype=float), (len(after),)))
        constants, inputs = functions.constants(parameters), np.ascontiguousarray(v, dtype=float)
        step_rows(
            functions.address("knot"), constants, memory, self._places, times, after, inputs, h, parts
        )  # fmt: skip
        return after

    def prepare_rollouts(
        self, constants: np.ndarray, steps: int, h: float, limits: tuple[np.ndarray, np.ndarray],
        target: np.ndarray, weights: tuple[np.ndarray, np.ndarray, np.ndarray], sizes: np.ndarray,
    ) -> PreparedRoutine:  # fmt: skip
        """Return a prepared loop for motions under a feedback law; see ``compiled_steps.py``."""
        functions = self._rates.value_functions
        shape = steps, len(self.states), len(self.inputs)
        return prepare_rollouts(
            functions.address("knot"), constants, self._base_memory, self._places, shape, h, limits, target,
            weights, sizes,
        )  # fmt: skip

    def prepare_step_derivatives(self, constants: np.ndarray, steps: int, h: float) -> PreparedRoutine:
        """Return a prepared loop for the derivatives of RK4 steps; see ``compiled_sweeps.py``."""
        pattern, functions = self._slopes
        return prepare_step_derivatives(
            functions.loop_address("slopes"), constants, self._base_memory, self._places,
            (pattern.rows, pattern.columns), (steps, len(self.states), len(self.inputs)), h,
        )  # fmt: skip

    def step_constants(self, parameters: DataMapping | None) -> tuple[np.ndarray, np.ndarray]:
        """Return the constants of rollouts, and the constants of the derivatives of steps."""
        return self._rates.value_functions.constants(parameters), self._slopes[1].constants(parameters)

    def step_derivatives(
        self, t: np.ndarray, x: np.ndarray, v: np.ndarray, h: float, parameters: DataMapping | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the states after steps of RK4, and the derivatives of these states by [state, input]."""
        steps = self.prepare_step_derivatives(self._slopes[1].constants(parameters), len(x), h)
        steps(t=t, x=x, v=v)
        n, m, first = len(self.states), len(self.inputs), pad(len(self.states))
        found = steps["found"]
        return steps["ends"], np.concatenate([found[..., :n], found[..., first : first + m]], axis=-1)


@kept_per_object
def plant(model: object, inputs: tuple[str, ...]) -> Plant:
    """Return the rates of a model with given inputs, compiled once."""
    return Plant(compiled_model(model), inputs)


def steered_plant(model: CompiledModel, inputs: object) -> Plant:
    """Return the plant with given inputs; raise an error if there are none."""
    names = tuple(map(str, several(inputs, "inputs=")))
    if not names:
        input_ports(model.equations, names)
    return plant(model, names)


def state_ports(equations: DerivedEquations) -> tuple[Port, ...]:
    """Return the states of a model, in order."""
    described = {s.data.name: s for s in equations.system.moving()}
    found = [(described.get(s.data.name, s), s) for s in equations.targets.integrated]
    return tuple(Port(s.data.name, own.data.units or "", state_factor(own), s) for own, s in found)


def input_ports(equations: DerivedEquations, names: Sequence[str]) -> tuple[Port, ...]:
    """Return inputs of a model by name; raise an error for names that no ``s.input`` declares."""
    system = equations.system
    known = [name for name, m in system.memories.items() if m.input and not m.rate_of]
    wanted = [str(name) for name in several(names, "inputs=")]
    if not wanted:
        has = f"; the model has {listed([f'{n!r}' for n in known])}" if known else "; declare one, s.input(…)"
        raise ParameterError(f"'{system.name}': inputs= is empty, and nothing can be steered{has}")
    for name in wanted:
        if name in system.parameters:
            raise ParameterError(
                f"'{name}' of '{system.name}' is a parameter, which stays constant; declare it by "
                f"s.input('{name}', …) to steer it, or give it as an unknown of model.optimize, free=…"
            )
    checked_names(wanted, known, f"'{system.name}' has no input", ParameterError)
    if twice := [name for name in wanted if wanted.count(name) > 1]:
        raise ParameterError(f"'{twice[0]}' occurs twice in inputs=; name it once")
    for name, m in system.memories.items():
        if m.rate_of in wanted:
            raise ParameterError(
                f"'{system.name}' needs the rate of its input '{m.rate_of}' ('{name}'), and steered inputs "
                f"have no rates; make '{m.rate_of}' a state whose rate is the input"
            )
    plain = equations.reduction.plain
    memories = [system.memories[name] for name in wanted]
    return tuple(
        Port(name, m.symbol.data.units or "", m.factor, plain(m.symbol))
        for name, m in zip(wanted, memories, strict=True)
    )


def own_values(ports: Sequence[Port], given: DataMapping, what: str) -> dict[str, float]:
    """Return values by the name of a port, converted to the model's own units."""
    factors = {p.name: p.factor for p in ports}
    checked_names(given, list(factors), f"{what}: there is no", ParameterError)
    found = {name: real(value, f"{what} of '{name}'", ParameterError) for name, value in given.items()}
    for name, value in found.items():
        if not np.isfinite(value):
            raise ParameterError(f"{what} of '{name}' is {value}; give a finite number")
    return {name: value * factors[name] for name, value in found.items()}


# ---------------------------------------------------------------------------------------- second derivatives


_WHOLE = 2_000_000  # most numbers in a result with the Hessians of all rates and outputs


class SecondFunctions:
    """Rates and outputs of one model with chosen inputs, compiled with their second derivatives."""

    def __init__(self, model: CompiledModel, inputs: tuple[str, ...], outputs: tuple[str, ...]) -> None:
        equations = model.equations
        equations.check_use("linear model")
        states, steered = state_ports(equations), input_ports(equations, inputs) if inputs else ()
        by_name = {c.name: c for c in equations.targets.columns}
        columns = [by_name[name] for name in outputs_of(equations, outputs)]
        results = [*equations.targets.rates, *(c.expression for c in columns)]
        by = [*states, *steered]
        self.of = tuple([f"{p.name}'" for p in states] + [c.name for c in columns])
        self.by = tuple(p.name for p in by)
        self.above = np.array([p.factor for p in states] + [1.0] * len(columns))
        self.below = np.array([p.factor for p in by])
        self.functions = KnotFunctions(equations, results, [p.symbol for p in by])


@kept_per_object
def _functions(model: CompiledModel, inputs: tuple[str, ...], outputs: tuple[str, ...]) -> SecondFunctions:
    return SecondFunctions(model, inputs, outputs)


def second_derivatives(
    model: CompiledModel,
    at: object = None,
    inputs: Sequence[str] = (),
    outputs: Sequence[str] = (),
    *,
    weights: object = None,
    along: object = None,
    parameters: DataMapping | None = None,
) -> np.ndarray:
    """Return exact second derivatives of the states' rates and of outputs, by states and inputs.

    The result is an array of rates and outputs × variables × variables, in stated units. With ``weights``
    of rates and outputs, it is the Hessian of their weighted sum. With ``along``, a direction of states and
    inputs, it is the product of each Hessian with this direction, computed without the Hessians. ``at`` is
    as for ``linearize``; the states are in the order of ``model.derivatives``.
    """
    chosen = (inputs, "inputs="), (outputs, "outputs=")
    made = _functions(model, *(tuple(map(str, several(group, what))) for group, what in chosen))
    points = operating_points(model, at, parameters)
    if not points.single:
        raise ArmillaryError("second_derivatives takes one operating point; call it for each")
    m, n = len(made.of), len(made.by)
    if weights is None:
        if along is None and m * n * n > _WHOLE:
            raise ArmillaryError(
                f"the second derivatives of '{model.equations.system.name}' are {m} × {n} × {n} numbers; "
                "give weights= of rates and outputs, or a direction along="
            )
        rows = np.eye(m) / made.above[:, None]
    else:
        rows = (_vector(weights, made.of, "weights=") / made.above)[None]
    count = len(rows)
    place = Knots(
        np.repeat(points.t, count), np.repeat(points.states, count, axis=0),
        np.repeat(points.memory, count, axis=0), np.empty((count, 0)),
    )  # fmt: skip
    parameters = dict(points.parameters)
    if along is None:
        found = made.functions.dense_hessian(place, rows, parameters) * np.outer(made.below, made.below)
    else:
        direction = np.tile(_vector(along, made.by, "along=") * made.below, (count, 1))
        found = made.functions.hessian_product(place, rows, direction, parameters) * made.below
    if not np.isfinite(found).all():
        where = np.argwhere(~np.isfinite(found))[0]
        of = made.of[where[0]] if weights is None else "the weighted sum"
        raise ArmillaryError(
            f"{of} of '{model.equations.system.name}' has no finite second derivative by "
            f"'{made.by[where[1]]}' at the operating point"
        )
    return found if weights is None else found[0]


def _vector(given: object, names: Sequence[str], what: str) -> np.ndarray:
    """Return numbers that are given in order, or by name; numbers that are not named are zero."""
    if isinstance(given, Mapping):
        unknown = [name for name in given if name not in names]
        if unknown:
            raise ParameterError(f"{what} there is no '{unknown[0]}' among {', '.join(names)}")
        given = [given.get(name, 0.0) for name in names]
    found = reals(given, what, ParameterError)
    if found.shape != (len(names),) or not np.isfinite(found).all():
        raise ParameterError(f"{what} needs {len(names)} finite numbers, for {', '.join(names)}")
    return found


# ---------------------------------------------------------------------------------------- motions as runs


@kept_per_object
def _outputs(model: CompiledModel) -> KnotFunctions:
    equations = model.equations
    return KnotFunctions(equations, [c.expression for c in equations.targets.columns], (), tier="quick")


def motion_run(
    model: CompiledModel,
    time: np.ndarray,
    x: np.ndarray,
    memory: np.ndarray,
    parameters: DataMapping | None,
    info: DataTable,
) -> Run:
    """Return the run of states and memories at given times, in the model's own units."""
    at = Knots(time, x, memory, np.empty((len(x), 0)))
    values = _outputs(model).values(at, dict(parameters or {}))
    table = model.parameter_table
    stated = table.values(table.check_given(parameters))
    blank = blank_run(model, stated)
    return blank.filled(np.array(time), values, {**blank.info, "status": "finished", **info}, ())
