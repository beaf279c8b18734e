"""The solver of contacts in MATLAB: a file for each function that sections call."""

from __future__ import annotations

from collections.abc import Sequence

from armillary.export.matlab.configurations import structure
from armillary.export.matlab.solver import MatlabSolverPrinter
from armillary.export.text.contacts import ContactSource
from armillary.export.text.printing.layout import wrapped


def contact_files(sources: Sequence[ContactSource]) -> dict[str, str]:
    """The functions that sections call, by name."""
    files: dict[str, str] = {}
    for source in sources:
        for name, block in source.called.items():
            files[name] = _file(ContactSource({name: block}, source.tag), name)
    return files


def _file(source: ContactSource, name: str) -> str:
    """A function from a column of arguments to one of results, and those that it needs."""
    printer = MatlabContacts(source)
    entry = source.solver.functions[source.entry(name)]
    tables = [
        f"r.tables.{table.lower()} = [{' '.join(map(str, numbers))}];"
        for table, numbers in source.whole_tables(1).items()
    ]
    lines = [
        f"function found = {name}(given)",
        f"% {name.upper()}  {entry.about}",
        "persistent blank",
        "if isempty(blank)",
        "  blank = record();",
        "end",
        "r = blank;",
        *(f"r.{p.field}(:) = given({p.first + 1}:{p.first + p.length});" for p in source.takes(name)),
        f"r = {entry.name}(r);",
        f"found = [{'; '.join(f'r.{p.field}' for p in source.gives(name))}];",
        "end",
        "",
        "",
        "function r = record()",
        "% What the solver of contacts knows of one problem: sizes, tables, rules, and what is found.",
        "r = struct();",
        f"r.n = {structure({_size(size): str(n) for size, n in source.sizes.items()})};",
        *(line for table in tables for line in wrapped(table, 100, "", "    ", " ...")),
        f"r.rules = {structure({rule.lower(): repr(v) for rule, v in source.solver.constants.items()})};",
        *printer.fields(),
        "end",
        "",
        "",
        printer.text().rstrip("\n"),
    ]
    return "\n".join(lines) + "\n"


def _size(name: str) -> str:
    return name.removeprefix("N_").lower()


class MatlabContacts(MatlabSolverPrinter):
    """The functions that find forces and statuses of contacts."""

    def __init__(self, source: ContactSource) -> None:
        super().__init__(source.solver, "")
        self.source = source
        self.names = {name: f"r.rules.{name.lower()}" for name in self.solver.constants}
        self.names |= {name: f"r.n.{_size(name)}" for name in source.sizes}
        self.names |= {name: f"r.tables.{name.lower()}" for name in source.block.tables}
        self.names |= {"FIRST": "1", "NONE": "0"}

    def fields(self) -> list[str]:
        return [
            f"r.{f.name} = zeros({self.source.lengths[f.type]}, 1);" + (f"  % {f.about}" if f.about else "")
            for f in self.solver.fields
        ]
