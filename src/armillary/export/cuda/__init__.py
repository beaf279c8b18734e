"""CUDA: the C functions of a system as device functions, and a kernel that makes one run per thread.

export/c writes the text. Here its doubles become the type `real`, which a macro can make single precision. If
there are events, the text has the C program's whole solver. The same source compiles as C++ for the CPU
(cpu.h).
"""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from textwrap import indent

from armillary.export.c.model import CModel, roadmap, test_code
from armillary.export.c.printer import block, helpers, string_literal
from armillary.export.c.solver import (
    PlainPrinter,
    assembly_code,
    changing_functions,
    configurations,
    solver_texts,
)
from armillary.export.cuda.device_functions import (
    chained_step,
    device_contacts,
    in_both_precisions,
    on_device,
)
from armillary.export.text.body import closing
from armillary.export.text.configurations import contact_sources
from armillary.export.text.description import StateDescription, state_description
from armillary.export.text.files import fill, template, write_folder
from armillary.export.text.source import Source, make_source
from armillary.program.equations import DerivedEquations
from armillary.solver.methods.method_text import fraction
from armillary.solver.methods.registry import METHODS
from armillary.solver.methods.tableau import Method


def export(
    equations: DerivedEquations,
    path: str | os.PathLike[str],
    *,
    force: bool = False,
    configurations: bool | None = None,
) -> Path:
    """Write a folder with the system's program in CUDA."""
    made = make_source(equations, configurations, passes=True)
    return write_folder(path, program_files(made), force=force)


def program_files(src: Source) -> dict[str, str]:
    """Return the files of a system's program, by name."""
    model = CudaModel(src)
    loops = {f"{model.stem}_assembly.h": _assembly(model)} if "loops" in model.has else {}
    return {
        **loops,
        f"{model.stem}.cuh": device_code(model),
        "main.cu": _main(model),
        "test.cpp": test_code(model),
        "cpu.h": template(__package__, "cpu.h.txt"),
        "Makefile": fill(template(__package__, "Makefile.txt"), model.values, model.has),
        "README.md": fill(template(__package__, "README.md.txt"), model.values, model.has),
    }


class CudaModel(CModel):
    """A system's functions for a device, without the tables of names that only a host needs."""

    arranges = False

    @property
    def has(self) -> set[str]:
        found = (super().has | {"device"}) - {"host", "masses", "physical"}
        found -= set() if "reclosing" in found else {"assembles"}
        found |= {"ends"} if {"start", "configurations"} & found else set()
        begins = {"corrected", "loops"} <= found and not self.source.prefix
        return found | {"kernel"} if begins else found

    def further(self, source: Source) -> CudaModel:
        """Return the model of another configuration in the same file; it shares the lookup tables."""
        made = CudaModel(source)
        made.printer = made.sections.printer = self.printer
        return made

    def pivot_shares(self) -> str:
        return ""  # kernels do not search for motions without mass

    def physical(self) -> str:
        return ""

    def contacts(self, body: str) -> str:
        return ""  # device_code writes the solver of contacts, once for all configurations

    @property
    def values(self) -> dict[str, str]:
        d = self.description
        rooms = {"constants_room": d.constants, "memory_room": len(d.memory), "outputs_room": len(d.outputs)}
        own = {name: str(max(1, count)) for name, count in rooms.items()}
        own["end"] = "OWN_MOTION" if self.source.changing else "STATES"
        own["configuration_count"] = str(1 + len(self.source.others))
        return super().values | own | closing("either")

    @property
    def ends(self) -> tuple[StateDescription, ...]:
        """The final values of runs: states, or the motion common to all configurations."""
        if not self.source.changing:
            return self.description.states
        [names] = [s.labels for s in self.program.changes if s.name == "leave"]
        count = len(self.source.equations.motion_names)
        found = zip(names[:count], self.program.motion[:count], strict=True)
        return tuple(replace(state_description(s, "", 0.0), name=name) for name, s in found)


def device_code(model: CudaModel) -> str:
    """Return <name>.cuh: the model and the kernel, for NVRTC."""
    bodies = [model.body()]
    if model.source.changing:
        models = configurations(model)
        bodies = [f"{m.body()}\n{changing_functions(m)}" for m in models]
    body = "\n".join(bodies)
    helpers_text = model.helper_functions(body, template(__package__, "trigonometry.txt"))
    contacts = device_contacts(contact_sources(model.printer.blocks), model.stem)
    method = METHODS["rk4"]
    values = {"method": method.name, "METHOD": method.name.upper(), "step": _step(model, method)}
    runs = fill(template(__package__, "runs.txt"), model.values | values, model.has)
    if "events" in model.has:
        runs = f"{_solver_text(model)}\n{runs}"
    if "reclosing" in model.has:
        runs = f"{_closing(model)}\n{runs}"
    values = model.values | {
        "head": block([f"{model.stem}.cuh: {model.description.name}", "", *roadmap(model.description)]),
        "lists": model.lists(),
        "helpers": on_device(helpers_text) + contacts,
        "functions": on_device(body, apart="events" in model.has),
        "runs": runs,
    }
    return fill(template(__package__, "device.cuh.txt"), values, model.has)


def _step(model: CudaModel, method: Method) -> str:
    """Return the text of a step from ``y`` to ``stage``."""
    assert method.tableau is not None

    def derivatives(part: float, state: str) -> str:
        time = {0.0: "t", 1.0: "t + step"}.get(part, f"t + {times(part)}")
        return f"{model.stem}_derivatives({time}, {state}, constants, stored, rate);"

    def times(number: float) -> str:
        return "step" if number == 1 else f"(step * (real){fraction(number)})"

    states = f"{model.upper}_STATES"
    text = chained_step(method.tableau.chained_stages, derivatives, times, states, "stage")
    return indent(text.replace("UNROLL\n", ""), " " * 8)


def _solver_text(model: CudaModel) -> str:
    """Return the record of a run and the solver's functions."""
    made = solver_texts(model, adaptive=False)
    tables, functions = (
        in_both_precisions(text).replace(
            f"{model.stem}_assemble(", f"{model.stem}_loops::{model.stem}_assemble("
        )
        for text in (made.tables, made.functions)
    )
    code = on_device(tables) + on_device(functions, apart=True)
    return "\n".join([on_device(made.header), code, "#undef N", ""])


def _closing(model: CudaModel) -> str:
    """Return the functions with which each thread closes loops again after events."""
    name = f"{model.stem}_loops"
    text = assembly_code(
        model.source, f"{name}", f"namespace {name} {{", f"}} // namespace {name}", on_device=True
    )
    return on_device(in_both_precisions(text), apart=True)


class _HostModel(CModel):
    """The functions that a host calls, in double precision."""

    kind_of_printer = PlainPrinter


def _assembly(model: CudaModel) -> str:
    """Return <name>_assembly.h, which closes loops on the host."""
    states = ", ".join(f"{{{string_literal(s.name)}}}" for s in model.description.states)
    precompute = _HostModel(model.source).precompute()
    lines = [
        "#include <cstddef>",
        "#include <cstdio>",
        "#include <math.h>",
        "",
        "#define restrict __restrict__",
    ]
    lines += [f"namespace {model.stem}_host {{", "", helpers(precompute)]
    lines += [f"static const struct {{ const char *name; }} {model.stem}_state_table[] = {{{states}}};", ""]
    closing = f"\n}} // namespace {model.stem}_host\n#undef restrict\n"
    file = f"{model.stem}_assembly.h"
    return assembly_code(model.source, file, "\n".join([*lines, precompute, ""]), closing)


def _main(model: CudaModel) -> str:
    d, number = model.description, model.printer.number

    def row(name: str, start: float | None, factor: float) -> str:
        value = "NAN" if start is None else number(start).text
        return f"{{{string_literal(name)}, {value}, {number(factor).text}}}"

    rows = {
        "parameter_rows": [
            row(p.name, p.default if p.needed else p.default or 0.0, 1.0) for p in d.parameters
        ],
        "state_rows": [row(s.name, s.initial / s.factor, s.factor) for s in d.starts],
        "end_rows": [row(s.name, 0.0, s.factor) for s in model.ends],
        "memory_rows": [row(m.name, m.initial / m.factor, m.factor) for m in d.memory],
    }
    joined = {name: ",\n    ".join([*entries, '{"", 0.0, 1.0}']) for name, entries in rows.items()}
    return fill(template(__package__, "main.cu.txt"), model.values | joined, model.has)
