"""One step of many copies of a model as a compiled loop.

A block has as many copies as a vector register has lanes. For each block the loop

    holds the inputs for ``parts`` steps of RK4
    sets copies that ended before to the start and parameters drawn for them, and their time to zero
    computes observations, reward and the values with limits; finds copies that end or are cut off
    in mode "same step" stores the last observations of ended copies apart, and restarts these copies

Arrays have a row per quantity and a column per copy; observations have a row per copy, as in Gymnasium.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from armillary.algebra.arguments import checked_names, positive_number, real, several, table
from armillary.algebra.expression import Expr
from armillary.control.plant import check_smooth, input_ports, state_ports
from armillary.control.problem import ExpressionReader, limit_pair
from armillary.ensembles.engines.lane_engines import LaneLoop
from armillary.ensembles.engines.lane_steps import LaneFunction
from armillary.errors import ParameterError, shown
from armillary.llvm.building.builder import Local, Span, Value
from armillary.llvm.jit import register_doubles
from armillary.program.equations import DerivedEquations
from armillary.program.formalisms.formalism import derivation
from armillary.program.program import Program
from armillary.program.sections import program_of
from armillary.program.targets.targets import OutputColumn
from armillary.runtime.models.compiled import CompiledModel
from armillary.runtime.start.initial import initial_memory
from armillary.solver.llvm.functions import not_finite
from armillary.solver.llvm.lanes import LaneSolver
from armillary.solver.methods.registry import METHODS
from armillary.untyped import DataMapping, DataTable

Range = tuple[float, float]


class EnvironmentTerms:
    """The user's terms of an environment, read and checked.

    ``results`` are expressions: observations, the reward and the values with limits. ``drawn`` and
    ``initial`` have the limits between which parameters and states are drawn.
    """

    def __init__(
        self,
        model: CompiledModel,
        inputs: Mapping[str, object],
        observations: Sequence[str],
        reward: object,
        within: Mapping[str, object] | None,
        initial: DataMapping | None,
        parameters: DataMapping | None,
    ) -> None:
        equations = model.equations
        check_smooth(equations, may_stop=False)  # environments ignore events
        inputs = table(inputs, "inputs=", ParameterError)
        self.table, self.described = model.parameter_table, model.state()
        self.states, self.ports = state_ports(equations), input_ports(equations, list(inputs))
        memories = list(equations.system.memories)
        self.places = [memories.index(p.name) for p in self.ports]
        self.memory = initial_memory(equations)
        self.action_limits = np.array(
            [_range(inputs[p.name], f"inputs= '{p.name}'") for p in self.ports], dtype=float
        )
        self.factors = np.array([p.factor for p in self.ports])
        self.initial = _ranges(initial, "initial=", finite=True)
        names = [p.name for p in self.states]
        checked_names(self.initial, names, "initial= there is no state", ParameterError)
        self.drawn = _ranges(parameters, "parameters=", finite=True)
        checked_names(self.drawn, list(model.parameters), "parameters= there is no parameter", ParameterError)
        reader = ExpressionReader(equations, {}, None)
        observed = [reader.read(text, "observations=") for text in several(observations, "observations=")]
        if not observed:
            raise ParameterError("observations= is empty; name at least one value that a policy sees")
        limits = _limits(table(within, "within="))
        self.bounds = np.array(list(limits.values()), dtype=float).reshape(-1, 2)
        self.seen = len(observed)
        self.results: list[Expr] = [
            *observed, reader.read(reward, "reward="), *(reader.read(name, "within=") for name in limits),
        ]  # fmt: skip

    @property
    def start_limits(self) -> np.ndarray:
        """Lowest and highest start of each state, a row each, in the model's own units."""
        found = np.stack([self.described, self.described], axis=1)
        for i, port in enumerate(self.states):
            if port.name in self.initial:
                found[i] = np.array(self.initial[port.name]) * port.factor
        return found

    def drawn_limits(self, program: Program) -> dict[int, np.ndarray]:
        """Return lowest and highest value of drawn parameters by their index in a program, in its units."""
        names = [s.data.name for s in program.parameters]
        factors = dict(zip(self.table.names, self.table.factors, strict=True))
        found = {names.index(name): np.array(pair) * factors[name] for name, pair in self.drawn.items()}
        return dict(sorted(found.items()))

    def parameter_values(self, program: Program) -> dict[Expr, float]:
        """Return all parameters of a program in its units; drawn ones with their lowest value."""
        inside = self.table.inside_columns({name: low for name, (low, _) in self.drawn.items()})
        return {s: float(inside[s.data.name]) for s in program.parameters}

    def settings(self, program: Program, h: float, limit: float) -> np.ndarray:
        """Return the tables that a kernel reads, one after another."""
        start, drawn = self.start_limits, np.array(list(self.drawn_limits(program).values())).reshape(-1, 2)
        parts = [
            [h, limit], self.factors, *self.action_limits.T, *start.T, *drawn.T, *self.bounds.T, self.memory,
        ]  # fmt: skip
        return np.concatenate([np.asarray(part, dtype=float) for part in parts])


def read_times(step: object, time_limit: object) -> tuple[float, float]:
    """Return the seconds of a step and of an episode."""
    h = positive_number(step, "step", ParameterError)
    return h, positive_number(time_limit, "time_limit", ParameterError, finite=False)


def _ranges(given: DataMapping | None, what: str, *, finite: bool = False) -> dict[str, Range]:
    """Return ranges by name; ``finite``: values are drawn from them, so both ends must be finite numbers."""
    given_values: DataTable = dict(given or {})
    found = {str(name): _range(value, f"{what} '{name}'") for name, value in given_values.items()}
    for name, (low, high) in found.items():
        if finite and not np.isfinite(high - low):
            raise ParameterError(f"{what} '{name}' must be finite, not {shown(given_values[name])}")
    return found


def _limits(given: DataTable) -> dict[str, Range]:
    """Return the limits of an episode by expression; None is no limit."""
    found = {}
    for name, pair in given.items():
        what = f"within= '{name}'"
        low, high = limit_pair(pair, what)
        ends = (-np.inf if low is None else low, np.inf if high is None else high)
        found[str(name)] = _range(ends, what)
    return found


def _range(given: object, what: str) -> Range:
    if isinstance(given, Sequence | np.ndarray) and not isinstance(given, str):
        low, high = (real(value, what, ParameterError) for value in limit_pair(given, what))
        if not low <= high:
            raise ParameterError(f"{what}: the lower limit {low:g} is above the upper one, {high:g}")
        return low, high
    value = real(given, what, ParameterError)
    return value, value


_METHOD = METHODS["rk4"]
_WHOLES = ("first", "blocks", "stride", "parts")
_ARRAYS = (
    *("settings", "shared", "memory_start", "low", "high"),  # shared: constants common to all copies
    *("actions", "state", "time", "ended", "constants", "next_state", "next_parameters"),
    *("seen", "reward", "outside", "cut", "begun", "last_seen"),
)
ROUNDING = 1e-9  # s, tolerance of a time limit


def environment_program(equations: DerivedEquations, results: Sequence[Expr]) -> Program:
    """Return the program of the rates, with given results as its outputs."""
    columns = tuple(OutputColumn(f"result {i + 1}", "", "", x) for i, x in enumerate(results))
    wanted = replace(
        equations.targets, columns=columns, watched=(), events=(), updates=(), fires=(), geometry=()
    )
    with derivation():
        return program_of(equations.system, wanted, equations.reduction.plain)[0]


class EnvironmentLoop(LaneFunction):
    """The compiled function ``steps(first, blocks, stride, parts, arrays…, room)`` of one program.

    ``inputs`` are indices in the memory. The program's outputs are observations (``seen`` is their number),
    the reward, and the values with limits (``limits`` is their number). ``drawn``: each copy has its own
    parameters; ``same_step``: copies restart in the step in which they end.

    Unlike in batches, the sines of later stages are not computed from the sines of the first stage: steps
    are long here, so angles change too much from stage to stage. A step of 20 ms of the cart and pole takes
    111 ns per copy, and 132 ns with such sines.
    """

    def __init__(
        self,
        program: Program,
        inputs: Sequence[int],
        seen: int,
        limits: int,
        drawn: bool,
        same_step: bool,
        width: int | None = None,
    ) -> None:
        self.drawn, self.same_step = drawn, same_step
        n = len(program.state)
        rooms = {
            "parameters": len(program.parameters), "constants": len(program.constants), "state": n,
            "memory": len(program.memory), "stage": n, "trial": n, "out": len(program.outputs.results),
            "drawn_constants": len(program.constants), **dict.fromkeys(_METHOD.coefficients.stage_vectors, n),
        }  # fmt: skip
        super().__init__("steps", program, width or register_doubles(), rooms, _WHOLES, _ARRAYS)
        self.stride = self.whole_argument("stride")
        self.solver = LaneSolver(self, _METHOD, ("stages",))
        self._write(inputs, seen, limits)

    def block(self, name: str, row: Value | int = 0) -> Span:
        """Return the part of an array's row that belongs to the current block."""
        row = self.whole(row) if isinstance(row, int) else row
        return Span(self, self.outside(name).at(row * self.stride + self.run))

    # ------------------------------------------------------------ the loop

    def _write(self, inputs: Sequence[int], seen: int, limits: int) -> None:
        for name, source in (("constants", "shared"), ("memory", "memory_start")):
            with self.each(self.rooms[name]) as i:
                self.vector(name)[i] = self.spread(self.outside(source)[i])
        first = self.whole_argument("first")
        with self.each(self.whole_argument("blocks")) as block:
            self.fuses = False
            self.run = (first + block) * self.lanes
            anew = self.block("ended")[0].differs(0.0)
            for j, place in enumerate(inputs):
                self.vector("memory")[place] = self.block("actions", j)[0]
            for name in ("state", *(("constants",) if self.drawn else ())):
                with self.each(self.rooms[name]) as i:
                    self.vector(name)[i] = self.block(name, i)[0]
            time = Local(self, self.block("time")[0])
            with self.each(self.whole_argument("parts")):
                self.fuses = False
                self._step(time)
            with self.when(self.any(anew)):
                self._begin(anew, time)
            self._look(anew, time.get(), seen, limits)
        self.give()

    def _step(self, time: Local) -> None:
        """Emit one step of RK4, in place."""
        t, h = time.get(), self.spread(self.outside("settings")[0])
        self.derivatives(t, self.vector("state"), self.vector("k0"))
        self.solver("stages", t, h)
        self.copy(self.states, self.vector("trial"), self.vector("state"))
        time.set(t + h)
        self.normalise(time.get(), "state")

    def _begin(self, anew: Value, time: Local) -> None:
        """Emit: set copies that ended to the drawn start and parameters."""
        with self.each(self.states) as i:
            self.vector("state")[i] = self.choose(
                anew, self.block("next_state", i)[0], self.vector("state")[i]
            )
        time.set(self.choose(anew, 0.0, time.get()))
        if self.drawn:
            with self.each(self.rooms["parameters"]) as i:
                self.vector("parameters")[i] = self.block("next_parameters", i)[0]
            self.precompute("drawn_constants")
            with self.each(self.rooms["constants"]) as i:
                own, drawn = self.vector("constants"), self.vector("drawn_constants")
                own[i] = self.choose(anew, drawn[i], own[i])
                self.block("constants", i)[0] = own[i]

    def _look(self, anew: Value, t: Value, seen: int, limits: int) -> None:
        """Emit: store state, observations and rewards, and mark copies that end or are cut off."""
        with self.each(self.states) as i:
            self.block("state", i)[0] = self.vector("state")[i]
        self.block("time")[0] = t
        self.outputs(t, "state")
        out = self.vector("out")
        self._store_observations("seen", seen)
        leaves = not_finite(self, self.vector("state"))
        for j in range(limits):
            value = out[seen + 1 + j]
            inside = (value >= self.outside("low")[j]) & (value <= self.outside("high")[j])
            leaves = leaves | ~inside
        going = ~anew
        ends = leaves & going
        late = (t >= self.outside("settings")[1]) & going & ~leaves
        self.block("reward")[0] = self.choose(anew, 0.0, out[seen])
        self.block("outside")[0] = self.choose(ends, 1.0, 0.0)
        self.block("cut")[0] = self.choose(late, 1.0, 0.0)
        over = ends | late
        self.block("ended")[0] = self.choose(over, 1.0, 0.0)
        self.block("begun")[0] = self.choose(anew, 1.0, 0.0)
        if self.same_step:
            with self.when(self.any(over)):
                self._store_observations("last_seen", seen)
                time = Local(self, t)
                self._begin(over, time)
                self.block("begun")[0] = self.choose(over | anew, 1.0, 0.0)
                self.block("ended")[0] = self.of_kind(self.kind, 0.0)
                self.block("time")[0] = time.get()
                with self.each(self.states) as i:
                    self.block("state", i)[0] = self.vector("state")[i]
                self.outputs(time.get(), "state")
                self._store_observations("seen", seen)

    def _store_observations(self, name: str, seen: int) -> None:
        """Emit: store the observations, a row for each copy."""
        out, target = self.vector("out"), self.outside(name)
        for i in range(seen):
            value = out[i].raw
            for lane in range(self.lanes):
                one = value if self.lanes == 1 else self.builder.lane(value, lane)
                target[(self.run + lane) * seen + i] = Value(self, one)


class CompiledEnvironmentLoop:
    """The loop as machine code, freed with this object."""

    def __init__(self, loop: EnvironmentLoop) -> None:
        self.width, self._steps = loop.lanes, LaneLoop(loop)

    def __call__(
        self, first: int, blocks: int, stride: int, parts: int, arrays: dict[str, np.ndarray]
    ) -> None:
        """Advance some blocks of copies; each call has its own work arrays, so threads may share the loop."""
        self._steps(first, blocks, stride, parts, *(arrays[name] for name in _ARRAYS))
