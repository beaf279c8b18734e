"""Rust without the standard library: a crate for one system, in single or double precision.

model.py writes model.rs from the sections, solver.py the solver common to all languages. The crate leaves out
the same features as export/embedded, and its loops have the same bounds.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from armillary.export.c.printer import counts
from armillary.export.embedded import bounded_solver, checked_precision, fixed_method
from armillary.export.embedded.step_cost import step_table
from armillary.export.rust.model import RustModel, RustPrinter, assembly_file, configuration_files
from armillary.export.rust.solver import RustSolverPrinter
from armillary.export.text.configurations import implicit_tables
from armillary.export.text.files import fill, template, write_folder
from armillary.export.text.printer import wrap_statement
from armillary.export.text.selftest import self_test
from armillary.export.text.solver_printer import STATUSES
from armillary.export.text.source import Source, make_source
from armillary.mechanics.constraints.closing_thresholds import FEW_CORRECTIONS
from armillary.program.equations import DerivedEquations
from armillary.solver.methods.tableau import Method


def export(
    equations: DerivedEquations,
    path: str | os.PathLike[str],
    *,
    force: bool = False,
    precision: str = "double",
    method: str = "rk4",
    configurations: bool | None = None,
) -> Path:
    """Write a folder with the system's crate in Rust.

    ``precision`` is "single" or "double"; ``method`` has a fixed step: "rk4", "midpoint", "ab2" or, for stiff
    systems, "rodas3", which uses the partial derivatives of the rates.
    """
    chosen = fixed_method(method)
    stiff = chosen.rosenbrock is not None
    made = make_source(equations, configurations, passes=True, stiff=stiff, sparse=True)
    model = RustModel(made, checked_precision(precision))
    d = model.description
    values = model.values | {
        "method": chosen.name,
        "crate": model.stem,
        "f": "f" if precision == "single" else "",
        "formalism": d.formalism,
        "freedom": d.freedom,
        "cost": counts(d.operations),
        "steps": step_table(model, chosen, FEW_CORRECTIONS),
    }
    names = ["changes", *(f"configuration{other.prefix}" for other in made.others)] if made.changing else []
    names += ["assembly"] if made.assembly is not None else []
    values["modules"] = "".join(f"mod {name};\n" for name in names)
    plain = {"src/lib.rs": "lib.rs.txt", "src/math.rs": "math.rs.txt"}
    plain |= {"Cargo.toml": "Cargo.toml.txt", "README.md": "README.md.txt"}
    files = {name: fill(template(__package__, file), values, model.has) for name, file in plain.items()}
    files |= {"src/model.rs": model.code(), "src/solver.rs": _solver_text(model, chosen)}
    files |= configuration_files(model) | assembly_file(model)
    return write_folder(path, files | {"tests/reference.rs": _test(model, chosen)}, force=force)


def _solver_text(model: RustModel, method: Method) -> str:
    """Return solver.rs."""
    stops, events = model.program.stops, model.description.events
    printer = RustSolverPrinter(bounded_solver(model.source, model.has, method, model.precision))
    times = ", ".join([*(model.printer.number(t).text for t, _ in stops), "Real::INFINITY"])
    set_places = ", ".join(str(bool(place)).lower() for place in model.source.set_places)
    hard = ", ".join([*(str(bool(jump)).lower() for _, jump in stops), "true"])
    values = model.values | {
        "statuses": "\n".join(
            f"/// {(s.about or s.words).capitalize()}.\npub const {s.name.upper()}: i32 = {number};"
            for number, s in enumerate(STATUSES)
        ),
        "solver_constants": "\n".join(printer.constants()),
        "directions": ", ".join(str(e.direction) for e in events),
        "set_places": "\n".join(wrap_statement(set_places, 100, "    ", "    ")),
        "set_count": str(len(model.source.set_places)),
        "stops": ", ".join(str(bool(e.stop)).lower() for e in events),
        "structure": "\n".join(_sparse_tables(model.source, printer.text())),
        "jump_count": str(len(stops) + 1),
        "jump_times": "\n".join(wrap_statement(times, 100, "    ", "    ")),
        "jump_hard": "\n".join(wrap_statement(hard, 100, "    ", "    ")),
        "solver": printer.text().rstrip("\n"),
        "members": "@members@",
        "zeros": "@zeros@",
    }
    code = fill(template(__package__, "solver.rs.txt"), values, model.has)
    members, zeros = printer.record(code)
    return code.replace("@members@", "\n".join(members)).replace("@zeros@", "\n".join(zeros))


def _sparse_tables(made: Source, code: str) -> list[str]:
    """Return the tables of the sparse equations of implicit steps that the code reads."""
    lines = []
    for name, values in implicit_tables(made).counted_from(0, code).items():
        text = f"static {name}: [i32; {len(values)}] = [{', '.join(map(str, values))}];"
        lines += wrap_statement(text, 110, "", "    ")
    return lines


def _test(model: RustModel, method: Method) -> str:
    """Return tests/reference.rs."""
    test, has = self_test(model.source, model.precision, method, model.has), model.has
    states = model.sizes["STATES"]
    test.inputs["states"] = [[*row, *[0.0] * (states - len(row))] for row in test.inputs["states"]]
    names = {"parameters": "PARAMETERS_GIVEN", "states": "STATES_GIVEN", "memories": "MEMORIES_GIVEN"}
    lines = [
        _table_text(names.get(n, n.upper()), "Real", rows, model.printer) for n, rows in test.inputs.items()
    ]
    wide = RustPrinter("double")
    for name, (expected, rooms) in test.compared.items():
        lines.append(_table_text(f"EXPECTED_{name.upper()}", "f64", expected, wide))
        lines.append(_table_text(f"ROOM_OF_{name.upper()}", "f64", rooms, wide))
    values = model.values | {"points": str(test.points), "data": "\n".join(lines)}
    if test.run is not None:
        has = has | {"trajectory"}
        run = {"step": test.run.step, "steps": test.run.steps, "duration": test.run.duration}
        values |= {name: repr(value) for name, value in run.items()}
    return fill(template(__package__, "test.rs.txt"), values, has)


def _table_text(name: str, kind: str, rows: Sequence[Sequence[float]], printer: RustPrinter) -> str:
    lines = [f"static {name}: [[{kind}; {len(rows[0])}]; {len(rows)}] = ["]
    for row in rows:
        numbers = ", ".join(printer.number(float(v)).text.replace("Real::", f"{kind}::") for v in row)
        lines += wrap_statement(f"[{numbers}],", 110, "    ", "        ")
    return "\n".join([*lines, "];"])
