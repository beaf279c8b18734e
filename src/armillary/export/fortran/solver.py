"""The solver in Fortran: the derived type of a run, and the procedures of armillary.solver."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Collection, Iterable, Sequence
from math import isinf

from armillary.export.fortran.printer import literal
from armillary.export.text.configurations import (
    CHANGE_EXTENTS,
    IMPLICIT_EXTENTS,
    OF_CHANGES,
    TABLE_NAMES,
    WORDS,
    ContactSource,
    change_tables,
    contact_constants,
    has_function,
    implicit_tables,
)
from armillary.export.text.files import fill, run_keys, template
from armillary.export.text.printer import list_items
from armillary.export.text.solver_printer import (
    CONSTRAINT_GEOMETRY,
    NO_SOLVER,
    SOLVER_STATUSES,
    SolverPrinter,
    element_types,
    setting_checks,
)
from armillary.export.text.source import Source
from armillary.export.text.start import AssemblySource, loop_name
from armillary.runtime.integrators.settings import ROWS
from armillary.solver.language.translator import Solver, SolverFunction, solver_for
from armillary.solver.methods.method_text import exported_methods, method_names
from armillary.solver.methods.registry import usual_method
from armillary.solver.tables import TRUTHS

# Each further configuration of a system is a Fortran module. One more module has the tables of changes and,
# for each section, a subroutine that calls this section of a given configuration.

Array = Callable[[str, str, Sequence[str], str], list[str]]  # (type, name and size, values, comment) -> lines
_WIDTH = 130
_STATE, _MOTION = "state(most_states)", "state(n_motion)"
# Sections: declaration of the state argument, length of the result, and the default of result elements that a
# configuration lacks.
_SECTIONS = {
    "derivatives": (_STATE, "most_states", "0.0_dp"),
    "outputs": (_STATE, "n_outputs", "0.0_dp"),
    "events": (_STATE, "most_events", "1.0_dp"),
    "update": (_STATE, "n_memory", "0.0_dp"),
    "leave": (_STATE, "n_motion", "0.0_dp"),
    "enter": (_MOTION, "most_states", "0.0_dp"),
    "impulse": (_MOTION, "n_speeds", "0.0_dp"),
    "adjust": (_MOTION, "n_speeds", "0.0_dp"),
    "ratings": (_MOTION, "n_members", "0.0_dp"),
    "partial_rates": (_STATE, "most_partials", "0.0_dp"),
    CONSTRAINT_GEOMETRY: (_STATE, "n_elements", "0.0_dp"),
}
_TABLES = {
    "STOPS": "stops_at", "DIRECTION": "direction_of", "LANDS": "lands_at", "NEAR_PLACE": "near_place_of",
    "LOOK": "look_at", "ELEMENTS": "elements_of", "AT_END": "is_at_end",
}  # fmt: skip
_LARGEST_SIZES = {
    "N_STATES": "most_states", "N_EVENTS": "most_events", "N_CONSTANTS": "most_constants",
    "N_PARTIALS": "most_partials",
}  # fmt: skip


def fortran_name(name: str) -> str:
    """Return the Fortran name of a size or a table of solver/language/language.py."""
    return _TABLES.get(name) or _LARGEST_SIZES.get(name) or name.lower()


def sections_of(made: Source) -> list[str]:
    """Return the names of a configuration's subroutines."""
    had = has_function(made.program, made.passing)
    names = ["precompute", *_SECTIONS, "fire", "normalise"]
    return [name for name in names if had.get(name, True)]


def changes_module(made: Source, array: Array) -> str:
    """Return the module through which runs call all configurations."""
    stem, every = made.stem, [made, *made.others]
    found = change_tables(made)
    lines = [
        "! Configurations differ in locked joints and in dependent speeds. Sizes belong to the largest one",
        "! or to data of all; tables have the numbers of one after the other; subroutines take its number.",
        f"module {stem}_changes",
        "  use, intrinsic :: iso_fortran_env, only: dp => real64",
        f"  use {stem}_model, only: parameters_t, n_outputs, n_memory",
    ]
    for c, one in enumerate(every):
        module = f"{stem}_model" + (f"_{c}" if c else "")
        renamed = list_items([f"{s}_{c} => {s}" for s in sections_of(one)], _WIDTH, "    ", " &")
        lines += [f"  use {module}, only: &", *renamed]
    left_out = {CONSTRAINT_GEOMETRY: not made.passing, "partial_rates": not made.program.partial_rates}
    called_here = [name for name in _SECTIONS if not left_out.get(name)]
    called = [f"{name}_of" for name in (*called_here, "precompute", "fire", "normalise")]
    lines += ["  implicit none", "  private", "  public :: &", *list_items(called, _WIDTH, "    ", " &"), ""]
    sizes = {name: size for name, size in found.sizes.items() if name != "N_OUTPUTS"}
    sizes |= {name: n for name, n in implicit_tables(made).sizes.items() if name == "N_PARTIALS"}
    for name, size in sizes.items():
        lines.append(f"  integer, parameter, public :: {fortran_name(name)} = {size}")
    for name, values in found.counted_from(1).items():
        truths = name in TRUTHS
        kind = "logical" if truths else "integer"
        texts = [".true." if v else ".false." for v in values] if truths else [str(v) for v in values]
        declared = f"{fortran_name(name)}({len(values)})"
        _, *others = array(f"{kind}, public", declared, texts or [f"{kind} ::"], "")
        lines += others
    for name, reals in found.reals.items():
        _, *others = array(
            "real(dp), public", f"{fortran_name(name)}({len(reals)})", [f"{x!r}_dp" for x in reals], ""
        )
        lines += others
    lines += ["", "contains", ""]
    lines += [line for name in called_here for line in _dispatcher(name, every)]
    lines += _other_dispatchers(every)
    return "\n".join([*lines, f"end module {stem}_changes"]) + "\n"


def _cases(name: str, every: Sequence[Source], given: str, unused: Iterable[str]) -> list[str]:
    """Return statements that call a section of configuration ``c``.

    If no configuration has the section, the statements only name the arguments, which avoids warnings.
    """
    calls = [
        f"    case ({c + 1})\n      call {name}_{c}({given})"
        for c, one in enumerate(every)
        if name in sections_of(one)
    ]
    if not calls:
        return [f"    associate (unused => {a})\n    end associate" for a in ("c", *unused)]
    return ["    select case (c)", *calls, "    end select"]


def _dispatcher(name: str, every: Sequence[Source]) -> list[str]:
    """Return the subroutine that calls a section of configuration ``c``."""
    state, size, beyond = _SECTIONS[name]
    return [
        f"  pure subroutine {name}_of(c, t, state, constants, memory, out)",
        "    integer, intent(in) :: c",
        f"    real(dp), intent(in) :: t, {state}, constants(most_constants), memory(n_memory)",
        f"    real(dp), intent(out) :: out({size})",
        f"    out = {beyond}",
        *_cases(name, every, "t, state, constants, memory, out", ("t", "state", "constants", "memory")),
        f"  end subroutine {name}_of",
        "",
    ]


def _other_dispatchers(every: Sequence[Source]) -> list[str]:
    fire = "t, state, constants, memory, new_memory, new_state"
    return [
        "  pure subroutine precompute_of(c, p, constants)",
        "    integer, intent(in) :: c",
        "    type(parameters_t), intent(in) :: p",
        "    real(dp), intent(out) :: constants(most_constants)",
        "    constants = 0.0_dp",
        *_cases("precompute", every, "p, constants", ("p",)),
        "  end subroutine precompute_of",
        "",
        f"  pure subroutine fire_of(c, k, {fire})",
        "    integer, intent(in) :: c, k",
        f"    real(dp), intent(in) :: t, {_STATE}, constants(most_constants), memory(n_memory)",
        "    real(dp), intent(out) :: new_memory(n_memory), new_state(most_states)",
        "    new_memory = memory",
        "    new_state = state",
        *_cases("fire", every, f"k, {fire}", ("k", "t", "constants")),
        "  end subroutine fire_of",
        "",
        "  pure subroutine normalise_of(c, t, state, constants, memory)",
        "    integer, intent(in) :: c",
        "    real(dp), intent(in) :: t, constants(most_constants), memory(n_memory)",
        "    real(dp), intent(inout) :: state(most_states)",
        *_cases("normalise", every, "t, state, constants, memory", ("t", "state", "constants", "memory")),
        "  end subroutine normalise_of",
        "",
    ]


_TYPES = {
    "real": "real(dp)", "whole": "integer", "index": "integer", "count": "integer(int64)", "truth": "logical"
}  # fmt: skip
_ELEMENTS = element_types("integer", "logical")
_SIZES = {"States": "n_states", "Memory": "n_memory", "Outputs": "n_outputs"}
_SIZES |= {kind: name.lower() for kind, name in IMPLICIT_EXTENTS.items()}
_SIZES |= {"Pivots": "n_pivots", "Kinds": "n_kinds", "PlaceFlags": "n_places"}


def solver_values(made: Source, has: Collection[str], array: Array) -> dict[str, str]:
    """Return values for the template: methods, components of a run, constants and procedures."""
    methods = exported_methods(True, made.stiff)
    printer = FortranSolverPrinter(solver_for(has, True, ("start_run", "find_row"), guard=made.guard))
    return {
        "methods": ", ".join(f"{m.name} = {number}" for number, m in enumerate(methods, 1)),
        "method_list": method_names(True, stiff=made.stiff),
        **fortran_settings(made.stiff),
        "structure": "\n".join(_sparse_tables(made, printer.text(), array)),
        "method_cases": "\n".join(f"    case ('{m.name}')\n      number = {m.name}" for m in methods),
        "fields": "\n".join(printer.components()),
        "solver_constants": "\n".join(printer.constants()),
        "solver": "\n".join(f"  {line}".rstrip() for line in printer.text().splitlines()),
    }


def _sparse_tables(made: Source, code: str, array: Array) -> list[str]:
    """Return the sizes and tables of the sparse equations of implicit steps that the code reads."""
    found = implicit_tables(made)
    lines = [
        f"  integer, parameter :: {name.lower()} = {size}"
        for name, size in found.sizes.items()
        if name != "N_PARTIALS"
    ]
    for name, values in found.counted_from(1, code).items():
        _, *written = array("integer", f"{name.lower()}({len(values)})", [str(v) for v in values], "")
        lines += _protect(written)
    return lines


def _protect(lines: Iterable[str]) -> list[str]:
    """Return tables as protected variables: gfortran warns if a constant table contains an unused index 0."""
    return [line.replace("integer, parameter ::", "integer, protected ::") for line in lines]


_REFUSAL = """\
    if ({}) then
      write (message_, '(*(g0))') &
        '&run: {}'
      call fail_(trim(message_))
    end if"""


def fortran_settings(stiff: bool) -> dict[str, str]:
    """Return defaults and checks of a run's settings, the adaptive methods, and the default methods."""
    methods = exported_methods(True, stiff)
    known = {key.key: key.default for key in run_keys() if key.default is not None}
    texts = {key: "huge(1.0_dp)" if isinf(x) else f"{x!r}_dp" for key, x in known.items()}
    texts["max_steps"] = f"{int(known['max_steps'])}_int64"
    found = {f"default_{key}": text for key, text in texts.items()}
    found["adaptive_words"] = ", ".join(f"'{m.name}'" for m in methods if m.adaptive)
    usual = {"usual_with_step": usual_method(True), "usual_without_step": usual_method(False)}
    largest = {"INFINITY": "huge(1.0_dp)"}
    found["setting_checks"] = setting_checks(FortranSolverPrinter(NO_SOLVER), _REFUSAL, "', {}, '", largest)
    return {**found, **usual, "samples": str(ROWS)}


class FortranSolverPrinter(SolverPrinter):
    """Printer of pure procedures in Fortran, with array operations on vectors; indices begin with one."""

    record_type = "run_t"
    indent = "  "
    continued = " &"
    remark = "! {}"
    signed = 5
    spelled = {  # noqa: RUF012
        "and": ".and.", "or": ".or.", "not": ".not. ", "!=": "/=", "break": "exit", "continue": "cycle"
    }  # fmt: skip
    heads = {  # noqa: RUF012
        "if": "if ({}) then", "elif": "else if ({}) then", "else": "else", "while": "do while ({})",
        "loop": "do", "for": "do {} = 1, {}", "from": "do {0} = {2}, {1}",
    }  # fmt: skip
    closings = {"if": "end if", "while": "end do", "loop": "end do", "for": "end do"}  # noqa: RUF012
    functions = {  # noqa: RUF012
        "is_finite": "all(ieee_is_finite({}))", "floor": "aint", "float": "real({}, dp)",
        "isnan": "ieee_is_nan", "power": "({})**({})", "differs": ".not. ({0} <= {1} .and. {0} >= {1})",
        "at": "({} - 1)*{} + {}", "below": "{} <= {}", "agree": "({} .eqv. {})",
    }  # fmt: skip

    def __init__(self, solver: Solver) -> None:
        spelled = {
            "DIRECTION": "event_direction", "STOPS": "event_stops", "INFINITY": "infinity()", "NONE": "0",
            "NAN": "not_a_number()",
            "FIRST": "1", "JUMP_TIME": "jump_time", "JUMP_HARD": "jump_hard", "KIND": "kind_of",
            "PIVOT_OF": "pivot_of", "N_PIVOTS": "n_pivots", "N_KINDS": "n_kinds", "N_COORDINATES": "n_places",
            "SETS_PLACE": "sets_place",
            "EVENT": "stopped_by_event", "ROW": "row_found", "STEP": "step_taken", "END": "end_reached",
        }  # fmt: skip
        sizes = ("N_STATES", "N_MEMORY", "N_EVENTS", *IMPLICIT_EXTENTS.values(), "N_ENTRIES", *TABLE_NAMES)
        words = (*SOLVER_STATUSES, "READY", "SETTLED", "ARRIVED", *solver.constants)
        spelled = {name: name.lower() for name in (*sizes, *words)} | spelled | {"EPSILON": "epsilon_1"}
        self.sizes = _SIZES
        if any(f.name == "configuration" for f in solver.fields):
            spelled |= {name: fortran_name(name) for name in OF_CHANGES}
            spelled |= WORDS
            extents = CHANGE_EXTENTS | IMPLICIT_EXTENTS
            self.sizes = _SIZES | {kind: fortran_name(name) for kind, name in extents.items()}
        for method in exported_methods(adaptive=True, stiff=True):
            spelled[f"METHOD_{method.name.upper()}"] = method.name
        super().__init__(solver, spelled)

    def extent(self, kind: str) -> str:
        return self.sizes.get(kind, "n_events")

    def components(self) -> list[str]:
        """Return the components of the derived type."""
        lines = []
        for f in self.solver.fields:
            size = "" if f.type in _TYPES else f"({self.extent(f.type)})"
            kind = _TYPES.get(f.type) or _ELEMENTS.get(f.type, "real(dp)")
            lines.append(f"    {kind} :: {f.name}{size}" + (f"  ! {f.about}" if f.about else ""))
        return lines

    def constants(self) -> list[str]:
        """Return the constants of the solver."""
        lines = []
        for name, value in self.solver.constants.items():
            kind, text = ("integer", str(value)) if isinstance(value, int) else ("real(dp)", f"{value!r}_dp")
            lines.append(f"  {kind}, parameter :: {self.names[name]} = {text}")
        return lines

    def run(self) -> str:
        return "r"

    def field(self, name: str) -> str:
        return f"r%{name}"

    def item(self, array: str, index: str) -> str:
        return f"{array}({index})"

    def number(self, value: float) -> str:
        return f"{value!r}_dp"

    def truth(self, value: bool) -> str:
        return ".true." if value else ".false."

    def conditional(self, name: str, declared: str, value: ast.IfExp) -> list[str]:
        yes, no, test = (self.expression(part) for part in (value.body, value.orelse, value.test))
        return self.lines(f"{name} = merge({yes}, {no}, {test})")

    def vector(self, target: str, kind: str, value: ast.expr) -> list[str]:
        return self.lines(f"{target} = {self.expression(value)}")

    def model(self, name: str, targets: Sequence[str], arguments: Sequence[str]) -> list[str]:
        if self.changing and name != "pivot_shares":
            return self.section(name, targets, arguments)
        if name == "fire":
            given = f"{', '.join(arguments)}, r%constants, r%memory, r%new_memory, r%stage"
            return [f"call fire({given})", "r%memory = r%new_memory", "r%state = r%stage"]
        if name == "pivot_shares":
            return self.lines(f"call {name}({', '.join(arguments)}, r%p, r%memory, {targets[0]})")
        t, state, *memory = arguments
        given = f"{t}, {state}, r%constants, {memory[0] if memory else 'r%memory'}"
        return self.lines(
            f"call {name}({given})" if name == "normalise" else f"call {name}({given}, {targets[0]})"
        )

    def section(self, name: str, targets: Sequence[str], arguments: Sequence[str]) -> list[str]:
        """Return statements that call a section of the present configuration, or of a given one."""
        c, constants, memory = "r%configuration", "r%constants", "r%memory"
        if name in ("enter", "impulse", "adjust"):
            c, *arguments = arguments
            constants = f"r%all_constants(:, {c})"
        if name == "outputs":
            *arguments, memory = arguments
        given = f"{', '.join(arguments)}, {constants}, {memory}"
        if name == "fire":
            call = f"call fire_of({c}, {given}, r%new_memory, r%stage)"
            return [*self.lines(call), "r%memory = r%new_memory", "r%state = r%stage"]
        results = "" if name == "normalise" else f", {targets[0]}"
        return self.lines(f"call {name}_of({c}, {given}{results})")

    def close_again(self) -> list[str]:
        constants, configuration = (
            ("r%all_constants(:, 1)", ", r%configuration") if self.changing else ("r%constants", "")
        )
        return [
            "r%given = r%set_now",
            f"call assemble(r%t, r%state, {constants}, r%memory, r%given, r%open_by, r%open{configuration})",
            "if (r%open /= 0) r%status = open_loops",
        ]

    def report(self, k: str) -> list[str]:
        return [f"r%happened({k}) = r%happened({k}) + 1"]

    def call(self, function: SolverFunction, arguments: Sequence[str], target: str = "") -> str:
        # An argument in brackets is a copy: arguments must not alias the run or the result, which the
        # procedure may change.
        given = [f"({a})" if a.startswith("r%") or a == target else a for a in arguments]
        return f"call {function.name}({', '.join(['r', *given, *([target] if target else [])])})"

    def result(self, value: str | None, last: bool) -> list[str]:
        lines = self.lines(f"value = {value}") if value else []
        return lines if last else [*lines, "return"]

    def function(self, function: SolverFunction) -> list[str]:
        is_subroutine = function.changes_run or function.result is None
        given = ["r"] if function.takes_run else []
        given += function.arguments
        intent = "inout" if function.changes_run else "in"
        lines = [f"type({self.record_type}), intent({intent}) :: r"] if function.takes_run else []
        for name, kind in function.arguments.items():
            size = f"({self.sizes['States']})" if kind == "States" else ""
            lines.append(f"{_TYPES.get(kind, 'real(dp)')}, intent(in) :: {name}{size}")
        if function.result:
            lines.append(f"{_TYPES[function.result]}{', intent(out)' if is_subroutine else ''} :: value")
        by_type: dict[str, list[str]] = {}
        for name, kind in function.locals.items():
            by_type.setdefault(_TYPES[kind], []).append(name)
        lines += [f"{kind} :: {', '.join(names)}" for kind, names in by_type.items()]
        kind = "subroutine" if is_subroutine else "function"
        if is_subroutine and function.result:
            given = [*given, "value"]
        head = f"pure {kind} {function.name}({', '.join(given)})" + (
            "" if is_subroutine else " result(value)"
        )
        return [
            *(f"! {function.about}",),
            *(head, *self.indent_lines(lines), *self.body(function), f"end {kind} {function.name}"),
        ]


class FortranPart(FortranSolverPrinter):
    """Printer of procedures with a record of their own, for closing loops or for contacts."""

    def __init__(self, source: AssemblySource | ContactSource, record_type: str) -> None:
        super().__init__(source.solver)
        self.record_type, self.lengths = record_type, source.lengths

    def extent(self, kind: str) -> str:
        return str(self.lengths[kind])


# Closing of loops before a run, in Fortran: the procedures of solver/assembly.py and their data.

Names = Callable[[str, str, Sequence[str]], list[str]]

_LOOP_SIZES = {"N_GAPS": "n_gaps", "N_COORDINATES": "n_places"}  # names that main programs use
_STATUSES = {"CLOSED": "loops_closed", "OPEN": "loops_open", "NOT_REDUNDANT": "not_redundant"}
_LOOP_REMARKS = {
    "ELEMENT_ROW": "row of each element of J", "ELEMENT_SPEED": "and its speed",
    "RATE_PLACE": "coordinate of each element of N", "RATE_SPEED": "and its speed",
    "UNIT_FROM": "first Euler parameters", "DEPENDENT": "speeds that move first",
    "HOLDING": "all that the gaps depend on", "IS_KEPT": "rows that are not redundant",
}  # fmt: skip


def assembly_text(loops: AssemblySource, quoted: Callable[[str], str]) -> str:
    """Return the procedures that close loops."""
    solver = "\n".join(f"  {line}".rstrip() for line in FortranAssembly(loops).text().rstrip().splitlines())
    values = {"redundant": quoted(loops.redundant), "solver": solver}
    procedures = fill(template(__package__, "assembly.txt"), values, loops.features)
    return "\n".join([procedures, template(__package__, "six_digits.txt")])


def assembly_data(loops: AssemblySource, array: Array, names: Names) -> list[str]:
    """Return sizes, tables and the derived type, for the top of the module."""
    printer = FortranAssembly(loops)
    used = set(re.findall(r"\w+", printer.text())) | {"n_gaps", "n_places", "loops_open"}
    sizes = {printer.names[name]: n for name, n in loops.sizes.items()}
    sizes |= {name: number for number, name in enumerate(_STATUSES.values())}
    lines = ["  ! Loops: see below."]
    lines += [f"  integer, parameter :: {name} = {n}" for name, n in sizes.items() if name in used]
    lines += [f"  integer, parameter :: n_numbers = {len(loops.section.results)}", *printer.constants()]
    for name, numbers in loops.whole_tables(1).items():
        values = [str(i) for i in numbers] or ["integer ::"]
        lines += array("integer", f"{name.lower()}({len(numbers)})", values, _LOOP_REMARKS[name])
    for name, flags in loops.truth_tables.items():
        values = [".true." if f else ".false." for f in flags]
        lines += array("logical", f"{name.lower()}({len(flags)})", values, _LOOP_REMARKS[name])
    whole = [".true." if f else ".false." for f in loops.whole]
    about = "coordinates that are held if a whole state is given"
    lines += array("logical", "whole_state(n_places)", whole, about)
    lines += array(
        "real(dp)", "first_guess(n_places)", [literal(x) for x in loops.first], "where a search starts"
    )
    lines += names("gap_before", "n_gaps", [before.rstrip() for before, _ in loops.gaps])
    lines += names("gap_after", "n_gaps", [after.lstrip() for _, after in loops.gaps])
    given = "    real(dp) :: constants(n_constants), memory(n_memory)"
    return [*lines, "", "  type :: loops_t", given, *printer.components(), "  end type loops_t"]


class FortranAssembly(FortranPart):
    """Printer of the procedures that close loops."""

    functions = {  # noqa: RUF012
        **FortranSolverPrinter.functions, "isnan": ".not. ({0} <= {0})", "at": "({} - 1)*{} + {}"
    }  # fmt: skip

    def __init__(self, loops: AssemblySource) -> None:
        super().__init__(loops, "loops_t")
        self.names = {name: name.lower() for name in (*self.solver.constants, *_LOOP_REMARKS)}
        self.names |= {name: _LOOP_SIZES.get(name, loop_name(name).lower()) for name in loops.sizes}
        self.names |= {"FIRST": "1", "INFINITY": "huge(1.0_dp)", **_STATUSES}

    def model(self, name: str, targets: Sequence[str], arguments: Sequence[str]) -> list[str]:
        return [f"call {name}({', '.join(arguments)}, r%constants, r%memory, {targets[0]})"]


# The solver of contacts in Fortran: pure procedures with their own derived type.

_CONTACT_REMARKS = {
    "NORMAL_ROW": "row of the normal of each contact; 0: none",
    "SLIP_ROW": "first row of its slip; 0: none",
    "SLIP_END": "and the last",
}


def contact_data(sources: Sequence[ContactSource], array: Array) -> list[str]:
    """Return sizes, tables and derived types, for the top of a module."""
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
            lines += _protect(array("integer", declared, [str(i) for i in numbers], _CONTACT_REMARKS[name]))
        lines += ["", f"  type :: {printer.record_type}", *printer.components()]
        lines.append(f"  end type {printer.record_type}")
    return lines


def contact_procedures(sources: Sequence[ContactSource]) -> str:
    """Return the subroutines that sections call, and the procedures that these call."""
    texts = []
    for source in sources:
        printer = FortranContacts(source)
        texts += [printer.text(), *map(printer.block_function, source.called)]
    return "\n".join(f"  {line}".rstrip() for text in texts for line in text.splitlines())


class FortranContacts(FortranPart):
    """Printer of procedures that find forces and statuses of contacts."""

    def __init__(self, source: ContactSource) -> None:
        super().__init__(source, f"contacts{source.tag}_t")
        self.source = source
        self.names = {name: name.lower() for name in self.solver.constants} | {"FIRST": "1", "NONE": "0"}
        self.names |= {name: name.lower() + source.tag for name in (*source.sizes, *source.block.tables)}

    def block_function(self, name: str) -> str:
        """Return a subroutine that reads an array of arguments and fills an array of results."""
        block = self.source.called[name]
        takes = [
            f"  r%{p.field} = given({p.first + 1}:{p.first + p.length})"
            for p in self.source.takes(name)
            if p.length
        ]
        gives = [
            f"  found({p.first + 1}:{p.first + p.length}) = r%{p.field}"
            for p in self.source.gives(name)
            if p.length
        ]
        return "\n".join([
            f"! {self.solver.functions[self.source.entry(name)].about}",
            f"pure subroutine {name}(given, found)",
            f"  real(dp), intent(in) :: given({block.arity})",
            f"  real(dp), intent(out) :: found({block.count})",
            f"  type({self.record_type}) :: r",
            *takes, f"  call {self.source.entry(name)}(r)", *gives, f"end subroutine {name}", "",
        ])  # fmt: skip
