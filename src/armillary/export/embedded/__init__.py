"""C for microcontrollers: the C of export/c with other settings.

There is no heap, no recursion and no global variable. Loops are bounded, the only method has a fixed step,
numbers are float or double throughout, and constants are in flash. The folder is an Arduino library and a
CMake project; measure.c counts instructions, stack and memory on a Cortex-M4F and a RISC-V in QEMU.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

import numpy as np

from armillary.errors import ArmillaryError, nearest
from armillary.export.c.model import CModel, test_code
from armillary.export.c.printer import COMMENT, NUMBER, CPrinter, CSolverPrinter, comment, counts
from armillary.export.c.solver import (
    AssemblyPrinter,
    SolverTexts,
    assembly_values,
    configuration_files,
    geometry_function,
    printed_solver,
)
from armillary.export.embedded.step_cost import cost_table, step_table
from armillary.export.text.body import closing
from armillary.export.text.files import fill, template
from armillary.export.text.printer import wrap_statement
from armillary.export.text.source import Sections, Source, features
from armillary.export.text.start import AssemblySource
from armillary.mechanics.constraints.closing_thresholds import FEW_CORRECTIONS
from armillary.solver.language.translator import Field, Solver, in_single, solver_for
from armillary.solver.methods.method_text import exported_methods
from armillary.solver.methods.tableau import Method

# C text in single or double precision: types, literals and library functions that match.

# Functions of math.h that generated code calls; in single precision their names end in "f".
LIBRARY = (
    *("sin", "cos", "tan", "asin", "acos", "atan", "atan2", "exp", "log", "pow", "sqrt", "fabs", "fma"),
    *("tanh", "floor", "ceil", "fmod", "hypot"),
)
_CALL = re.compile(rf"\b({'|'.join(LIBRARY)})(?=\()")


def in_precision(code: str, precision: str) -> str:
    """Return C text of doubles in "single" or "double" precision, with unchanged comments."""
    change = _single if precision == "single" else _double
    parts = COMMENT.split(code)
    return "".join(part if i % 2 else change(part) for i, part in enumerate(parts))


def _single(code: str) -> str:
    text = _CALL.sub(r"\1f", re.sub(r"\bdouble\b", "float", code))
    return NUMBER.sub(lambda m: _literal(float(m[1])), text)


def _double(code: str) -> str:
    """Cast constants of math.h to double: they are floats, and Clang warns of their implicit promotion."""
    return re.sub(r"(?<!\(double\))\b(INFINITY|NAN)\b", r"(double)\1", code)


def _literal(value: float) -> str:
    """Return the shortest literal of the nearest float."""
    with np.errstate(over="ignore"):
        text = str(np.float32(value))
    if text == "inf":
        return "INFINITY"
    return f"{text}f" if "." in text or "e" in text else f"{text}.0f"


def embedded_features(source: Source, precision: str) -> set[str]:
    """Return the features of a system that programs for microcontrollers can have."""
    found = {*features(source), "embedded"} - {"masses", "physical"}
    found |= {"inputs"} if any(m.input for m in source.description.memory) else set()
    found |= {"clocked"} if "passing" in found else set()
    found |= {"single_precision"} if precision == "single" else set()
    begins = {"corrected", "loops"} <= found and not source.prefix
    return found | {"kernel"} if begins else found


class EmbeddedPrinter(CPrinter):
    """A printer of C that calls the program's own sines, for one angle at a time.

    Vectors of four angles are for larger machines.
    """

    paired_angles = 1
    functions = {**CPrinter.functions, "sin": "sine_of", "cos": "cosine_of"}  # noqa: RUF012
    keywords = CPrinter.keywords | {f"{name}f" for name in LIBRARY}


class EmbeddedModel(CModel):
    """One system's functions, in single or double precision."""

    kind_of_printer = EmbeddedPrinter
    arranges = False

    def __init__(self, source: Source, precision: str) -> None:
        super().__init__(source)
        self.precision = precision
        self.sections = Sections(source, self.printer, ("sine_cosine",))

    def further(self, source: Source) -> EmbeddedModel:
        return EmbeddedModel(source, self.precision)

    @property
    def has(self) -> set[str]:
        return embedded_features(self.source, self.precision)

    @property
    def values(self) -> dict[str, str]:
        own = {f"{kind}_value": f"{self.stem}_{kind}_values[i]" for kind in ("parameter", "state", "memory")}
        names = ("_changes", *(other.prefix for other in self.source.others))
        own["further"] = "".join(f" src/{self.stem}{name}.c" for name in names if self.source.changing)
        own["closing"] = f" src/{self.stem}_assembly.c" if self.source.assembly is not None else ""
        if "reclosing" in self.has:  # the solver calls the functions that close loops
            own["further"], own["closing"] = own["further"] + own["closing"], ""
        own |= {**closing(self.precision, FEW_CORRECTIONS), "precision": self.precision}
        return super().values | own | {"real": "float" if self.precision == "single" else "double"}

    def in_precision(self, code: str) -> str:
        """Return C text of doubles in the precision of this model."""
        return in_precision(code, self.precision)

    def sines(self, code: str) -> str:
        called = {name for name in ("sine_of", "cosine_of") if f"{name}(" in code}
        wanted = called or "sine_cosine(" in code
        return fill(template(__package__, "trigonometry.c.txt"), {}, self.has | called) if wanted else ""

    def pivot_shares(self) -> str:
        return ""  # runs end where a value is no longer finite, without a search for motions without mass

    def physical(self) -> str:
        return ""

    def quantities(self) -> str:
        """Return default values as constant tables."""
        d = self.description
        tables: dict[str, list[float | None]] = {
            "parameter": [p.default if p.needed or p.default is not None else 0.0 for p in d.parameters],
            "state": [s.initial for s in d.starts],
            "memory": [m.initial for m in d.memory],
        }
        return "\n".join(self._table(kind, values) for kind, values in tables.items())

    def _table(self, kind: str, values: Iterable[float | None]) -> str:
        numbers = ["NAN" if v is None else self.printer.number(float(v)).text for v in values] or ["0.0"]
        text = f"const double {self.stem}_{kind}_values[{len(numbers)}] = {{{', '.join(numbers)}}};"
        return "\n".join([*wrap_statement(text, 110, "", "    "), ""])


# The solver for microcontrollers: one method of fixed step, bounded loops, only functions that are used.

# So many doublings lead from the smallest number beyond the largest: no loop of the solver makes more turns.
MOST_TURNS = {"single": 300, "double": 2150}


def solver_texts(model: CModel, method: Method, precision: str, loops: str) -> SolverTexts:
    """Return <name>_solver.h and <name>_solver.c; ``loops``: members of the record for closing loops."""
    solver = bounded_solver(model.source, model.has, method, precision)
    return printed_solver(model, BoundedPrinter(solver, model.stem), [method], loops)


def bounded_solver(made: Source, has: Collection[str], method: Method, precision: str) -> Solver:
    """Return a solver of one method of fixed step, with its constants, in a precision."""
    wanted = ["settle", "advance", "start_run"]
    wanted += ["step_by_clock", "row_near_place"] if "clocked" in has else []
    facts = {"dense": "events" in has}  # events are located inside steps
    solver = solver_for(
        has, False, wanted, always_dense=False, methods=[method], facts=facts, guard=made.guard
    )
    solver = in_single(solver) if precision == "single" else solver
    numbers = dict(solver.constants)
    statements = (node for f in solver.functions.values() for part in f.body for node in ast.walk(part))
    if any(isinstance(node, ast.While) for node in statements):
        numbers["MOST_TURNS"] = max(MOST_TURNS[precision], len(made.program.stops) + 1)
    return replace(solver, constants=numbers)


class BoundedPrinter(CSolverPrinter):
    """Printer of functions of C in which all loops are bounded by a count."""

    heads = {  # noqa: RUF012
        **CSolverPrinter.heads,
        "while": "for (int pass = 0; pass < most_turns && ({}); pass++) {{",
        "loop": "for (int pass = 0; pass < most_turns; pass++) {{",
    }

    def fields(self) -> Sequence[Field]:
        used = set(re.findall(r"run->(\w+)", self.code))
        return [f for f in self.solver.fields if f.name in used]


# <name>_assembly.h and .c for microcontrollers close loops from rough values, in memory of the caller.

_OPENING = """\
#include "@name@_assembly.h"

#include <math.h>

#if defined(__cplusplus)
#define restrict
#endif
"""


def bounded_assembly(loops: AssemblySource, precision: str) -> Solver:
    """Return the functions that close kinematic loops, with constants in a precision and a bound of turns."""
    solver = in_single(loops.solver) if precision == "single" else loops.solver
    numbers = dict(solver.constants)
    numbers["MOST_TURNS"] = int(numbers["DAMPED_TURNS"])  # bound of the longest loop
    return replace(solver, constants=numbers)


def open_sentences(loops: AssemblySource) -> dict[str, list[str]]:
    """Return the error messages for starts whose loops do not close, by error code."""
    left = [f"    numbers[{i}]: {before}…{after}" for i, (before, after) in enumerate(loops.gaps)]
    found = {
        "NOT_CLOSED": [
            "the loops cannot be closed with the given values; the smallest gaps found are",
            *left,
            "change the parameters that set them, or give other initial coordinates to start from",
        ]
    }
    return found | ({"NOT_REDUNDANT": [loops.redundant]} if loops.redundant else {})


class EmbeddedAssemblyPrinter(AssemblyPrinter, BoundedPrinter):
    """Printer of the functions that close loops, with bounded loops."""

    def __init__(self, loops: AssemblySource, stem: str, described: Solver) -> None:
        super().__init__(loops, stem, described)
        self.record_type = f"{stem}_loops"
        self.names = {
            **self.names,
            "CLOSED": f"{self.upper}_CLOSED",
            "OPEN": f"{self.upper}_NOT_CLOSED",
            "NOT_REDUNDANT": f"{self.upper}_NOT_REDUNDANT",
        }


def loops_printer(model: EmbeddedModel) -> EmbeddedAssemblyPrinter | None:
    """Return the printer of the functions that close loops; `None` if there are no loops."""
    loops = model.source.assembly
    if loops is None:
        return None
    found = EmbeddedAssemblyPrinter(loops, model.stem, bounded_assembly(loops, model.precision))
    found.code = found.text().rstrip("\n") + "run->t run->start run->given run->place run->status"
    return found


def loops_record(model: EmbeddedModel) -> str:
    """Return the members of the record for closing loops."""
    printer = loops_printer(model)
    fields = printer.record() if printer is not None else []
    return "\n".join(["    const double *constants;", "    const double *memory;", *fields])


def assembly_files(model: EmbeddedModel) -> dict[str, str]:
    """Return the files that close loops; empty if there are no loops."""
    solved, stem = loops_printer(model), model.stem
    if solved is None:
        return {}
    loops = solved.loops
    own = EmbeddedModel(model.source, model.precision)  # its text has only the tables that this file calls
    geometry = geometry_function(stem, loops, own.sections)
    values = model.values | assembly_values(model.source, solved, solved.text().rstrip("\n"))
    values |= {
        "loops": loops_record(model),
        "opening": _OPENING.replace("@name@", stem),
        "helpers": own.helper_functions(geometry),
        "functions": geometry,
        "sentences": "\n".join(_sentences(loops, model.upper)),
    }
    has = loops.features | {"embedded"} | (model.has & {"reclosing"})
    return {
        f"{stem}_assembly.h": fill(template(__package__, "assembly.h.txt"), values, has),
        f"{stem}_assembly.c": fill(template("armillary.export.c", "assembly.c.txt"), values, has),
    }


def _sentences(loops: AssemblySource, upper: str) -> list[str]:
    """Return the codes of errors as C text, each with its message as a comment."""
    lines = []
    for code, texts in open_sentences(loops).items():
        said = [line for text in texts for line in wrap_statement(comment(text), 104, "     * ", "     *   ")]
        lines += ["    /*", *said, "     */", f"    {upper}_{code},"]
    return [*lines[:-1], lines[-1].rstrip(",")]


# C text in which every body of an if, else or loop has braces (MISRA C:2012, rule 15.6).

_HEAD = re.compile(r"^( *)(?:if|for|while) \(.*\)( /\*.*\*/)?$")


def add_braces(code: str) -> str:
    """Return the code with braces around single statements; each head (``if (…)`` …) must be one line."""
    lines = code.split("\n")
    found: list[str] = []
    at = 0
    while at < len(lines):
        if _HEAD.match(lines[at]):
            written, at = _statement(lines, at)
            found += written
        else:
            found.append(lines[at])
            at += 1
    return "\n".join(found)


def _statement(lines: list[str], at: int) -> tuple[list[str], int]:
    """Return the lines of the statement that begins at line ``at``, with braces, and the index after it."""
    head = _HEAD.match(lines[at])
    if head is None:
        first = at
        while not re.search(r";( /\*.*\*/)?$", lines[at]):
            at += 1
        return lines[first : at + 1], at + 1
    indent, remark = head[1], head[2] or ""
    body, at = _statement(lines, at + 1)
    found = [f"{head[0].removesuffix(remark)} {{{remark}", *body]
    if lines[at : at + 1] == [f"{indent}else"]:
        body, at = _statement(lines, at + 1)
        found += [f"{indent}}} else {{", *body]
    return [*found, f"{indent}}}"], at


# Checks of the options of programs for microcontrollers.

PRECISIONS = ("single", "double")


def checked_precision(precision: str) -> str:
    """Return the precision if it is supported; raise an error otherwise."""
    if precision not in PRECISIONS:
        raise ArmillaryError(
            f"precision is '{precision}'{nearest(str(precision), PRECISIONS)}; an embedded program is in "
            "'single' (float) or 'double' precision"
        )
    return precision


def fixed_method(name: str) -> Method:
    """Return the exported fixed-step method of this name; raise an error otherwise."""
    methods = {m.name: m for m in exported_methods(adaptive=False, stiff=True)}
    if name not in methods:
        raise ArmillaryError(
            f"an embedded program takes steps of fixed size, whose work is the same every time; method is "
            f"'{name}'{nearest(str(name), methods)}; use one of {', '.join(methods)}"
        )
    return methods[name]


_PLAIN = {
    "CMakeLists.txt": "CMakeLists.txt.txt",
    "Makefile": "Makefile.txt",
    "library.properties": "library.properties.txt",
    "misra_deviations.txt": "misra_deviations.txt",
    "measure/measure.c": "measure.c.txt",
    "measure/cortex_m4f.ld": "cortex_m4f.ld.txt",
    "measure/riscv.ld": "riscv.ld.txt",
}


def embedded_files(src: Source, precision: str, chosen: Method, measure: bool | None) -> dict[str, str]:
    """Return the files of a system's program for microcontrollers, by name."""
    model = EmbeddedModel(src, checked_precision(precision))
    solver = solver_texts(model, chosen, precision, loops_record(model)).files(model.stem)
    sources = {
        f"src/{model.stem}.h": model.header(),
        f"src/{model.stem}.c": model.code(),
        **{f"src/{name}": text for name, text in (solver | configuration_files(model)).items()},
        **{f"src/{name}": text for name, text in assembly_files(model).items()},
    }
    values = model.values | {"method": chosen.name, "step": _step(src)}
    files = {name: add_braces(model.in_precision(text)) for name, text in sources.items()}
    files["test/test.c"] = test_code(model, chosen)
    plain = _PLAIN | {f"examples/{model.stem}/{model.stem}.ino": "sketch.ino.txt"}
    files |= {name: fill(template(__package__, file), values, model.has) for name, file in plain.items()}
    d = model.description
    values |= {
        "formalism": d.formalism,
        "freedom": d.freedom,
        "cost": counts(d.operations),
        "steps": step_table(model, chosen, FEW_CORRECTIONS),
        "measured": cost_table(files, measure),
    }
    return files | {"README.md": fill(template(__package__, "README.md.txt"), values, model.has)}


def _step(src: Source) -> str:
    """Return the step of examples and measurements: 1 ms, or the self-test's if shorter."""
    run = src.reference.trajectory
    return repr(min(run.step, 1e-3) if run else 1e-3)
