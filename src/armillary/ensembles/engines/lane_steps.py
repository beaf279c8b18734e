"""The construction of functions that make runs on lanes: their arrays and calls; and the loop of fixed steps.

Work vectors lie in one array that the caller gives, the room. Each number of a work vector, for example of a
state, is itself a vector with a lane per run. The arrays of all runs are separate; they have a row per
quantity and ``stride`` columns, one per run.

Elsewhere a row is a time at which outputs are kept for histories or update metrics (``Plan.times``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate

from armillary.ensembles.engines.engine import add_metrics_function
from armillary.ensembles.plan import KEPT, MEASURED, NOT_RUN, Plan
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
from armillary.solver.llvm.functions import Stepper
from armillary.solver.llvm.lanes import LaneSolver, WrittenFunction
from armillary.solver.llvm.layout import Reason

WHOLES = ("count", "stride")
# Arrays that all runs read: settings, the tolerance of each state, the times, purposes and history indices of
# all rows, tables of sparse equations, and a number that is not zero if the loop must end.
ADDRESSES = ("settings", "atol", "times", "want", "place", "structure", "halt")
SETTINGS = ("t0", "t_end", "step", "rtol", "max_step", "max_steps")
# Arrays of all runs: values at the start, replaced by those at the end, and kept rows, metrics and statuses.
ARRAYS = ("all_parameters", "all_state", "all_memory", "all_rows", "all_slots", "all_status", "all_stops")


class LaneFunction(Stepper):
    """The function ``entry(wholes…, addresses…, room)`` for one program, with a lane for each run.

    ``rooms`` has the lengths of the work vectors.
    """

    near: NearSines | None = None  # if stages of a step use the sines of the first stage

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
        """Return an array that the caller gives, of numbers instead of vectors."""
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

    def call_program(self, name: str, t: Operand, *vectors: str | Span) -> None:
        """Emit a call of a function of the program, with time, state, constants, memory and results."""
        places = [v.address if isinstance(v, Span) else self._place(v) for v in vectors]
        self._call_function(name, NOTHING, [self.of_kind(self.kind, t).raw, *places])

    def derivatives(self, t: Value, state: Span, result: Span) -> None:
        self.call_program("derivatives", t, state, "constants", "memory", result)

    def partial_rates(self, t: Value, state: Span, result: Span) -> None:
        self.call_program("partial_rates", t, state, "constants", "memory", result)

    def structure_address(self) -> Raw:
        return self.given["structure"]

    def outputs(
        self,
        t: Operand,
        state: str | Span,
        memory: str | Span = "memory",
        result: str | Span = "out",
        rates: str = "k_end",
    ) -> None:
        """Emit: compute the outputs; ``rates`` are the rates of the state, if outputs read them."""
        if self.program.row_rates:
            self.add_rates(state, rates)
            state = "rated"
        if self.program.outputs.results:
            self.call_program("outputs", t, state, "constants", memory, result)

    def add_rates(self, state: str | Span, rates: str) -> None:
        """Emit: set ``rated`` to the state and the rates that outputs read."""
        rated = self.vector("rated")
        self.copy(self.states, self.vector(state) if isinstance(state, str) else state, rated)
        for k, (i, _) in enumerate(self.program.row_rates):
            rated[self.states + k] = self.vector(rates)[i]

    def update(self, t: Value, state: Span) -> None:
        self.call_program("update", t, state, "constants", "memory", "new_memory")

    def precompute(self, constants: str = "constants") -> None:
        self._call_function("precompute", NOTHING, [self._place("parameters"), self._place(constants)])

    def normalise(self, t: Operand, state: str) -> None:
        """Emit: correct coordinates of closed loops, and normalise Euler parameters."""
        if self.program.normalises:
            self.call_program("normalise", t, state, "constants", "memory")

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
        """Emit: set a number in the lanes in which a condition holds."""
        self[name] = self.choose(where, value, self[name])

    def blend(self, count: int, where: Value, source: str, target: str) -> None:
        """Emit: copy a vector in the lanes in which a condition holds."""
        with self.each(count) as m:
            self.vector(target)[m] = self.choose(where, self.vector(source)[m], self.vector(target)[m])

    # ------------------------------------------------------------ the whole

    def texts(self) -> tuple[str, str]:
        """Return the module with this function, and the module with all functions that it calls."""
        rest = lanes_module(self.program, self.lanes, self.near)
        self.add_functions(rest)
        symbol, power = power_text(self.lanes)
        rest.helpers[symbol] = power
        self.function.attributes = [rest.attributes]
        return str(self.module), rest.text()

    def add_functions(self, module: Module) -> None:
        """Add the functions that this one calls besides the program's to their module."""


def lengths(plan: Plan) -> dict[str, int]:
    """Return the lengths of the work vectors that every loop needs, by name."""
    program = plan.program
    states = len(program.state)
    implicit: dict[str, int] = {}
    if program.structure is not None:  # see solver/linearly_implicit.py
        unknowns, entries, factors = program.structure.sizes
        implicit = dict.fromkeys(("k0", "k_end", "right_side", "time_rate"), states) | {"shift": 1}
        implicit |= dict.fromkeys(("solution", "pivots"), unknowns)
        implicit |= {"entries": entries + states, "factors": factors}
    return implicit | {
        "parameters": len(program.parameters),
        "constants": len(program.constants),
        "state": len(program.state),
        "memory": len(program.memory),
        "stage": len(program.state),
        "out": len(program.outputs.results),
        "slots": len(plan.slots),
    }


class LaneFrame(LaneFunction):
    """The function ``runs(WHOLES…, addresses…, ARRAYS…, room)`` for a program, a method and metrics."""

    def __init__(
        self, plan: Plan, lanes: int, rooms: Mapping[str, int], addresses: Sequence[str] = ADDRESSES
    ) -> None:
        self.tableau, self.metrics, self.history = plan.method.coefficients, plan.metrics, plan.history
        self.method, self.driven = plan.method, plan.starts.inputs is not None
        super().__init__("runs", plan.program, lanes, rooms, WHOLES, (*addresses, *ARRAYS))
        self.stride = self.whole_argument("stride")
        self.setting = {name: self.outside("settings")[i] for i, name in enumerate(SETTINGS)}

    def lane_solver(
        self,
        wanted: Sequence[str],
        features: Mapping[str, object],
        sizes: Mapping[str, int],
        given: Mapping[str, WrittenFunction],
        *,
        facts: Mapping[str, bool] | None = None,
        kept: Sequence[str],
    ) -> LaneSolver:
        """Return functions of the solver for this loop, with those of ``features`` that are true."""
        features = {**features, "NORMALISE": self.program.normalises}
        if (structure := self.program.structure) is not None:
            features |= {"IMPLICIT": True, "DIFFERENTIATED": True, "SPARSE": True, "DRIVEN": self.driven}
            sizes = {**sizes, "N_UNKNOWNS": structure.unknowns, "N_ENTRIES": len(structure.entry_column)}
        return LaneSolver(
            self,
            self.method,
            wanted,
            features=[name for name, there in features.items() if there],
            facts=facts,
            kept=kept,
            sizes=sizes,
            given={**given, "blame_rates": blame_nothing},
        )

    def update_metrics(self, t: Operand, slots: str = "slots") -> None:
        """Emit: update the slots of metrics by the outputs."""
        self.call_program("update_metrics", t, "out", slots)

    def add_functions(self, module: Module) -> None:
        if self.metrics:
            add_metrics_function(module, self.metrics)


def blame_nothing(f: LaneFrame, where: Value | None, h: Value) -> None:
    """Emit nothing: lanes do not find the state that ends a run."""


# Fixed steps of many runs at once: one vector of runs goes through all its steps, then the next vector. The
# functions of armillary.solver define a step and its end. A run whose state is no longer finite stays at its
# step while its neighbours go on. All runs that go on are at the same time.

WANTED = ("advance", "settle", "keep_row")  # functions of armillary.solver
# Fields of the run record (solver/record.py) that are equal in all runs that go on.
SHARED = ("t", "t_old", "index", "steps", "filled")


class LaneSteps(LaneFrame):
    """The loop for a method with a fixed step."""

    largest: Local | None = None  # largest d², d being the change of an angle between stages; see near_sines
    shared = SHARED

    def __init__(self, plan: Plan, lanes: int) -> None:
        rooms, tableau, program = lengths(plan), plan.method.coefficients, plan.program
        states = ("trial", "point", *tableau.stage_vectors)
        rooms |= {"new_memory": rooms["memory"], "status": 1} | dict.fromkeys(states, rooms["state"])
        kept = ["state", "memory"]
        if tableau.multistep:
            rooms |= {"k_before": rooms["state"], "h_before": 1, "restart": 1}
            kept += ["trial", "k_before"]
        self.rated = bool(program.row_rates)
        if self.rated:
            rooms |= {"k_end": rooms["state"], "rated": rooms["state"] + len(program.row_rates)}
        # Near sines are for arm64 only: on an x86-64 processor with AVX-512, eight runs at once take 0.97 to
        # 1.23 of the time with them.
        if encodes() == "arm64" and tableau.stages > 1 and not tableau.multistep and not program.structure:
            self.near = near_sines(program)
        if self.near is not None:
            rooms |= {"sines": len(self.near.sines), "turned": 1, "near_trial": rooms["state"]}
        super().__init__(plan, lanes, rooms)
        self.places["row"] = self.places["out"]
        if self.rated:  # only the rates at the end of a dense step are used; its states need no own memory
            self.places |= dict.fromkeys(("base", "finish"), self.places["state"])
        self.solver = self.lane_solver(
            WANTED,
            {"UPDATE": program.update.results},
            dict.fromkeys(("Memory", "N_MEMORY"), rooms["memory"]),
            {} if self.near is None else {"stages": stages_with_sines},
            facts={"dense": self.rated, "at_grid": True, "every_step": False}
            | ({} if tableau.multistep else {"restart": False}),
            kept=kept,
        )
        if self.near is not None:
            # `derivatives` chooses how the sines of these stages are computed.
            self.stages = LaneSolver(self, plan.method, ("stages",))
        with self.each(self.stride.whole_quotient(self.whole(lanes))) as block:
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
        """Return a number of each run, or one for all."""
        if name in self.setting:
            return self.setting[name]
        return self.numbers[name].get() if name in SHARED else self.vector(name)[0]

    def __setitem__(self, name: str, value: Operand) -> None:
        if name in SHARED:
            self.numbers[name].set(value)
        else:
            self.vector(name)[0] = value

    def keeps(self, name: str) -> bool:
        return name in SHARED or self.rooms.get(name) == 1

    def block_of(self, name: str, row: Value) -> Span:
        """Return the runs of this block in a row of an array."""
        return Span(self, self.outside(name).at(row * self.stride + self.run))

    def goes_on(self) -> Value:
        return self["status"].equals(float(Reason.RUNNING))

    def motion(self) -> None:
        self.numbers = {name: Local(self, self["t0"] if name == "t" else self.real(0.0)) for name in SHARED}
        self["status"] = float(Reason.RUNNING)
        if self.tableau.multistep:
            self["restart"], self["h_before"] = 1.0, 0.0
        self.stop = Local(self, self.of_kind(self.kind, float("nan")))
        self.turning = Local(self, self.of_kind(self.kind, 0.0))
        if self.rated:
            self.derivatives(self.spread(self["t"]), self.vector("state"), self.vector("k_end"))
        with self.repeat() as loop:
            with self.when(self.outside("halt")[0].differs(0.0)):
                loop.leave()
            self.solver("settle", where=self.goes_on())
            with self.when(self.next_row("times") <= self["t"]):
                self.show_row()
            with self.when(self.any(~self.goes_on())):
                self.note_stops()
                with self.when(~self.any(self.goes_on())):
                    loop.leave()
            self.setting["due"] = self.next_row("times")
            self.solver("advance", where=self.goes_on())
        status = self["status"] - 1.0  # as in ensembles/plan.py
        self.block_of("all_status", self.whole(0))[0] = self.choose(self.goes_on(), NOT_RUN, status)
        self.block_of("all_stops", self.whole(0))[0] = self.stop.get()

    def next_row(self, name: str) -> Value:
        """Return a number of the next row."""
        return self.outside(name)[self["filled"].to_whole()]

    def note_stops(self) -> None:
        """Emit: note the times of runs that have just ended; a run that diverges ends at its step's start."""
        stop, diverged = self.stop.get(), self["status"].equals(float(Reason.DIVERGED))
        fresh = ~self.goes_on() & stop.differs(stop)
        self.stop.set(self.choose(fresh, self.choose(diverged, self["t_old"], self["t"]), stop))

    def show_row(self) -> None:
        """Emit: use the row at the present time for metrics, histories, or both."""
        sound = self["status"] <= float(Reason.FINISHED)
        t, want, place = (self.next_row(name) for name in ("times", "want", "place"))
        self.solver("keep_row", where=sound)
        if self.metrics:
            with self.when(want >= float(MEASURED)):
                self.update_metrics(t)
        if self.history:
            with self.when(want.equals(float(KEPT)) | want.equals(float(KEPT + MEASURED))):
                first = place.to_whole() * len(self.history)
                for k, column in enumerate(self.history):  # NaN for runs that have failed
                    value = self.choose(sound, self.vector("out")[column], float("nan"))
                    self.block_of("all_rows", first + k)[0] = value

    def stages_with_sines(self, t: Value, h: Value) -> None:
        """Emit the stages with sines computed from the sines of the first stage.

        A lane in which some angle changes too much, in this step or an earlier one, computes sines without
        those of the first stage; each lane decides for itself.
        """
        turning = self.turning
        with self.when(self.any(turning.get().equals(0.0))):
            self.largest = Local(self, self.of_kind(self.kind, 0.0))
            self.stages("stages", t, h)
            turning.set(self.choose(self.largest.get() <= LARGEST, turning.get(), 1.0))
            self.largest = None
        with self.when(self.any(turning.get().differs(0.0))):
            self.copy(self.states, self.vector("trial"), self.vector("near_trial"))
            self.stages("stages", t, h)
            self.blend(self.states, turning.get().equals(0.0), "near_trial", "trial")

    def derivatives(self, t: Value, state: Span, result: Span) -> None:
        if self.near is None:
            super().derivatives(t, state, result)
        elif self.largest is None:
            self.call_program("derivatives", t, state, "constants", "memory", "sines", result)
        else:
            given = ("constants", "memory", "sines", "state", result, "turned")
            self.call_program("derivatives_near", t, state, *given)
            turned = self.vector("turned")[0]
            self.largest.set(self.intrinsic("maximum", self.largest.get(), turned))


def stages_with_sines(f: LaneSteps, where: Value | None, t: Value, h: Value) -> None:
    f.stages_with_sines(f.spread(t), f.spread(h))
