"""The solver in Fortran: the derived type of a run and the procedures of runtime/solver."""

from __future__ import annotations

import ast
from collections.abc import Collection, Sequence
from math import isinf

from armillary.export.fortran.configurations import fortran_name
from armillary.export.text.configurations import CHANGE_EXTENTS, OF_CHANGES, WORDS
from armillary.export.text.files.settings import run_keys
from armillary.export.text.printing.solver_printer import SolverPrinter
from armillary.export.text.run_rules import NO_SOLVER, SOLVER_STATUSES, setting_checks
from armillary.runtime.integrators import usual_method
from armillary.runtime.integrators.settings import ROWS
from armillary.runtime.solver.language.translator import Solver, SolverFunction, solver_for
from armillary.runtime.solver.methods import exported_methods, method_names

_TYPES = {
    "real": "real(dp)", "whole": "integer", "index": "integer", "count": "integer(int64)", "truth": "logical"
}  # fmt: skip
_ELEMENTS = {
    "Wholes": "integer",
    **dict.fromkeys(("Truths", "Locks", "PlaceFlags", "OutputFlags"), "logical"),
}
_SIZES = {"States": "n_states", "Memory": "n_memory", "Outputs": "n_outputs"}
_SIZES |= {"Pivots": "n_pivots", "Kinds": "n_kinds", "PlaceFlags": "n_places"}


def solver_values(has: Collection[str], guard: int | None) -> dict[str, str]:
    """Values for the template: the methods, the components of a run, the constants and the procedures."""
    methods = exported_methods(adaptive=True)
    printer = FortranSolverPrinter(solver_for(has, True, ("start_run", "find_row"), guard=guard))
    return {
        "methods": ", ".join(f"{m.name} = {number}" for number, m in enumerate(methods, 1)),
        "method_list": method_names(True),
        **fortran_settings(),
        "method_cases": "\n".join(f"    case ('{m.name}')\n      number = {m.name}" for m in methods),
        "fields": "\n".join(printer.components()),
        "solver_constants": "\n".join(printer.constants()),
        "solver": "\n".join(f"  {line}".rstrip() for line in printer.text().splitlines()),
    }


_REFUSAL = """\
    if ({}) then
      write (message_, '(*(g0))') &
        '&run: {}'
      call fail_(trim(message_))
    end if"""


def fortran_settings() -> dict[str, str]:
    """Defaults of a run's settings, and methods by what they need."""
    methods = exported_methods(adaptive=True)
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
    """Pure procedures of Fortran, with whole arrays for vectors; indices begin with one."""

    indent = "  "
    continued = " &"
    remark = "! {}"
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
        sizes = ("N_STATES", "N_MEMORY", "N_EVENTS")
        words = (*SOLVER_STATUSES, "READY", "SETTLED", "ARRIVED", *solver.constants)
        spelled = {name: name.lower() for name in (*sizes, *words)} | spelled | {"EPSILON": "epsilon_1"}
        self.sizes = _SIZES
        if any(f.name == "configuration" for f in solver.fields):
            spelled |= {name: fortran_name(name) for name in (*OF_CHANGES, "DIRECTION", "STOPS", "LANDS")}
            spelled |= {word: str(number) for word, number in WORDS.items()}
            self.sizes = _SIZES | {kind: fortran_name(name) for kind, name in CHANGE_EXTENTS.items()}
        for method in exported_methods(adaptive=True):
            spelled[f"METHOD_{method.name.upper()}"] = method.name
        super().__init__(solver, spelled)

    def components(self) -> list[str]:
        """The components of the derived type."""
        lines = []
        for f in self.solver.fields:
            size = "" if f.type in _TYPES else f"({self.sizes.get(f.type, 'n_events')})"
            kind = _TYPES.get(f.type) or _ELEMENTS.get(f.type, "real(dp)")
            lines.append(f"    {kind} :: {f.name}{size}" + (f"  ! {f.about}" if f.about else ""))
        return lines

    def constants(self) -> list[str]:
        """Numbers by name."""
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
        """Results of a section of the present configuration, or of one that is named."""
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
        # A component in brackets is a value: it must not be the same variable as a part of the run.
        given = [f"({a})" if a.startswith("r%") else a for a in arguments]
        return f"call {function.name}({', '.join(['r', *given, *([target] if target else [])])})"

    def result(self, value: str | None, last: bool) -> list[str]:
        lines = self.lines(f"value = {value}") if value else []
        return lines if last else [*lines, "return"]

    def function(self, function: SolverFunction) -> list[str]:
        is_subroutine = function.changes_run or function.result is None
        given = ["r"] if function.takes_run else []
        given += function.arguments
        intent = "inout" if function.changes_run else "in"
        lines = [f"type(run_t), intent({intent}) :: r"] if function.takes_run else []
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
            *(head, *self.indented(lines), *self.body(function), f"end {kind} {function.name}"),
        ]
