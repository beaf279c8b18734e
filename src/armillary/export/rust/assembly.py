"""assembly.rs: loops closed from rough values, in memory of the caller."""

from __future__ import annotations

from collections.abc import Sequence

from armillary.export.c.assembly import loop_features
from armillary.export.c.embedded.assembly import bounded_assembly, open_sentences
from armillary.export.rust.model import RustModel
from armillary.export.rust.printer import lookup_function
from armillary.export.rust.solver import RustSolverPrinter
from armillary.export.text.files.template import fill, template
from armillary.export.text.printing.layout import wrapped
from armillary.export.text.start.assembly import AssemblySource
from armillary.runtime.solver.language.translator import Solver


class RustAssemblyPrinter(RustSolverPrinter):
    """The functions that close loops."""

    record_type = "Loops"

    def __init__(self, loops: AssemblySource, described: Solver) -> None:
        super().__init__(described)
        self.loops = loops
        self.names = {"FIRST": "0", "INFINITY": "Real::INFINITY", "OPEN": "NOT_CLOSED"}
        self.names |= {name: str(size) for name, size in loops.sizes.items()}

    def extent(self, kind: str) -> str:
        return str(self.loops.lengths[kind])

    def model(self, name: str, targets: Sequence[str], arguments: Sequence[str]) -> list[str]:
        return [f"geometry({', '.join(arguments)}, &run.constants, &run.memory, &mut {targets[0]});"]


def assembly_file(model: RustModel) -> dict[str, str]:
    """The module of a system with loops; none where it has none."""
    loops = model.source.assembly
    if loops is None:
        return {}
    own = RustModel(model.source, model.precision)  # with no other tables than those that it calls
    targets = [f"out[{i}]" for i in range(len(loops.section.results))]
    arguments = (
        f"t: Real, state: &[Real; {len(loops.coordinates)}], constants: &[Real; CONSTANTS], "
        f"memory: &[Real; MEMORY], out: &mut [Real; {len(targets)}]"
    )
    about = "Gaps, elements of J, elements of N, sizes of gaps."
    geometry = own.function(loops.section, "fn geometry", arguments, targets, about)
    tables = [lookup_function(name, table, own.printer) for table, name in own.printer.tables.items()]
    printer = RustAssemblyPrinter(loops, bounded_assembly(loops, model.precision))
    solver = printer.text().rstrip("\n")
    kept = " run.t run.start run.given run.place run.status"
    members, zeros = printer.record(solver + kept)
    values = model.values | {
        "sentences": "\n".join(_sentences(loops)),
        "tables": "\n".join(_tables(loops)),
        "coordinates": str(len(loops.coordinates)),
        "first": ", ".join(own.printer.literal(x) for x in loops.first),
        "whole": ", ".join(str(bool(w)).lower() for w in loops.whole),
        "constants": "\n".join(printer.constants()),
        "members": "\n".join(members),
        "zeros": "\n".join(zeros),
        "functions": "\n".join([*tables, geometry]),
        "solver": solver,
    }
    return {"src/assembly.rs": fill(template(__package__, "assembly.rs.txt"), values, loop_features(loops))}


def _sentences(loops: AssemblySource) -> list[str]:
    """The codes of errors, each with the message of a run in the process."""
    lines = []
    for number, (code, texts) in enumerate(open_sentences(loops).items(), 1):
        lines += [line for text in texts for line in wrapped(text, 104, "/// ", "///   ")]
        lines.append(f"pub const {code}: i32 = {number};")
    return lines


def _tables(loops: AssemblySource) -> list[str]:
    lines = []
    for name, numbers in loops.whole_tables(0).items():
        text = f"static {name}: [i32; {len(numbers)}] = [{', '.join(map(str, numbers))}];"
        lines += wrapped(text, 110, "", "    ")
    for name, flags in loops.truth_tables.items():
        words = ", ".join(str(bool(flag)).lower() for flag in flags)
        lines += wrapped(f"static {name}: [bool; {len(flags)}] = [{words}];", 110, "", "    ")
    return lines
