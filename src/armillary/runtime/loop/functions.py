"""Functions of a loop under construction, with their view of a run: fields, vectors, and the generated code.

Every function here takes the addresses of a run's `Control` and workspace first. In their code

    f["t"]              is a field of Control, read or written
    f.vector("state")   a vector in the workspace
    f.derivatives(…)    a call of the generated function
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from armillary.llvm.builder import ADDRESS, NOTHING, REAL, WHOLE, Operand, Value, Vector
from armillary.runtime.loop.formulas import Stepper
from armillary.runtime.loop.layout import ADDRESSES, FIELDS, FUNCTIONS, REALS, LoopShape
from armillary.runtime.loop.tableau import Tableau

_ORDINARY = (REAL, ADDRESS, ADDRESS, ADDRESS, ADDRESS)  # t, state, constants, memory, result
SIGNATURES = {name: ir.FunctionType(NOTHING, _ORDINARY) for name in FUNCTIONS} | {
    "fire": ir.FunctionType(NOTHING, (WHOLE, *_ORDINARY, ADDRESS)),
    "normalise": ir.FunctionType(NOTHING, (REAL, ADDRESS, ADDRESS, ADDRESS)),
}


class _Callee:
    """An address called as a function of a known type; llvmlite itself only calls typed pointers."""

    def __init__(self, address: Any, function_type: ir.FunctionType) -> None:
        self.type = ADDRESS
        self.function_type = function_type
        self.get_reference = address.get_reference


class LoopModule:
    """The module of one loop: its shape, its workspace and its functions.

    `linked` calls the generated functions by name, to be linked in, instead of by the addresses in Control.
    """

    def __init__(self, shape: LoopShape, linked: bool = False) -> None:
        self.shape = shape
        self.linked = linked
        self.offsets, self.length = shape.layout()
        self.module = ir.Module("loop")

    def function(
        self, name: str, result: Any = NOTHING, arguments: tuple[Any, ...] = (), *, rare: bool = False
    ) -> LoopFunction:
        """A new internal function of (Control, workspace, *arguments); `rare` ones are kept small."""
        kind = ir.FunctionType(result, (ADDRESS, ADDRESS, *arguments))
        function = ir.Function(self.module, kind, f"armillary_{name}")
        function.linkage = "internal"
        function.attributes.add("nounwind")
        for attribute in ("cold", "noinline", "optsize") if rare else ():
            function.attributes.add(attribute)
        for address in function.args[:2]:
            address.add_attribute("noalias")
        return LoopFunction(self, function)

    def external(self, name: str) -> ir.Function:
        found = self.module.globals.get(name)
        return found or ir.Function(self.module, SIGNATURES[name], name)


class LoopFunction(Stepper):
    """One function of a loop under construction."""

    def __init__(self, program: LoopModule, function: ir.Function) -> None:
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

    def __getitem__(self, field: str) -> Value:
        kind = REAL if field in REALS else ADDRESS if field in ADDRESSES else WHOLE
        return Value(self, self.builder.load(self._place(field), typ=kind))

    def __setitem__(self, field: str, value: Operand) -> None:
        kind = REAL if field in REALS else WHOLE
        raw = value.raw if isinstance(value, Value) else ir.Constant(kind, value)
        self.builder.store(raw, self._place(field))

    def _place(self, field: str) -> Any:
        place = self.whole(FIELDS[field]).raw
        return self.builder.gep(self.control, [place], inbounds=True, source_etype=WHOLE)

    def vector(self, name: str) -> Vector:
        offset = self.whole(self.program.offsets[name]).raw
        return Vector(self, self.builder.gep(self.workspace, [offset], inbounds=True, source_etype=REAL))

    def outside(self, field: str) -> Vector:
        """A vector that lives outside the workspace, found through its address in Control."""
        return Vector(self, self[field].raw)

    def internal(self, frame: LoopFunction, *arguments: Value) -> Value:
        """A call of another function of this loop."""
        raw = [self.control, self.workspace, *(argument.raw for argument in arguments)]
        return Value(self, self.builder.call(frame.function, raw))

    # The generated code

    def _generated(self, name: str, *arguments: Any) -> None:
        address = self.program.external(name) if self.program.linked else self[name].raw
        callee = address if self.program.linked else _Callee(address, SIGNATURES[name])
        self.builder.call(callee, arguments)

    def _ordinary(self, name: str, t: Value, state: Vector, memory: str, result: Any) -> None:
        memory_address = self.vector(memory).address
        self._generated(name, t.raw, state.address, self["constants"].raw, memory_address, result)

    def derivatives(self, t: Value, state: Vector, result: Vector) -> None:
        self._ordinary("derivatives", t, state, "memory", result.address)
        self["evaluations"] = self["evaluations"] + 1

    def outputs(self, t: Value, state: Vector, memory: str, result: Any) -> None:
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
