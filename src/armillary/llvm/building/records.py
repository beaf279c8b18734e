"""Functions over a record of scalars and a workspace of reals, both of which their caller owns.

Every function takes the addresses of the record and of the workspace first. In their code

    f["t"]              is a scalar of the record, read or written
    f.vector("state")   a vector in the workspace
    f.outside("rows")   a vector elsewhere, by its address in the record
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from armillary.llvm.building.assembly import (
    ADDRESS,
    NOTHING,
    REAL,
    WHOLE,
    Function,
    FunctionType,
    IRModule,
    Raw,
    constant,
)
from armillary.llvm.building.builder import Code, Operand, Span, Value


class RecordModule:
    """The module of functions over one record, whose fields take eight bytes each, in order.

    ``offsets`` say after how many reals of the workspace vectors begin; None: fields of their names do.
    """

    def __init__(
        self,
        fields: Mapping[str, int],
        reals: Collection[str],
        addresses: Collection[str],
        offsets: Mapping[str, int] | None = None,
    ) -> None:
        self.fields, self.reals, self.addresses, self.offsets = fields, reals, addresses, offsets
        self.module = IRModule()

    def written(self, name: str, result: str, arguments: tuple[str, ...], rare: bool) -> Function:
        """A new internal function of (record, workspace, *arguments); `rare` ones are kept small."""
        kind = FunctionType(result, (ADDRESS, ADDRESS, *arguments))
        function = Function(self.module, kind, f"armillary_{name}")
        function.linkage = "internal"
        function.attributes = ["nounwind", *(("cold", "noinline", "optsize") if rare else ())]
        function.argument_attributes = {0: "noalias", 1: "noalias"}
        return function

    def function(
        self, name: str, result: str = NOTHING, arguments: tuple[str, ...] = (), *, rare: bool = False
    ) -> RecordFunction:
        """A new internal function, under construction."""
        return RecordFunction(self, self.written(name, result, arguments, rare))


class RecordFunction(Code):
    """One function under construction."""

    def __init__(self, program: RecordModule, function: Function) -> None:
        super().__init__(function)
        self.program: Any = program  # functions of a subclass read what their module has
        self.control, self.workspace = function.args[:2]

    def __getitem__(self, field: str) -> Value:
        program = self.program
        kind = REAL if field in program.reals else ADDRESS if field in program.addresses else WHOLE
        return Value(self, self.builder.load(self._place(field), kind))

    def __setitem__(self, field: str, value: Operand) -> None:
        kind = REAL if field in self.program.reals else WHOLE
        raw = value.raw if isinstance(value, Value) else constant(kind, value)
        self.builder.store(raw, self._place(field))

    def _place(self, field: str) -> Raw:
        return self.builder.place(self.control, constant(WHOLE, self.program.fields[field]), WHOLE)

    def size(self, name: str) -> Value:
        """A whole number that is the same throughout a run."""
        return self[name]

    def vector(self, name: str) -> Span:
        offsets = self.program.offsets
        offset = self[name].raw if offsets is None else constant(WHOLE, offsets[name])
        return Span(self, self.builder.place(self.workspace, offset, REAL))

    def outside(self, field: str) -> Span:
        """A vector that lives outside the workspace, found through its address in the record."""
        return Span(self, self[field].raw)

    def internal(self, frame: RecordFunction, *arguments: Value) -> Value:
        """A call of another function over this record."""
        raw = [self.control, self.workspace, *(argument.raw for argument in arguments)]
        return Value(self, self.builder.call(frame.function.callee, raw))
