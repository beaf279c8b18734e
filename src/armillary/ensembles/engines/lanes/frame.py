"""A function that makes runs on lanes, under construction: where its numbers are, and what it calls.

Work vectors lie in a room that the caller gives: each number of a state, say, is a vector with a lane per
run. The arrays of all runs lie outside: quantities row by row and runs column by column, ``stride`` in all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from armillary.ensembles.engines.metric_slots import metrics_function
from armillary.ensembles.plan import Plan
from armillary.llvm.building.builder import Operand, Span, Value, power_text
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
from armillary.llvm.sections import lanes_module
from armillary.program.near_sines import NearSines
from armillary.runtime.loop.formulas import Stepper
from armillary.runtime.loop.tableau import Tableau

# Of all runs: their values at the start, replaced by those at the end, and what was kept of the motion.
ARRAYS = ("all_parameters", "all_state", "all_memory", "all_rows", "all_slots", "all_status", "all_stops")


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


class LaneFrame(Stepper):
    """``runs(wholes…, addresses…, ARRAYS…, room)`` for one program, method and set of metrics."""

    near: NearSines | None = None  # where stages of a step take the sines of the first one

    def __init__(
        self,
        plan: Plan,
        lanes: int,
        rooms: Mapping[str, int],
        wholes: Sequence[str],
        addresses: Sequence[str],
    ) -> None:
        assert plan.method.tableau is not None
        self.program, self._tableau, self.metrics = plan.program, plan.method.tableau, plan.metrics
        self.history, self.rooms = plan.history, rooms
        names = (*wholes, *addresses, *ARRAYS, "room")
        kinds = [WHOLE] * len(wholes) + [ADDRESS] * (len(names) - len(wholes))
        self.module = IRModule()
        function = Function(self.module, FunctionType(NOTHING, tuple(kinds)), "runs")
        super().__init__(function, lanes)
        self.wholes = len(wholes)
        self.given = dict(zip(names, function.args, strict=True))
        self.places, place = {}, 0
        for name, size in rooms.items():
            self.places[name] = place
            place += max(size, 1)
        self.room_size = place * lanes

    @property
    def states(self) -> int:
        return len(self.program.state)

    @property
    def tableau(self) -> Tableau:
        return self._tableau

    # ------------------------------------------------------------ places

    def whole_argument(self, name: str) -> Value:
        return Value(self, self.given[name])

    def outside(self, name: str) -> Span:
        """An array of single reals that the caller gave."""
        return Span(self, self.given[name], single=True)

    def vector(self, name: str) -> Span:
        """A work vector."""
        return Span(self, self._place(name))

    def lanes_of(self, name: str) -> Span:
        """A work vector lane by lane: entry i·lanes + l is number i of lane l."""
        return Span(self, self._place(name), single=True)

    def _place(self, name: str) -> Raw:
        return self.builder.place(self.given["room"], constant(WHOLE, self.places[name]), self.kind)

    # ------------------------------------------------------------ the program

    def generated(self, name: str, t: Operand, *vectors: str | Span) -> None:
        """A call of a function of the program: of time, state, constants, memory and where its results go."""
        places = [v.address if isinstance(v, Span) else self._place(v) for v in vectors]
        self._called(name, NOTHING, [self.of_kind(self.kind, t).raw, *places])

    def derivatives(self, t: Value, state: Span, result: Span) -> None:
        self.generated("derivatives", t, state, "constants", "memory", result)

    def outputs(self, t: Operand, state: str, memory: str = "memory") -> None:
        if self.program.outputs.results:
            self.generated("outputs", t, state, "constants", memory, "out")

    def precompute(self) -> None:
        self._called("precompute", NOTHING, [self._place("parameters"), self._place("constants")])

    def normalise(self, t: Operand, state: str) -> None:
        """Coordinates of closed loops corrected, and unit Euler parameters."""
        if self.program.normalises:
            self.generated("normalise", t, state, "constants", "memory")

    def update_metrics(self, t: Operand, slots: str = "slots") -> None:
        """The outputs shown to the metrics."""
        self.generated("update_metrics", t, "out", slots)

    # ------------------------------------------------------------ numbers and vectors

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
        """The module with this function, and the one with all that it calls, to be linked."""
        rest = lanes_module(self.program, self.lanes, self.near)
        if self.metrics:
            metrics_function(rest, self.metrics)
        symbol, power = power_text(self.lanes)
        rest.helpers[symbol] = power
        self.function.attributes = [rest.attributes]
        return str(self.module), rest.text()
