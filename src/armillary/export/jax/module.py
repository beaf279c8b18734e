"""What is JAX's own in the layout of an exported module."""

from __future__ import annotations

from armillary.errors import ArmillaryError
from armillary.export.jax.printer import JaxPrinter
from armillary.export.jax.solver import solver_values
from armillary.export.python.module import Module
from armillary.export.text.printer import Printer
from armillary.export.text.source import Source
from armillary.program.equations import DerivedEquations


def check(equations: DerivedEquations) -> None:
    """An error for events that a rollout with steps of one length cannot do."""
    for event in equations.targets.watched:
        moved = [s.data.name for s in event.changes if s.data.role in ("coordinate", "speed", "state")]
        if moved:
            raise ArmillaryError(
                f"event '{event.name}' sets {moved[0]} where it happens, which a rollout in JAX cannot do, "
                "for its steps are all of one length; export to another language, or use a contact force"
            )


class JaxModule(Module):
    """One system's module in JAX."""

    package = "armillary.export.jax"
    reserved = (
        *(*Module.reserved, "Rollout", "rollout", "advance", "settle", "whole"),
        *("jax", "jnp", "lax", "partial"),
    )
    vector = ("vector(", ")")
    adaptive = False
    settings = ("start", "duration", "step", "method", "sample")  # its steps are all of one length
    needed = ("duration", "step")
    decorator = "@jax.tree_util.register_dataclass"
    needs = "Python 3.11 and JAX 0.4.36 or later"

    def __init__(self, made: Source, name: str) -> None:
        super().__init__(made, name)
        later = {"later"} if self.has & {"normalise", "events", "update"} else set()
        self.has = self.has | {"jax"} | later

    call_of_geometry = (
        f"compiled_geometry(run.t, jnp.asarray({Module.whole_state}), run.constants, run.memory)"
    )

    def printer(self) -> Printer:
        return JaxPrinter()

    def solver(self) -> str:
        return self.filled("solver.txt", solver_values())

    def given(self, name: str) -> str:
        return f"real(parameters.{name})"
