"""Instructions, memory and cycles of embedded programs, counted in QEMU: the table of a how-to page.

    python -m benchmarks.microcontrollers          # docs/how-to/microcontrollers.md

It needs arm-none-eabi-gcc and riscv64-unknown-elf-gcc with their C libraries, make and QEMU. Cycles of a
Cortex-M4F are an estimate from above: 2 per instruction, and 12 more for each division, root or function
(ARM 100166: VADD and VMUL take 1, loads and stores 2, VDIV and VSQRT 14), memory without wait states.
"""

from __future__ import annotations

import sys

from armillary.algebra.arguments import core_of
from armillary.export.embedded import EmbeddedModel, embedded_files
from armillary.export.embedded.step_cost import TARGETS, counts_on, step_operations
from armillary.export.text.source import make_source
from armillary.mechanics.constraints.closing_thresholds import FEW_CORRECTIONS
from armillary.solver.methods.registry import METHODS
from examples import car, four_bar, stanford_arm, stewart_platform

SYSTEMS = {
    "Stanford arm": stanford_arm.system,
    "car": car.system,
    "four-bar linkage": four_bar.system,
    "Stewart platform": stewart_platform.system,
}
BUDGET = 168_000  # cycles of a millisecond at 168 MHz


def main() -> int:
    """The table, in Markdown."""
    print("| model | precision | machine | flash | RAM | stack | instructions | longest | cycles |")
    print("| --- | --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    for name, system in SYSTEMS.items():
        found = make_source(core_of(system().derive()))
        for precision in ("single", "double"):
            files = embedded_files(found, precision, "rk4", False)
            has = EmbeddedModel(found, precision).has
            operations = step_operations(found.program, has, METHODS["rk4"], FEW_CORRECTIONS)
            for target, (machine, *_) in TARGETS.items():
                row = counts_on(target, files)
                if not row:
                    print(f"nothing measured for {target}: are its tools here?", file=sys.stderr)
                    return 1
                hardware = target == "arm" and precision == "single"
                cycles = 2 * row["longest"] + 12 * (operations.divisions + operations.functions)
                shown = f"{cycles:,} ({100 * cycles / BUDGET:.0f} %)" if hardware else ""
                numbers = (row[key] for key in ("flash", "ram", "stack", "step", "longest"))
                cells = " | ".join(f"{n:,}" for n in numbers)
                print(f"| {name} | {precision} | {machine} | {cells} | {shown} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
