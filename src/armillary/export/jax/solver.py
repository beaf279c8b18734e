"""The methods in JAX: one pure function per method, from its tableau."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from armillary.export.python.solver import PythonSolverPrinter
from armillary.runtime.solver.methods import exported_methods
from armillary.runtime.solver.translator import Function, read_solver


def solver_values() -> dict[str, str]:
    """What the template puts in: a function for a step of each method, and their names."""
    methods = exported_methods(adaptive=False)
    printer = JaxSolverPrinter(read_solver((), methods, [f"{m.name}_stages" for m in methods]))
    return {
        "methods": printer.text().rstrip("\n"),
        "method_names": ", ".join(f'"{m.name}": {m.name}' for m in methods),
    }


class JaxSolverPrinter(PythonSolverPrinter):
    """Functions of arrays."""

    def field(self, name: str) -> str:
        return name

    def vector(self, target: str, kind: str, value: ast.expr) -> list[str]:
        return self.lines(f"{target} = {self.expression(value)}")

    def model(self, name: str, targets: Sequence[str], arguments: Sequence[str]) -> list[str]:
        return self.lines(f"{targets[0]} = {name}({', '.join(arguments)}, constants, memory)")

    def function(self, function: Function) -> list[str]:
        name = function.name.removesuffix("_stages")
        about = function.about.partition(":")[0]
        return [
            f"def {name}(t: float, state: Vector, h: float, constants: Vector, memory: Vector) -> Vector:",
            f'    """One step: {about[0].lower()}{about[1:]}."""',
            "    k0 = derivatives(t, state, constants, memory)",
            *self.body(function),
            "    return trial",
        ]
