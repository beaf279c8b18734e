"""The small language in line, over runs on lanes: both sides of a choice are computed.

A function of the solver has its statements written where it is called, in any function under construction
that makes steps (runtime/loop/stepper.py). It sets numbers of a run only in lanes where a condition holds;
vectors are set in all lanes. So such a function has one return, at the end, and assigns no vector in a
choice.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Sequence

from armillary.llvm.building.builder import Local, Span, Value
from armillary.runtime.integrators.records import Method
from armillary.runtime.loop.solver_functions import SECTIONS
from armillary.runtime.loop.stepper import Stepper, squares
from armillary.runtime.solver.language.machine_code import SolverCode, Statements
from armillary.runtime.solver.language.translator import SolverFunction, called, read_solver

_GIVEN = {"squares": lambda f, values: squares(f, Span(f, values.raw))}


class LaneSolver:
    """Functions of the solver with one method, for a loop over lanes."""

    def __init__(self, frame: Stepper, method: Method, wanted: Collection[str]) -> None:
        tableau = method.tableau
        assert tableau is not None
        control = vars(tableau.control) if tableau.control else {}
        facts = {
            "adaptive": method.adaptive,
            "end_enters_error": tableau.end_enters_error,
            "has_two_errors": len(tableau.errors) > 1,
        }
        features = ("ADAPTIVE",) if method.adaptive else ()
        self.frame = frame
        self.code = SolverCode(
            None,
            read_solver(features, (method,), tuple(wanted), facts=facts, given=_GIVEN, commented=False),
            sizes={"N_STATES": frame.states},
            known={"order": float(tableau.order), **control},
            tables={},
            model=SECTIONS,
            given=_GIVEN,
        )

    def __call__(self, name: str, *arguments: Value, where: Value | None = None) -> Value:
        """What a function gives, if anything; it sets numbers of a run in lanes where a condition holds."""
        return _InLine(self.code, self.code.solver.functions[name], self.frame, arguments, where).result


class _InLine(Statements):
    """The statements of a function, of which both sides of a choice are computed."""

    def __init__(
        self,
        code: SolverCode,
        function: SolverFunction,
        frame: Stepper,
        arguments: Sequence[Value],
        where: Value | None,
    ) -> None:
        super().__init__(code, function, frame, arguments)
        self.lanes, self.where = frame, where  # None: in all
        self.result = frame.real(0.0)  # of a function that gives nothing
        self.statements(function.body)

    def statement(self, node: ast.stmt) -> None:
        match node:
            case ast.Return(value=ast.expr() as value):
                assert node is self.function.body[-1]
                self.result = self.value(value)
            case _:
                super().statement(node)

    def choice(self, node: ast.If) -> None:
        outside, test = self.where, self.value(node.test)
        self.where = test if outside is None else outside & test
        self.statements(node.body)
        assert not node.orelse
        self.where = outside

    def declare(self, name: str, value: ast.expr) -> None:
        self.locals[name] = Local(self.lanes, self.lanes.of_kind(self.lanes.kind, self.value(value)))

    def put(self, local: str, value: Value) -> None:
        if self.where is not None:
            value = self.lanes.choose(self.where, value, self.locals[local].get())
        super().put(local, value)

    def store(self, field: str, value: Value) -> None:
        assert self.where is not None
        kept = self.lanes.choose(self.where, self.as_real(value), self.lanes[field])
        self.lanes.vector(field)[0] = kept

    def call(self, call: ast.Call) -> Value:
        name, given = called(call), self.given(call)
        if name in self.code.made:
            found: Value = self.code.made[name](self.lanes, *given)
            return found
        return _InLine(self.code, self.code.solver.functions[name], self.lanes, given, self.where).result
