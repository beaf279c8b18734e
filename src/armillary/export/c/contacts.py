"""The solver of contacts in C: a record on the stack of the function that a section calls."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from armillary.export.c.solver_printer import CSolverPrinter
from armillary.export.text.contacts import ContactSource, contact_constants
from armillary.export.text.printing.layout import wrapped


def contact_code(sources: Sequence[ContactSource], stem: str, precision: str = "double") -> str:
    """The functions that sections call, with all that they need."""
    if not sources:
        return ""
    numbers = contact_constants(sources, precision)
    constants = [f"static const double {name.lower()} = {value!r};" for name, value in numbers.items()]
    return "\n".join(["\n".join(constants), _HELPERS, *(_solver(source, stem) for source in sources)])


_HELPERS = """
static double contact_larger(double a, double b) { return a > b ? a : b; }

static void contact_copy(int count, const double *from, double *to)
{
    for (int i = 0; i < count; i++)
        to[i] = from[i];
}
"""


def _solver(source: ContactSource, stem: str) -> str:
    """The solver for contacts of one kind."""
    printer = ContactPrinter(source, stem)
    sizes = ", ".join(f"{printer.names[name]} = {size}" for name, size in source.sizes.items())
    tables = [
        f"static const int {printer.names[name]}[{max(1, len(numbers))}] = {{{', '.join(map(str, numbers)) or 0}}};"
        for name, numbers in source.whole_tables(0).items()
    ]
    lines = [
        f"enum {{ {sizes} }};",
        *(line for table in tables for line in wrapped(table, 110, "", "    ")),
        "",
        "/* What the solver of contacts knows of one problem. */",
        "typedef struct {",
        *printer.record(),
        f"}} {printer.record_type};",
        "",
        printer.text(),
        *(printer.called(name) for name in source.called),
    ]
    return "\n".join(lines)


class ContactPrinter(CSolverPrinter):
    """The functions that find forces and statuses of contacts."""

    functions = {**CSolverPrinter.functions, "max": "contact_larger"}  # noqa: RUF012

    def __init__(self, source: ContactSource, stem: str) -> None:
        super().__init__(source.solver, stem)
        self.source, self.record_type = source, f"{stem}_contacts{source.tag}"
        self.names = {name: name.lower() for name in self.solver.constants} | {"FIRST": "0", "NONE": "-1"}
        self.names |= {name: name.removeprefix("N_") + source.tag for name in source.sizes}
        self.names |= {name: name.lower() + source.tag for name in source.block.tables}

    def extent(self, kind: str, room: bool = False) -> str:
        return str(self.source.lengths[kind])

    def vector(self, target: str, kind: str, value: ast.expr) -> list[str]:
        return [f"contact_copy({self.extent(kind)}, {self.expression(value)}, {target});"]

    def called(self, name: str) -> str:
        """A function from an array of arguments to one of results."""
        takes = [f"    contact_copy({p.length}, given + {p.first}, run.{p.field});" for p in self.source.takes(name)]
        gives = [f"    contact_copy({p.length}, run.{p.field}, found + {p.first});" for p in self.source.gives(name)]
        return "\n".join([
            f"static void {name}(const double *given, double *found)", "{", f"    {self.record_type} run;",
            *takes, f"    {self.source.entry(name)}(&run);", *gives, "}", "",
        ])  # fmt: skip
