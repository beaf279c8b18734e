"""The solver of co-simulation: that of exported C programs, with inputs that may change within a step.

An FMU calls the parts of the solver one by one, since an importer may take part between them: at the end
of every inner step, and before an event happens.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from armillary.export.c.model import CModel
from armillary.export.c.solver import solver_texts
from armillary.export.c.solver_printer import CSolverPrinter
from armillary.export.text.files.template import fill, template
from armillary.runtime.solver.language.translator import Solver

_MEMBERS = """\
    double inputs[{upper}_MEMORY_ROOM]; /* at the time `since`, in their places of the memory */
    double input_slopes[{upper}_MEMORY_ROOM]; /* their first and second derivatives */
    double input_bends[{upper}_MEMORY_ROOM];
    double since;
    int moving;  /* whether inputs change within the communication step */
    int waiting; /* inputs have changed in a step across a place of lost rank, and do not act yet */"""


class FmuSolverPrinter(CSolverPrinter):
    """The solver with inputs that are polynomials of time, in these places of the memory."""

    def __init__(self, solver: Solver, stem: str, places: Sequence[int], calls: str) -> None:
        super().__init__(solver, stem)
        self.places, self.calls = places, calls

    def record(self) -> list[str]:
        return [*super().record(), *_MEMBERS.format(upper=self.upper).splitlines()]

    def model(self, name: str, targets: Sequence[str], arguments: Sequence[str]) -> list[str]:
        lines = super().model(name, targets, arguments)
        if not self.places or name == "pivot_shares":
            return lines
        return [f"feed(run, {arguments[1] if name == 'fire' else arguments[0]});", *lines]

    def text(self) -> str:
        before, _, after = self.calls.partition("@functions@\n")
        return "\n".join([before, super().text(), after])


def solver_files(model: CModel) -> dict[str, str]:
    """The solver's header and source by name."""
    places = [i for i, m in enumerate(model.description.memory) if m.input]
    values = model.values | {"places": ", ".join(map(str, places)), "count": str(len(places))}
    has = model.has | ({"inputs"} if places else set())
    calls = fill(template(__package__, "calls.c.txt"), values | {"functions": "@functions@"}, has)
    printer = partial(FmuSolverPrinter, places=places, calls=calls)
    also = ("change_inputs",) if "passing" in model.has else ()
    header, code = solver_texts(model, kind=printer, also=also)
    return {f"{model.stem}_solver.h": header, f"{model.stem}_solver.c": code}
