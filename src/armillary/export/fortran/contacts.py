"""The solver of contacts in Fortran: pure procedures with a record of their own."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from armillary.export.fortran.solver import FortranSolverPrinter
from armillary.export.text.contacts import ContactSource, contact_constants
from armillary.runtime.solver.language.translator import SolverFunction

Array = Callable[[str, str, Sequence[str], str], list[str]]

_ABOUT = {
    "NORMAL_ROW": "row of the normal of each contact; 0: none",
    "SLIP_ROW": "first row of its slip; 0: none",
    "SLIP_END": "and the last",
}


def contact_data(sources: Sequence[ContactSource], array: Array) -> list[str]:
    """Sizes, tables and records, for the top of a module."""
    if not sources:
        return []
    lines = ["", "  ! Contacts: see below."]
    for name, value in contact_constants(sources).items():
        lines.append(f"  real(dp), parameter :: {name.lower()} = {value!r}_dp")
    for source in sources:
        printer = FortranContacts(source)
        lines += [f"  integer, parameter :: {printer.names[name]} = {n}" for name, n in source.sizes.items()]
        for name, numbers in source.whole_tables(1).items():
            declared = f"{printer.names[name]}({len(numbers)})"
            written = array("integer", declared, [str(i) for i in numbers], _ABOUT[name])
            # Of a constant gfortran sees that some are none, but not that these are left out.
            lines += [line.replace("integer, parameter ::", "integer, protected ::") for line in written]
        lines += ["", f"  type :: {printer.record_type}", *printer.components()]
        lines.append(f"  end type {printer.record_type}")
    return lines


def contact_procedures(sources: Sequence[ContactSource]) -> str:
    """The subroutines that sections call, and those that they need."""
    texts = []
    for source in sources:
        printer = FortranContacts(source)
        texts += [printer.text(), *map(printer.called, source.called)]
    return "\n".join(f"  {line}".rstrip() for text in texts for line in text.splitlines())


class FortranContacts(FortranSolverPrinter):
    """The procedures that find forces and statuses of contacts."""

    def __init__(self, source: ContactSource) -> None:
        super().__init__(source.solver)
        self.source, self.record_type = source, f"contacts{source.tag}_t"
        self.names = {name: name.lower() for name in self.solver.constants} | {"FIRST": "1", "NONE": "0"}
        self.names |= {name: name.lower() + source.tag for name in (*source.sizes, *source.block.tables)}

    def components(self) -> list[str]:
        lines = []
        for f in self.solver.fields:
            kind = "integer" if f.type == "Wholes" else "real(dp)"
            about = f"  ! {f.about}" if f.about else ""
            lines.append(f"    {kind} :: {f.name}({self.source.lengths[f.type]}){about}")
        return lines

    def function(self, function: SolverFunction) -> list[str]:
        lines = super().function(function)
        return [line.replace("type(run_t)", f"type({self.record_type})") for line in lines]

    def called(self, name: str) -> str:
        """A subroutine from an array of arguments to one of results."""
        block = self.source.called[name]
        takes = [
            f"  r%{p.field} = given({p.first + 1}:{p.first + p.length})" for p in self.source.takes(name) if p.length
        ]
        gives = [
            f"  found({p.first + 1}:{p.first + p.length}) = r%{p.field}" for p in self.source.gives(name) if p.length
        ]
        return "\n".join([
            f"! {self.solver.functions[self.source.entry(name)].about}",
            f"pure subroutine {name}(given, found)",
            f"  real(dp), intent(in) :: given({block.arity})",
            f"  real(dp), intent(out) :: found({block.count})",
            f"  type({self.record_type}) :: r",
            *takes, f"  call {self.source.entry(name)}(r)", *gives, f"end subroutine {name}", "",
        ])  # fmt: skip
