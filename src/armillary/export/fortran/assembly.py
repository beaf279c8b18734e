"""Loops closed before a run, in Fortran: the procedures of runtime/solver/assembly and their data."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from armillary.export.fortran.printer import literal
from armillary.export.fortran.solver import FortranSolverPrinter
from armillary.export.text.files.template import fill, template
from armillary.export.text.start.assembly import AssemblySource, loop_name
from armillary.runtime.solver.language.translator import SolverFunction

Array = Callable[[str, str, Sequence[str], str], list[str]]
Names = Callable[[str, str, Sequence[str]], list[str]]

_SIZES = {"N_GAPS": "n_gaps", "N_COORDINATES": "n_places"}  # those that programs see
_STATUSES = {"CLOSED": "loops_closed", "OPEN": "loops_open", "NOT_REDUNDANT": "not_redundant"}
_TYPES = {"real": "real(dp)", "whole": "integer", "PlaceFlags": "logical", "SpeedFlags": "logical"}
_ABOUT = {
    "ELEMENT_ROW": "row of each element of J", "ELEMENT_SPEED": "and its speed",
    "RATE_PLACE": "coordinate of each element of N", "RATE_SPEED": "and its speed",
    "UNIT_FROM": "first Euler parameters", "DEPENDENT": "speeds that move first",
    "HOLDING": "all that the gaps depend on", "IS_KEPT": "rows that are not redundant",
}  # fmt: skip


def assembly_text(loops: AssemblySource, quoted: Callable[[str], str]) -> str:
    """The procedures."""
    has = {"redundant"} if loops.redundant else set()
    has |= {"quaternions"} if loops.quaternions else set()
    has |= {"several"} if loops.several else set()
    solver = "\n".join(f"  {line}".rstrip() for line in FortranAssembly(loops).text().rstrip().splitlines())
    values = {"redundant": quoted(loops.redundant), "solver": solver}
    procedures = fill(template(__package__, "assembly.txt"), values, has)
    return "\n".join([procedures, template(__package__, "six_digits.txt")])


def assembly_data(loops: AssemblySource, array: Array, names: Names) -> list[str]:
    """Sizes, tables and the record, for the top of the module."""
    printer = FortranAssembly(loops)
    used = set(re.findall(r"\w+", printer.text())) | {"n_gaps", "n_places", "loops_open"}
    sizes = {printer.names[name]: n for name, n in loops.sizes.items()}
    sizes |= {name: number for number, name in enumerate(_STATUSES.values())}
    lines = ["  ! Loops: see below."]
    lines += [f"  integer, parameter :: {name} = {n}" for name, n in sizes.items() if name in used]
    lines += [f"  integer, parameter :: n_numbers = {len(loops.section.results)}", *printer.constants()]
    for name, numbers in loops.whole_tables(1).items():
        values = [str(i) for i in numbers] or ["integer ::"]
        lines += array("integer", f"{name.lower()}({len(numbers)})", values, _ABOUT[name])
    for name, flags in loops.truth_tables.items():
        values = [".true." if f else ".false." for f in flags]
        lines += array("logical", f"{name.lower()}({len(flags)})", values, _ABOUT[name])
    whole = [".true." if f else ".false." for f in loops.whole]
    about = "coordinates that are given where a whole state is"
    lines += array("logical", "whole_state(n_places)", whole, about)
    lines += array(
        "real(dp)", "first_guess(n_places)", [literal(x) for x in loops.first], "where a search starts"
    )
    lines += names("gap_before", "n_gaps", [before.rstrip() for before, _ in loops.gaps])
    lines += names("gap_after", "n_gaps", [after.lstrip() for _, after in loops.gaps])
    given = "    real(dp) :: constants(n_constants), memory(n_memory)"
    return [*lines, "", "  type :: loops_t", given, *printer.components(), "  end type loops_t"]


class FortranAssembly(FortranSolverPrinter):
    """The procedures that close loops."""

    functions = {  # noqa: RUF012
        **FortranSolverPrinter.functions, "isnan": ".not. ({0} <= {0})", "at": "({} - 1)*{} + {}"
    }  # fmt: skip

    def __init__(self, loops: AssemblySource) -> None:
        super().__init__(loops.solver)
        self.loops = loops
        self.names = {name: name.lower() for name in (*self.solver.constants, *_ABOUT)}
        self.names |= {name: _SIZES.get(name, loop_name(name).lower()) for name in loops.sizes}
        self.names |= {"FIRST": "1", "INFINITY": "huge(1.0_dp)", **_STATUSES}

    def components(self) -> list[str]:
        lines = []
        for f in self.solver.fields:
            size = "" if f.type in ("real", "whole") else f"({self.loops.lengths[f.type]})"
            kind = _TYPES.get(f.type, "real(dp)")
            lines.append(f"    {kind} :: {f.name}{size}" + (f"  ! {f.about}" if f.about else ""))
        return lines

    def model(self, name: str, targets: Sequence[str], arguments: Sequence[str]) -> list[str]:
        return [f"call {name}({', '.join(arguments)}, r%constants, r%memory, {targets[0]})"]

    def function(self, function: SolverFunction) -> list[str]:
        return [line.replace("type(run_t)", "type(loops_t)") for line in super().function(function)]
