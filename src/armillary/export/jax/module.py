"""The parts of an exported module's layout that are specific to JAX."""

from __future__ import annotations

from armillary.export.jax.contacts import contact_texts
from armillary.export.jax.printer import JaxPrinter
from armillary.export.jax.solver import run_values, solver_values
from armillary.export.python.module import WIDTH, PythonModule, function_name
from armillary.export.text.contacts import contact_sources
from armillary.export.text.printing.printer import Printer
from armillary.export.text.source import Source
from armillary.mechanics.constraints.closing_thresholds import FEW_CORRECTIONS


def needs_runs(made: Source) -> bool:
    """Whether a system needs located events: events of the user's own set something or end the run, joints
    lock or contacts change, dependent speeds are exchanged or places where constraints lose rank are passed.
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
        *("both", "either", "Tableau", "TABLEAUX", "weighed", "section", "slopes_from", "stages"),
        *("dense_terms", "error_ratios", "dense_state", "across_state", "nested", "full", "reduce"),
        *("real", "truth", "isnot", "pick", "smaller", "larger", "same", "install", "SECTIONS", "FIRES"),
    )
    vector = ("vector(", ")")
    corrections = FEW_CORRECTIONS
    always = "real"
    adaptive = False
    settings: tuple[str, ...] = (
        "start",
        "duration",
        "step",
        "method",
        "sample",
    )  # its steps are all of one length
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
            return self.filled("runs.txt", run_values(self.made, self.has, function_name) | self.run_texts())
        return self.filled("solver.txt", self.run_texts() | solver_values(self.made))

    def contacts(self) -> list[str]:
        return contact_texts(contact_sources(self.sections.printer.blocks), WIDTH - 12)

    def given(self, name: str) -> str:
        return f"real(parameters.{name})"
