"""A function under construction that makes runs on lanes: the places of its numbers, and its calls.

Work vectors lie in a room that the caller gives: each number of a state, say, is a vector with a lane per
run. The arrays of all runs lie outside: quantities row by row and runs column by column, ``stride`` in all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate

from armillary.ensembles.engines.engine import metrics_function
from armillary.ensembles.plan import DIVERGED, FINISHED, KEPT, MEASURED, NOT_RUN, Plan
from armillary.llvm.building.builder import Local, Operand, Span, Value, power_text
from armillary.llvm.building.emitter import (
    ADDRESS,
    NOTHING,
    WHOLE,
    Function,
    FunctionType,
    IRModule,
    Raw,
    constant,
)
from armillary.llvm.jit import encodes
from armillary.llvm.module import Module
from armillary.llvm.sections import lanes_module
from armillary.program.packs import LARGEST, NearSines, near_sines
from armillary.program.program import Program
from armillary.runtime.language.lanes import LaneSolver
from armillary.runtime.loop.functions import Stepper, not_finite

# Of all runs: their values at the start, replaced by those at the end, and what was kept of the motion.
ARRAYS = ("all_parameters", "all_state", "all_memory", "all_rows", "all_slots", "all_status", "all_stops")


class LaneFunction(Stepper):
    """``entry(wholes…, addresses…, room)`` for one program, with a lane for each run; ``rooms``: the lengths
    of work vectors.
    """

    near: NearSines | None = None  # where stages of a step take the sines of the first one

    def __init__(
        self,
        entry: str,
        program: Program,
        lanes: int,
        rooms: Mapping[str, int],
        wholes: Sequence[str],
        addresses: Sequence[str],
    ) -> None:
        self.entry, self.program, self.rooms, self.wholes = entry, program, rooms, len(wholes)
        names = (*wholes, *addresses, "room")
        kinds = [WHOLE] * len(wholes) + [ADDRESS] * (len(names) - len(wholes))
        self.module = IRModule()
        function = Function(self.module, FunctionType(NOTHING, tuple(kinds)), entry)
        super().__init__(function, lanes)
        self.given = dict(zip(names, function.args, strict=True))
        starts = accumulate((max(size, 1) for size in rooms.values()), initial=0)
        self.places = dict(zip((*rooms, "end"), starts, strict=True))
        self.room_size = self.places["end"] * lanes

    @property
    def states(self) -> int:
        return len(self.program.state)

    # ------------------------------------------------------------ places

    def whole_argument(self, name: str) -> Value:
        return Value(self, self.given[name])

    def outside(self, name: str) -> Span:
        """Return an array of single reals that the caller gave."""
        return Span(self, self.given[name], single=True)

    def vector(self, name: str) -> Span:
        """Return a work vector."""
        return Span(self, self._place(name))

    def lanes_of(self, name: str) -> Span:
        """Return a work vector lane by lane: entry i·lanes + l is number i of lane l."""
        return Span(self, self._place(name), single=True)

    def _place(self, name: str) -> Raw:
        return self.builder.place(self.given["room"], constant(WHOLE, self.places[name]), self.kind)

    # ------------------------------------------------------------ the program

    def generated(self, name: str, t: Operand, *vectors: str | Span) -> None:
        """A call of a function of the program: of time, state, constants, memory and where its results go."""
        places = [v.address if isinstance(v, Span) else self._place(v) for v in vectors]
        self._call_function(name, NOTHING, [self.of_kind(self.kind, t).raw, *places])

    def derivatives(self, t: Value, state: Span, result: Span) -> None:
        self.generated("derivatives", t, state, "constants", "memory", result)

    def outputs(self, t: Operand, state: str, memory: str = "memory") -> None:
        if self.program.outputs.results:
            self.generated("outputs", t, state, "constants", memory, "out")

    def precompute(self, constants: str = "constants") -> None:
        self._call_function("precompute", NOTHING, [self._place("parameters"), self._place(constants)])

    def normalise(self, t: Operand, state: str) -> None:
        """Coordinates of closed loops corrected, and unit Euler parameters."""
        if self.program.normalises:
            self.generated("normalise", t, state, "constants", "memory")

    def normalise_where(self, where: Value | None, t: Value, state: str) -> None:
        if where is None:
            self.normalise(t, state)
            return
        self.copy(self.states, self.vector(state), self.vector("point"))
        self.normalise(t, "point")
        self.blend(self.states, where, "point", state)

    # ------------------------------------------------------------ numbers and vectors

    def keeps(self, name: str) -> bool:
        return name in self.places

    def __setitem__(self, name: str, value: Operand) -> None:
        self.vector(name)[0] = value

    def put(self, where: Value, name: str, value: Operand) -> None:
        """A number of each lane renewed where a condition holds."""
        self[name] = self.choose(where, value, self[name])

    def blend(self, count: int, where: Value, source: str, target: str) -> None:
        """The source in lanes where a condition holds."""
        with self.each(count) as m:
            self.vector(target)[m] = self.choose(where, self.vector(source)[m], self.vector(target)[m])

    # ------------------------------------------------------------ the whole

    def texts(self) -> tuple[str, str]:
        """Return the module with this function, and the one with all that it calls, to be linked."""
        rest = lanes_module(self.program, self.lanes, self.near)
        self.add_functions(rest)
        symbol, power = power_text(self.lanes)
        rest.helpers[symbol] = power
        self.function.attributes = [rest.attributes]
        return str(self.module), rest.text()

    def add_functions(self, module: Module) -> None:
        """Functions that are called besides those of the program."""


def lengths(plan: Plan) -> dict[str, int]:
    """Work vectors that every loop needs, and how many numbers each holds."""
    program = plan.program
    return {
        "parameters": len(program.parameters),
        "constants": len(program.constants),
        "state": len(program.state),
        "memory": len(program.memory),
        "stage": len(program.state),
        "out": len(program.outputs.results),
        "slots": len(plan.slots),
    }


class LaneFrame(LaneFunction):
    """``runs(wholes…, addresses…, ARRAYS…, room)`` for one program, method and set of metrics."""

    def __init__(
        self,
        plan: Plan,
        lanes: int,
        rooms: Mapping[str, int],
        wholes: Sequence[str],
        addresses: Sequence[str],
    ) -> None:
        assert plan.method.tableau is not None
        self.tableau, self.metrics, self.history = plan.method.tableau, plan.metrics, plan.history
        super().__init__("runs", plan.program, lanes, rooms, wholes, (*addresses, *ARRAYS))

    def update_metrics(self, t: Operand, slots: str = "slots") -> None:
        """The outputs shown to the metrics."""
        self.generated("update_metrics", t, "out", slots)

    def add_functions(self, module: Module) -> None:
        if self.metrics:
            metrics_function(module, self.metrics)


# Fixed steps of many runs at once: a vector of runs goes through all its steps, then the next.
#
# For each block of as many runs as a vector holds:
#
#     constants from parameters; then at each grid point t₀ … t_end
#         update memory; outputs, where a row is due: kept, shown to the metrics, or both
#         the stages of the method and the state at the next grid point; unit Euler parameters
#
# A run whose state is no longer finite stays where it was (DIVERGED) while its neighbours go on.

WHOLES = ("blocks", "stride", "last")
ADDRESSES = ("grid", "steps", "due", "halt")


class LaneSteps(LaneFrame):
    """The loop for a method of fixed step."""

    largest: Local | None = None  # d² of the stages that are taken near the first one

    def __init__(self, plan: Plan, lanes: int) -> None:
        rooms, tableau = lengths(plan), plan.method.tableau
        assert tableau is not None
        rooms |= {"new_memory": rooms["memory"], "trial": rooms["state"]} | {
            name: rooms["state"] for name in tableau.stage_vectors
        }
        if tableau.multistep:
            rooms |= {"k_before": rooms["state"], "h_before": 1}
        # Eight runs at once on an x86-64 processor with AVX-512 take 0.97 to 1.23 of the time with them.
        if encodes() == "arm64" and tableau.stages > 1 and not tableau.multistep:
            self.near = near_sines(plan.program)
        if self.near is not None:
            rooms |= {"sines": len(self.near.sines), "turned": 1, "near_trial": rooms["state"]}
        super().__init__(plan, lanes, rooms, WHOLES, ADDRESSES)
        self.solver = LaneSolver(self, plan.method, ("stages",), kept=("trial",))
        self.stride, self.last = self.whole_argument("stride"), self.whole_argument("last")
        with self.each(self.whole_argument("blocks")) as block:
            self.fuses = False
            self.run = block * lanes
            for name in ("parameters", "state", "memory", "slots"):
                with self.each(rooms[name]) as i:
                    self.vector(name)[i] = self.block_of(f"all_{name}", i)[0]
            self.precompute()
            self.motion()
            for name in ("state", "memory", "slots"):
                with self.each(rooms[name]) as i:
                    self.block_of(f"all_{name}", i)[0] = self.vector(name)[i]
        self.give()

    def __getitem__(self, name: str) -> Value:
        return self.vector(name)[0]

    def block_of(self, name: str, row: Value) -> Span:
        """Return the runs of this block in a row of an array."""
        return Span(self, self.outside(name).at(row * self.stride + self.run))

    def motion(self) -> None:
        self.alive = Local(self, self.of_kind(self.kind, 1.0))
        self.turning = Local(self, self.of_kind(self.kind, 0.0))
        status = Local(self, self.of_kind(self.kind, FINISHED))
        stop = Local(self, self.spread(self.outside("grid")[self.last]))
        self.kept = Local(self, self.whole(0))
        if self.tableau.multistep:
            self["h_before"] = self.of_kind(self.kind, 0.0)
        n = Local(self, self.whole(0))
        with self.repeat() as loop:
            with self.when(self.outside("halt")[0].differs(0.0)):
                status.set(self.choose(self.alive.get().differs(0.0), NOT_RUN, status.get()))
                loop.leave()
            t = self.spread(self.outside("grid")[n.get()])
            ended = n.get() >= self.last
            self.arrive(n.get(), t, ended)
            with self.when(ended):
                loop.leave()
            wrong = self.step(n.get(), t)
            failing = wrong & self.alive.get().differs(0.0)
            with self.when(self.any(failing)):
                status.set(self.choose(failing, DIVERGED, status.get()))
                stop.set(self.choose(failing, t, stop.get()))
                self.alive.set(self.choose(failing, 0.0, self.alive.get()))
            n.set(n.get() + 1)
            self.blend(self.states, self.alive.get().differs(0.0), "trial", "state")
            self.normalise(self.outside("grid")[n.get()], "state")
            with self.when(~self.any(self.alive.get().differs(0.0))):
                loop.leave()
        self.block_of("all_status", self.whole(0))[0] = status.get()
        self.block_of("all_stops", self.whole(0))[0] = stop.get()

    def arrive(self, n: Value, t: Value, ended: Value) -> None:
        """Memory for the next step, and the row at a grid point. The last row shows the memory that a
        further step would begin with.
        """
        shown = "memory"
        if self.program.update.results:
            shown = "new_memory"
            self.generated("update", t, "state", "constants", "memory", "new_memory")
            with self.when(~ended), self.each(self.rooms["memory"]) as i:
                if self.tableau.multistep:  # the rates of the step before belong to another memory
                    changed = self.vector("new_memory")[i].differs(self.vector("memory")[i])
                    self.put(changed, "h_before", 0.0)
                self.vector("memory")[i] = self.vector("new_memory")[i]
        due = self.outside("due")[n]
        with self.when(due > 0.0):
            self.outputs(t, "state", shown)
            if self.metrics:
                with self.when(due >= float(MEASURED)):
                    self.update_metrics(t)
            if self.history:
                with self.when(due.equals(float(KEPT)) | due.equals(float(KEPT + MEASURED))):
                    self.keep()

    def keep(self) -> None:
        """A row of the histories; of runs that go on no more, NaN."""
        first = self.kept.get() * len(self.history)
        for place, column in enumerate(self.history):
            value = self.choose(self.alive.get().differs(0.0), self.vector("out")[column], float("nan"))
            self.block_of("all_rows", first + place)[0] = value
        self.kept.set(self.kept.get() + 1)

    def step(self, n: Value, t: Value) -> Value:
        """Return the state after a step, in ``trial``; lanes in which it is not finite."""
        self.derivatives(t, self.vector("state"), self.vector("k0"))
        h = self.spread(self.outside("steps")[n])
        if self.near is None:
            self.solver("stages", t, h)
        else:
            self.stages_with_sines(t, h)
        if self.tableau.multistep:
            self.copy(self.states, self.vector("k0"), self.vector("k_before"))
            self["h_before"] = h
        return not_finite(self, self.vector("trial"))

    def stages_with_sines(self, t: Value, h: Value) -> None:
        """Take the stages with sines near the sines of the first stage. A lane with too large a change of
        some angle, in this step or an earlier one, takes them with whole sines; each lane decides for itself.
        """
        turning = self.turning
        with self.when(self.any(turning.get().equals(0.0))):
            self.largest = Local(self, self.of_kind(self.kind, 0.0))
            self.solver("stages", t, h)
            turning.set(self.choose(self.largest.get() <= LARGEST, turning.get(), 1.0))
            self.largest = None
        with self.when(self.any(turning.get().differs(0.0))):
            self.copy(self.states, self.vector("trial"), self.vector("near_trial"))
            self.solver("stages", t, h)
            self.blend(self.states, turning.get().equals(0.0), "near_trial", "trial")

    def derivatives(self, t: Value, state: Span, result: Span) -> None:
        if self.near is None:
            super().derivatives(t, state, result)
        elif self.largest is None:
            self.generated("derivatives", t, state, "constants", "memory", "sines", result)
        else:
            given = ("constants", "memory", "sines", "state", result, "turned")
            self.generated("derivatives_near", t, state, *given)
            turned = self.vector("turned")[0]
            self.largest.set(self.intrinsic("maximum", self.largest.get(), turned))
