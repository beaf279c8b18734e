"""The methods in JAX: one pure function per method, from its tableau."""

from __future__ import annotations

import ast
from collections.abc import Collection, Sequence

from armillary.export.jax.flow import GIVEN, FlowPrinter
from armillary.export.python.configurations import Named, section_lines, size_lines
from armillary.export.python.solver import PythonSolverPrinter, constant_lines
from armillary.export.text.configurations import TRUTHS, change_tables
from armillary.export.text.printing.layout import wrapped
from armillary.export.text.run_rules import NO_SOLVER
from armillary.export.text.source import Source
from armillary.runtime.loop.layout import SNAP
from armillary.runtime.loop.stops import ROUNDINGS
from armillary.runtime.loop.tableau import Tableau
from armillary.runtime.solver.language.translator import SolverFunction, read_solver, solver_for
from armillary.runtime.solver.methods import exported_methods

WIDTH = 110


def solver_values(made: Source) -> dict[str, str]:
    """Values for the template: a function for a step of each method, and their names; times of jumps."""
    methods = exported_methods(adaptive=False)
    printer = JaxSolverPrinter(read_solver((), methods, [f"{m.name}_stages" for m in methods]))
    return {
        "methods": printer.text().rstrip("\n"),
        "method_names": ", ".join(f'"{m.name}": {m.name}' for m in methods),
        "jump_times": _listed([*(repr(t) for t, jumps in made.program.stops if jumps), "jnp.inf"]),
        "snap": repr(SNAP),
        "roundings": repr(ROUNDINGS),
    }


def run_values(made: Source, has: Collection[str], named: Named) -> dict[str, str]:
    """Values for the template of runs."""
    methods = exported_methods(adaptive=True)
    wanted = ["start_run", "turn" if "reclosing" in has else "find_row"]
    loops = made.assembly.solver if made.assembly is not None else NO_SOLVER
    printer = FlowPrinter(solver_for(has, True, wanted, guard=made.guard, given=GIVEN), loops.functions)
    found, every = change_tables(made), (made, *made.others)
    tables = dict(found.tables)
    if not made.changing:  # the run ends at internal events, too
        tables["STOPS"] = [int(e.stop) for e in made.description.events]
    lines = []
    for name, values in tables.items():
        kind = "bool" if name in TRUTHS else "int"
        texts = [str(bool(v)) if name in TRUTHS else str(v) for v in values]
        text = f"[{', '.join(texts)}]"
        whole = f"{name} = {text if name == 'USED_STATES' else f'jnp.array({text}, dtype={kind})'}"
        lines += wrapped(whole, WIDTH, "", "    ")
    for name, reals in found.reals.items():
        lines += wrapped(f"{name} = jnp.array([{', '.join(map(repr, reals))}])", WIDTH, "", "    ")
    if made.set_places:
        places = ", ".join(str(bool(place)) for place in made.set_places)
        lines += wrapped(f"SETS_PLACE = jnp.array([{places}])", WIDTH, "", "    ")
    lines.append(f"CONSTANTS = {[len(one.program.constants) for one in every]}")
    fires = [
        "(" + "".join(f"{named(one, f'fire_{k + 1}')}, " for k in range(len(one.program.fire))) + "),"
        for one in every
    ]
    times = [(repr(t), str(jumps)) for t, jumps in made.program.stops]
    return {
        "tableaux": "\n".join(_tableau_lines(m.tableau) for m in methods if m.tableau),
        "change_sizes": size_lines(found),
        "change_tables": "\n".join(lines),
        "sections": section_lines(made, named, WIDTH),
        "fires": "\n".join(f"    {line}" for line in fires),
        "jump_times": _listed([*(t for t, _ in times), "jnp.inf"]),
        "jump_hard": _listed([*(j for _, j in times), "True"]),
        "solver_constants": constant_lines(printer.solver, loops),
        "fields": "\n".join(printer.fields()),
        "solver": printer.text().rstrip("\n"),
    }


def _tableau_lines(t: Tableau) -> str:
    """A method as data."""
    parts = ([*t.c, 1.0, *t.extra_c], [*t.a, t.b, *t.extra_a], t.errors, t.dense)
    texts = [repr([list(p) if isinstance(p, tuple) else p for p in part]) for part in parts]
    return "\n".join(wrapped(f"Tableau({t.stages}, {', '.join(texts)}),", WIDTH, "    ", "        "))


def _listed(texts: Sequence[str]) -> str:
    return "\n".join(wrapped(", ".join(texts), WIDTH, "    ", "    "))


class JaxSolverPrinter(PythonSolverPrinter):
    """Functions of arrays."""

    def field(self, name: str) -> str:
        return name

    def vector(self, target: str, kind: str, value: ast.expr) -> list[str]:
        return self.lines(f"{target} = {self.expression(value)}")

    def model(self, name: str, targets: Sequence[str], arguments: Sequence[str]) -> list[str]:
        return self.lines(f"{targets[0]} = {name}({', '.join(arguments)}, constants, memory)")

    def function(self, function: SolverFunction) -> list[str]:
        name = function.name.removesuffix("_stages")
        about = function.about.partition(":")[0]
        return [
            f"def {name}(t: float, state: Vector, h: float, constants: Vector, memory: Vector) -> Vector:",
            f'    """One step: {about[0].lower()}{about[1:]}."""',
            "    k0 = derivatives(t, state, constants, memory)",
            *self.body(function),
            "    return trial",
        ]
