"""Loops closed before a run, in Python: the functions of runtime/solver/assembly and their data."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from armillary.export.python.solver import PythonSolverPrinter
from armillary.export.text.printing.layout import wrapped
from armillary.export.text.start.assembly import AssemblySource, loop_name
from armillary.runtime.solver.language.translator import SolverFunction

_ZEROS = {"real": "0.0", "whole": "0"}
_FLAGS = ("PlaceFlags", "SpeedFlags")


def assembly_values(loops: AssemblySource, width: int) -> dict[str, str]:
    """Values for the template."""
    printer = PythonAssembly(loops)
    whole: dict[str, Sequence[object]] = {**loops.whole_tables(0)}
    flags: dict[str, Sequence[object]] = {k: [bool(x) for x in v] for k, v in loops.truth_tables.items()}
    tables = {**whole, **flags, "FIRST_GUESS": loops.first}
    listed = [f"{name} = [{', '.join(map(str, values))}]" for name, values in tables.items()]
    return {
        "sizes": "\n".join(f"{loop_name(name)} = {size}" for name, size in loops.sizes.items()),
        "tables": "\n".join(line for text in listed for line in wrapped(text, width, "", "    ")),
        "constants": "\n".join(f"{name} = {value!r}" for name, value in printer.solver.constants.items()),
        "texts": "".join(f"    ({before!r}, {after!r}),\n" for before, after in loops.gaps),
        "fields": "\n".join(printer.fields()),
        "solver": printer.text().rstrip("\n"),
        "redundant": repr(loops.redundant),
    }


class PythonAssembly(PythonSolverPrinter):
    """The functions that close loops."""

    def __init__(self, loops: AssemblySource) -> None:
        super().__init__(loops.solver)
        self.names = {"FIRST": "0", "INFINITY": "math.inf"} | {name: loop_name(name) for name in loops.sizes}
        self.loops = loops

    def fields(self) -> list[str]:
        lines = []
        for f in self.solver.fields:
            one = "False" if f.type in _FLAGS else "0.0"
            zero = _ZEROS.get(f.type) or f"[{one}] * {self.loops.lengths[f.type]}"
            lines.append(f"        self.{f.name} = {zero}" + (f"  # {f.about}" if f.about else ""))
        return lines

    def vector(self, target: str, kind: str, value: ast.expr) -> list[str]:
        return [f"{target} = [*{self.expression(value)}]"]

    def model(self, name: str, targets: Sequence[str], arguments: Sequence[str]) -> list[str]:
        return [f"{targets[0]} = {name}(run, {arguments[-1]})"]

    def function(self, function: SolverFunction) -> list[str]:
        head, *lines = super().function(function)
        return [head.replace("run: Run", "run: Loops"), *lines]
