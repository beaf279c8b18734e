"""The solver for microcontrollers: one method of fixed step, loops with a bound, only what is used."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Sequence
from dataclasses import replace

from armillary.export.c.model import CModel
from armillary.export.c.solver import printed_solver
from armillary.export.c.solver_printer import CSolverPrinter
from armillary.export.text.source import Source
from armillary.runtime.integrators.records import Method
from armillary.runtime.solver.language.fields import Field
from armillary.runtime.solver.language.translator import Solver, solver_for
from armillary.runtime.solver.precision import in_single

# Doublings or halvings between the smallest and the largest number: more than a loop of the solver takes.
MOST_TURNS = {"single": 300, "double": 2150}


def solver_texts(model: CModel, method: Method, precision: str, loops: str) -> tuple[str, str]:
    """<name>_solver.h and <name>_solver.c; ``loops``: members of what is kept while loops are closed."""
    solver = bounded_solver(model.source, model.has, method, precision)
    return printed_solver(model, BoundedPrinter(solver, model.stem), [method], loops)


def bounded_solver(made: Source, has: Collection[str], method: Method, precision: str) -> Solver:
    """A solver of one method of fixed step, with its constants, in a precision."""
    wanted = ["settle", "advance", "start_run"]
    wanted += ["step_by_clock", "row_near_place"] if "clocked" in has else []
    facts = {"dense": "events" in has}  # events are located inside steps
    solver = solver_for(
        has, False, wanted, always_dense=False, methods=[method], facts=facts, guard=made.guard
    )
    solver = in_single(solver) if precision == "single" else solver
    numbers = dict(solver.constants)
    statements = (node for f in solver.functions.values() for part in f.body for node in ast.walk(part))
    if any(isinstance(node, ast.While) for node in statements):
        numbers["MOST_TURNS"] = max(MOST_TURNS[precision], len(made.program.stops) + 1)
    return replace(solver, constants=numbers)


class BoundedPrinter(CSolverPrinter):
    """Functions of C whose loops all count their turns."""

    heads = {  # noqa: RUF012
        **CSolverPrinter.heads,
        "while": "for (int pass = 0; pass < most_turns && ({}); pass++) {{",
        "loop": "for (int pass = 0; pass < most_turns; pass++) {{",
    }

    def fields(self) -> Sequence[Field]:
        return [f for f in self.solver.fields if re.search(rf"run->{f.name}\b", self.code)]
