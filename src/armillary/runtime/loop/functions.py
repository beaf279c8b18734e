"""Functions of a loop under construction, with their view of a run: fields, vectors, and the generated code.

Every function here takes the addresses of a run's `Control` and workspace first. In their code

    f["t"]              is a field of Control, read or written
    f.vector("state")   a vector in the workspace
    f.derivatives(…)    a call of the generated function
"""

from __future__ import annotations

from armillary.llvm.assembly import (
    ADDRESS,
    NOTHING,
    REAL,
    WHOLE,
    Callee,
    Function,
    FunctionType,
    Module,
    Raw,
    constant,
)
from armillary.llvm.builder import Operand, Value, Vector
from armillary.runtime.loop.formulas import Stepper
from armillary.runtime.loop.layout import ADDRESSES, FIELDS, FUNCTIONS, REALS, SECTIONS, LoopShape
from armillary.runtime.loop.tableau import Tableau

_ORDINARY = (REAL, ADDRESS, ADDRESS, ADDRESS, ADDRESS)  # t, state, constants, memory, result
SIGNATURES = {name: FunctionType(NOTHING, _ORDINARY) for name in FUNCTIONS} | {
    "fire": FunctionType(NOTHING, (WHOLE, *_ORDINARY, ADDRESS)),
    "normalise": FunctionType(NOTHING, (REAL, ADDRESS, ADDRESS, ADDRESS)),
}


class LoopModule:
    """The module of one loop: its shape, its workspace and its functions.

    `linked` calls the generated functions by name, to be linked in, instead of by the addresses in Control.
    """

    def __init__(self, shape: LoopShape, linked: bool = False) -> None:
        self.shape = shape
        self.linked = linked
        self.offsets, self.length = shape.layout()
        self.module = Module()

    def function(
        self, name: str, result: str = NOTHING, arguments: tuple[str, ...] = (), *, rare: bool = False
    ) -> LoopFunction:
        """A new internal function of (Control, workspace, *arguments); `rare` ones are kept small."""
        kind = FunctionType(result, (ADDRESS, ADDRESS, *arguments))
        function = Function(self.module, kind, f"armillary_{name}")
        function.linkage = "internal"
        function.attributes = ["nounwind", *(("cold", "noinline", "optsize") if rare else ())]
        function.argument_attributes = {0: "noalias", 1: "noalias"}
        return LoopFunction(self, function)


class LoopFunction(Stepper):
    """One function of a loop under construction."""

    def __init__(self, program: LoopModule, function: Function) -> None:
        super().__init__(function)
        self.program = program
        self.shape = program.shape
        self.control, self.workspace = function.args[:2]

    @property
    def states(self) -> int:
        return self.shape.states

    @property
    def tableau(self) -> Tableau:
        return self.shape.tableau

    def mean(self, total: Value) -> Value:
        return total / self["used"].to_real() if self.shape.changes else super().mean(total)

    def __getitem__(self, field: str) -> Value:
        kind = REAL if field in REALS else ADDRESS if field in ADDRESSES else WHOLE
        return Value(self, self.builder.load(self._place(field), kind))

    def __setitem__(self, field: str, value: Operand) -> None:
        kind = REAL if field in REALS else WHOLE
        raw = value.raw if isinstance(value, Value) else constant(kind, value)
        self.builder.store(raw, self._place(field))

    def _place(self, field: str) -> Raw:
        return self.builder.place(self.control, constant(WHOLE, FIELDS[field]), WHOLE)

    def vector(self, name: str) -> Vector:
        offset = constant(WHOLE, self.program.offsets[name])
        return Vector(self, self.builder.place(self.workspace, offset, REAL))

    def outside(self, field: str) -> Vector:
        """A vector that lives outside the workspace, found through its address in Control."""
        return Vector(self, self[field].raw)

    def internal(self, frame: LoopFunction, *arguments: Value) -> Value:
        """A call of another function of this loop."""
        raw = [self.control, self.workspace, *(argument.raw for argument in arguments)]
        return Value(self, self.builder.call(frame.function.callee, raw))

    # The generated code

    def _generated(self, name: str, *arguments: Raw) -> None:
        kind = SIGNATURES[name]
        if self.program.linked:
            callee = self.program.module.declared(name, kind).callee
        else:
            callee = Callee(kind, self[name].raw.name)
        self.builder.call(callee, arguments)

    def _ordinary(self, name: str, t: Value, state: Vector, memory: str, result: Raw) -> None:
        memory_address = self.vector(memory).address
        self._generated(name, t.raw, state.address, self["constants"].raw, memory_address, result)

    def derivatives(self, t: Value, state: Vector, result: Vector) -> None:
        self._ordinary("derivatives", t, state, "memory", result.address)
        self["evaluations"] = self["evaluations"] + 1

    def outputs(self, t: Value, state: Vector, memory: str, result: Raw) -> None:
        self._ordinary("outputs", t, state, memory, result)

    def events(self, t: Value, state: Vector) -> None:
        """The event functions at a point, into the vector g."""
        self._ordinary("events", t, state, "memory", self.vector("g").address)

    def update(self, t: Value, state: Vector) -> None:
        self._ordinary("update", t, state, "memory", self.vector("new_memory").address)

    def fire(self, event: Value, t: Value, state: Vector, new_state: Vector) -> None:
        memory, new_memory = self.vector("memory").address, self.vector("new_memory").address
        constants = self["constants"].raw
        self._generated(
            "fire", event.raw, t.raw, state.address, constants, memory, new_memory, new_state.address
        )

    def solve(self, t: Value, work: Vector, answer: Vector) -> None:
        """Accelerations and multipliers of redundant coordinates."""
        self._ordinary("solve", t, work, "memory", answer.address)
        self["evaluations"] = self["evaluations"] + 1

    def residuals(self, t: Value, work: Vector, gaps: Vector) -> None:
        """Positions, then speeds, of all constraints on redundant coordinates."""
        self._ordinary("residuals", t, work, "memory", gaps.address)

    def normalise(self, t: Value, state: Vector) -> None:
        """The state back to where its constraints hold: unit Euler parameters, closed loops."""
        if self.shape.normalise:
            memory = self.vector("memory").address
            self._generated("normalise", t.raw, state.address, self["constants"].raw, memory)

    def of_configuration(self, name: str, c: Value, t: Value, given: Vector, result: Vector) -> None:
        """A section of the changes of a configuration."""
        table, first = self.outside("sections"), c * len(SECTIONS)
        own = "constants" if name == "geometry" else "change_constants"
        function, constants = (
            self.builder.load(table.at(first + SECTIONS.index(part)), ADDRESS) for part in (name, own)
        )
        memory = self.vector("memory").address
        arguments = (t.raw, given.address, constants, memory, result.address)
        self.builder.call(Callee(FunctionType(NOTHING, _ORDINARY), function.name), arguments)
