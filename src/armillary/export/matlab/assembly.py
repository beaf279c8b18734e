"""Loops closed before a run, in MATLAB: the functions of runtime/solver/assembly and their data."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from armillary.export.matlab.configurations import structure
from armillary.export.matlab.solver import MatlabSolverPrinter
from armillary.export.text.files.template import fill, template
from armillary.export.text.printing.layout import wrapped
from armillary.export.text.start.assembly import AssemblySource

_FLAGS = ("PlaceFlags", "SpeedFlags")


def assembly_text(loops: AssemblySource, package: str, quoted: Callable[[str], str]) -> str:
    """The function `assembled` and those that it calls."""
    printer = MatlabAssembly(loops, package)
    tables = {name: " ".join(map(str, v)) for name, v in loops.whole_tables(1).items()}
    texts = [f"r.tables.{name.lower()} = [{numbers}];" for name, numbers in tables.items()]
    texts += [
        f"r.tables.{name.lower()} = logical([{' '.join(map(str, v))}]);"
        for name, v in loops.truth_tables.items()
    ]
    values = {
        "package": package,
        "whole": " ".join(map(str, loops.whole)),
        "sizes": structure({_size(name): str(n) for name, n in loops.sizes.items()}),
        "tables": "\n".join(line for text in texts for line in wrapped(text, 100, "", "    ", " ...")),
        "rules": structure({name.lower(): repr(v) for name, v in printer.solver.constants.items()}),
        "fields": "\n".join(printer.fields()),
        "solver": printer.text().rstrip("\n"),
        "before": "".join(f"    {quoted(before)}, ...\n" for before, _ in loops.gaps),
        "after": "".join(f"    {quoted(after)}, ...\n" for _, after in loops.gaps),
        "redundant": quoted(loops.redundant),
    }
    has = {"redundant"} if loops.redundant else set()
    has |= {"quaternions"} if loops.quaternions else set()
    has |= {"several"} if loops.several else set()
    return fill(template(__package__, "assembled.txt"), values, has)


def _size(name: str) -> str:
    return name.removeprefix("N_").lower()


class MatlabAssembly(MatlabSolverPrinter):
    """The functions that close loops."""

    functions = {**MatlabSolverPrinter.functions, "at": "({} - 1)*{} + {}"}  # noqa: RUF012

    def __init__(self, loops: AssemblySource, package: str) -> None:
        super().__init__(loops.solver, package)
        self.loops = loops
        self.names = {name: f"r.rules.{name.lower()}" for name in self.solver.constants}
        self.names |= {name: f"r.n.{_size(name)}" for name in loops.sizes}
        tables = (*loops.whole_tables(1), *loops.truth_tables)
        self.names |= {name: f"r.tables.{name.lower()}" for name in tables}
        self.names |= {name: f"r.is.{name.lower()}" for name in ("CLOSED", "OPEN", "NOT_REDUNDANT")}
        self.names |= {"FIRST": "1", "INFINITY": "Inf"}

    def fields(self) -> list[str]:
        lines = []
        for f in self.solver.fields:
            made = "false" if f.type in _FLAGS else "zeros"
            value = "0" if f.type in ("real", "whole") else f"{made}({self.loops.lengths[f.type]}, 1)"
            lines.append(f"r.{f.name} = {value};" + (f"  % {f.about}" if f.about else ""))
        return lines

    def model(self, name: str, targets: Sequence[str], arguments: Sequence[str]) -> list[str]:
        return [f"{targets[0]} = {name}(r, {arguments[-1]});"]
