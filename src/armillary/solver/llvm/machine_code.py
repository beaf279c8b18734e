"""The small language as LLVM code: functions of the solver in the loop of this process.

A function of the solver becomes a function of (Control, workspace, *arguments). Scalars of the run are fields
of Control. Vectors are parts of the workspace, which stores whole numbers and truth values as reals. Vectors
are assigned element by element in a loop, in which LLVM may fuse products and sums; every other operation
rounds once.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import groupby
from math import inf, nan
from typing import Any, cast

from armillary.llvm.building.builder import Code, Local, Operand, Repeat, Span, Value
from armillary.llvm.building.emitter import ADDRESS, NOTHING, REAL, TRUTH, WHOLE, Block, constant
from armillary.llvm.building.routines import RecordModule
from armillary.solver.language import language
from armillary.solver.language.translator import (
    MODEL,
    VECTORS,
    Solver,
    SolverFunction,
    called,
)
from armillary.solver.llvm.functions import LoopFunction, Table
from armillary.solver.thresholds import EPSILON

_TYPES = {"real": REAL, "whole": WHOLE, "count": WHOLE, "index": WHOLE, "truth": TRUTH}
_ENUMERATED = {
    name: value
    for name, value in vars(language).items()
    if name.isupper() and isinstance(value, int) and not isinstance(value, bool)
}
_OPERATORS: dict[type, Callable[[Value, Value], Value]] = {
    ast.Add: Value.__add__, ast.Sub: Value.__sub__, ast.Mult: Value.__mul__, ast.Div: Value.__truediv__,
    ast.Lt: Value.__lt__, ast.LtE: Value.__le__, ast.Gt: Value.__gt__, ast.GtE: Value.__ge__,
    ast.Eq: Value.equals, ast.NotEq: Value.differs,
}  # fmt: skip
_NUMBERS = ("Wholes", "RowNumbers", "SpeedNumbers", "StateNumbers", "StepNumbers", "PathNumbers")
_FLAGS = ("Truths", "Locks", "PlaceFlags", "SpeedFlags", "OutputFlags", "StepFlags")
_INLINED = ("sign_of", "closeness", "find_events", "turn", "keep_row", "keep_row_inside", "advance")
_APART = ("probe",)  # never inlined, so that locating an event and its firing compute the same bits
# Derivatives that the caller computes just before it calls a function.
_JUST_COMPUTED = {"stages": "k0", "error_ratios": "k_end"}
_REPORTS = ("report", "report_change", "report_passage", "report_time")
_REALS = {"INFINITY": inf, "NAN": nan, "EPSILON": EPSILON}

Frame = Any  # a function of a loop or of another record; models and tables are made for one of these
Model = Callable[[Frame, Sequence[Span], Sequence[Value | Span]], None]


class SolverCode:
    """Functions of a solver in one loop, each made when it is first called.

    ``sizes`` has the lengths of vectors by kind and other whole numbers by name, each as a number or as the
    name of a size of the loop. ``known`` are fields of the run that are constants. ``tables`` are functions
    that read entries of constant vectors, and ``model`` has functions that call the program's sections.
    ``given`` are functions that the loop has already written, and ``rare`` are functions that LLVM should
    optimise little. Without a ``program`` no function is written; the caller writes statements in line.
    """

    def __init__(
        self,
        program: RecordModule | None,
        solver: Solver,
        *,
        sizes: Mapping[str, int | str],
        known: Mapping[str, float],
        tables: Mapping[str, Table],
        model: Mapping[str, Model],
        given: Mapping[str, Frame],
        rare: Collection[str] = (),
    ) -> None:
        self.program, self.solver, self.sizes, self.known = program, solver, sizes, known
        self.tables, self.model, self.rare = tables, model, rare
        self.kinds = {f.name: f.type for f in solver.fields}
        self.kinds["atol"] = "States"  # in the process each state has its own tolerance
        self.kinds["row"] = "Outputs"  # the next row in the array of rows, not a copy in the record
        self.made: dict[str, Frame] = dict(given)

    def function(self, name: str) -> Frame:
        """Return the function of this name, written on first request."""
        if name not in self.made:
            self.made[name] = self._write(self.solver.functions[name])
        return self.made[name]

    def _write(self, function: SolverFunction) -> Frame:
        assert self.program is not None
        arguments = tuple(_TYPES.get(kind, ADDRESS) for kind in function.arguments.values())
        result = _TYPES[function.result] if function.result else NOTHING
        # Functions that this one calls are written first: the text of a function is not interrupted.
        for name in function.calls:
            if name in self.solver.functions:
                self.function(name)
        f = self.program.function(function.name, result, arguments, rare=function.name in self.rare)
        if function.name in _INLINED:
            f.function.attributes.append("alwaysinline")
        if function.name in _APART:
            f.function.attributes.append("noinline")
        given = [f.argument(place) for place in range(2, 2 + len(arguments))]
        Statements(self, function, f, given).statements(function.body)
        if not f.builder.block.ended:
            f.give() if result == NOTHING else f.builder.unreachable()
        return f


class Statements:
    """The statements of one function, with its arguments."""

    def __init__(
        self, code: SolverCode, function: SolverFunction, frame: Code, arguments: Sequence[Value]
    ) -> None:
        self.code, self.function = code, function
        self.frame = f = cast("LoopFunction", frame)  # other frames have no vectors of states
        self.locals: dict[str, Local] = {}
        self.vectors: dict[str, Span] = {}
        self.kinds = {**function.locals, **function.arguments}
        for (name, kind), value in zip(function.arguments.items(), arguments, strict=True):
            if kind in VECTORS:
                self.vectors[name] = Span(f, value.raw)
            else:
                self.locals[name] = Local(f, value)
        self.loops: list[tuple[Block, Block]] = []  # targets of `continue` and `break`
        self.element: Value | None = None
        self.numbers: dict[str, Value] = {}  # scalars of the run, in a loop over states
        self.fresh = _JUST_COMPUTED.get(function.name, "")  # the last computed vector of derivatives

    # ---------------------------------------------------------------- statements

    def statements(self, nodes: Sequence[ast.stmt]) -> None:
        for over_states, group in groupby(nodes, self.is_over_states):
            if over_states:
                self.each_state(list(group))
            else:
                for node in group:
                    self.statement(node)

    def is_over_states(self, node: ast.stmt) -> bool:
        """Return whether a statement assigns a vector of states; consecutive ones share a loop."""
        match node:
            case ast.Assign(targets=[ast.Attribute(attr=field)], value=value):
                return self.code.kinds[field] == "States" and called(value) not in MODEL
        return False

    def statement(self, node: ast.stmt) -> None:
        f = self.frame
        match node:
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                self.declare(name, value)
            case ast.Assign(targets=[target], value=value):
                self.assign(target, value)
            case ast.Expr(value=ast.Call() as call) if called(call) in _REPORTS:
                self.code.model[called(call)](f, [], [self.whole(a) for a in call.args[1:]])
            case ast.Expr(value=ast.Call() as call):
                self.call(call)
            case ast.If():
                self.choice(node)
            case ast.While():
                with f.repeat() as loop:
                    self.leave_unless(node.test, loop)
                    self.write_loop_body(node.body, (loop.head, loop.exit))
            case ast.For(target=ast.Name(id=name), iter=ast.Call(args=[*first, count])):
                start = self.whole(first[0]) if first else f.whole(0)
                self.write_counted_loop(name, start, self.whole(count), node.body)
            case ast.Return(value=value):
                f.give(None if value is None else self.value(value))
            case ast.Break():
                f.builder.branch(self.loops[-1][1])
            case ast.Continue():
                f.builder.branch(self.loops[-1][0])
            case _:
                raise TypeError(f"the solver's language has no statement '{ast.unparse(node)}'")

    def leave_unless(self, test: ast.expr, loop: Repeat) -> None:
        if not isinstance(test, ast.Constant):
            with self.frame.when(~self.value(test)):
                loop.leave()

    def write_loop_body(self, body: Sequence[ast.stmt], ends: tuple[Block, Block]) -> None:
        """Write the body of a loop. Code after a jump goes to a separate, unreachable block."""
        self.loops.append(ends)
        self.statements(body)
        self.loops.pop()
        if self.frame.builder.block.ended:
            self.frame.builder.block = Block(self.frame.function)

    def write_counted_loop(self, name: str, first: Value, count: Value, body: Sequence[ast.stmt]) -> None:
        f = self.frame
        index = self.locals[name] = Local(f, first)
        with f.repeat() as loop:
            with f.when(index.get() >= count):
                loop.leave()
            following = Block(f.function)
            self.write_loop_body(body, (following, loop.exit))
            f.builder.branch(following)
            f.builder.block = following
            index.set(index.get() + 1)

    def choice(self, node: ast.If) -> None:
        condition = self.value(node.test)
        with self.frame.when(condition):
            self.statements(node.body)
        if node.orelse:
            with self.frame.when(~condition):
                self.statements(node.orelse)

    def declare(self, name: str, value: ast.expr) -> None:
        kind = _TYPES[self.kinds[name]]
        found = self.value(value)
        if name in self.locals:
            self.put(name, found)
        else:
            assert found.raw.type == kind, (name, found.raw)
            self.locals[name] = Local(self.frame, found)

    def put(self, local: str, value: Value) -> None:
        self.locals[local].set(value)

    def assign(self, target: ast.expr, value: ast.expr) -> None:
        targets = target.elts if isinstance(target, ast.Tuple) else [target]
        name = called(value)
        if name in MODEL:
            assert isinstance(value, ast.Call)
            places = [self.vector(t) for t in targets]
            self.code.model[name](self.frame, places, [self.argument(a) for a in value.args])
            if name == "derivatives" and isinstance(target, ast.Attribute):
                self.fresh = target.attr
            return
        match target:
            case ast.Attribute(attr=field) if self.code.kinds[field] in VECTORS:
                self.each(field, value)
            case ast.Attribute(attr=field):
                self.store(field, self.value(value))
            case ast.Subscript(value=ast.Attribute(attr=field), slice=index):
                self.set_element(field, self.whole(index), self.as_real(self.value(value)))
            case ast.Name(id=local):
                self.put(local, self.value(value))

    def each(self, field: str, value: ast.expr) -> None:
        """Assign a vector element by element."""
        with self.frame.each(self.size(self.code.kinds[field])) as m:
            self.element = m
            self.set_element(field, m, self.as_real(self.value(value)))
            self.element = None

    def each_state(self, nodes: Sequence[ast.stmt]) -> None:
        """Write consecutive assignments of vectors in one loop over states. Scalars of the run are loaded
        before the loop: LLVM cannot prove them constant if they share memory with the vectors.
        """
        for inner in (n for node in nodes for n in ast.walk(node)):
            if isinstance(inner, ast.Attribute) and self.code.kinds[inner.attr] not in VECTORS:
                self.numbers[inner.attr] = self.field(inner.attr)
        for m in self.frame.each_state():
            for node in nodes:
                assert isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Attribute)
                self.element = m
                self.set_element(node.targets[0].attr, m, self.as_real(self.value(node.value)))
                self.element = None
        self.numbers.clear()

    def set_element(self, field: str, m: Value, value: Value) -> None:
        self.part(field)[m] = value

    def store(self, field: str, value: Value) -> None:
        """Store a scalar of the run; a truth value becomes a whole number."""
        if value.raw.type == TRUTH:
            value = Value(self.frame, self.frame.builder.convert("zext", value.raw, WHOLE))
        self.frame[field] = value

    def call(self, call: ast.Call) -> Value:
        return self.frame.internal(self.code.function(called(call)), *self.argument_values(call))

    def argument_values(self, call: ast.Call) -> list[Value]:
        """Return the values of a call's arguments, without the run; for vectors, their addresses."""
        found = [self.argument(a) for a in call.args if not (isinstance(a, ast.Name) and a.id == "run")]
        return [Value(self.frame, a.address) if isinstance(a, Span) else a for a in found]

    # ---------------------------------------------------------------- expressions

    def argument(self, node: ast.expr) -> Value | Span:
        match node:
            case ast.Attribute(attr=name) if self.code.kinds[name] in VECTORS:
                return self.part(name)
            case ast.Name(id=name) if name in self.vectors:
                return self.vectors[name]
        return self.value(node)

    def part(self, field: str) -> Span:
        """Return a vector of the run."""
        return self.frame.vector(field)

    def vector(self, node: ast.expr) -> Span:
        found = self.argument(node)
        assert isinstance(found, Span), ast.unparse(node)
        return found

    def as_real(self, value: Value) -> Value:
        if value.real:
            return value
        operation = "uitofp" if value.raw.type == TRUTH else "sitofp"
        return Value(self.frame, self.frame.builder.convert(operation, value.raw, REAL))

    def whole(self, node: ast.expr) -> Value:
        found = self.value(node)
        assert found.raw.type == WHOLE, ast.unparse(node)
        return found

    def value(self, node: ast.expr) -> Value:
        f = self.frame
        match node:
            case ast.Constant(value=bool() as number):
                return self.truth(number)
            case ast.Constant(value=int() as number):
                return f.whole(number)
            case ast.Constant(value=float() as number):
                return f.real(number)
            case ast.Name(id=name):
                return self.read_name(name)
            case ast.Attribute(attr=name):
                return self.field(name)
            case ast.Subscript(value=ast.Attribute(attr=name), slice=index):
                return self.entry(self.part(name), self.code.kinds[name], self.whole(index))
            case ast.Subscript(value=ast.Name(id=name), slice=index) if name in self.vectors:
                return self.entry(self.vectors[name], self.kinds[name], self.whole(index))
            case ast.Subscript(value=ast.Name(id=name), slice=index):
                return self.code.tables[name](f, self.whole(index))
            case ast.UnaryOp(op=ast.USub(), operand=inner):
                if isinstance(inner, ast.Constant) and isinstance(inner.value, float):
                    return f.real(-inner.value)
                found = self.value(inner)
                return 0 - found if found.raw.type == WHOLE else self.negative(found)
            case ast.UnaryOp(op=ast.Not(), operand=inner):
                return ~self.value(inner)
            case ast.BinOp(ast.Constant(float() as above), ast.Div(), ast.Constant(float() as below)):
                return f.real(above / below)
            case ast.BinOp(left=left, op=op, right=right):
                return self.operate(op, self.value(left), self.value(right))
            case ast.BoolOp(op=op, values=values):
                first, *others = [self.value(v) for v in values]
                for other in others:
                    first = first & other if isinstance(op, ast.And) else first | other
                return first
            case ast.Compare(left=left, ops=[op], comparators=[right]):
                return self.operate(op, self.value(left), self.value(right))
            case ast.IfExp(test=test, body=yes, orelse=no):
                a, b = self.value(yes), self.value(no)
                return Value(f, f.builder.select(self.value(test).raw, a.raw, b.raw))
            case ast.Call():
                return self.value_of(called(node), node)
        raise TypeError(f"the solver's language has no expression '{ast.unparse(node)}'")

    def truth(self, value: bool) -> Value:
        return self.frame.whole(int(value)).differs(0)

    def negative(self, value: Value) -> Value:
        """Return −x; a zero changes its sign, too."""
        return -0.0 - value

    def read_name(self, name: str) -> Value:
        f = self.frame
        if name in self.locals:
            return self.locals[name].get()
        if name in self.code.sizes:
            return self.size(name)
        if name == "N_CONFIGURATIONS":
            return f["configurations"]
        if name in _REALS:
            return f.real(_REALS[name])
        if name in self.code.solver.constants:
            number = self.code.solver.constants[name]
            return f.whole(number) if isinstance(number, int) else f.real(number)
        return f.whole(_ENUMERATED[name])

    def size(self, name: str) -> Value:
        """Return a size: a constant, or a size of the run."""
        size = self.code.sizes[name]
        return self.frame.size(size) if isinstance(size, str) else self.frame.whole(size)

    def field(self, name: str) -> Value:
        if name in self.numbers:
            return self.numbers[name]
        if name in self.code.known:
            return self.frame.real(self.code.known[name])
        kind = self.code.kinds[name]
        if kind in VECTORS:
            assert self.element is not None, (
                f"the vector '{name}' can be used without an index only in a vector assignment"
            )
            if name == self.fresh:
                return self.frame.rates(name, self.element)
            return self.entry(self.part(name), kind, self.element)
        found = self.frame[name]
        return found.differs(0) if kind == "truth" else found

    def entry(self, vector: Span, kind: str, index: Value) -> Value:
        found = vector[index]
        if kind in _NUMBERS:
            return found.to_whole()
        return found.differs(0.0) if kind in _FLAGS else found

    def stored_as_real(self, node: ast.expr) -> Value | None:
        """Return an entry of a vector of whole numbers as the workspace has it, a real."""
        match node:
            case ast.Subscript(value=ast.Attribute(attr=name), slice=index):
                return self.part(name)[self.whole(index)] if self.code.kinds[name] in _NUMBERS else None
        return None

    def operate(self, op: ast.operator | ast.cmpop, a: Value, b: Value) -> Value:
        if type(op) not in _OPERATORS:
            raise TypeError(f"the solver's language has no operator {op!r}")
        return _OPERATORS[type(op)](a, b)

    def value_of(self, name: str, call: ast.Call) -> Value:
        f = self.frame
        if name in self.code.solver.functions or name in self.code.made:
            return self.call(call)
        if name == "float" and (stored := self.stored_as_real(call.args[0])) is not None:
            return stored
        if name == "is_finite":
            return is_finite(f, self.vector(call.args[0]))
        if name == "first_nonfinite":
            return first_nonfinite(f, self.vector(call.args[0]))
        values: list[Operand] = [self.value(a) for a in call.args]
        match name, values:
            case "abs", [Value() as x]:
                return f.magnitude(x)
            case "sqrt", [Value() as x]:
                return f.root(x)
            case "floor", [Value() as x]:
                return f.intrinsic("floor", x)
            case "float", [Value() as x]:
                return x.to_real()
            case "isnan", [Value() as x]:
                return x.differs(x)
            case "min", [a, b]:
                return f.least(a, b)
            case "max", [a, b]:
                return f.most(a, b)
            case "power", [a, Value() as b]:
                return f.real(1.0) if b.raw == constant(REAL, 0.0) else f.power(a, b)
            case "differs", [Value() as a, b]:
                return a.differs(b)
            case "agree", [Value() as a, b]:
                return a.equals(b)
            case "at", [Value() as a, b, c]:
                return a * b + c
            case "below", [Value() as a, b]:
                return a < b
        raise TypeError(f"the solver's language has no function '{name}'")


def is_finite(f: LoopFunction, vector: Span) -> Value:
    return f.total_of_states(lambda m: 0.0 * vector[m]).equals(0.0)


def first_nonfinite(f: LoopFunction, vector: Span) -> Value:
    """Return the index of the first number that is not finite; the last index if all are finite."""
    index = Local(f, f.whole(0))
    with f.repeat() as loop:
        with f.when((0.0 * vector[index.get()]).differs(0.0) | (index.get() + 1 >= f.size("used"))):
            loop.leave()
        index.set(index.get() + 1)
    return index.get()
