"""The solver of contacts in Rust: a module within that of the equations, with a record on the stack."""

from __future__ import annotations

from collections.abc import Sequence

from armillary.export.rust.solver import RustSolverPrinter
from armillary.export.text.contacts import ContactSource, contact_constants
from armillary.export.text.printing.layout import wrapped


def contact_module(sources: Sequence[ContactSource], precision: str) -> str:
    """The functions that sections call, with all that they need."""
    if not sources:
        return ""
    numbers = contact_constants(sources, precision).items()
    lines = ["use crate::math::*;", "use crate::Real;", ""]
    lines += [f"const {name}: Real = {value!r};" for name, value in numbers]
    lines += [line for source in sources for line in _solver(source)]
    inside = [f"    {line}" if line else "" for line in lines]
    head = "/// Forces, impulses and statuses of contacts."
    return "\n".join([head, "mod contacts {", *inside, "}", "use contacts::*;", ""])


def _solver(source: ContactSource) -> list[str]:
    printer = RustContacts(source)
    lines = [f"const {printer.names[name]}: usize = {size};" for name, size in source.sizes.items()]
    for name, numbers in source.whole_tables(0).items():
        text = f"static {printer.names[name]}: [i32; {len(numbers)}] = [{', '.join(map(str, numbers))}];"
        lines += wrapped(text, 106, "", "    ")
    text = printer.text()
    members, zeros = printer.record(text + " ".join(f" run.{f.name}" for f in source.solver.fields))
    record = printer.record_type
    lines += ["", "/// What the solver knows of one problem.", f"struct {record} {{", *members, "}", ""]
    lines += [f"impl {record} {{", f"    const fn new() -> {record} {{", f"        {record} {{", *zeros]
    lines += ["        }", "    }", "}", "", *text.split("\n")]
    return [*lines, *(line for name in source.called for line in printer.called(name))]


class RustContacts(RustSolverPrinter):
    """The functions that find forces and statuses of contacts."""

    heads = {**RustSolverPrinter.heads, "while": "while {} {{"}  # noqa: RUF012

    def __init__(self, source: ContactSource) -> None:
        super().__init__(source.solver)
        self.source, self.record_type = source, f"Contacts{source.tag}"
        self.names = {"FIRST": "0", "NONE": "-1"}
        self.names |= {name: name.removeprefix("N_") + source.tag for name in source.sizes}
        self.names |= {name: name + source.tag for name in source.block.tables}

    def extent(self, kind: str) -> str:
        return str(self.source.lengths[kind])

    def called(self, name: str) -> list[str]:
        """A function from an array of arguments to one of results."""
        block = self.source.called[name]
        head = f"pub fn {name}(given: &[Real; {block.arity}], found: &mut [Real; {block.count}]) {{"
        takes = [
            f"    run.{p.field}.copy_from_slice(&given[{p.first}..{p.first + p.length}]);"
            for p in self.source.takes(name)
            if p.length
        ]
        gives = [
            f"    found[{p.first}..{p.first + p.length}].copy_from_slice(&run.{p.field});"
            for p in self.source.gives(name)
            if p.length
        ]
        about = f"/// {self.solver.functions[self.source.entry(name)].about}"
        start = f"    let mut run = {self.record_type}::new();"
        return [about, head, start, *takes, f"    {self.source.entry(name)}(&mut run);", *gives, "}", ""]
