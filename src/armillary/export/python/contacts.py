"""The solver of contacts in Python: the functions of mechanics/contact/problem.py and their data."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from armillary.export.python.solver import PythonSolverPrinter
from armillary.export.text.contacts import ContactSource, contact_constants
from armillary.export.text.printing.layout import wrapped
from armillary.runtime.solver.language.translator import SolverFunction


def contact_texts(sources: Sequence[ContactSource], width: int) -> list[str]:
    """The functions that sections call, with all that they need."""
    if not sources:
        return []
    lines = ["# " + "-" * 76 + " contacts", ""]
    lines += [f"{name} = {value!r}" for name, value in contact_constants(sources).items()]
    return ["\n".join([*lines, ""]), *(text for source in sources for text in solver_texts(PythonContacts(source), width))]


def solver_texts(printer: PythonContacts, width: int) -> list[str]:
    """The functions of one kind of contacts: their data, their record, themselves."""
    source = printer.source
    sizes = [f"{printer.names[name]} = {size}" for name, size in source.sizes.items()]
    tables = [f"{printer.names[name]} = {numbers!r}" for name, numbers in source.whole_tables(0).items()]
    data = [*sizes, *(line for table in tables for line in wrapped(table, width, "", "    "))]
    record = [
        f"class {printer.record_type}:",
        '    """What the solver of contacts knows of one problem."""',
        "",
        "    def __init__(self) -> None:",
        *printer.fields(),
        "",
    ]
    return ["\n".join([*data, ""]), "\n".join(record), printer.text(), *map(printer.called, source.called)]


class PythonContacts(PythonSolverPrinter):
    """The functions that find forces and statuses of contacts."""

    def __init__(self, source: ContactSource) -> None:
        super().__init__(source.solver)
        self.source, self.record_type = source, f"Contacts{source.tag}"
        self.names = {"FIRST": "0", "NONE": "-1"} | {name: name + source.tag for name in source.sizes}
        self.names |= {name: name + source.tag for name in source.block.tables}

    def fields(self) -> list[str]:
        lines = []
        for f in self.solver.fields:
            one = "0" if f.type == "Wholes" else "0.0"
            about = f"  # {f.about}" if f.about else ""
            lines.append(f"        self.{f.name} = [{one}] * {self.source.lengths[f.type]}{about}")
        return lines

    def vector(self, target: str, kind: str, value: ast.expr) -> list[str]:
        return [f"{target} = [*{self.expression(value)}]"]

    def function(self, function: SolverFunction) -> list[str]:
        head, *lines = super().function(function)
        return [head.replace("run: Run", f"run: {self.record_type}"), *lines]

    def called(self, name: str) -> str:
        """A function from a list of arguments to one of results."""
        takes = [f"    run.{p.field} = given[{p.first} : {p.first + p.length}]" for p in self.source.takes(name)]
        gives = ", ".join(f"*run.{p.field}" for p in self.source.gives(name))
        return "\n".join([
            f"def {name}(given: list[float]) -> list[float]:",
            f'    """{self.solver.functions[self.source.entry(name)].about}"""',
            f"    run = {self.record_type}()", *takes, f"    {self.source.entry(name)}(run)",
            f"    return [{gives}]", "",
        ])  # fmt: skip
