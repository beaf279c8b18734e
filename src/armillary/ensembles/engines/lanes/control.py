"""The control of steps on lanes: the functions of runtime/solver/step_control.py, written in line."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from armillary.ensembles.engines.lanes.frame import LaneFrame
from armillary.llvm.building.builder import Local, Span, Value
from armillary.runtime.loop.formulas import error_ratios, squares
from armillary.runtime.loop.solver_functions import SECTIONS
from armillary.runtime.solver.language.machine_code import SolverCode, Statements
from armillary.runtime.solver.language.translator import SolverFunction, called, read_solver

CONTROL = ("error_norm", "first_step", "is_too_short", "reaches", "try_shorter", "choose_next")
_GIVEN = {"error_ratios": error_ratios, "squares": lambda f, values: squares(f, Span(f, values.raw))}


class LaneControl:
    """The functions of the control of steps in a loop over lanes."""

    def __init__(self, frame: LaneFrame) -> None:
        tableau = frame.tableau
        control = vars(tableau.control) if tableau.control else {}
        facts = {"has_two_errors": len(tableau.errors) > 1}
        self.frame = frame
        self.code = SolverCode(
            None,
            read_solver(("ADAPTIVE",), (), CONTROL, facts=facts, given=_GIVEN, commented=False),
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
        frame: LaneFrame,
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
        self.lanes.put(self.where, field, self.as_real(value))

    def call(self, call: ast.Call) -> Value:
        name, given = called(call), self.given(call)
        if name in self.code.made:
            found: Value = self.code.made[name](self.lanes, *given)
            return found
        return _InLine(self.code, self.code.solver.functions[name], self.lanes, given, self.where).result
