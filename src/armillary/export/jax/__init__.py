"""Exported JAX: one module of pure functions for one system, to be compiled, mapped and differentiated.

The layout is as in exported Python (python/module.py); this file has the differences. ``solver.txt`` is the
template of the rollout by `lax.scan`; solver.py prints the methods in it. If events set something, end the
run or change the configuration, ``runs.txt`` has the common solver of runs, printed by flow.py.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from armillary.algebra.arguments import flag
from armillary.algebra.expression import Expr
from armillary.export.jax.solver import contact_texts, run_values, solver_values
from armillary.export.python import module_name, write_module
from armillary.export.python.module import WIDTH, PythonModule, PythonPrinter, function_name
from armillary.export.text.configurations import contact_sources
from armillary.export.text.printer import ATOM, CHOICE, Operand, Printer
from armillary.export.text.source import Source, make_source
from armillary.mechanics.constraints.closing_thresholds import FEW_CORRECTIONS
from armillary.program.equations import DerivedEquations


def export(
    equations: DerivedEquations,
    path: str | os.PathLike[str],
    *,
    force: bool = False,
    configurations: bool | None = None,
    stiff: bool = False,
) -> Path:
    """Write a folder with one system's module, a run file, a test with stored numbers, and a README.

    ``stiff``: the module also has linearly implicit methods: rodas3 and, if it locates events, rodas5p. JAX
    itself differentiates the rates.
    """
    made = replace(make_source(equations, configurations, passes=True), stiff=flag(stiff, "stiff="))
    module = JaxModule(made, module_name("jax_system" if made.stem == "jax" else made.stem))
    return write_module(module, path, force=force)


# Expressions in JAX: array operations that can be traced, without branches.
#
# Both sides of a choice are evaluated and differentiated. An infinite derivative on the side that is not
# chosen would be multiplied by zero, which is NaN. So functions that are finite where their derivative is
# infinite, such as the root at zero, are called through helpers with derivative zero there. A side that is
# itself infinite has no remedy here; the README says so.

_NAMES = {"atan": "arctan", "min": "minimum", "max": "maximum"}
_GUARDED = {"sqrt": "sqrt", "asin": "asin", "acos": "acos", "atan2": "atan2", "pow": "power"}
_LOGIC = {"and": "logical_and", "or": "logical_or", "not": "logical_not"}


class JaxPrinter(PythonPrinter):
    """Functions of jax.numpy, and `where` instead of conditions."""

    keywords = PythonPrinter.keywords | {"jnp", "jax", "lax", "real", "vector", "Array", "guarded"}
    functions = {
        name: f"jnp.{_NAMES.get(name, name)}"
        for name in (
            *("sin", "cos", "tan", "tanh", "atan", "exp", "log", "abs", "sign"),
            *("floor", "ceil", "min", "max", "mod"),
        )
    } | _GUARDED
    specials = ("jnp.nan", "jnp.inf", "(-jnp.inf)")
    truth_number = "jnp.where({}, 1.0, 0.0)"
    choosing = "jnp.where({test}, {yes}, {no})"

    choice, quotient = Printer.choice, Printer.quotient  # instead of those of PythonPrinter

    def call(self, node: Expr, operands: Sequence[Operand]) -> Operand:
        if node.data in _LOGIC:  # `and` and `or` cannot be traced
            arguments = ", ".join(self.at_truth(a, CHOICE) for a in operands)
            return Operand(f"jnp.{_LOGIC[node.data]}({arguments})", ATOM, True)
        return super().call(node, operands)


def needs_runs(made: Source) -> bool:
    """Return whether a run has to locate events.

    It does if the user's events set something or end the run, if joints lock or contacts change, if dependent
    speeds are exchanged, or if singular configurations are passed.
    """
    own = [event for event in made.equations.targets.watched if not event.hidden]
    located = any(event.changes or event.stop for event in own) or bool(made.equations.system.contacts)
    return located or made.changing


class JaxModule(PythonModule):
    """One system's module in JAX."""

    package = "armillary.export.jax"
    reserved = (
        *(*PythonModule.reserved, "Rollout", "rollout", "part_of_step", "advance", "settle", "whole"),
        *(
            "jax",
            "jnp",
            "lax",
            "partial",
            "when",
            "choose",
            "repeat",
            "count",
            "present",
            "of",
            "fired",
            "report",
            "close_again",
            "reclosed",
        ),
        *("Rosenbrock", "padded", "implicit_stages"),
        *("both", "either", "Tableau", "TABLEAUX", "weighed", "section", "slopes_from", "stages"),
        *("dense_terms", "error_ratios", "dense_state", "across_state", "nested", "full", "reduce"),
        *("real", "truth", "isnot", "pick", "smaller", "larger", "same", "install", "SECTIONS", "FIRES"),
    )
    vector = ("vector(", ")")
    corrections = FEW_CORRECTIONS
    always = ("real",)
    adaptive = False
    multistep = False  # step functions do not have the rates of the step before
    settings: tuple[str, ...] = ("start", "duration", "step", "method", "sample")  # all steps have one length
    needed: tuple[str, ...] = ("duration", "step")
    decorator = "@jax.tree_util.register_dataclass"
    needs = "Python 3.11 and JAX 0.4.36 or later"

    def __init__(self, made: Source, name: str, printer: Printer | None = None) -> None:
        super().__init__(made, name, printer)
        later = {"later"} if self.has & {"normalise", "events", "update"} else set()
        self.has = (self.has | {"jax"} | later) - {"masses"}
        if needs_runs(made):
            self.has = self.has | {"runs"} | ({"late_search"} if "events" in self.has else set())
            self.adaptive, self.settings, self.needed = True, PythonModule.settings, PythonModule.needed
        if any(jumps for _, jumps in made.program.stops):
            self.has = self.has | {"hard"}

    call_of_geometry = (
        f"compiled_geometry(run.t, jnp.asarray({PythonModule.whole_state}), run.constants, run.memory)"
    )

    def printer(self) -> Printer:
        return JaxPrinter()

    def solver(self) -> str:
        if "runs" in self.has:
            return self.fill_template(
                "runs.txt", run_values(self.made, self.has, function_name) | self.run_texts()
            )
        return self.fill_template("solver.txt", self.run_texts() | solver_values(self.made))

    def contacts(self) -> list[str]:
        return contact_texts(contact_sources(self.sections.printer.blocks), WIDTH - 12)

    def parameter_text(self, name: str) -> str:
        return f"real(parameters.{name})"
