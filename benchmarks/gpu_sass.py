"""Instructions of a kernel's loop over steps, counted in its machine code."""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from collections import Counter
from pathlib import Path

_LINE = re.compile(r"/\*([0-9a-f]{4,})\*/\s+(?:@!?U?P\d+ )?([A-Z0-9_.]+)([^;]*);")
_SORTS = {
    "fma": ("DFMA", "FFMA"), "mul": ("DMUL", "FMUL"), "add": ("DADD", "FADD"), "special": ("MUFU",),
    "local": ("LDL", "STL"),
}  # fmt: skip
_OPTIONS = {"double": (), "float": ("-ftz=true", "-prec-div=false", "-prec-sqrt=false")}
STAGES = 4


def per_evaluation(text: str, real: str, architecture: str = "sm_90") -> dict[str, float] | None:
    """Instructions of one evaluation by kind, the method's share included; None without CUDA's tools."""
    nvcc, dump = shutil.which("nvcc"), shutil.which("cuobjdump")
    if not nvcc or not dump:
        return None
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "kernel.cu"
        source.write_text(text)
        command = [
            nvcc,
            "-cubin",
            f"-arch={architecture}",
            *_OPTIONS[real],
            str(source),
            "-o",
            f"{source}bin",
        ]
        subprocess.run(command, check=True, capture_output=True)
        listing = subprocess.run(
            [dump, "--dump-sass", f"{source}bin"], check=True, capture_output=True, text=True
        )
    return counted(listing.stdout)


def counted(listing: str) -> dict[str, float]:
    """Counts per evaluation. The loop over steps is the first of the longest, with sines by increments where
    there is another with whole ones; one over stages in it counts four times.
    """
    lines = [(int(m[1], 16), m[2].partition(".")[0], m[3]) for m in _LINE.finditer(listing)]
    loops = []
    for place, name, operands in lines:
        target = re.search(r"0x([0-9a-f]+)", operands) if name == "BRA" else None
        if target and int(target[1], 16) < place:
            loops.append((int(target[1], 16), place))
    longest = max(end - start for start, end in loops)
    steps = min(loop for loop in loops if 2 * (loop[1] - loop[0]) > longest)
    inner = [loop for loop in loops if loop != steps and steps[0] <= loop[0] and loop[1] <= steps[1]]
    stages = max(inner, key=lambda loop: loop[1] - loop[0], default=None)
    if stages and 2 * (stages[1] - stages[0]) < steps[1] - steps[0]:
        stages = None  # a table's search, or a slow path
    total: Counter[str] = Counter()
    for place, name, _ in lines:
        if steps[0] <= place <= steps[1]:
            total[name] += STAGES if stages and stages[0] <= place <= stages[1] else 1
    found = {sort: sum(total[name] for name in names) / STAGES for sort, names in _SORTS.items()}
    return {**found, "all": sum(total.values()) / STAGES}
