"""The small language as LLVM code for runs on lanes, which computes both sides of a branch.

Functions of the solver are inlined into a function under construction that makes steps
(solver/llvm/functions.py). They set numbers of a run, and vectors that the loop keeps from step to step, only
on lanes on which a condition holds; other vectors are temporary and set on all lanes. A branch may end with a
return, after which the function goes on for the other lanes; results are returned at the end only. Whole
numbers and truth values of a run are reals. Assignments to numbers that a loop does not store are left out.
Numbers that are equal on all active lanes (`Stepper.shared`) are one scalar each, and so are locals computed
from them.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Mapping, Sequence

from armillary.llvm.building.builder import Local, Span, Value
from armillary.llvm.building.emitter import WHOLE, Block, is_vector
from armillary.program.sparse_rates import TABLES as SPARSE_TABLES
from armillary.solver.language.translator import MODEL, SolverFunction, called, read_fields, read_solver
from armillary.solver.llvm.functions import Stepper, squares
from armillary.solver.llvm.loop import SECTIONS, TABLES
from armillary.solver.llvm.machine_code import SolverCode, Statements
from armillary.solver.methods.tableau import Method

WrittenFunction = Callable[
    ..., Value | None
]  # arguments: function under construction, condition on lanes, arguments


def _squares(f: Stepper, where: Value | None, values: Value) -> Value:
    return squares(f, Span(f, values.raw))


def _both(a: Value | None, b: Value) -> Value:
    return b if a is None else a & b


class LaneSolver:
    """Functions of the solver with one method, for a loop over lanes.

    ``facts`` are decided fields of the run. ``kept`` are vectors that the loop keeps from step to step,
    ``sizes`` the lengths of vectors by kind, ``given`` functions that the loop writes in another way.
    """

    def __init__(
        self,
        frame: Stepper,
        method: Method,
        wanted: Collection[str],
        *,
        features: Collection[str] = (),
        facts: Mapping[str, bool] | None = None,
        kept: Collection[str] = (),
        sizes: Mapping[str, int] | None = None,
        given: Mapping[str, WrittenFunction] | None = None,
    ) -> None:
        tableau = method.coefficients
        control = vars(tableau.control) if tableau.control else {}
        decided = {
            "adaptive": method.adaptive,
            "dense": True,
            "end_enters_error": tableau.end_enters_error,
            "has_two_errors": len(tableau.errors) > 1,
            **(facts or {}),
        }
        features = {*features, "ADAPTIVE"} if method.adaptive else features
        own = {"squares": _squares, **(given or {})}
        self.frame, self.kept = frame, kept
        self.code = SolverCode(
            None,
            read_solver(features, (method,), tuple(wanted), facts=decided, given=own, commented=False),
            sizes={"N_STATES": frame.states, **(sizes or {})},
            known={"order": float(tableau.order), **control},
            tables={name.upper(): TABLES[name.upper()] for name in SPARSE_TABLES},
            model=SECTIONS,
            given=own,
        )
        self.code.kinds |= {f.name: f.type for f in read_fields()}

    def __call__(self, name: str, *arguments: Value, where: Value | None = None) -> Value:
        """Return the result of a function, if any; numbers of a run are set only where a condition holds."""
        return _InLine(self, self.code.solver.functions[name], arguments, where).result

    def evaluates(self, node: ast.AST) -> bool:
        """Return whether code calls a section of the program, directly or through other functions."""
        functions = self.code.solver.functions
        calls = {called(n) for n in ast.walk(node) if isinstance(n, ast.Call)}
        inner = [s for name in calls & functions.keys() for s in functions[name].body]
        return bool(calls & set(MODEL)) or any(self.evaluates(s) for s in inner)


class _InLine(Statements):
    """The statements of a function, with both sides of each branch computed."""

    def __init__(
        self, solver: LaneSolver, function: SolverFunction, arguments: Sequence[Value], where: Value | None
    ) -> None:
        super().__init__(solver.code, function, solver.frame, arguments)
        self.solver, self.lanes, self.where = solver, solver.frame, where  # None: on all lanes
        # The part of this condition that arises in this function: its locals matter on these lanes only.
        self.inner: Value | None = None
        self.result = self.lanes.real(0.0)  # for a function without a result
        self.end: Block | None = None  # where all lanes return at once
        self.counts = False  # whether an expression of indices is read
        self.statements(function.body)
        if self.end is not None:
            self.lanes.builder.branch(self.end)
            self.lanes.builder.block = self.end

    # ---------------------------------------------------------------- statements

    def statement(self, node: ast.stmt) -> None:
        match node:
            case ast.Return(value=ast.expr() as value):
                assert node is self.function.body[-1]
                self.result = self.value(value)
            case _:
                super().statement(node)

    def choice(self, node: ast.If) -> None:
        outside, inner, test = self.where, self.inner, self.value(node.test)
        ends = isinstance(node.body[-1], ast.Return)
        body = node.body[:-1] if ends else node.body
        if not is_vector(test.raw.type):
            self.choose_for_all(test, body, node.orelse, ends)
        elif ends and outside is not None and not node.orelse:
            # Lanes rarely return early. If none does, the others do not wait for the test.
            left = Local(self.lanes, outside)
            with self.lanes.when(self.lanes.any(outside & test)):
                self.branch(test, body)
                left.set(outside & ~test)
            self.where, self.inner = left.get(), inner
        else:
            self.branch(test, body)
            self.where, self.inner = outside, inner
            if node.orelse:
                self.branch(~test, node.orelse)
            self.where, self.inner = _both(outside, ~test) if ends else outside, inner

    def choose_for_all(
        self, test: Value, body: Sequence[ast.stmt], others: Sequence[ast.stmt], ends: bool
    ) -> None:
        """Write a branch on a condition that is the same on all lanes; it may end the function."""
        with self.lanes.when(test):
            self.statements(body)
            if ends:
                self.end = self.end or Block(self.lanes.function)
                self.lanes.builder.branch(self.end)
        if others:
            with self.lanes.when(~test):
                self.statements(others)

    def branch(self, test: Value, body: Sequence[ast.stmt]) -> None:
        """Write statements for lanes where a condition holds; sections are called if it holds on any lane."""
        self.where, self.inner = where, _ = _both(self.where, test), _both(self.inner, test)
        if any(self.solver.evaluates(node) for node in body):
            with self.lanes.when(self.lanes.any(where)):
                self.statements(body)
        else:
            self.statements(body)

    def declare(self, name: str, value: ast.expr) -> None:
        if self.kinds[name] == "whole":
            self.locals[name] = Local(self.lanes, self.whole(value))
            return
        found = self.value(value)
        # Lanes will later set a local that begins with a constant to different values.
        number = isinstance(value, ast.Constant) or ast.unparse(value) == "NAN"
        if self.kinds[name] != "truth" and (number or not self.lanes.shared):
            found = self.lanes.of_kind(self.lanes.kind, found)
        self.locals[name] = Local(self.lanes, found)

    def put(self, local: str, value: Value) -> None:
        if self.inner is not None:
            old = self.locals[local].get()
            if self.kinds[local] == "truth":
                value = (value & self.inner) | (old & ~self.inner)
            else:
                value = self.lanes.choose(self.inner, value, old)
        super().put(local, value)

    def assign(self, target: ast.expr, value: ast.expr) -> None:
        if called(value) == "normalise":
            assert isinstance(target, ast.Attribute) and isinstance(value, ast.Call)
            self.lanes.normalise_where(self.where, self.value(value.args[0]), target.attr)
            return
        kept = isinstance(target, ast.Attribute) and target.attr in self.solver.kept
        if kept and called(value) in MODEL:
            assert isinstance(target, ast.Attribute)
            super().assign(ast.Attribute(target.value, "point"), value)
            for m in self.lanes.each_state():
                self.set_element(target.attr, m, self.part("point")[m])
        else:
            super().assign(target, value)

    def store(self, field: str, value: Value) -> None:
        if not self.lanes.keeps(field):
            return
        kept = self.as_real(value)
        where = self.inner if field in self.lanes.shared else self.where
        if where is not None:
            kept = self.lanes.choose(where, kept, self.lanes[field])
        self.lanes[field] = kept

    def set_element(self, field: str, m: Value, value: Value) -> None:
        if field in self.solver.kept and self.where is not None:
            value = self.lanes.choose(self.where, value, self.part(field)[m])
        super().set_element(field, m, value)

    def call(self, call: ast.Call) -> Value:
        name, given = called(call), self.argument_values(call)
        if name in self.code.made:
            found: Value = self.code.made[name](self.lanes, self.where, *given)
            return found
        return _InLine(self.solver, self.code.solver.functions[name], given, self.where).result

    # ---------------------------------------------------------------- expressions

    def value(self, node: ast.expr) -> Value:
        match node:
            case ast.Constant(value=bool()):
                pass
            case ast.Constant(value=int() as number) if not self.counts:
                return self.lanes.real(float(number))
            case ast.Compare(left=left, ops=[op], comparators=[right]) if self.is_index(left):
                return self.operate(op, self.whole(left), self.whole(right))
        return super().value(node)

    def is_index(self, node: ast.expr) -> bool:
        """Return whether an expression is a whole number that all lanes share: it counts elements."""
        match node:
            case ast.Name(id=name):
                return self.kinds.get(name) in ("whole", "index")
            case ast.Subscript(value=ast.Name(id=name)):
                return name in self.code.tables
        return False

    def whole(self, node: ast.expr) -> Value:
        outside, self.counts = self.counts, True
        found = super().whole(node)
        self.counts = outside
        return found

    def as_real(self, value: Value) -> Value:
        return value if value.real else self.lanes.choose(value, 1.0, 0.0)

    def truth(self, value: bool) -> Value:
        return self.lanes.of_kind(self.lanes.kind, float(value)).differs(0.0)

    def read_name(self, name: str) -> Value:
        found = super().read_name(name)
        if found.raw.type == WHOLE and name not in self.locals and not self.counts:
            return self.lanes.real(float(found.raw.name))
        return found

    def entry(self, vector: Span, kind: str, index: Value) -> Value:
        return vector[index]

    def value_of(self, name: str, call: ast.Call) -> Value:
        if name == "float":
            return self.value(call.args[0])
        if name == "first_nonfinite":  # Lanes do not store this number.
            return self.lanes.real(0.0)
        return super().value_of(name, call)
