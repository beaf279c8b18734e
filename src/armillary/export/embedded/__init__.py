"""C for microcontrollers: the C of export/c with other settings.

There is no heap, no recursion and no global variable. Loops are bounded, the only method has a fixed step,
numbers are float or double throughout, and constants are in flash. The folder is an Arduino library and a
CMake project; measure.c counts instructions, stack and memory on a Cortex-M4F and a RISC-V in QEMU.
"""

from __future__ import annotations

from armillary.export.c.model import test_code
from armillary.export.c.printer import counts
from armillary.export.c.solver import configuration_files
from armillary.export.embedded.model import (
    EmbeddedModel,
    add_braces,
    assembly_files,
    checked_precision,
    loops_record,
    solver_texts,
)
from armillary.export.embedded.step_cost import cost_table, step_table
from armillary.export.text.files import fill, template
from armillary.export.text.source import Source
from armillary.mechanics.constraints.closing_thresholds import FEW_CORRECTIONS
from armillary.solver.methods.tableau import Method

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
