"""Functions of the solver in C: the record of a run, and how the small language is spelled."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence

from armillary.columns import aligned
from armillary.export.text.configurations import ACROSS, OF_PASSING, WORDS
from armillary.export.text.printing.solver_printer import SolverPrinter
from armillary.export.text.run_rules import SOLVER_STATUSES
from armillary.program.derivatives.sparse_rates import TABLES
from armillary.runtime.solver.language.translator import Field, Solver, SolverFunction
from armillary.runtime.solver.methods import exported_methods

_TYPES = {"real": "double", "whole": "int", "count": "long long", "truth": "int", "index": "int"}
_ELEMENTS = dict.fromkeys(
    ("Wholes", "Truths", "Locks", "PlaceFlags", "SpeedFlags", "OutputFlags", "StateNumbers"), "int"
)  # of vectors; others are of reals
# Sizes and tables of configurations; those of the present one are in `present`.
_OF_CONFIGURATIONS = {
    **{name: f"present(run)->{name.lower()}" for name in ("DIRECTION", "ROLE", "LANDS")},
    **{name: name.lower() for name in ("LOCKED_IN", "LOCKS", "UNLOCKS", "STRIKES", "CHOICE_EVENT")},
    **{name: name.lower() for name in ("RANK_EVENT", "GROUP_SIZE", "MEMBER", "SETS", "MOVES")},
    **{name: name.lower() for name in ("SETTING_EVENT", "SETTING_SPEED", "SETTING_ACTS")},
    **{name.upper(): name for name in (*OF_PASSING, "first_element", "speed_kind", "at_end")},
    **{name: name.lower() for name in ("STATE_SIZE", *ACROSS)},
    "STOPS": "present(run)->ends",
}
_EXTENTS = {
    "Motion": "@_MOTION", "Ratings": "@_MEMBERS", "Speeds": "@_SPEEDS", "Locks": "@_LOCKABLE",
    "Geometry": "@_ELEMENTS", "Jacobian": "@_ROWS * @_SPEEDS", "RowReals": "@_ROWS",
    "Entries": "@_SPARSE_ENTRIES + @_STATES", "Factors": "@_SPARSE_FACTORS",
    "Unknowns": "@_SPARSE_UNKNOWNS",
    "Slopes": "@_STAGES * @_STATES_ROOM", "Nests": "@_NESTS * @_STATES_ROOM", "OutputFlags": "@_OUTPUTS",
}  # fmt: skip


def _extent(kind: str, upper: str) -> str:
    return _EXTENTS[kind].replace("@", upper)


class CSolverPrinter(SolverPrinter):
    """Functions of C."""

    remark = "/* {} */"
    ended = ";"
    spelled = {"and": "&&", "or": "||", "not": "!"}  # noqa: RUF012
    heads = {  # noqa: RUF012
        "if": "if ({}) {{", "elif": "}} else if ({}) {{", "else": "}} else {{", "while": "while ({}) {{",
        "loop": "for (;;) {{", "for": "for (int {0} = 0; {0} < {1}; {0}++) {{",
        "from": "for (int {0} = {2}; {0} < {1}; {0}++) {{",
    }  # fmt: skip
    closings = dict.fromkeys(("if", "while", "loop", "for"), "}")
    functions = {  # noqa: RUF012
        "abs": "fabs", "min": "smaller", "max": "larger", "power": "pow", "is_finite": "finite_all",
        "float": "(double)({})", "isnan": "{0} != {0}", "differs": "{} != {}",
    }  # fmt: skip
    code = ""  # of the file, once it is written

    def __init__(self, solver: Solver, stem: str) -> None:
        upper = stem.upper()
        names = {
            "N_STATES": "N", "N_MEMORY": f"{upper}_MEMORY", "N_EVENTS": f"{upper}_EVENTS", "NONE": "-1",
            "DIRECTION": "direction", "STOPS": "terminal", "JUMP_TIME": "jump_time", "JUMP_HARD": "jump_hard",
            "SETS_PLACE": "sets_place", "N_COORDINATES": f"{upper}_COORDINATES",
            "FIRST": "0", "KIND": "kind_of", "PIVOT_OF": "pivot_of",
            "INFINITY": "(double)INFINITY", "NAN": "(double)NAN",
            "N_UNKNOWNS": f"{upper}_SPARSE_UNKNOWNS", "N_ENTRIES": f"{upper}_SPARSE_ENTRIES",
            **{name.upper(): name for name in TABLES},
            "N_PIVOTS": f"{upper}_PIVOTS", "N_KINDS": f"{upper}_KINDS",
        }  # fmt: skip
        names |= {status: f"{upper}_{status}" for status in SOLVER_STATUSES}
        for method in exported_methods(adaptive=True, stiff=True):
            names[f"METHOD_{method.name.upper()}"] = f"{upper}_{method.name.upper()}"
        names |= {name: name.lower() for name in solver.constants}
        if any(f.name == "configuration" for f in solver.fields):
            names |= _OF_CONFIGURATIONS
            names |= {word: str(number) for word, number in WORDS.items()}
            names |= {"N_EVENTS": f"{upper}_EVENTS_ROOM", "N_STATES": "N", "N_OWN_EVENTS": "OWN_EVENTS"}
            names |= {
                f"N_{word}": f"{upper}_{word}"
                for word in (
                    *("CONFIGURATIONS", "SPEEDS", "LOCKABLE", "MEMBERS", "SETTINGS", "OWN_MOTION"),
                    *("ROWS", "ELEMENTS", "STAGES", "NESTS", "LOOKS", "OUTPUTS"),
                )
            }
            names["N_JACOBIAN"] = _extent("Jacobian", upper)
            names["N_COORDINATES"] = f"{upper}_PLACES"
            names["LOCKED"] = f"(locked_in + run->configuration * {upper}_LOCKABLE)"
        super().__init__(solver, names)
        self.stem, self.upper, self.record_type = stem, upper, f"{stem}_run"

    def of_present(self, name: str, index: ast.expr) -> str:
        if name in ("ROW_OF", "SPEED_OF", "SPEED_OF_ROW", "NEAR_PLACE", "SETTING_ACTS"):
            return super().of_present(name, index)
        return self.item(self.names[name], self.expression(index))

    def statement(self, node: ast.stmt, last: bool) -> list[str]:
        lines = super().statement(node, last)
        if len(lines) == 3 and lines[0].endswith(" {") and lines[2] == "}":
            return [lines[0][:-2], lines[1]]
        return lines

    def extent(self, kind: str, room: bool = False) -> str:
        """The length of a vector; with ``room``, at least one."""
        if kind == "Partials":
            states = self.extent("States", True)
            return f"{states} * ({states} + 1)"
        if kind in ("States", "StateNumbers"):
            return (f"{self.upper}_STATES" + ("_ROOM" if self.changing else "")) if room else "N"
        if kind == "PlaceFlags":
            return f"{self.upper}_COORDINATES"
        if kind in _EXTENTS:
            return _extent(kind, self.upper) + (" + 1" if room else "")
        if self.changing and kind not in ("Memory", "Outputs", "Pivots", "Kinds"):
            return f"{self.upper}_EVENTS_ROOM"
        if kind in ("Memory", "Outputs"):
            return f"{self.upper}_{kind.upper()}" + ("_ROOM" if room else "")
        if kind in ("Pivots", "Kinds"):
            return f"{self.upper}_{kind.upper()}"
        return f"{self.upper}_EVENTS"

    def record(self) -> list[str]:
        """The members of the structure."""

        def member(f: Field) -> str:
            if f.type in _TYPES:
                return f"    {_TYPES[f.type]} {f.name};"
            return f"    {_ELEMENTS.get(f.type, 'double')} {f.name}[{self.extent(f.type, True)}];"

        rows = [(member(f), f"/* {f.about} */" if f.about else "") for f in self.fields()]
        return aligned(rows)

    def fields(self) -> Sequence[Field]:
        """The parts of a run that are written."""
        return self.solver.fields

    def constants(self) -> list[str]:
        """Numbers by name."""
        lines = []
        for name, value in self.solver.constants.items():
            kind = "int" if isinstance(value, int) else "double"
            lines.append(f"static const {kind} {name.lower()} = {value!r};")
        return lines

    def field(self, name: str) -> str:
        return f"run->{name}"

    def truth(self, value: bool) -> str:
        return str(int(value))

    def declare(self, name: str, kind: str, value: str) -> str:
        return f"{_TYPES[kind]} {name} = {value};"

    def conditional(self, name: str, declared: str, value: ast.IfExp) -> list[str]:
        test, yes, no = (self.expression(part, 3) for part in (value.test, value.body, value.orelse))
        return self.lines(self.set(name, declared, f"{test} ? {yes} : {no}"))

    def vector(self, target: str, kind: str, value: ast.expr) -> list[str]:
        count = self.extent(kind)
        if isinstance(value, ast.Attribute):
            one = "_whole" if kind in _ELEMENTS else ""
            return [f"copy{one}({count}, {self.expression(value)}, {target});"]
        self.element = "i"
        lines = self.lines(f"{target}[i] = {self.expression(value)};")
        self.element = ""
        return [f"for (int i = 0; i < {count}; i++)", *self.indented(lines)]

    def model(self, name: str, targets: Sequence[str], arguments: Sequence[str]) -> list[str]:
        if name == "pivot_shares":
            given = f"{', '.join(arguments)}, run->parameters, run->memory, {targets[0]}"
            return self.lines(f"{self.stem}_{name}({given});")
        if name == "derivatives":
            return self.lines(f"rates(run, {', '.join(arguments)}, {targets[0]});")
        if name in ("enter", "impulse", "adjust"):
            c, *others = arguments
            own = f"{', '.join(others)}, run->all_constants[{c}], run->memory, {targets[0]}"
            return self.lines(f"configurations[{c}].{name}({own});")
        function = f"present(run)->{name}" if self.changing else f"{self.stem}_{name}"
        if name == "normalise":
            return [f"{function}({', '.join(arguments)}, run->constants, run->memory);"]
        if name == "fire":
            given = f"{', '.join(arguments)}, run->constants, run->memory"
            return [
                f"{function}({given}, run->new_memory, run->stage);",
                f"copy({self.upper}_MEMORY, run->new_memory, run->memory);",
                "copy(N, run->stage, run->state);",
            ]
        t, state, *memory = arguments
        given = f"{t}, {state}, run->constants, {memory[0] if memory else 'run->memory'}"
        return self.lines(f"{function}({given}, {targets[0]});")

    def report(self, k: str) -> list[str]:
        return [f"run->fired[{k}] = 1;"]

    def function(self, function: SolverFunction) -> list[str]:
        run = f"{'' if function.changes_run else 'const '}{self.record_type} *run"
        arguments = [run] if function.takes_run else []
        for name, kind in function.arguments.items():
            arguments.append(f"const double *{name}" if kind == "States" else f"{_TYPES[kind]} {name}")
        kind = _TYPES[function.result] if function.result else "void"
        head = f"static {kind} {function.name}({', '.join(arguments)})"
        lines = self.body(function)
        unused = [name for name in function.arguments if not re.search(rf"\b{name}\b", "\n".join(lines))]
        if unused:
            lines = [*self.indented([" ".join(f"(void){name};" for name in unused)]), *lines]
        return [f"/* {function.about} */", head, "{", *lines, "}"]
